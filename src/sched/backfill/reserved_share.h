/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_BACKFILL_RESERVED_SHARE_H
#define SCHED_BACKFILL_RESERVED_SHARE_H

/* reserved_share - quota that a queue at its limit keeps for the job that waits for it
 *
 * Like promise_search.h, for quota instead of devices. The first job that waits for the limit of
 * its queue (or of a queue above) has its turn when enough jobs below that limit will have ended.
 * Until then, another job below the limit may start only if it ends before that time or leaves
 * enough. Otherwise small jobs could take all resources that become free, for ever.
 */

#include "base/mem.h"
#include "core/job/why.h"
#include "core/state/state.h"
#include "sched/ends.h"

struct reserved_share {
    uint32_t queue; /* at its limit */
    uint32_t resource;
    uint64_t job;  /* the job that has this turn */
    usec_t at;     /* USEC_NEVER: when a job without a time limit ends */
    int64_t spare; /* of the resource: what other jobs may hold at that time */
};

typedef LIST(struct reserved_share) reserved_share_list;

/* Keep what this job lacks according to `why`, a QUOTA. A queue has one turn: the first. */
void reserved_share_make(reserved_share_list *shares, const struct state *state,
                         const struct ends *ends, const struct job *job, const struct why *why);

/* A job (0: without a number) of this queue that would hold these amounts until `end`. */
struct reserved_share_ask {
    uint64_t job;
    uint32_t queue;
    const struct amounts *amounts;
    usec_t end;
};

/* The job may start beside the turns of other jobs. False: why is TURN. */
bool reserved_share_allows(const reserved_share_list *shares, const struct state *state,
                           const struct reserved_share_ask *ask, struct why *why);

/* Keep GPUs of a queue for a job that starts as soon as others have moved. */
void reserved_share_keep(reserved_share_list *shares, const struct state *state,
                         const struct job *job, int64_t bound, uint32_t queue, int64_t milli);

/* A job started that holds these amounts until `end`. */
void reserved_share_take(reserved_share_list *shares, const struct state *state, uint32_t queue,
                         const struct amounts *amounts, usec_t end);

#endif
