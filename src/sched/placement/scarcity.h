/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PLACEMENT_SCARCITY_H
#define SCHED_PLACEMENT_SCARCITY_H

/* scarcity - what it costs the others to take a MIG instance at one place of a device
 *
 *     cost = sum over profiles p of w_p * (options of p lost)
 *     w_p  = f_p * size_p / (A_p + 1)
 *
 * f_p is how much p is asked for (core/job/demand.h), size_p its memory slices, A_p how many more
 * of it the whole fleet could take: what has few homes left weighs more. FGD has no A_p. A profile
 * that nobody asked for yet counts as if a sixteenth of a job had, so that an empty fleet is not
 * filled without thought. By kind of device, for a job may name a model. Integers; all that one
 * device could lose is at most SCARCITY_MOST. Policies 5.
 */

#include "sched/placement/fleet.h"

enum { SCARCITY_MOST = 1 << 17 };

struct scarcity {
    LIST(int32_t) weights; /* kind * MIG_PROFILES_MAX + profile */
};

void scarcity_weigh(struct scarcity *scarcity, const struct state *state, const struct fleet *fleet,
                    bool is_fgd);
void scarcity_copy(struct scarcity *own, const struct scarcity *scarcity);
void scarcity_release(struct scarcity *scarcity);

/* Of going from what is held of a device to what is held after. */
int32_t scarcity_cost(const struct scarcity *scarcity, const struct layout *layout, uint32_t kind,
                      uint32_t before, uint32_t after);

#endif
