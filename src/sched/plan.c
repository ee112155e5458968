/* SPDX-License-Identifier: Apache-2.0 */
/* A plan: first those that must be stopped, then, in order, those that may start. */
#include <stdlib.h>
#include <string.h>

#include "sched/brain.h"

static int compare_ids(const void *a, const void *b)
{
    uint64_t left, right;

    memcpy(&left, a, sizeof(left));
    memcpy(&right, b, sizeof(right));
    return (left > right) - (left < right);
}

void plan_stops(struct brain *brain, struct decisions *decisions)
{
    struct state *state = brain->state;
    uint64_t id;

    while (deadline_take(&brain->deadlines, state->now, &id)) {
        struct job *job = state_job(state, id);
        if (job && job_is_active(job))
            brain_watch(brain, job);
    }
    if (brain->attention.count == 0)
        return;
    qsort(brain->attention.items, brain->attention.count, sizeof(uint64_t), compare_ids);
    for (size_t i = 0; i < brain->attention.count; i++) {
        struct job *job = state_job(state, brain->attention.items[i]);
        if (!job)
            continue;
        job->wants_attention = false;
        enum stop_cause cause = brain_stop_wanted(state, job);
        if (cause == STOP_NONE)
            continue;
        struct event stop = { .kind = EVENT_STOP,
                              .at = state->now,
                              .stop = { .job = job->id, .cause = (uint8_t)cause } };
        brain_decide(brain, &stop, decisions);
    }
    brain->attention.count = 0;
}

/* Largest of its shares of the cluster, in parts of 2^20: what it is charged by. */
static uint32_t dominant_share(const struct state *state, const struct lease *lease)
{
    int64_t parts[][2] = {
        { lease->milli, state->capacity.milli },
        { lease->cpu_milli * lease->members_count, state->capacity.cpu_milli },
        { lease->memory_mib * lease->members_count, state->capacity.memory_mib },
    };
    int64_t largest = 0;

    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        int64_t share = parts[i][1] > 0 ? parts[i][0] * QUEUE_SHARE_ONE / parts[i][1] : 0;
        largest = share > largest ? share : largest;
    }
    return (uint32_t)(largest < UINT32_MAX ? largest : UINT32_MAX);
}

static int64_t least_milli(const struct request *request)
{
    int64_t least = 0;

    for (uint32_t i = 0; i < request->gpu_alternatives; i++) {
        const struct gpu_ask *ask = &request->gpus[i];
        int64_t milli = (int64_t)(ask->milli ? ask->milli : 1) * ask->count * request->members;
        least = i == 0 || milli < least ? milli : least;
    }
    return least;
}

static bool array_allows(const struct state *state, const struct pending_bucket *bucket,
                         struct why *why)
{
    const struct group *group = bucket->array ? state_group(state, bucket->array) : NULL;

    if (!group || group->active_count < group->max_running)
        return true;
    *why = (struct why){ .kind = WHY_ARRAY, .job = group->id, .most = group->max_running };
    return false;
}

static usec_t end_if_started_now(const struct state *state, const struct job *job)
{
    return job->max_duration >= USEC_NEVER - state->now ? USEC_NEVER
                                                        : state->now + job->max_duration;
}

/* One answer for a class and a plan. Room only gets less while a plan goes on, so a "no" stays; a
 * "yes" is looked at again when its turn comes. */
static bool fits_somewhere(void *user, const struct pending_bucket *bucket)
{
    struct brain *brain = user;
    struct place_query query;

    while (brain->fits.count <= bucket->class)
        list_add(&brain->fits, 0);
    uint64_t *fits = &brain->fits.items[bucket->class];
    if (*fits / 2 != brain->plans || brain->layout.has_static_pools) {
        brain_query(brain, bucket->first, &query);
        *fits = 2 * brain->plans + place_may_fit(&query);
    }
    return *fits % 2 != 0;
}

static void promise_start(struct brain *brain, const struct job *job, struct why *why)
{
    struct place_query query;
    usec_t at;

    if (why_is_never(why->kind) || why->kind == WHY_QUOTA ||
        brain->reserve.promises.count >= brain->state->settings.backfill_depth)
        return;
    brain_query(brain, job, &query);
    if (reserve_make(&brain->reserve, &query, &brain->ends, job->max_duration, &brain->arena, &at))
        why->at = at;
}

static bool try_place(struct brain *brain, const struct job *job, usec_t end,
                      struct lease *ret_lease, struct why *why)
{
    struct promises *promises = &brain->reserve.promises;
    struct place_query query;
    struct why without;

    brain_query(brain, job, &query);
    if (brain->order.was_stuck) {
        *why = (struct why){ .kind = query.request->gpu_alternatives ? WHY_GPUS : WHY_CPUS };
        promise_start(brain, job, why);
        return false;
    }
    query.promises = promises;
    query.end = end;
    if (place_job(&query, &brain->arena, ret_lease, why))
        return true;
    uint64_t holder = promise_holder(promises, end);
    query.promises = NULL;
    if (holder != 0 && place_job(&query, &brain->arena, ret_lease, &without))
        *why = (struct why){ .kind = WHY_RESERVED, .job = holder };
    else {
        *why = holder != 0 ? without : *why;
        promise_start(brain, job, why);
    }
    return false;
}

static bool try_grant(struct brain *brain, struct pending_bucket *bucket,
                      struct decisions *decisions, struct why *why)
{
    struct state *state = brain->state;
    struct job *job = bucket->first;
    int64_t least = least_milli(state_request(state, job));
    usec_t end = end_if_started_now(state, job);
    struct lease lease;

    *why = (struct why){ .kind = WHY_NONE };
    if (!array_allows(state, bucket, why) || !order_quota_allows(state, job->queue, least, why) ||
        !turn_allows(&brain->turns, state, job->queue, least, end, why) ||
        !try_place(brain, job, end, &lease, why)) {
        if (why->kind == WHY_QUOTA)
            turn_make(&brain->turns, state, &brain->ends, job, why);
        return false;
    }

    lease.share = dominant_share(state, &lease);
    struct event grant = {
        .kind = EVENT_GRANT,
        .at = state->now,
        .grant = { .job = job->id,
                   .attempt = job->attempt + 1,
                   .lease = lease,
                   .is_backfill = brain->reserve.promises.count > 0 },
    };
    turn_take(&brain->turns, state, job->queue, lease.milli, end);
    brain_decide(brain, &grant, decisions);
    return true;
}

static bool is_about_room(enum why_kind kind)
{
    return kind == WHY_GPUS || kind == WHY_CPUS || kind == WHY_MEMORY;
}

/* What is left when nobody else can start: those that found no room, without a promise. */
static void explain_stuck(struct brain *brain)
{
    for (size_t i = 0; i < brain->order.lines.count; i++) {
        const struct order_line *line = &brain->order.lines.items[i];
        for (size_t k = 0; k < line->stuck.count; k++)
            line->stuck.items[k].bucket->why = (struct why){ .kind = WHY_GPUS };
    }
}

void plan_grants(struct brain *brain, struct decisions *decisions)
{
    struct state *state = brain->state;
    uint32_t depth = state->settings.backfill_depth;
    uint64_t stopped_by = 0; /* without backfill: the job that nobody may pass */

    if (brain->pending.count == 0)
        return;
    brain->plans++;
    reserve_start(&brain->reserve);
    brain->turns.held.count = 0;
    order_start(&brain->order, state, &brain->ranker, &brain->pending, fits_somewhere, brain);
    for (;;) {
        bool with_stuck = depth == 0 || brain->reserve.promises.count < depth;
        struct pending_bucket *bucket = order_next(&brain->order, with_stuck);
        if (!bucket)
            break;
        if (stopped_by != 0) {
            bucket->why = (struct why){ .kind = WHY_BEHIND, .job = stopped_by };
            order_block(&brain->order);
            continue;
        }
        bool was_last = bucket->count == 1;
        struct why why;
        if (try_grant(brain, bucket, decisions, &why)) {
            order_served(&brain->order, was_last);
            continue;
        }
        bucket->why = why;
        order_block(&brain->order);
        if (depth == 0 && is_about_room(why.kind))
            stopped_by = bucket->first->id;
    }
    explain_stuck(brain);
}
