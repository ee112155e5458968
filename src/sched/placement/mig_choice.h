/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PLACEMENT_MIG_CHOICE_H
#define SCHED_PLACEMENT_MIG_CHOICE_H

/* instance - MIG instances for one member of a job on one machine
 *
 * One after the other, each where it is best: of the best rank (score.h), then by the policy
 *
 *   sfg, fgd                least cost to others (scarcity.h), then fewest free memory slices
 *   best-fit, dot-product   fewest free memory slices; on the device where most is left to others
 *   spread                  most free memory slices, there the same
 *   first-fit, random       the first that goes
 *
 * then the lowest device, then the lowest start. Several may stand on one device, or each on its
 * own.
 */

#include "sched/placement/score.h"

enum { INSTANCE_COST_STEP = 16 };

/* How many of the shape's instances go into the i-th slot. */
uint32_t instance_options(const struct scorer *scorer, const struct shape *shape,
                          const struct spot *spot, uint32_t i);

/* All that the ask counts, which must go in. Returns what they cost, for machines to be compared:
 * cost to others * INSTANCE_COST_STEP + free memory slices before. */
int64_t instance_choose(const struct scorer *scorer, const struct shape *shape,
                        const struct spot *spot, const bool *avoid, struct slice *ret_slices);

#endif
