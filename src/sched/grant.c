/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/grant.h"

#include <assert.h>

#include "base/wide.h"
#include "core/job/gang_size.h"
#include "sched/brain.h"
#include "sched/job_facts.h"
#include "sched/ordering/quota_check.h"
#include "sched/placement/admit.h"

/* ---- what it is charged by ---- */

static uint32_t part(uint64_t amount, uint64_t of)
{
    uint64_t share = of > 0 ? wide_scale(amount, QUEUE_SHARE_ONE, of) : 0;

    return (uint32_t)(share < UINT32_MAX ? share : UINT32_MAX);
}

/* Its shares of the cluster, in parts of 2^20: what it is charged by. GPUs by what they cost. */
static void fill_shares(const struct state *state, struct lease *lease)
{
    const struct capacity *capacity = &state->capacity;
    uint64_t worth = 0;

    for (uint32_t i = 0; i < lease->slices_count; i++)
        worth += wide_scale((uint64_t)state_worth(state, lease->slices[i].device),
                            lease->slices[i].milli, GPU_MILLI);
    lease->shares[SHARE_OF_GPUS] = part(worth, (uint64_t)capacity->worth);
    lease->shares[SHARE_OF_CPUS] = part((uint64_t)lease_cpus(lease), (uint64_t)capacity->cpu_milli);
    lease->shares[SHARE_OF_MEMORY] =
        part((uint64_t)lease_memory(lease), (uint64_t)capacity->memory_mib);
    lease->share = 0;
    for (size_t i = 0; i < SHARES; i++)
        lease->share = lease->shares[i] > lease->share ? lease->shares[i] : lease->share;
}

/* ---- what may be given ---- */

bool brain_array_allows(const struct state *state, const struct pending_bucket *bucket,
                        struct why *why)
{
    const struct group *group = bucket->array ? state_group(state, bucket->array) : NULL;

    if (!group || group->active_count < group->max_running)
        return true;
    *why = (struct why){ .kind = WHY_ARRAY, .job = group->id, .most = group->max_running };
    return false;
}

bool brain_may_take(struct brain *brain, const struct job *job, const struct amounts *amounts,
                    struct why *why)
{
    return time_rules_allow(brain, job, amounts, why) && budget_allows(brain, job, amounts, why);
}

bool brain_rules_allow(struct brain *brain, const struct job *job, const struct quota_ask *ask,
                       struct why *why)
{
    return time_rules_allow(brain, job, &ask->amounts, why) &&
           quota_allows(brain->state, ask, why) && budget_allows(brain, job, &ask->amounts, why);
}

bool brain_may_start(struct brain *brain, const struct job *job, struct why *why)
{
    struct quota_ask ask = quota_ask_of(job);

    *why = (struct why){ .kind = WHY_NONE };
    quota_least(brain->state, state_request(brain->state, job), &ask.amounts);
    return brain_rules_allow(brain, job, &ask, why);
}

bool brain_may_have(struct brain *brain, const struct job *job, const struct lease *lease,
                    struct why *why)
{
    const struct state *state = brain->state;
    struct keepout_ask shut = { job->queue, job->user, state->now,
                                usec_after(state->now, job_stay(job)) };
    struct quota_ask ask = quota_ask_of(job);

    if (!keepouts_allow(&brain->keepouts, state, &brain->layout, &shut, lease, why))
        return false;
    amounts_of_lease(state, lease, &ask.amounts);
    return brain_rules_allow(brain, job, &ask, why);
}

/* One answer for a class and a plan. Room only gets less while a plan goes on, so a "no" stays; a
 * "yes" is looked at again when its turn comes. */
bool brain_fits_somewhere(struct brain *brain, const struct pending_bucket *bucket)
{
    while (brain->fits.count <= bucket->class)
        list_add(&brain->fits, 0);
    uint64_t *fits = &brain->fits.items[bucket->class];
    if (*fits / 2 != brain->plans || brain->layout.has_static_pools) {
        struct place_query query = brain_query(brain, bucket->first);
        *fits = 2 * brain->plans + place_may_fit(&query);
    }
    return *fits % 2 != 0;
}

bool brain_needs_node(const struct brain *brain, const struct pending_bucket *bucket)
{
    const struct state *state = brain->state;
    const struct request *request = state_request(state, bucket->first);
    const struct gpu_ask *ask = &request->gpus[0];
    uint32_t slots = 0, most = 0;

    if (request->members > 1 || request->gpu_alternatives == 0 || ask->kind != SHARE_WHOLE ||
        ask->count < 2)
        return false;
    LIST_EACH (const struct layout_kind, kind, &brain->layout.kinds) {
        if (!device_is_asked_for(ask, &state->devices.items[kind->device]))
            continue;
        slots += kind->slots;
        most = kind->most > most ? kind->most : most;
    }
    return slots > most && 2 * ask->count > most;
}

/* For one that fits no node, or is beyond its limit or its pool's size now, nothing must be kept:
 * its turn would never be over. */
bool brain_is_possible(struct brain *brain, const struct job *job)
{
    const struct why *why = admissions_ask(&brain->admissions, brain->state, job);

    return !why_is_never(why->kind) && !why_is_of_pool(why->kind) && why->kind != WHY_UNUSABLE;
}

void brain_grant(struct brain *brain, struct job *job, struct lease *lease, uint8_t tier,
                 struct decisions *decisions)
{
    assert(job->state == JOB_QUEUED && lease->members_count > 0);
    fill_shares(brain->state, lease);
    struct event grant = {
        .kind = EVENT_GRANT,
        .at = brain->state->now,
        .grant = { .job = job->id,
                   .attempt = job->run->attempt + 1,
                   .lease = *lease,
                   .is_backfill = brain->reserve.promises.count > brain->defrag.kept,
                   .tier = tier },
    };
    run_time_bucket(brain->state, job->pending_bucket);
    usec_t here = job->pending_bucket->has_speeds ? run_time_on(brain->state, job, lease) : 0;
    job_claim_run(job)->window = here > 0 ? here : job->pending_bucket->most;
    job_claim_run(job)->usual = here > 0 ? here : job->pending_bucket->usual;
    struct amounts amounts;
    amounts_of_lease(brain->state, lease, &amounts);
    budget_take(brain, job, &amounts);
    promise_end(&brain->reserve.promises, &brain->layout, job->id);
    brain_decide(brain, &grant, decisions);
    brain->ranker.grants++;
}

/* ---- where ---- */

/* Was it what reservations keep? */
static void name_reservation(struct brain *brain, const struct job *job, struct place_query *query,
                             struct why *why)
{
    struct keepout_ask ask = { job->queue, job->user, query->from,
                               usec_after(query->from, query->stay) };
    const struct keepouts *keepouts = query->keepouts;
    struct lease lease;

    query->keepouts = NULL;
    bool is_kept =
        keepouts && why_lacks_room(why->kind) && place_job(query, &brain->arena, &lease, NULL);
    query->keepouts = keepouts;
    if (is_kept)
        keepouts_allow(keepouts, brain->state, &brain->layout, &ask, &lease, why);
}

/* It asks for no more than a cell that its queue is guaranteed: no promise keeps it from it. A cell
 * is for jobs that are never stopped; others would take what is kept for the job that they were
 * stopped for. */
static bool is_its_own_cell(const struct brain *brain, const struct job *job,
                            const struct request *request)
{
    uint32_t owner = cells_guest_of(&brain->cells, job->queue, job->is_preemptible).owner;

    return owner != 0 && !job->is_preemptible &&
           cells_own_kind(&brain->cells, owner, request) != CELLS_NONE;
}

/* Find a place beside the promises; if there is none, say what is missing. */
static bool try_place(struct brain *brain, const struct job *job, const struct request *request,
                      usec_t end, struct lease *ret_lease, struct why *why)
{
    struct promises *promises = &brain->reserve.promises;
    struct place_query query = brain_query(brain, job);
    struct why without;

    query.request = request;
    query.promises = is_its_own_cell(brain, job, request) ? NULL : promises;
    query.end = end;
    promise_set_own(promises, &brain->layout, job->id);
    bool is_placed = place_job(&query, &brain->arena, ret_lease, why);
    uint64_t holder = promise_holder(promises, end);
    promise_set_own(promises, &brain->layout, 0);
    if (is_placed)
        return true;
    name_reservation(brain, job, &query, why);
    if (why->kind == WHY_RESERVATION)
        return false;
    bool is_simple = query.request->members == 1 && !brain->layout.has_bounds &&
                     (query.labels | query.apart) == 0;
    query.promises = NULL;
    if (holder != 0 && why_lacks_room(why->kind) && is_simple && place_may_fit(&query))
        *why = (struct why){ .kind = WHY_RESERVED, .job = holder };
    else if (holder != 0 && !is_simple && place_job(&query, &brain->arena, ret_lease, &without))
        *why = (struct why){ .kind = WHY_RESERVED, .job = holder };
    else if (holder != 0 && !is_simple)
        *why = without;
    return false;
}

/* ---- all of it ---- */

/* A job with a number of members that is tried. */
struct trial {
    struct brain *brain;
    struct job *job;
    usec_t end;
    struct quota_ask ask;
    struct lease lease; /* of the last that fits */
    struct why why;
};

/* Within quota, beside the reserved shares of other jobs, and in a place beside the promises. */
static bool try_request(struct trial *trial, const struct request *request)
{
    struct brain *brain = trial->brain;
    struct reserved_share_ask turn = { trial->job->id, trial->job->queue, &trial->ask.amounts,
                                       trial->end };
    struct lease lease;

    quota_least(brain->state, request, &trial->ask.amounts);
    if (!brain_rules_allow(brain, trial->job, &trial->ask, &trial->why) ||
        !reserved_share_allows(&brain->reserved_shares, brain->state, &turn, &trial->why) ||
        !try_place(brain, trial->job, request, trial->end, &lease, &trial->why))
        return false;
    amounts_of_lease(brain->state, &lease, &trial->ask.amounts);
    /* What it would get may be more than the least that it asks for, or of another model. */
    if (!brain_may_take(brain, trial->job, &trial->ask.amounts, &trial->why) ||
        !reserved_share_allows(&brain->reserved_shares, brain->state, &turn, &trial->why))
        return false;
    trial->lease = lease;
    return true;
}

static bool try_members(void *user, uint32_t members)
{
    struct trial *trial = user;
    struct request sized;

    request_resize(state_request(trial->brain->state, trial->job), members, &sized);
    return try_request(trial, &sized);
}

/* One that comes back has no more than it was stopped for. */
static uint32_t members_most(const struct job *job, const struct request *request)
{
    return job->is_awaited == AWAITED_BACK && job->run->members_next > 0 ? job->run->members_next
                                                                         : request_most(request);
}

bool brain_try_grant(struct brain *brain, struct job *job, uint8_t tier,
                     struct decisions *decisions, struct why *why)
{
    struct state *state = brain->state;
    const struct pending_bucket *bucket = job->pending_bucket;
    const struct request *request = state_request(state, job);
    struct trial trial = { .brain = brain,
                           .job = job,
                           .end = usec_after(state->now, bucket->most),
                           .ask = quota_ask_of(job) };

    assert(job->state == JOB_QUEUED && bucket->count > 0);
    *why = (struct why){ .kind = WHY_NONE };
    if (!brain_array_allows(state, bucket, why))
        return false;
    if (!try_request(&trial, request)) {
        *why = trial.why;
        if (why->kind == WHY_QUOTA && brain_is_possible(brain, job))
            reserved_share_make(&brain->reserved_shares, state, &brain->ends, job, why);
        if (why->kind == WHY_QUOTA)
            time_rules_name_window(state, why);
        return false;
    }
    if (request_is_elastic(request))
        request_search(request, request->members, members_most(job, request), try_members, &trial);
    amounts_of_lease(state, &trial.lease, &trial.ask.amounts);
    reserved_share_take(&brain->reserved_shares, state, job->queue, &trial.ask.amounts, trial.end);
    brain_grant(brain, job, &trial.lease, tier, decisions);
    return true;
}
