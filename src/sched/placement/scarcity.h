/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PLACEMENT_SCARCITY_H
#define SCHED_PLACEMENT_SCARCITY_H

/* scarcity - the cost to other MIG profiles of taking an instance at one place of a device
 *
 *     cost = sum over profiles p of w_p * (options of p lost)
 *     w_p  = f_p * size_p / (A_p + 1)
 *
 * f_p is the demand for p (core/job/demand.h), size_p its memory slices, A_p how many more of it
 * the whole fleet could hold: a profile with few places left weighs more. FGD has no A_p. A profile
 * without demand counts a sixteenth of a job, so that an empty fleet is not filled carelessly.
 * Computed per kind of device, because a job may name a model. Integers; the most that one device
 * could lose is SCARCITY_MOST. Policies 5.
 */

#include "sched/capacity/fleet.h"

enum { SCARCITY_MOST = 1 << 17 };

struct scarcity {
    LIST(int32_t) weights; /* kind * MIG_PROFILES_MAX + profile */
};

void scarcity_weigh(struct scarcity *scarcity, const struct state *state, const struct fleet *fleet,
                    bool is_fgd);

/* The cost of changing what is held of a device from `before` to `after`. */
int32_t scarcity_cost(const struct scarcity *scarcity, const struct layout *layout, uint32_t kind,
                      uint32_t before, uint32_t after);

#endif
