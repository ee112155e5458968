/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_ORDERING_QUOTA_CHECK_H
#define SCHED_ORDERING_QUOTA_CHECK_H

/* quota - may a job of this queue and user have so much more?
 *
 * Up the tree, for each resource that is asked for: no queue above its limit, or above its
 * guarantee by more than it may borrow (or, where only jobs that may be stopped do that, with
 * others at all); no user or Unix group above a limit in any of these queues. And what a queue
 * beside the way does not lend stays free for it: of the capacity, guarantee - lend - used of every
 * queue that is not above the job (the highest such queue of each branch counts for all below it).
 * Policies 2.6.
 */

#include "core/job/why.h"
#include "core/state/state.h"

struct quota_ask {
    uint32_t queue, user, gid; /* user QUOTA_NOBODY: no limits of users */
    bool is_preemptible;
    struct amounts amounts;
    const struct amounts *used; /* by queue, of another time; NULL: as it is now */
};

#define QUOTA_NOBODY UINT32_MAX

/* Fills why with QUOTA, NEVER_QUOTA, LENT, USER_LIMIT or NEVER_QUOTA when not. */
bool quota_allows(const struct state *state, const struct quota_ask *ask, struct why *why);

/* What the queue may hold of a resource at most; QUOTA_NONE: no bound of its own. */
int64_t quota_bound(const struct state *state, uint32_t queue, uint32_t resource);

/* The least that a job asks for: of models, only what every alternative names. */
void quota_least(const struct state *state, const struct request *request, struct amounts *ret);

/* Below its guarantee for what is asked mostly (GPUs: in all, or of any model)? */
bool quota_is_owed(const struct state *state, uint32_t queue, enum share kind);

#endif
