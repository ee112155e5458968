/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_CAPACITY_PROFILE_H
#define SCHED_CAPACITY_PROFILE_H

/* profile - the amounts of each resource that will be free, over time
 *
 * A step function over time with lanes. A job takes GPUs from any of the lanes that serve it, and
 * each other resource from its own lane. It does not model nodes: its answers are cheap
 * estimates (estimate.h).
 *
 * Limits: PROFILE_STEPS_MAX steps; later changes are not recorded
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/units.h"

enum { PROFILE_GPU_LANES = 4, PROFILE_LANES = 11, PROFILE_STEPS_MAX = 4096 };

struct profile_step {
    usec_t at;
    int64_t free[PROFILE_LANES]; /* from then until the next step */
};

struct profile {
    LIST(struct profile_step) steps; /* by time; the first is now */
};

struct profile_need {
    int64_t gpu;                   /* of the lanes in `serves` together */
    uint32_t serves;               /* bit i: GPU lane i */
    bool is_thin;                  /* little history is behind its run time */
    int64_t amount[PROFILE_LANES]; /* of the other lanes */
    usec_t run;
};

void profile_start(struct profile *profile, usec_t now, const int64_t *free);
/* More is free from this time on. In order of time, before the first profile_take. */
void profile_give_back(struct profile *profile, usec_t at, const int64_t *amounts);
/* The earliest time from `from` on at which it fits for its run time; USEC_NEVER: none. */
usec_t profile_find(const struct profile *profile, const struct profile_need *need, usec_t from);
void profile_take(struct profile *profile, const struct profile_need *need, usec_t at);
void profile_release(struct profile *profile);

#endif
