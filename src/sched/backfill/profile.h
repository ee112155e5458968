/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_BACKFILL_PROFILE_H
#define SCHED_BACKFILL_PROFILE_H

/* profile - how much of everything will be free from when on, in counts
 *
 * A step function over time with a lane for each kind of thing: some for kinds of GPUs, of which a
 * job takes from any that serve it, the others each on its own. It knows no machines: what it says
 * is an estimate, and cheap (estimate.h).
 *
 * Limits: PROFILE_STEPS_MAX steps; what comes after that is not noted any more
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
    int64_t amount[PROFILE_LANES]; /* of the other lanes */
    usec_t run;
};

void profile_start(struct profile *profile, usec_t now, const int64_t *free);
/* More is free from then on; in the order of time, before anything is taken. */
void profile_give_back(struct profile *profile, usec_t at, const int64_t *amounts);
/* The earliest time, `from` or later, at which it fits for as long as it runs; USEC_NEVER. */
usec_t profile_find(const struct profile *profile, const struct profile_need *need, usec_t from);
void profile_take(struct profile *profile, const struct profile_need *need, usec_t at);
void profile_release(struct profile *profile);

#endif
