/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WORLDS_FUZZ_SHRINK_H
#define WORLDS_FUZZ_SHRINK_H

/* fuzz_shrink - the smallest world in which the same invariant still does not hold
 *
 * Delta debugging (Zeller 2002): parts of the actions are left out, halves, quarters ... single
 * ones, as long as it fails the same way. Then what a job or a queue says is made plain, field by
 * field. Machines and jobs go with the actions that bring them.
 */

#include "worlds/fuzz_run.h"

/* Runs at most `runs_max` worlds. ret shares the strings of world. ret_failure: of the small one.
 */
struct fuzz_world *fuzz_shrink(const struct fuzz_world *world, const struct fuzz_look *look,
                               const struct fuzz_failure *failure, uint32_t runs_max,
                               struct fuzz_failure *ret_failure);

#endif
