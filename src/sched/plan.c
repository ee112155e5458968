/* SPDX-License-Identifier: Apache-2.0 */
/* A plan: first those that must be stopped, then, in order, those that may start. */

#include <assert.h>
#include <string.h>

#include "core/state/rescue.h"
#include "sched/brain.h"
#include "sched/grant.h"
#include "sched/job_facts.h"
#include "sched/preemption/reclaim.h"

static int compare_ids(const void *a, const void *b)
{
    uint64_t left, right;

    memcpy(&left, a, sizeof(left));
    memcpy(&right, b, sizeof(right));
    return (left > right) - (left < right);
}

static bool is_on_going(const struct state *state, const struct job *job)
{
    const struct lease *lease = job->run->lease;

    for (uint32_t i = 0; i < lease->members_count; i++) {
        if (state->nodes.items[lease->members[i].node].going_at > 0)
            return true;
    }
    return false;
}

/* On a machine that is going away, jobs that may be stopped save their work while it is there; all
 * others run on until it goes. On a sick device, those stop that may go on elsewhere. */
static void stop_on_failing(struct brain *brain, struct decisions *decisions)
{
    const struct state *state = brain->state;
    bool is_going = brain->is_going, is_sick = brain->is_sick;
    job_list jobs = { 0 };
    uint32_t device = 0;

    if (!is_going && !is_sick)
        return;
    brain->is_going = false;
    brain->is_sick = false;
    for (struct ends_walk at = ends_first(&brain->ends); at.job; ends_next(&at)) {
        if (at.job->state != JOB_STOPPING && job_stop_wanted(state, at.job) == STOP_NONE)
            list_add(&jobs, at.job);
    }
    list_sort(&jobs, job_compare_ids);
    for (size_t i = 0; is_going && i < jobs.count; i++) {
        const struct job *job = jobs.items[i];
        struct event_stop stop = { .cause = STOP_PREEMPT,
                                   .rule = STOP_FOR_MACHINE,
                                   .lost = job_lost(job, state->now) };
        if (job->is_preemptible && is_on_going(state, job))
            brain_stop(brain, job, stop, decisions);
    }
    for (size_t i = 0; is_sick && i < jobs.count; i++) {
        const struct job *job = jobs.items[i];
        enum harm harm = rescue_harm(state, job, &device);
        struct event_stop stop = { .cause = STOP_RESCUE,
                                   .lost =
                                       rescue_unsaved(job, harm, state->now) + job->restart_cost,
                                   .device = device + 1 };
        if (job->state != JOB_STOPPING && rescue_may(state, job, harm))
            brain_stop(brain, job, stop, decisions);
    }
    list_release(&jobs);
}

void plan_stops(struct brain *brain, struct decisions *decisions)
{
    struct state *state = brain->state;
    uint64_t id;

    while (time_limit_take(&brain->time_limits, state->now, &id)) {
        struct job *job = state_job(state, id);
        if (job && job_is_active(job))
            brain_watch(brain, job);
    }
    stop_on_failing(brain, decisions);
    if (brain->attention.count == 0)
        return;
    list_sort(&brain->attention, compare_ids);
    for (size_t i = 0; i < brain->attention.count; i++) {
        struct job *job = state_job(state, brain->attention.items[i]);
        if (!job)
            continue;
        job_claim_run(job)->wants_attention = false;
        enum stop_cause cause = job_stop_wanted(state, job);
        if (cause != STOP_NONE)
            brain_stop(brain, job, (struct event_stop){ .cause = (uint8_t)cause }, decisions);
    }
    brain->attention.count = 0;
}

/* One answer for a class and a plan. Room only gets less while a plan goes on, so a "no" stays; a
 * "yes" is looked at again when its turn comes. */
static bool fits_somewhere(void *user, const struct pending_bucket *bucket)
{
    struct brain *brain = user;

    if (bucket->is_settled)
        return false;
    while (brain->fits.count <= bucket->class)
        list_add(&brain->fits, 0);
    uint64_t *fits = &brain->fits.items[bucket->class];
    if (*fits / 2 != brain->plans || brain->layout.has_static_pools) {
        struct place_query query = brain_query(brain, bucket->first);
        *fits = 2 * brain->plans + place_may_fit(&query);
    }
    return *fits % 2 != 0;
}

static void promise_start(struct brain *brain, struct job *job, struct why *why)
{
    const struct pending_bucket *bucket = job->pending_bucket;
    struct place_query query = brain_query(brain, job);
    usec_t at;

    assert(bucket->first);
    if (why_is_never(why->kind) || why_is_of_quota(why->kind) || why->kind == WHY_TURN ||
        why->kind == WHY_ARRAY || why_is_of_time(why->kind))
        return; /* it is not room that it waits for */
    if (!reserve_make(&brain->reserve, &query, &brain->ends, bucket->most, &brain->arena, &at))
        return;
    why->at = at;
    job->pending_bucket->promised = brain->plans;
}

enum { AWAITED_PROMISES = 64 };

/* It stays where it is: with what other queues have to give back for it, and a promise. */
static void block(struct brain *brain, struct job *job, bool with_promise, struct why *why,
                  struct decisions *decisions)
{
    struct promises *promises = &brain->reserve.promises;

    if (with_promise)
        promise_start(brain, job, why);
    bool is_room = why_lacks_room(why->kind) || why->kind == WHY_SHAPE || why->kind == WHY_LENT;
    if (!is_room || !reclaim_for(brain, job, why->at, decisions))
        return;
    for (struct job *next = job->pending_next; next; next = next->pending_next) {
        if (!reclaim_for(brain, next, 0, decisions))
            break; /* those behind it want the same */
    }
    if (why->at != 0)
        promise_drop(promises, &brain->layout, promises->count - 1);
    promise_start(brain, job, why); /* what they hold is kept for it */
}

/* What is left when no other job can start: those that found no room, without a promise. */
static void explain_stuck(struct brain *brain)
{
    LIST_EACH (const struct order_line, line, &brain->order.lines) {
        for (size_t k = 0; k < line->stuck.count; k++) {
            if (line->stuck.items[k].bucket->promised != brain->plans)
                line->stuck.items[k].bucket->why = (struct why){ .kind = WHY_GPUS };
        }
    }
}

/* ---- jobs that have waited beyond their patience ---- */

enum {
    PROTECTED_MOST = 4, /* promises to the oldest of a queue */
    BY_ORDER_MORE = 4,  /* promises to the first in order, beyond the depth */
    SLIP_LATER = 20,    /* the first of them may be delayed by 1/20 of its own length, */
    SLIP_SHORTER = 10,  /* by jobs of at most 1/10 of its length */
};

static int compare_ranks(const void *a, const void *b)
{
    return rank_is_before(a, b) ? -1 : 1;
}

static bool start_shorts(struct brain *brain, struct pending_queue *queue, const struct job *job,
                         struct decisions *decisions)
{
    usec_t most = job->pending_bucket->most / SLIP_SHORTER;
    LIST(struct rank_entry) shorts = { 0 };
    struct why why;
    bool is_any = false;

    for (size_t i = 0; i < queue->buckets.count; i++) {
        struct pending_bucket *bucket = queue->buckets.items[i];
        if (bucket != job->pending_bucket && bucket->most <= most && fits_somewhere(brain, bucket))
            list_add(&shorts, rank_of_bucket(&brain->ranker, bucket));
    }
    list_sort(&shorts, compare_ranks);
    for (size_t i = 0; i < shorts.count; i++) {
        struct pending_bucket *bucket = shorts.items[i].bucket;
        bool is_started = true;
        for (uint32_t left = bucket->count; left > 0 && is_started; left--) {
            is_started = brain_try_grant(brain, bucket->first, 0, decisions, &why);
            is_any |= is_started;
        }
    }
    list_release(&shorts);
    return is_any;
}

/* Short ones go before the first of the protected, even when it could start now, as long as that
 * delays it by no more than a part of its own length, or its patience is not yet at its end. */
static void let_slip(struct brain *brain, struct pending_queue *queue, struct job *job,
                     usec_t latest, struct decisions *decisions)
{
    struct state *state = brain->state;
    usec_t most = job->pending_bucket->most, at = state->now, later;
    struct place_query query = brain_query(brain, job);
    struct lease lease;

    if (place_job(&query, &brain->arena, &lease, NULL))
        reserve_keep(&brain->reserve, &query, &lease, at, usec_after(at, most));
    else if (!reserve_make(&brain->reserve, &query, &brain->ends, most, &brain->arena, &at))
        return;
    if (job->run->first_promise == 0)
        job_claim_run(job)->first_promise = at;
    later = usec_after(job->run->first_promise, most / SLIP_LATER);
    later = later > latest ? later : latest;
    at = later > at ? later : at;
    struct promise *promise = &brain->reserve.promises.held.items[0];
    usec_t first = promise->at;
    promise->at = at;
    bool is_any = at > state->now && start_shorts(brain, queue, job, decisions);
    promise->at = first;
    if (is_any || first <= state->now)
        reserve_forget(&brain->reserve);
    brain->reserve.promises.count = 0;
}

/* The oldest of a queue, each started or promised a start. Returns how many were promised. */
static uint32_t protect(struct brain *brain, struct pending_queue *queue,
                        struct decisions *decisions)
{
    struct state *state = brain->state;
    const struct patience *patience = &brain->patience;
    bool always = state->settings.order == ORDER_SHORTEST; /* the oldest one, whatever its age */
    usec_t bound = patience_bound(patience), latest = 0;
    uint32_t promised = 0, most = always ? 1 : PROTECTED_MOST;

    if (!always)
        latest = patience_latest(patience, queue);
    for (struct job *job = queue->first, *next; job && promised < most; job = next) {
        struct pending_bucket *bucket = job->pending_bucket;
        bool is_old = state->now - job->submitted >= bound / 20 * 17; /* 0.85 */
        struct why why;
        next = job->line_next;
        if (bucket->is_settled || bucket->promised == brain->plans)
            continue;
        if (!always && latest > state->now && !(is_old && patience_is_lull(patience, state->now)))
            break;
        if (!always && brain->reserve.promises.count == 0)
            let_slip(brain, queue, job, latest, decisions);
        next = job->line_next;
        if (brain_try_grant(brain, job, 0, decisions, &why))
            continue;
        block(brain, job, true, &why, decisions);
        bucket->why = why;
        promised += why.at != 0; /* else no end of any job would help it: let others go on */
    }
    return promised;
}

static uint32_t protect_oldest(struct brain *brain, struct decisions *decisions)
{
    enum ordering order = (enum ordering)brain->state->settings.order;
    uint32_t promised = 0;

    if ((order != ORDER_DEFAULT && order != ORDER_SHORTEST) ||
        brain->state->settings.backfill_depth == 0)
        return 0;
    for (size_t i = 0; i < brain->pending.queues.count; i++) {
        struct pending_queue *queue = &brain->pending.queues.items[i];
        for (size_t k = 0; k < queue->buckets.count; k++)
            rank_guess(&brain->ranker, queue->buckets.items[k]);
        promised += protect(brain, queue, decisions);
    }
    return promised;
}

/* ---- jobs for which others were stopped ---- */

void plan_awaited(struct brain *brain, struct decisions *decisions)
{
    struct why why;

    reserve_start(&brain->reserve); /* the promises of the last plan are over */
    brain->reserved_shares.count = 0;
    room_made_tidy(&brain->reclaim, brain->state);
    defrag_keep(brain, true);
    plan_back(brain, decisions);
    defrag_keep(brain, false);
    assert(brain->reserve.promises.count == brain->defrag.kept);
    brain_list_awaited(brain);
    for (size_t i = 0; i < brain->awaited.count; i++) {
        run_time_bucket(brain->state, brain->awaited.items[i]->pending_bucket);
        brain_try_grant(brain, brain->awaited.items[i], 0, decisions, &why);
    }
    brain_list_awaited(brain);
}

/* Those that still wait for others to stop. */
static void promise_awaited(struct brain *brain, struct decisions *decisions)
{
    brain_list_awaited(brain);
    for (size_t i = 0; i < brain->awaited.count; i++) {
        struct job *job = brain->awaited.items[i];
        struct why why;
        if (job->is_awaited != AWAITED_FROM_OTHERS ||
            brain_try_grant(brain, job, 0, decisions, &why))
            continue;
        struct pending_bucket *bucket = job->pending_bucket;
        block(brain, job, i < AWAITED_PROMISES, &why, decisions);
        if (bucket->first == job)
            bucket->why = why;
    }
}

/* ---- all jobs ---- */

/* How many may be promised a start because they come first in order. */
static uint32_t promises_by_order(const struct settings *settings, uint32_t protected)
{
    uint32_t depth = settings->backfill_depth;

    if (depth == 0 || settings->order == ORDER_FIFO || settings->order == ORDER_LEAST_ATTAINED ||
        settings->order == ORDER_DEADLINE)
        return depth;
    if (settings->order == ORDER_SHORTEST)
        return depth > protected ? depth - protected : 0;
    return protected > 0 ? depth + BY_ORDER_MORE - 1 : depth + BY_ORDER_MORE;
}

/* Emptying nearly all for a long job is for a lull, or for when its patience ends. */
static bool may_drain_for(const struct brain *brain, const struct pending_bucket *bucket)
{
    return brain->state->settings.order != ORDER_DEFAULT ||
           bucket->share <= QUEUE_SHARE_ONE / 10 * 9 ||
           bucket->usual < brain->patience.short_below ||
           patience_is_lull(&brain->patience, brain->state->now);
}

enum { GUESSED_AT_ONCE = 512 };

void plan_grants(struct brain *brain, struct decisions *decisions)
{
    struct state *state = brain->state;
    uint32_t depth = state->settings.backfill_depth, by_order;
    size_t buckets = 0;
    uint64_t stopped_by = 0; /* without backfill: the job that no other may pass */

    if (brain->pending.count == 0)
        return;
    brain->plans++;
    reserve_start(&brain->reserve);
    brain->reserved_shares.count = 0;
    brain->ranker.turn = brain->plans;
    for (size_t i = 0; i < brain->pending.queues.count; i++)
        buckets += brain->pending.queues.items[i].buckets.count;
    brain->ranker.stride = 1 + (uint32_t)buckets / GUESSED_AT_ONCE;
    patience_look(&brain->patience, state, &brain->pending, &brain->ends);
    brain->ranker.drain = brain->patience.drain_most;
    brain->reclaim.review = USEC_NEVER;
    defrag_keep(brain, false);
    promise_awaited(brain, decisions);
    defrag_keep_turns(brain);
    uint32_t protected = protect_oldest(brain, decisions);
    by_order = promises_by_order(&state->settings, protected);
    order_start(&brain->order, state, &brain->ranker, &brain->pending, fits_somewhere, brain);
    for (uint32_t promised = 0;;) {
        struct pending_bucket *bucket =
            order_next(&brain->order, depth == 0 || promised < by_order);
        if (!bucket)
            break;
        bool was_last = bucket->count == 1;
        struct why why = { .kind = WHY_BEHIND, .job = stopped_by };
        if (bucket->promised == brain->plans) {
            order_block(&brain->order);
            continue;
        }
        if (stopped_by == 0 && brain->order.was_stuck)
            why = (struct why){ .kind = WHY_GPUS };
        else if (stopped_by == 0 && brain_try_grant(brain, bucket->first, 0, decisions, &why)) {
            order_served(&brain->order, was_last);
            continue;
        }
        if (stopped_by == 0) {
            bool with_promise = promised < by_order && may_drain_for(brain, bucket);
            block(brain, bucket->first, with_promise, &why, decisions);
            promised += why.at != 0;
        }
        bucket->why = why;
        order_block(&brain->order);
        if (depth == 0 && why_lacks_room(why.kind))
            stopped_by = bucket->first->id;
    }
    reserve_finish(&brain->reserve);
    explain_stuck(brain);
}
