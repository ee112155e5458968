/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WORLDS_FUZZ_SHRINK_H
#define WORLDS_FUZZ_SHRINK_H

/* fuzz_shrink - the smallest world in which the same invariant still does not hold
 *
 * Delta debugging (Zeller 2002): it removes parts of the actions, halves, quarters ... single ones,
 * as long as the failure stays the same. Then it resets the fields of jobs and queues one by one.
 * Machines and jobs disappear with the actions that create them.
 */

#include "worlds/fuzz_run.h"

/* Runs at most `runs_max` worlds. ret shares the strings of world. ret_failure: of the small one.
 */
struct fuzz_world *fuzz_shrink(const struct fuzz_world *world, const struct fuzz_look *look,
                               const struct fuzz_failure *failure, uint32_t runs_max,
                               struct fuzz_failure *ret_failure);

#endif
