/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/preemption/resize.h"

#include <assert.h>

#include "core/cluster/label.h"
#include "core/job/gang_size.h"
#include "sched/brain.h"
#include "sched/capacity/lease_part.h"
#include "sched/capacity/pool_limit.h"
#include "sched/grant.h"
#include "sched/job_facts.h"
#include "sched/ordering/quota_check.h"
#include "sched/preemption/reclaim.h"

void elastic_release(struct elastic *elastic)
{
    list_release(&elastic->active);
    list_release(&elastic->back);
}

/* ---- the lists of gangs ---- */

/* Where the job is in a list that is sorted by id, or would be. */
static size_t find_place(struct job *const *items, size_t count, uint64_t id)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (items[middle]->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void keep_in(job_list *list, struct job *job, bool is_wanted)
{
    size_t at = find_place(list->items, list->count, job->id);
    bool is_in = at < list->count && list->items[at] == job;

    if (is_in && !is_wanted)
        list_remove(list, at);
    else if (!is_in && is_wanted)
        list_insert(list, at, job);
}

void elastic_note(struct elastic *elastic, const struct state *state, struct job *job, bool is_gone)
{
    bool is_active = !is_gone && job_is_active(job);
    bool is_coming = !is_gone && job->state == JOB_QUEUED && job->is_awaited == AWAITED_BACK;

    if (request_is_elastic(state_request(state, job)) && job->resize == RESIZE_RESTART)
        keep_in(&elastic->active, job, is_active);
    if (is_coming || elastic->back.count > 0)
        keep_in(&elastic->back, job, is_coming);
}

/* ---- those that come back ---- */

/* Is all of it free? Members of one node are counted together. */
static bool is_free(struct brain *brain, const struct lease *lease)
{
    struct fleet *ahead = &brain->reclaim.ahead;
    struct lease part;

    fleet_follow(ahead, &brain->fleet);
    for (uint32_t rank = 0; rank < lease->members_count; rank++) {
        lease_part_range(lease, rank, 1, &brain->arena, &part);
        if (!fleet_has(ahead, &part))
            return false;
        fleet_take(ahead, &part, 1);
    }
    return true;
}

/* What pools allow and are promised; where it was just put. */
static bool pools_allow(const struct brain *brain, const struct lease *lease)
{
    const struct fleet *ahead = &brain->reclaim.ahead;
    struct why why;

    for (uint32_t i = 0; i < lease->slices_count; i++) {
        uint32_t pool = lease->slices[i].pool;
        if ((i == 0 || pool != lease->slices[i - 1].pool) &&
            !pool_limit_allows(brain->state, ahead, pool, lease->slices, lease->slices_count, true,
                               &why))
            return false;
    }
    return true;
}

/* A device may have become faulty since, or lost a label. */
static bool is_well(const struct state *state, const struct request *request,
                    const struct lease *lease)
{
    bool is = true;

    for (uint32_t i = 0; i < lease->members_count; i++)
        is = is && node_is_usable(&state->nodes.items[lease->members[i].node]);
    for (uint32_t i = 0; i < lease->slices_count && is; i++) {
        const struct device *device = &state->devices.items[lease->slices[i].device];
        is = device_is_usable(state, device) &&
             where_holds(request->where, request->where_count, &state->nodes.items[device->node],
                         device);
    }
    return is;
}

static bool take_kept(struct brain *brain, struct job *job, struct decisions *decisions)
{
    const struct lease *kept = kept_place_of(&brain->reclaim.made, job->id);
    struct lease lease;
    struct why why;

    assert(job->state == JOB_QUEUED);
    if (!kept || kept->members_count != job->run->members_next || !is_free(brain, kept) ||
        !is_well(brain->state, state_request(brain->state, job), kept) ||
        !pools_allow(brain, kept) || !brain_may_have(brain, job, kept, &why))
        return false;
    lease_part_range(kept, 0, kept->members_count, &brain->arena, &lease);
    brain_grant(brain, job, &lease, 0, decisions);
    return true;
}

/* Also where the job was to start for which it was moved. */
static bool try_anywhere(struct brain *brain, struct job *job, struct decisions *decisions,
                         struct why *why)
{
    struct promises *promises = &brain->reserve.promises;
    size_t count = promises->count;

    promises->count = 0;
    bool is_granted = count > 0 && brain_try_grant(brain, job, 0, decisions, why);
    promises->count = count;
    return is_granted;
}

void plan_back(struct brain *brain, struct decisions *decisions)
{
    struct elastic *elastic = &brain->elastic;
    struct why why;

    elastic->review = USEC_NEVER;
    for (size_t i = 0; i < elastic->back.count;) {
        struct job *job = elastic->back.items[i];
        run_time_bucket(brain->state, job->pending_bucket);
        if (!take_kept(brain, job, decisions) && !brain_try_grant(brain, job, 0, decisions, &why) &&
            !try_anywhere(brain, job, decisions, &why)) {
            job->pending_bucket->why = why;
            i++; /* else it has left the list */
        }
    }
}

static bool finds_no_room(struct brain *brain, const struct job *job)
{
    struct quota_ask ask = quota_ask_of(job);
    struct place_query query = brain_query(brain, job);
    struct lease lease;
    struct why why;

    quota_least(brain->state, query.request, &ask.amounts);
    return quota_allows(brain->state, &ask, &why) &&
           !place_job(&query, &brain->arena, &lease, NULL);
}

void plan_shrinks(struct brain *brain, struct decisions *decisions)
{
    job_list waiting = { 0 };

    if (brain->elastic.active.count == 0 || brain->pending.count == 0)
        return;
    pending_list_heads(&brain->pending, &waiting);
    for (size_t i = 0, tries = 0; i < waiting.count && tries < ELASTIC_TRIES; i++) {
        struct job *job = waiting.items[i];
        if (job->is_awaited > AWAITED_IN_QUEUE || !finds_no_room(brain, job))
            continue;
        tries++;
        shrink_for(brain, job, 0, decisions);
    }
    list_release(&waiting);
}

/* ---- growing ---- */

/* Whether a job waits for what a gang of this queue would grow into. */
static bool is_contended(const struct brain *brain, uint32_t queue)
{
    const struct state *state = brain->state;

    LIST_EACH (const struct pending_queue, pending, &brain->pending.queues) {
        for (size_t k = 0; k < pending->buckets.count; k++) {
            const struct why *why = &pending->buckets.items[k]->why;
            if (why_is_never(why->kind) || why->kind == WHY_ARRAY)
                continue;
            if (!why_is_of_quota(why->kind) && why->kind != WHY_TURN)
                return true;
            if (state_is_below(state, queue, why->queue))
                return true;
        }
    }
    return false;
}

/* A gang that comes back counts with what is kept for it, instead of what it holds. Other stopping
 * jobs still count as running. */
static void look_ahead(struct brain *brain)
{
    struct reclaim *reclaim = &brain->reclaim;

    fleet_follow(&reclaim->ahead, &brain->fleet);
    LIST_EACH (const struct kept_place, made, &reclaim->made) {
        const struct job *job = state_job(brain->state, made->job);
        if (job && job_is_active(job) && job_is_back(job))
            fleet_take(&reclaim->ahead, job->run->lease, -1);
        if (job && (job_is_active(job) ? job_is_back(job) : job->is_awaited) &&
            fleet_has(&reclaim->ahead, made->lease))
            fleet_take(&reclaim->ahead, made->lease, 1);
    }
}

struct growth {
    struct brain *brain;
    struct job *job;
    const struct request *request;
    struct lease lease; /* the largest that was found */
};

/* A place for so many members, what it holds itself counted as free. */
static bool fits_ahead(void *user, uint32_t members)
{
    struct growth *growth = user;
    struct brain *brain = growth->brain;
    const struct job *job = growth->job;
    struct quota_ask ask = quota_ask_of(job);
    struct place_query query =
        brain_query_ahead(brain, job, &brain->reclaim.ahead, PLACE_QUOTA_EVER);
    struct request sized;
    struct amounts held;
    struct lease lease;
    struct why why;

    request_resize(growth->request, members, &sized);
    query.request = &sized;
    if (!place_job(&query, &brain->arena, &lease, NULL))
        return false;
    amounts_of_lease(brain->state, &lease, &ask.amounts);
    amounts_of_lease(brain->state, job->run->lease, &held);
    for (size_t i = 0; i < RESOURCES_MAX; i++)
        ask.amounts.of[i] -= held.of[i] < ask.amounts.of[i] ? held.of[i] : ask.amounts.of[i];
    if (!quota_allows(brain->state, &ask, &why))
        return false;
    growth->lease = lease;
    return true;
}

static bool is_worth_it(struct brain *brain, const struct job *job, uint32_t members)
{
    uint32_t old = job->run->lease->members_count;
    usec_t now = brain->state->now, end = job->run->expected_end;
    usec_t left = job_left(job, now) > 0 ? job_left(job, now)
                  : end == USEC_NEVER    ? USEC_NEVER
                                         : end - now;

    if (left != USEC_NEVER &&
        left / members * (members - old) < ELASTIC_GAIN_LEAST * job_restart_cost(job))
        return false;
    usec_t at = job_old_enough_at(job, now);
    if (at > 0 && at < brain->elastic.review)
        brain->elastic.review = at;
    return at == 0;
}

static void grow(struct brain *brain, struct job *job, struct decisions *decisions)
{
    struct growth growth = { .brain = brain, .job = job };
    const struct lease *held = job->run->lease;

    growth.request = state_request(brain->state, job);
    fleet_take(&brain->reclaim.ahead, held, -1);
    uint32_t members = request_search(growth.request, held->members_count,
                                      request_most(growth.request), fits_ahead, &growth);
    assert(job_is_settled(job) && members >= held->members_count);
    bool is_growing = members > held->members_count && is_worth_it(brain, job, members);
    fleet_take(&brain->reclaim.ahead, is_growing ? &growth.lease : held, 1);
    if (is_growing)
        shrink_resize(brain, job, &growth.lease, 0, 0, decisions);
}

void plan_grows(struct brain *brain, struct decisions *decisions)
{
    struct elastic *elastic = &brain->elastic;
    size_t count = elastic->active.count;
    struct job **jobs;

    if (count == 0)
        return;
    jobs = arena_take(&brain->arena, count, sizeof(*jobs));
    mem_copy(jobs, elastic->active.items, count * sizeof(*jobs));
    mem_sort(jobs, count, sizeof(*jobs), job_compare_priority);
    look_ahead(brain);
    for (size_t i = 0; i < count; i++) {
        const struct request *request = state_request(brain->state, jobs[i]);
        if (job_is_settled(jobs[i]) && jobs[i]->run->lease->members_count < request_most(request) &&
            !is_contended(brain, jobs[i]->queue))
            grow(brain, jobs[i], decisions);
    }
}
