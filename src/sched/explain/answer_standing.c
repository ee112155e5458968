/* SPDX-License-Identifier: Apache-2.0 */
/* Where a queue stands: what it wants, gets, lends, borrows and can claim. */
#include "sched/explain/inquiry.h"
#include "sched/ordering/fair_share.h"
#include "sched/ordering/quota_check.h"
#include "sched/preemption/reclaim.h"

/* What jobs of this queue could take back from others now, one after the other; milli-GPUs. */
static int64_t claimable(struct brain *brain, uint32_t queue, int64_t most)
{
    struct reclaim *reclaim = &brain->reclaim;
    const struct state *state = brain->state;
    const struct amounts wanted = { .of = { [RESOURCE_GPUS] = GPU_MILLI } };
    usec_t review = USEC_NEVER;
    int64_t sum = 0;

    if (!reclaim_share_is_borrowed(state))
        return 0;
    room_made_count_shares(brain, 0);
    for (struct ends_walk at = ends_first(&brain->ends); at.job && sum < most; ends_next(&at)) {
        const struct job *job = at.job;
        struct amounts held, taken = { 0 };
        amounts_of_lease(state, job->run->lease, &held);
        enum stop_rule rule =
            reclaim_rule_of(&reclaim->shares, state, queue, &wanted, job->queue, &held);
        if (rule == STOP_IN_QUEUE || !victim_may_stop(state, job, &review))
            continue;
        taken.of[RESOURCE_GPUS] = held.of[RESOURCE_GPUS];
        reclaim_shares_take(&reclaim->shares, state, queue, job->queue, &held, rule, -1);
        reclaim_shares_take(&reclaim->shares, state, job->queue, queue, &taken, STOP_IN_QUEUE, 1);
        sum += held.of[RESOURCE_GPUS];
    }
    return sum < most ? sum : most;
}

/* The least that its bound and those above leave it; INT64_MAX: no bound. */
static int64_t left_of(const struct state *state, uint32_t queue)
{
    int64_t least = INT64_MAX;

    for (uint32_t at = queue; at != QUEUE_NONE; at = queue_above(state->queues.items, at)) {
        int64_t bound = quota_bound(state, at, RESOURCE_GPUS);
        int64_t left = bound - state->queues.items[at].used.of[RESOURCE_GPUS];
        if (bound != QUOTA_NONE && left < least)
            least = left > 0 ? left : 0;
    }
    return least;
}

void sched_standing(const struct brain *brain, struct inquiry *inquiry, struct queue_standing *ret)
{
    struct brain *own = inquiry_follow(inquiry, brain);
    const struct state *state = brain->state;
    const struct queue *root = &state->queues.items[QUEUE_ROOT];
    int64_t free = state->capacity.milli - root->used.of[RESOURCE_GPUS];
    struct fair fair = { 0 };

    free = free > 0 ? free : 0;
    fair_divide(&fair, state, &brain->pending);
    for (uint32_t i = 0; i < state->queues.count; i++) {
        const struct queue *queue = &state->queues.items[i];
        int64_t unused = fair_owed(state, i) - queue->used.of[RESOURCE_GPUS];
        int64_t most = left_of(state, i), taken = 0;
        if (i != QUEUE_ROOT && !queue->is_removed && most > free)
            taken = claimable(own, i, most - free);
        ret[i] = (struct queue_standing){
            .wanted = fair.queues.items[i].wanted_milli,
            .fair = fair.queues.items[i].fair_milli,
            .borrowed =
                i == QUEUE_ROOT ? 0 : reclaim_share_borrowed(queue, &queue->used, RESOURCE_GPUS),
            .lent = unused > free ? unused - free : 0,
            .claim = most < free ? most : free + taken,
        };
    }
    fair_release(&fair);
}
