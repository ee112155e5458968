/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/sched.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sched/deadline.h"
#include "sched/order.h"
#include "sched/pending.h"
#include "sched/place.h"
#include "sched/reserve.h"
#include "sched/turn.h"

struct brain {
    struct state *state;
    struct pending pending;
    struct order order;
    struct reserve reserve;
    struct turns turns;
    struct deadlines deadlines;
    LIST(struct job *) active; /* hold resources, in any order */
    LIST(uint64_t) attention;  /* active jobs that may have to be stopped */
    struct arena arena;        /* of the plan */
    struct room scratch;
    bool is_dirty; /* something happened that may let a job start or stop */
};

static void update_active(struct brain *brain, struct job *job, bool is_active)
{
    if (is_active && job->active_place == 0) {
        list_add(&brain->active, job);
        job->active_place = (uint32_t)brain->active.count;
    } else if (!is_active && job->active_place != 0) {
        struct job *moved = brain->active.items[--brain->active.count];
        brain->active.items[job->active_place - 1] = moved;
        moved->active_place = job->active_place;
        job->active_place = 0;
    }
}

/* Its time limit counts from its grant until it runs, then from its start. */
static bool has_deadline(const struct job *job)
{
    return job->state == JOB_GRANTED || job->state == JOB_RUNNING;
}

static enum stop_cause stop_wanted(const struct state *state, const struct job *job)
{
    if (!has_deadline(job))
        return STOP_NONE;
    if (job->is_cancel_wanted)
        return STOP_CANCEL;
    if (job->is_requeue_wanted)
        return STOP_REQUEUE;
    if (job->end.kind != 0 &&
        (job->end.kind != ENGINE_ENDED || job->end.exit_code != 0 || job->end.signal != 0))
        return STOP_MEMBER;
    if (reserve_end_of(state, job) <= state->now) /* also of one that never came to run */
        return STOP_TIMEOUT;
    return STOP_NONE;
}

/* Jobs that ended long before their limits: their deadlines must not pile up. */
static void forget_deadlines(struct brain *brain)
{
    if (brain->deadlines.heap.count < 4 * brain->active.count + 1024)
        return;
    deadlines_release(&brain->deadlines);
    for (size_t i = 0; i < brain->active.count; i++) {
        const struct job *job = brain->active.items[i];
        usec_t end = reserve_end_of(brain->state, job);
        if (has_deadline(job) && end != USEC_NEVER)
            deadline_add(&brain->deadlines, end, job->id);
    }
}

static void watch(struct brain *brain, struct job *job)
{
    usec_t end = reserve_end_of(brain->state, job);

    if (has_deadline(job) && end != USEC_NEVER && end > brain->state->now) {
        deadline_add(&brain->deadlines, end, job->id);
        forget_deadlines(brain);
    }
    if (!job->wants_attention && stop_wanted(brain->state, job) != STOP_NONE) {
        job->wants_attention = true;
        list_add(&brain->attention, job->id);
    }
}

static void on_job(void *user, struct job *job, bool is_gone)
{
    struct brain *brain = user;
    bool was_active = job->active_place != 0;
    bool is_active = job_is_active(job) && !is_gone;
    bool was_pending = job->pending_bucket != NULL;

    if (is_gone)
        pending_remove(&brain->pending, job);
    else
        pending_update(&brain->pending, brain->state, job);
    update_active(brain, job, is_active);
    if (is_active)
        watch(brain, job);
    /* One that no longer waits may have kept others back. */
    if (was_active != is_active || was_pending || job->state == JOB_QUEUED || job->wants_attention)
        brain->is_dirty = true;
}

struct brain *brain_create(struct state *state)
{
    struct brain *brain = mem_zero(1, sizeof(*brain));

    brain->state = state;
    brain->is_dirty = true;
    state->on_job = on_job;
    state->on_job_user = brain;
    for (struct job *job = state->first_job; job; job = job->next) {
        job->pending_next = job->pending_previous = NULL; /* of an earlier brain */
        job->pending_bucket = NULL;
        job->active_place = 0;
        job->wants_attention = false;
        on_job(brain, job, false);
    }
    return brain;
}

void brain_destroy(struct brain *brain)
{
    if (!brain)
        return;
    brain->state->on_job = NULL;
    pending_release(&brain->pending);
    order_release(&brain->order);
    reserve_release(&brain->reserve);
    turns_release(&brain->turns);
    deadlines_release(&brain->deadlines);
    list_release(&brain->active);
    list_release(&brain->attention);
    arena_release(&brain->arena);
    room_release(&brain->scratch);
    free(brain);
}

static void decide(struct brain *brain, const struct event *decision, struct decisions *decisions)
{
    struct error err;

    int code = state_apply(brain->state, decision, &err);
    assert(code == 0); /* what the brain decides makes sense */
    (void)code;
    list_add(&decisions->events, *decision);
}

static int compare_ids(const void *a, const void *b)
{
    uint64_t left, right;

    memcpy(&left, a, sizeof(left));
    memcpy(&right, b, sizeof(right));
    return (left > right) - (left < right);
}

static void plan_stops(struct brain *brain, struct decisions *decisions)
{
    struct state *state = brain->state;
    uint64_t id;

    while (deadline_take(&brain->deadlines, state->now, &id)) {
        struct job *job = state_job(state, id);
        if (job && job_is_active(job))
            watch(brain, job);
    }
    if (brain->attention.count == 0)
        return;
    qsort(brain->attention.items, brain->attention.count, sizeof(uint64_t), compare_ids);
    for (size_t i = 0; i < brain->attention.count; i++) {
        struct job *job = state_job(state, brain->attention.items[i]);
        if (!job)
            continue;
        job->wants_attention = false;
        enum stop_cause cause = stop_wanted(state, job);
        if (cause == STOP_NONE)
            continue;
        struct event stop = { .kind = EVENT_STOP,
                              .at = state->now,
                              .stop = { .job = job->id, .cause = (uint8_t)cause } };
        decide(brain, &stop, decisions);
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

/* Find out what keeps a job that has no place now; the first ones get a promise. */
static void explain_misfit(struct brain *brain, const struct job *job,
                           const struct place_query *query, struct why *why)
{
    struct state *state = brain->state;

    if (why_is_never(why->kind) || why->kind == WHY_QUOTA)
        return;
    if (brain->reserve.count < state->settings.backfill_depth) {
        usec_t at;
        if (reserve_make(&brain->reserve, state, job, &brain->arena, &at)) {
            why->at = at;
            return;
        }
    }
    /* No end of any job would help, or nobody has asked: can it run here at all? */
    struct why admitted;
    sched_admit(state, query->request, query->queue, &admitted);
    if (admitted.kind != WHY_NONE)
        *why = admitted;
}

static bool try_place(struct brain *brain, const struct job *job, struct lease *ret_lease,
                      struct why *why)
{
    struct state *state = brain->state;
    struct place_query query = {
        .state = state,
        .request = state_request(state, job),
        .queue = job->queue,
        .quota = PLACE_QUOTA_NOW,
    };
    usec_t end = end_if_started_now(state, job);
    query.spare = reserve_spare(&brain->reserve, end);
    const struct room *room = reserve_room(&brain->reserve, &state->room, end, &brain->scratch);

    if (room == &state->room) {
        room_copy(&brain->scratch, room);
        if (place_job(&query, &brain->scratch, &brain->arena, ret_lease, why))
            return true;
        explain_misfit(brain, job, &query, why);
        return false;
    }
    query.now = &state->room;
    if (place_job(&query, &brain->scratch, &brain->arena, ret_lease, why))
        return true;
    query.now = NULL;
    room_copy(&brain->scratch, &state->room);
    struct lease lease;
    struct why without;
    if (place_job(&query, &brain->scratch, &brain->arena, &lease, &without))
        *why = (struct why){ .kind = WHY_RESERVED, .job = reserve_holder(&brain->reserve, end) };
    else {
        *why = without;
        explain_misfit(brain, job, &query, why);
    }
    return false;
}

static bool try_grant(struct brain *brain, struct pending_bucket *bucket,
                      struct decisions *decisions, struct why *why)
{
    struct state *state = brain->state;
    struct job *job = bucket->first;
    const struct request *request = state_request(state, job);
    usec_t end = end_if_started_now(state, job);
    struct lease lease;

    *why = (struct why){ .kind = WHY_NONE };
    if (!array_allows(state, bucket, why) ||
        !order_quota_allows(state, job->queue, least_milli(request), why) ||
        !turn_allows(&brain->turns, state, job->queue, least_milli(request), end, why) ||
        !try_place(brain, job, &lease, why)) {
        if (why->kind == WHY_QUOTA)
            turn_make(&brain->turns, state, brain->active.items, brain->active.count, job, why);
        return false;
    }

    lease.share = dominant_share(state, &lease);
    struct event grant = {
        .kind = EVENT_GRANT,
        .at = state->now,
        .grant = { .job = job->id,
                   .attempt = job->attempt + 1,
                   .lease = lease,
                   .is_backfill = brain->reserve.count > 0 },
    };
    reserve_take(&brain->reserve, &lease, end);
    turn_take(&brain->turns, state, job->queue, lease.milli, end);
    decide(brain, &grant, decisions);
    return true;
}

static void plan_grants(struct brain *brain, struct decisions *decisions)
{
    struct state *state = brain->state;
    struct pending_bucket *bucket;
    uint64_t stopped_by = 0; /* without backfill: the job that nobody may pass */

    order_start(&brain->order, state, &brain->pending);
    reserve_start(&brain->reserve, brain->active.items, brain->active.count);
    brain->turns.held.count = 0;
    for (;;) {
        bucket = order_next(&brain->order);
        if (!bucket)
            return;
        if (stopped_by != 0) {
            bucket->why = (struct why){ .kind = WHY_BEHIND, .job = stopped_by };
            order_block(&brain->order, bucket);
            continue;
        }
        uint32_t queue = bucket->queue;
        bool was_last = bucket->count == 1;
        struct why why;
        if (try_grant(brain, bucket, decisions, &why)) {
            reserve_follow(&brain->reserve, brain->active.items, brain->active.count);
            if (was_last)
                order_gone(&brain->order, queue);
            continue;
        }
        bucket->why = why;
        order_block(&brain->order, bucket);
        bool found_no_room = why.kind == WHY_GPUS || why.kind == WHY_CPUS || why.kind == WHY_MEMORY;
        if (state->settings.backfill_depth == 0 && found_no_room)
            stopped_by = bucket->first->id;
    }
}

int sched_fold(struct brain *brain, const struct event *event, struct error *err)
{
    if (event->kind <= EVENT_SETTINGS || event->kind == EVENT_PLAN || event->kind == EVENT_UPDATE)
        brain->is_dirty = true;
    return state_apply(brain->state, event, err);
}

int sched_step(struct brain *brain, const struct event *event, struct decisions *decisions,
               struct error *err)
{
    int code = sched_fold(brain, event, err);
    if (code < 0 || event->kind != EVENT_PLAN)
        return code;

    arena_clear(&brain->arena);
    plan_stops(brain, decisions);
    plan_grants(brain, decisions);
    brain->is_dirty = false;
    return 0;
}

usec_t sched_next_wakeup(const struct brain *brain)
{
    usec_t wakeup = brain->state->next_begin;

    if (brain->is_dirty)
        return brain->state->now;
    usec_t deadline = deadline_first(&brain->deadlines);
    return deadline < wakeup ? deadline : wakeup;
}

static void why_waiting(const struct brain *brain, const struct job *job, struct why *ret_why)
{
    const struct need_table *needs = &brain->state->needs;
    const struct need *need;

    *ret_why = (struct why){ .kind = WHY_BEGIN, .at = job->begin };
    for (uint32_t at = need_first_of(needs, job->id); at != 0; at = need->next_of_job) {
        need = &needs->needs.items[at - 1];
        if (ret_why->kind != WHY_NEEDS || need->on < ret_why->job)
            *ret_why = (struct why){ .kind = WHY_NEEDS, .job = need->on, .wanted = need->kind };
    }
}

void sched_why(const struct brain *brain, const struct job *job, struct why *ret_why,
               uint32_t *ret_ahead)
{
    if (ret_ahead)
        *ret_ahead = 0;
    *ret_why = (struct why){ .kind = WHY_NONE };
    if (job->state == JOB_HELD)
        ret_why->kind = WHY_HELD;
    else if (job->state == JOB_WAITING)
        why_waiting(brain, job, ret_why);
    if (job->state != JOB_QUEUED)
        return;
    *ret_why = job->pending_bucket->why;
    if (job != job->pending_bucket->first)
        ret_why->at = 0; /* the promise is the head's */
    for (const struct job *at = job->pending_bucket->first; ret_ahead && at != job;
         at = at->pending_next)
        ++*ret_ahead;
}
