/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/preemption/defrag.h"

#include <assert.h>

#include "sched/brain.h"
#include "sched/capacity/lease_part.h"
#include "sched/grant.h"
#include "sched/job_facts.h"
#include "sched/ordering/quota_check.h"
#include "sched/preemption/reclaim.h"

void defrag_release(struct defrag *defrag)
{
    list_release(&defrag->movers);
    list_release(&defrag->chosen);
    list_release(&defrag->nodes);
    list_release(&defrag->gone);
    list_release(&defrag->soon);
    fleet_release(&defrag->now);
}

/* ---- jobs that are being moved ---- */

bool defrag_is_under_way(const struct brain *brain, const struct job *job)
{
    const struct reclaim *reclaim = &brain->reclaim;

    if (job->is_awaited != AWAITED_FROM_OTHERS || !kept_place_of(&reclaim->made, job->id))
        return false;
    for (size_t i = 0; i < reclaim->made.count; i++) {
        const struct job *other = state_job(brain->state, reclaim->made.items[i].job);
        if (other && job_is_moving(other) && other->run->moved_for == job->id)
            return true;
    }
    return false;
}

/* A job that was moved for it has not started in its new place yet. */
static bool is_waited_for(const struct brain *brain, const struct job *job)
{
    const struct elastic *elastic = &brain->elastic;

    for (size_t i = 0; i < elastic->back.count; i++) {
        if (elastic->back.items[i]->run->moved_for == job->id)
            return true;
    }
    return false;
}

bool defrag_has_moved(const struct brain *brain, const struct job *job)
{
    bool has = false;

    for (const struct job *other = brain->state->first_active; other;
         other = other->run->active_next) {
        if (other->run->moved_for != job->id)
            continue;
        if (job_is_moving(other))
            return false;
        has = true;
    }
    return has && !is_waited_for(brain, job);
}

/* What of it is free in the fleet that looks ahead, as if the job was gone from where it is. The
 * promise is of the moment before now, when a job that is stopped in this plan still holds its
 * devices: they are not there in exchange for those of the place. */
static void keep(struct brain *brain, const struct job *job, const struct lease *place)
{
    struct reserve *reserve = &brain->reserve;
    const struct pending_bucket *bucket = job->pending_bucket;
    usec_t end = bucket ? usec_after(brain->state->now, bucket->most) : USEC_NEVER;
    struct lease part;

    assert(place->members_count > 0);
    if (brain->defrag.kept == 0) {
        reserve_forget(reserve);
        fleet_follow(&reserve->ahead, &brain->fleet);
    }
    if (job_is_active(job))
        fleet_take(&reserve->ahead, job->run->lease, -1);
    if (!fleet_has(&reserve->ahead, place)) {
        lease_part_free(&brain->arena, &reserve->ahead, place, NULL, &part);
        place = &part;
    }
    fleet_take(&reserve->ahead, place, 1);
    promise_add(&reserve->promises, job->id, 0, brain->state->now - 1, end, &reserve->ahead, place);
    brain->defrag.kept++;
}

void defrag_keep(struct brain *brain, enum defrag_kept which)
{
    const struct reclaim *reclaim = &brain->reclaim;
    size_t before = brain->defrag.kept;

    brain->reserve.promises.count = 0;
    brain->defrag.kept = 0;
    LIST_EACH (const struct kept_place, made, &reclaim->made) {
        const struct job *job = state_job(brain->state, made->job);
        bool is_taker = job && job->is_awaited == AWAITED_FROM_OTHERS;
        if ((job && job_is_moving(job)) ||
            (is_taker &&
             (which == KEEP_MADE || is_waited_for(brain, job) || defrag_is_under_way(brain, job))))
            keep(brain, job, made->lease);
    }
    if (before > 0 && brain->defrag.kept == 0)
        reserve_forget(&brain->reserve); /* none of them is to be found again */
}

void defrag_keep_turns(struct brain *brain)
{
    const struct state *state = brain->state;

    for (size_t i = 0; brain->defrag.kept > 0 && i < brain->reclaim.made.count; i++) {
        const struct kept_place *made = &brain->reclaim.made.items[i];
        const struct job *job = state_job(state, made->job);
        if (!job || job->state != JOB_QUEUED || !defrag_is_under_way(brain, job))
            continue;
        for (uint32_t at = job->queue; at != QUEUE_NONE;
             at = queue_above(state->queues.items, at)) {
            int64_t bound = quota_bound(state, at, RESOURCE_GPUS);
            if (bound != QUOTA_NONE)
                reserved_share_keep(&brain->reserved_shares, state, job, bound, at,
                                    made->lease->milli);
        }
    }
}

void defrag_respect(const struct brain *brain, const struct job *job, struct place_query *query)
{
    if (brain->defrag.kept == 0)
        return;
    query->promises = (struct promises *)(uintptr_t)&brain->reserve.promises;
    query->end = usec_after(brain->state->now, job->pending_bucket->most);
}

/* ---- the job for which others move ---- */

/* By every rule but room it could start, as plan_grants will see it. */
static bool is_free_to_start(struct brain *brain, const struct job *job, usec_t end)
{
    const struct state *state = brain->state;
    struct quota_ask ask = quota_ask_of(job);
    struct reserved_share_ask turn = { job->id, job->queue, &ask.amounts, end };
    struct why why = { 0 };

    quota_least(state, state_request(state, job), &ask.amounts);
    if (brain_array_allows(state, job->pending_bucket, &why) &&
        brain_rules_allow(brain, job, &ask, &why))
        return reserved_share_allows(&brain->reserved_shares, state, &turn, &why);
    if (why.kind == WHY_QUOTA && brain_is_possible(brain, job))
        reserved_share_make(&brain->reserved_shares, state, &brain->ends, job, &why);
    return false;
}

/* It will start in this plan: no job has to move for it. */
static bool fits_now(struct relocation *search)
{
    struct brain *brain = search->brain;
    struct place_query query = brain_query(brain, search->job);
    struct lease lease;

    query.promises = search->promises;
    query.end = search->end;
    if (!place_job(&query, &brain->arena, &lease, NULL))
        return false;
    list_add(&brain->defrag.soon, lease);
    return true;
}

/* GPU-time that it would wait; 0: it does not wait for long. It is promised that start. */
static int64_t gain_of(struct relocation *search)
{
    struct brain *brain = search->brain;
    usec_t now = brain->state->now, at;
    struct place_query query = brain_query(brain, search->job);

    if (!reserve_make(&brain->reserve, &query, &brain->ends, search->job->pending_bucket->most, 0,
                      &brain->arena, &at) ||
        (at != USEC_NEVER && at <= now + DEFRAG_WAIT_S * USEC_PER_SEC))
        return 0;
    return relocation_gain_until(search, at);
}

/* Its own promise is the last one, and not in its way. */
static bool search_beside_promises(struct relocation *search)
{
    struct promises *promises = &search->brain->reserve.promises;

    assert(promises->count > 0 && promises->held.items[promises->count - 1].job == search->job->id);
    relocation_look(search);
    relocation_collect(search);
    promises->count--;
    bool is_found = relocation_find(search);
    promises->count++;
    return is_found;
}

/* True: others are moved for it. */
static bool move_for(struct brain *brain, struct job *job, uint32_t *asked,
                     struct decisions *decisions)
{
    struct relocation search;

    run_time_bucket(brain->state, job->pending_bucket);
    relocation_start(&search, brain, job);
    search.promises = &brain->reserve.promises;
    if (job->is_awaited != AWAITED_NOT || search.request->gpu_alternatives == 0 ||
        !is_free_to_start(brain, job, search.end) || fits_now(&search))
        return false;
    relocation_look(&search);
    if (!relocation_is_enough(&search))
        return false;
    search.gain = gain_of(&search);
    if (search.gain == 0)
        return false;
    ++*asked;
    if (search_beside_promises(&search)) {
        relocation_make(&search, decisions);
        return true;
    }
    brain_review(brain, search.later);
    if (search.beyond > 0 && search.beyond <= brain->state->settings.defrag_most)
        brain_review(brain, moves_renew_at(brain->state));
    return false;
}

void plan_moves(struct brain *brain, struct decisions *decisions)
{
    job_list waiting = { 0 };
    uint32_t asked = 0;

    if (brain->state->settings.defrag_most == 0 || brain->pending.count == 0 ||
        brain->preempt.count == 0)
        return;
    brain->defrag.soon.count = 0;
    pending_list_heads(&brain->pending, &waiting);
    for (size_t i = 0; i < waiting.count && i < DEFRAG_LOOKS && asked < DEFRAG_ASKED; i++) {
        if (move_for(brain, waiting.items[i], &asked, decisions))
            break; /* one set at a time: when they have moved, all is looked at again */
    }
    brain->reserved_shares.count = 0;
    defrag_keep(brain, KEEP_MOVING);
    list_release(&waiting);
}
