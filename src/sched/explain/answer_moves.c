/* SPDX-License-Identifier: Apache-2.0 */
/* Whether moving other jobs would make room for one that waits. */
#include "sched/explain/inquiry.h"
#include "sched/job_facts.h"
#include "sched/preemption/defrag.h"

static uint32_t count_moving(const struct state *state, const struct reclaim *reclaim, uint64_t id)
{
    uint32_t count = 0;

    for (size_t i = 0; i < reclaim->made.count; i++) {
        const struct job *other = state_job(state, reclaim->made.items[i].job);
        count += (other && job_is_moving(other)) && other->run->moved_for == id;
    }
    return count;
}

/* As a plan would look for a set, but beside nobody's promise. */
static void ask_for(struct brain *brain, const struct job *job, struct moves_ask *ret)
{
    const struct state *state = brain->state;
    usec_t at = job->pending_bucket->why.at;
    struct relocation search;

    relocation_start(&search, brain, job);
    if (search.request->gpu_alternatives == 0 ||
        (at > 0 && at <= state->now + DEFRAG_WAIT_S * USEC_PER_SEC))
        return;
    brain->defrag.soon.count = 0;
    relocation_look(&search);
    if (!relocation_is_enough(&search))
        return;
    if (at > 0)
        search.gain = relocation_gain_until(&search, at);
    relocation_collect(&search);
    bool is_found = relocation_find(&search);
    relocation_drop(&search);
    if (is_found)
        return; /* the next plan does it */
    if (search.beyond > 0) {
        bool is_ever = search.beyond <= state->settings.defrag_most;
        *ret = (struct moves_ask){ MOVES_OVER, 0, search.beyond, moves_left(state, state->now),
                                   is_ever ? moves_renew_at(state) : 0 };
    } else if (search.later != USEC_NEVER) {
        *ret = (struct moves_ask){ .answer = MOVES_LATER, .at = search.later };
    }
}

void sched_moves(const struct brain *brain, struct inquiry *inquiry, const struct job *job,
                 struct moves_ask *ret)
{
    *ret = (struct moves_ask){ .answer = MOVES_NONE };
    if (job->state != JOB_QUEUED || brain->state->settings.defrag_most == 0)
        return;
    if (defrag_is_under_way(brain, job))
        *ret = (struct moves_ask){
            .answer = MOVES_UNDER_WAY,
            .jobs = count_moving(brain->state, &brain->reclaim, job->id),
        };
    else if (job->is_awaited == AWAITED_NOT)
        ask_for(inquiry_follow(inquiry, brain), job, ret);
}
