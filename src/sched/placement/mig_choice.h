/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PLACEMENT_MIG_CHOICE_H
#define SCHED_PLACEMENT_MIG_CHOICE_H

/* instance - MIG instances for one member of a job on one machine
 *
 * Instances are chosen one after the other. Each goes to a slot of the best rank (score.h), then
 * by the placement policy
 *
 *   sfg, fgd                least cost to other profiles (scarcity.h), then fewest free memory
 *   slices
 *   best-fit, dot-product   fewest free memory slices; on the device, the start that leaves most
 *   spread                  most free memory slices; on the device, the start that leaves most
 *   first-fit, random       the first that fits
 *
 * then to the lowest device, then to the lowest start. Several instances may share a device.
 */

#include "sched/placement/score.h"

enum { INSTANCE_COST_STEP = 16 };

/* The number of the shape's instances that fit into the i-th slot. */
uint32_t instance_options(const struct scorer *scorer, const struct shape *shape,
                          const struct spot *spot, uint32_t i);

/* Choose as many instances as the ask counts; they must fit. Returns their cost, to compare
 * machines: cost to other profiles * INSTANCE_COST_STEP + free memory slices before. */
int64_t instance_choose(const struct scorer *scorer, const struct shape *shape,
                        const struct spot *spot, const bool *avoid, struct slice *ret_slices);

#endif
