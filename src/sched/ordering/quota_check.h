/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_ORDERING_QUOTA_CHECK_H
#define SCHED_ORDERING_QUOTA_CHECK_H

/* quota_check - whether a job of this queue and user may hold more
 *
 * Up the tree, for each requested resource: no queue above its limit, or above its guarantee by
 * more than it may borrow (or at all with jobs that are never stopped, where only preemptible jobs
 * may borrow); no user or Unix group above its limit in any of these queues. What other queues do
 * not lend stays free for them: of the capacity, guarantee - lend - used of every queue that is
 * not above the job (the highest such queue of each branch counts for all below it).
 */

#include "core/job/why.h"
#include "core/state/state.h"

struct quota_ask {
    uint32_t queue, user, gid; /* user QUOTA_NOBODY: no limits of users */
    bool is_preemptible;
    struct amounts amounts;
    const struct amounts *used; /* used amounts by queue at another time; NULL: now */
};

#define QUOTA_NOBODY UINT32_MAX

/* For the job itself; the amounts are still to be set. */
static inline struct quota_ask quota_ask_of(const struct job *job)
{
    return (struct quota_ask){ .queue = job->queue,
                               .user = job->user,
                               .gid = job->gid,
                               .is_preemptible = job->is_preemptible };
}

/* False: why is QUOTA, NEVER_QUOTA, LENT or USER_LIMIT. */
bool quota_allows(const struct state *state, const struct quota_ask *ask, struct why *why);

/* Whether the limits of the user and of their Unix group let them hold the amounts at any time.
 * False: why is NEVER_QUOTA. */
bool quota_user_may_ever(const struct state *state, const struct quota_ask *ask, struct why *why);

/* The most that the queue may hold of a resource; QUOTA_NONE: no bound of its own. */
int64_t quota_bound(const struct state *state, uint32_t queue, uint32_t resource);

/* The least that a job asks for; of models, only what every alternative names. */
void quota_least(const struct state *state, const struct request *request, struct amounts *ret);

/* The queue is below its guarantee of the resource (GPUs: in total, or of any model). */
bool quota_is_owed(const struct state *state, uint32_t queue, enum share kind);

#endif
