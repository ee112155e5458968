/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_BACKFILL_RESERVED_SHARE_H
#define SCHED_BACKFILL_RESERVED_SHARE_H

/* turn - what a queue at its limit keeps for the job that waits for it
 *
 * The same thought as reserve.h, for quota instead of devices: the first job that its queue's limit
 * (or the limit of a queue above) keeps waiting has its turn when enough of those that run below
 * that limit will have ended. Until then another job below it may start when it ends before that
 * time, or when it leaves enough; else small jobs could take whatever comes free for ever.
 */

#include "base/mem.h"
#include "core/job/why.h"
#include "core/state/state.h"
#include "sched/backfill/ends.h"

struct turn {
    uint32_t queue; /* at its limit */
    uint32_t resource;
    uint64_t job;  /* whose turn it is */
    usec_t at;     /* USEC_NEVER: when somebody without a time limit ends */
    int64_t spare; /* of the resource: what others may hold at that time */
};

struct turns {
    LIST(struct turn) held;
};

/* Keep what `why`, a QUOTA, says that this job lacks. The first one of a queue stays. */
void turn_make(struct turns *turns, const struct state *state, const struct ends *ends,
               const struct job *job, const struct why *why);

/* Who asks: a job, 0 when it has no number, of this queue, that would hold so much until `end`. */
struct turn_ask {
    uint64_t job;
    uint32_t queue;
    const struct amounts *amounts;
    usec_t end;
};

/* May it, beside the turns of others? Fills why with TURN when not. */
bool turn_allows(const struct turns *turns, const struct state *state, const struct turn_ask *ask,
                 struct why *why);

/* Keep so much of a queue's GPUs for a job that starts as soon as others have moved. */
void turn_keep(struct turns *turns, const struct state *state, const struct job *job, int64_t bound,
               uint32_t queue, int64_t milli);

/* It did. */
void turn_take(struct turns *turns, const struct state *state, uint32_t queue,
               const struct amounts *amounts, usec_t end);

void turns_release(struct turns *turns);

#endif
