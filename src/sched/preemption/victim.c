/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/preemption/victim.h"

#include <assert.h>

#include "sched/brain.h"

/* The nearest of its queue and those above that says something. */
static usec_t min_runtime_of(const struct state *state, const struct job *job)
{
    for (uint32_t at = job->queue;; at = state->queues.items[at].parent) {
        if (state->queues.items[at].min_runtime > 0 || at == QUEUE_ROOT)
            return state->queues.items[at].min_runtime;
    }
}

bool victim_may_stop(struct reclaim *reclaim, const struct state *state, const struct job *job)
{
    usec_t least = min_runtime_of(state, job), now = state->now;
    usec_t cost = job->restart_cost > RECLAIM_LEFT_S * USEC_PER_SEC ? job->restart_cost
                                                                    : RECLAIM_LEFT_S * USEC_PER_SEC;

    least = least > job->restart_cost ? least : job->restart_cost;
    if (!job->is_preemptible || job->state != JOB_RUNNING || job->run->is_cancel_wanted ||
        job->run->is_requeue_wanted || job->run->started < job->run->granted)
        return false;
    if (job->run->expected_end - now < cost)
        return false;
    if (now - job->run->started >= least)
        return true;
    usec_t at = usec_after(job->run->started, least);
    reclaim->review = at < reclaim->review ? at : reclaim->review;
    return false;
}

bool victim_is_due(struct brain *brain, const struct job *job)
{
    usec_t at = usec_after(job->run->started, min_runtime_of(brain->state, job));

    assert(job_is_active(job));
    if (at <= brain->state->now)
        return true;
    brain->reclaim.review = at < brain->reclaim.review ? at : brain->reclaim.review;
    return false;
}
