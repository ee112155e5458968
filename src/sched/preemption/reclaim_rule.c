/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/preemption/reclaim.h"

#include <assert.h>

#include "base/wide.h"
#include "sched/ordering/job_order.h"

void reclaim_shares_start(struct reclaim_shares_ahead *shares, const struct state *state)
{
    list_zero(&shares->was_fair, state->queues.count);
    list_resize(&shares->used, state->queues.count);
    for (size_t i = 0; i < state->queues.count; i++)
        shares->used.items[i] = state->queues.items[i].used;
}

void reclaim_shares_release(struct reclaim_shares_ahead *shares)
{
    list_release(&shares->used);
    list_release(&shares->was_fair);
}

/* The branches of two queues; false: one is above the other, or they are the same. */
static bool find_branches(const struct state *state, uint32_t queue, uint32_t other,
                          uint32_t *ret_a, uint32_t *ret_b)
{
    uint32_t a = queue, b = other;

    if (state_is_below(state, queue, other) || state_is_below(state, other, queue))
        return false;
    while (!state_is_below(state, other, state->queues.items[a].parent))
        a = state->queues.items[a].parent;
    while (state->queues.items[b].parent != state->queues.items[a].parent)
        b = state->queues.items[b].parent;
    *ret_a = a;
    *ret_b = b;
    return true;
}

int64_t reclaim_share_borrowed(const struct queue *queue, const struct amounts *used,
                               uint32_t resource)
{
    int64_t owed = quota_owed(&queue->quota[resource], queue->owned.of[resource]);
    int64_t more = used->of[resource] - owed;

    return more > 0 ? more : 0;
}

uint64_t reclaim_share_measure(const struct state *state, uint32_t queue,
                               const struct amounts *used, uint32_t resource)
{
    const struct queue *q = &state->queues.items[queue];
    int64_t capacity = state_capacity(state, resource);

    if (capacity <= 0)
        return 0;
    return wide_scale((uint64_t)reclaim_share_borrowed(q, used, resource), UINT64_C(1) << 30,
                      (uint64_t)capacity * q->weight);
}

/* The resource that a job contests at this branch. */
static uint32_t contested_at(const struct state *state, uint32_t branch,
                             const struct amounts *wanted)
{
    const struct queue *queue = &state->queues.items[branch];

    for (uint32_t i = RESOURCE_MODELS; i < state->resources.count; i++) {
        if (wanted->of[i] > 0 && quota_owed(&queue->quota[i], queue->owned.of[i]) > 0)
            return i;
    }
    return RESOURCE_GPUS;
}

/* The branch would be within its guarantee with `wanted` added. */
static bool is_within(const struct state *state, uint32_t branch, const struct amounts *used,
                      const struct amounts *wanted)
{
    const struct queue *queue = &state->queues.items[branch];
    uint32_t contested = contested_at(state, branch, wanted);

    return used->of[contested] + wanted->of[contested] <=
           quota_owed(&queue->quota[contested], queue->owned.of[contested]);
}

/* Does it hold any of what is contested, and nothing of a model that its branch is owed? */
static bool may_lose(const struct state *state, uint32_t branch, const struct amounts *used,
                     const struct amounts *held, uint32_t contested)
{
    const struct queue *queue = &state->queues.items[branch];

    for (uint32_t i = RESOURCE_MODELS; i < state->resources.count; i++) {
        if (i != contested && held->of[i] > 0 && queue->quota[i].guarantee > 0 &&
            reclaim_share_borrowed(queue, used, i) == 0)
            return false;
    }
    return held->of[contested] > 0 && reclaim_share_borrowed(queue, used, contested) > 0;
}

enum stop_rule reclaim_rule_of(const struct reclaim_shares_ahead *shares, const struct state *state,
                               uint32_t queue, const struct amounts *wanted, uint32_t other,
                               const struct amounts *held)
{
    struct amounts with, before, after;
    uint32_t a, b;

    if (!find_branches(state, queue, other, &a, &b))
        return STOP_IN_QUEUE;
    uint32_t contested = contested_at(state, a, wanted);
    with = shares->used.items[a];
    before = after = shares->used.items[b];
    if (!may_lose(state, b, &before, held, contested))
        return STOP_IN_QUEUE;
    if (is_within(state, a, &with, wanted))
        return STOP_FOR_GUARANTEE;
    if (!order_is_before(state, &(struct order_claim){ .queue = a, .kind = SHARE_OF_GPUS },
                         &(struct order_claim){ .queue = b, .kind = SHARE_OF_GPUS }))
        return STOP_IN_QUEUE;
    amounts_add(&with, wanted, 1);
    amounts_add(&after, held, -1);
    uint64_t own = reclaim_share_measure(state, a, &with, contested);
    if (own <= reclaim_share_measure(state, b, &after, contested))
        return STOP_FOR_LESS;
    if (!shares->was_fair.items[b] && own < reclaim_share_measure(state, b, &before, contested))
        return STOP_FOR_FAIR;
    return STOP_IN_QUEUE;
}

void reclaim_shares_take(struct reclaim_shares_ahead *shares, const struct state *state,
                         uint32_t queue, uint32_t other, const struct amounts *held,
                         enum stop_rule rule, int sign)
{
    uint32_t a, b;

    assert(queue < state->queues.count && other < state->queues.count);
    for (uint32_t at = other; at != QUEUE_NONE; at = queue_above(state->queues.items, at)) {
        amounts_add(&shares->used.items[at], held, sign);
    }
    if (rule == STOP_FOR_FAIR && find_branches(state, queue, other, &a, &b))
        shares->was_fair.items[b] = sign < 0;
}

bool reclaim_share_is_borrowed(const struct state *state)
{
    for (size_t i = 1; i < state->queues.count; i++) {
        const struct queue *queue = &state->queues.items[i];
        if (reclaim_share_borrowed(queue, &queue->used, RESOURCE_GPUS) > 0)
            return state->queues.count > QUEUE_DEFAULT + 1;
        for (uint32_t k = RESOURCE_MODELS; k < state->resources.count; k++) {
            if (queue->quota[k].guarantee > 0 && reclaim_share_borrowed(queue, &queue->used, k) > 0)
                return true;
        }
    }
    return false;
}

/* The nearest of its queue and those above that says something. */
static usec_t min_runtime_of(const struct state *state, const struct job *job)
{
    for (uint32_t at = job->queue;; at = state->queues.items[at].parent) {
        if (state->queues.items[at].min_runtime > 0 || at == QUEUE_ROOT)
            return state->queues.items[at].min_runtime;
    }
}

/* False: it is protected until then, which is noted. */
static bool is_over(const struct state *state, usec_t protected_until, usec_t *review)
{
    if (protected_until > state->now && protected_until < *review)
        *review = protected_until;
    return protected_until <= state->now;
}

bool victim_may_stop(const struct state *state, const struct job *job, usec_t *review)
{
    usec_t least = min_runtime_of(state, job);
    usec_t cost = job->restart_cost > RECLAIM_LEFT_S * USEC_PER_SEC ? job->restart_cost
                                                                    : RECLAIM_LEFT_S * USEC_PER_SEC;

    least = least > job->restart_cost ? least : job->restart_cost;
    if (!job->is_preemptible || job->state != JOB_RUNNING || job->run->is_cancel_wanted ||
        job->run->is_requeue_wanted || job->run->started < job->run->granted)
        return false;
    return job->run->expected_end - state->now >= cost &&
           is_over(state, usec_after(job->run->started, least), review);
}

bool victim_is_due(const struct state *state, const struct job *job, usec_t *review)
{
    assert(job_is_active(job));
    return is_over(state, usec_after(job->run->started, min_runtime_of(state, job)), review);
}
