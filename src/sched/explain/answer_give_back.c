/* SPDX-License-Identifier: Apache-2.0 */
/* What other queues could give back to a waiting job, and why they do not. */
#include "sched/explain/inquiry.h"
#include "sched/ordering/quota_check.h"
#include "sched/preemption/reclaim.h"

void sched_give_back(const struct brain *brain, struct inquiry *inquiry, const struct job *job,
                     struct give_back *ret)
{
    struct brain *own = inquiry_follow(inquiry, brain);
    struct reclaim *reclaim = &own->reclaim;
    const struct state *state = brain->state;
    struct amounts wanted;
    int64_t most = 0;

    *ret = (struct give_back){ .rule = STOP_IN_QUEUE };
    quota_least(state, state_request(state, job), &wanted);
    if (wanted.of[RESOURCE_GPUS] == 0 || !reclaim_share_is_borrowed(state))
        return;
    room_made_count_shares(own, job->id);
    for (struct ends_walk at = ends_first(&brain->ends); at.job; ends_next(&at)) {
        const struct job *other = at.job;
        struct amounts held;
        amounts_of_lease(state, other->run->lease, &held);
        enum stop_rule rule = other->state == JOB_STOPPING
                                  ? STOP_IN_QUEUE
                                  : reclaim_rule_of(&reclaim->shares, state, job->queue, &wanted,
                                                    other->queue, &held);
        int64_t milli = held.of[RESOURCE_GPUS];
        if (rule == STOP_IN_QUEUE)
            continue;
        ret->rule = rule;
        usec_t review = USEC_NEVER;
        if (!other->is_preemptible)
            ret->firm += milli;
        else if (victim_may_stop(state, other, &review))
            ret->could += milli;
        else {
            ret->young += milli;
            if (review != USEC_NEVER && (ret->young_until == 0 || review < ret->young_until))
                ret->young_until = review;
        }
        const struct queue *queue = &state->queues.items[other->queue];
        if (queue->used.of[RESOURCE_GPUS] > most) {
            most = queue->used.of[RESOURCE_GPUS];
            ret->queue = other->queue;
        }
    }
}
