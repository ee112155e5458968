/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/preemption/reclaim.h"

#include <assert.h>

#include "sched/brain.h"
#include "sched/job_facts.h"

void room_made_tidy(struct reclaim *reclaim, const struct state *state)
{
    for (size_t i = reclaim->made.count; i-- > 0;) {
        const struct job *job = state_job(state, reclaim->made.items[i].job);
        if (!job || (job->is_awaited != AWAITED_FROM_OTHERS && !job_is_back(job)))
            kept_place_drop(&reclaim->made, i);
    }
}

void room_made_forget_back(struct reclaim *reclaim, const struct state *state)
{
    for (size_t i = reclaim->made.count; i-- > 0;) {
        const struct job *job = state_job(state, reclaim->made.items[i].job);
        if (!job || job_is_back(job))
            kept_place_drop(&reclaim->made, i);
    }
}

void room_made_share(struct reclaim *own, const struct reclaim *reclaim, const struct state *state,
                     bool is_forgotten)
{
    kept_places_release(&own->made);
    for (size_t i = 0; i < reclaim->made.count; i++)
        kept_place_set(&own->made, reclaim->made.items[i].job, reclaim->made.items[i].lease);
    if (is_forgotten)
        room_made_forget_back(own, state);
    own->review = reclaim->review;
}

/* ---- when all that stops is gone ---- */

/* What is held, as if the jobs that stop for other queues had ended and the jobs for which they
 * stop had started. */
void room_made_count_shares(struct brain *brain, uint64_t job)
{
    const struct state *state = brain->state;
    struct reclaim_shares_ahead *shares = &brain->reclaim.shares;
    struct amounts amounts;

    reclaim_shares_start(shares, state);
    for (struct ends_walk at = ends_first(&brain->ends); at.job; ends_next(&at)) {
        const struct job *other = at.job;
        bool is_preempted = other->state == JOB_STOPPING &&
                            other->run->stop_cause == STOP_PREEMPT &&
                            other->run->stop_rule != STOP_IN_QUEUE;
        /* It stops, but what it will have then is known. */
        bool is_coming = job_is_active(other) && job_is_back(other) &&
                         kept_place_of(&brain->reclaim.made, other->id);
        if (!is_preempted && !is_coming)
            continue;
        amounts_of_lease(state, other->run->lease, &amounts);
        reclaim_shares_take(shares, state, other->queue, other->queue, &amounts, STOP_IN_QUEUE, -1);
    }
    LIST_EACH (const struct kept_place, made, &brain->reclaim.made) {
        const struct job *other = state_job(state, made->job);
        if (!other || made->job == job ||
            (other->is_awaited != AWAITED_FROM_OTHERS && !job_is_back(other)))
            continue;
        amounts_of_lease(state, made->lease, &amounts);
        reclaim_shares_take(shares, state, other->queue, other->queue, &amounts, STOP_IN_QUEUE, 1);
    }
}

/* The fleet as if the stopping jobs had ended and the jobs for which they stop had started. */
void room_made_look_ahead(struct brain *brain, uint64_t job)
{
    assert(job == 0 || state_job(brain->state, job));
    room_made_count_shares(brain, job);
    fleet_follow(&brain->reclaim.ahead, &brain->fleet);
    for (struct ends_walk at = ends_first(&brain->ends); at.job; ends_next(&at)) {
        if (job_is_leaving(at.job))
            fleet_take(&brain->reclaim.ahead, at.job->run->lease, -1);
    }
    LIST_EACH (const struct kept_place, made, &brain->reclaim.made) {
        if (made->job != job && fleet_has(&brain->reclaim.ahead, made->lease))
            fleet_take(&brain->reclaim.ahead, made->lease, 1);
    }
}

void room_made_take(struct brain *brain, uint64_t job, int sign)
{
    LIST_EACH (const struct kept_place, made, &brain->reclaim.made) {
        const struct job *other = state_job(brain->state, made->job);
        if (other && other->id != job)
            cells_take(&brain->cells, &brain->layout, made->lease,
                       cells_guest_of(&brain->cells, other->queue, other->is_preemptible), sign);
    }
}

/* ---- whether more is needed ---- */

bool room_made_is_under_way(const struct brain *brain, const struct job *job)
{
    for (struct ends_walk at = ends_first(&brain->ends); at.job; ends_next(&at)) {
        const struct job_run *run = at.job->run;
        uint64_t taker = run->stop_cause == STOP_PREEMPT  ? run->stopped_for
                         : run->stop_cause == STOP_RESIZE ? run->resized_for
                         : run->stop_cause == STOP_MOVE   ? run->moved_for
                                                          : 0;
        if (at.job->state == JOB_STOPPING && taker == job->id)
            return true;
    }
    return false;
}

/* When enough GPUs will be free, wherever they are: not before that it starts by itself. What was
 * given up for others is theirs. */
static usec_t earliest(const struct brain *brain, uint64_t job, const struct amounts *wanted)
{
    int64_t free = brain->state->capacity.milli -
                   brain->state->queues.items[QUEUE_ROOT].used.of[RESOURCE_GPUS];

    LIST_EACH (const struct kept_place, made, &brain->reclaim.made) {
        free -= made->job != job ? made->lease->milli : 0;
    }
    if (free >= wanted->of[RESOURCE_GPUS])
        return brain->state->now;
    for (struct ends_walk at = ends_first(&brain->ends); at.job; ends_next(&at)) {
        bool is_healed = at.job->state == JOB_STOPPING && !job_is_leaving(at.job);
        free += is_healed ? 0 : at.job->run->lease->milli;
        if (free >= wanted->of[RESOURCE_GPUS])
            return at.end;
    }
    return USEC_NEVER;
}

bool room_made_is_needed(const struct brain *brain, const struct job *job, usec_t natural,
                         const struct amounts *wanted)
{
    usec_t soon = brain->state->now + RECLAIM_WAIT_S * USEC_PER_SEC;

    return (natural != 0 ? natural : earliest(brain, job->id, wanted)) > soon &&
           !(job->is_awaited && room_made_is_under_way(brain, job));
}

struct member_need member_need_of(const struct request *request, uint32_t alternative)
{
    const struct gpu_ask *ask = &request->gpus[alternative];
    bool is_whole = ask->kind == SHARE_WHOLE;
    uint32_t milli = is_whole ? GPU_MILLI : ask->milli ? ask->milli : 1;

    return (struct member_need){ .milli = (int32_t)(ask->count * milli),
                                 .whole = is_whole ? ask->count : 0,
                                 .cpu_milli = request->cpu_milli,
                                 .memory_mib = request->memory_mib };
}

bool member_need_fits(const struct member_need *need, const struct fleet_node *node,
                      uint32_t members)
{
    return node->milli >= need->milli * (int32_t)members && node->whole >= need->whole * members &&
           node->cpu_milli >= need->cpu_milli * members &&
           node->memory_mib >= need->memory_mib * members;
}
