/* SPDX-License-Identifier: Apache-2.0 */
/* Starts that no decision of the brain delays
 *
 * With `order: fifo`, the place of a job at the head of the line is found from the ends of running
 * jobs. In the default order, a job that is served first (claims.h) keeps its reservation, but for
 * a slip that is counted in, in a queue whose rules exclude preemptible jobs: those are ordered by
 * preempt.h. Both hold if
 *
 * - those ends are time limits, and not predictions or estimates,
 * - no job comes before it: it is the first of its queue or served first, it has the highest
 *   priority that users may set, and no older job starts again after its end,
 * - nothing but room decides on its start: there are no other queues, limits, windows,
 *   reservations and pools.
 *
 * In the default order, a job that is not served first may be passed by one that is submitted
 * later, so there is no guarantee. (plain.h bounds such waits, by predictions.)
 *
 * What may still delay it: a job that is backfilled later by its estimate, or without a limit by
 * its predicted run time, and outlives that; or one with a longer grace period than those that run.
 */
#include "sched/brain.h"
#include "sched/explain/questions.h"

/* A device may be used again only when the last job's processes have left it. */
#define HANDOVER (10 * USEC_PER_SEC)
/* From the decision on, until a job that may go before it runs and its limit counts. */
#define START_UP (10 * USEC_PER_SEC)

/* The start that the plans keep for the first of its line; 0: none. */
static usec_t kept_start(const struct brain *brain, const struct job *job)
{
    const struct promise *first = brain->reserve.promises.held.items;
    const struct pending_queue *queue = &brain->pending.queues.items[job->queue];

    if (brain->state->settings.order == ORDER_DEFAULT)
        return queue->served == job->id && queue->served_by > 0 &&
                       queue_rules_of(brain->state->queues.items, job->queue).preemptible ==
                           PREEMPTIBLE_NEVER
                   ? usec_after(queue->served_by, START_UP)
                   : 0;
    return brain->state->settings.order == ORDER_FIFO && queue->first == job &&
                   brain->reserve.promises.count > 0 && first->job == job->id &&
                   first->at != USEC_NEVER
               ? first->at
               : 0;
}

static bool is_unbounded(const struct queue *queue)
{
    for (size_t i = 0; i < RESOURCES_MAX; i++) {
        if (!quota_is_empty(&queue->quota[i]))
            return false;
    }
    return queue->during.count + queue->subjects.count + queue->cells.count +
               queue->budgets.count ==
           0;
}

/* Whether nothing but room decides on a start. */
static bool only_room_decides(const struct brain *brain)
{
    const struct state *state = brain->state;

    for (uint32_t i = 0; i < state->queues.count; i++) {
        const struct queue *queue = &state->queues.items[i];
        if (!queue->is_removed && (i > QUEUE_DEFAULT || !is_unbounded(queue)))
            return false;
    }
    return state->agenda.windows.count == 0 && brain->keepouts.items.count == 0 &&
           !brain->layout.has_bounds && !brain->layout.has_static_pools;
}

/* Whether it is the next of all jobs that are known, and of those that users may still submit. */
static bool is_at_the_head(const struct brain *brain, const struct job *job)
{
    const struct pending_queue *queue = &brain->pending.queues.items[job->queue];

    if (job->pending_bucket->array != 0 || job->pending_bucket->first != job ||
        job->priority < queue_rules_of(brain->state->queues.items, job->queue).priority_most)
        return false;
    for (size_t i = 0; i < queue->buckets.count; i++) {
        if (queue->buckets.items[i]->priority > job->priority)
            return false;
    }
    if (brain->state->job_counts[JOB_HELD] + brain->state->job_counts[JOB_WAITING] == 0)
        return true;
    for (const struct job *at = job->previous; at; at = at->previous) {
        if (at->state == JOB_HELD || at->state == JOB_WAITING)
            return false;
    }
    return true;
}

/* Whether it may wait once more after it has run. */
static bool may_return(const struct job *job)
{
    return job->is_preemptible || job->run->retries < job->retry_max || job->oom_factor > 0 ||
           job->heal_max > 0;
}

/* Whether a running job leaves by its time limit. */
static bool leaves_in_time(const struct state *state, const struct job *job)
{
    const struct request *request = state_request(state, job);

    return job->state == JOB_RUNNING && job->max_duration != USEC_NEVER && job->estimate == 0 &&
           request->members_max <= request->members;
}

usec_t sched_guaranteed_start(const struct brain *brain, const struct job *job)
{
    const struct state *state = brain->state;
    usec_t kept = job->pending_bucket ? kept_start(brain, job) : 0, grace = 0;

    if (kept == 0 || kept == USEC_NEVER || !only_room_decides(brain) || !is_at_the_head(brain, job))
        return USEC_NEVER;
    for (const struct job *at = state->first_active; at; at = at->run->active_next) {
        if (!leaves_in_time(state, at) || (at->id < job->id && may_return(at)))
            return USEC_NEVER;
        usec_t its = state_grace(state, at);
        grace = its > grace ? its : grace;
    }
    return usec_after(kept, usec_after(grace, HANDOVER));
}

const struct lease *sched_planned_lease(const struct brain *brain, const struct job *job)
{
    const struct promise *promise = promise_of(&brain->reserve.promises, job->id);

    return promise && promise->at != USEC_NEVER ? promise->lease : NULL;
}
