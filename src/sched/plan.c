/* SPDX-License-Identifier: Apache-2.0 */
/* A plan: first those that must be stopped, then, in order, those that may start. */

#include <assert.h>
#include <string.h>

#include "core/state/rescue.h"
#include "sched/brain.h"
#include "sched/capacity/lease_part.h"
#include "sched/claims.h"
#include "sched/faster.h"
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

/* Single GPUs come free all over the cluster, whole nodes only if they are kept: each job that
 * needs one gets a planned start, and not only the first jobs. */
static bool keeps_node(const struct brain *brain, const struct pending_bucket *bucket)
{
    const struct settings *settings = &brain->state->settings;

    return settings->order == ORDER_DEFAULT && settings->backfill_depth > 0 &&
           brain_needs_node(brain, bucket);
}

static bool fits_somewhere(void *user, const struct pending_bucket *bucket)
{
    struct brain *brain = user;
    const struct pending_queue *queue = &brain->pending.queues.items[bucket->queue];

    if (bucket->is_settled)
        return false;
    if (queue->claim != 0 && bucket->first->id == queue->claim)
        return true; /* others may have to make room for it */
    return brain_fits_somewhere(brain, bucket) || keeps_node(brain, bucket);
}

/* It could start now, and does not. */
static bool leaves(struct brain *brain, struct pending_bucket *bucket)
{
    struct why why;

    return bucket->has_speeds && brain_array_allows(brain->state, bucket, &why) &&
           brain_may_start(brain, bucket->first, &why) &&
           faster_leaves(brain, bucket, &bucket->why);
}

static uint32_t speed_now(void *user, const struct pending_bucket *bucket)
{
    struct place_query query = brain_query(user, bucket->first);

    return place_speed_now(&query);
}

/* Sets why->at if it has a promise. True: it did not have one before. */
static bool promise_start(struct brain *brain, struct job *job, struct why *why)
{
    const struct pending_bucket *bucket = job->pending_bucket;
    struct place_query query = brain_query(brain, job);
    usec_t at;

    assert(bucket->first);
    if (why_is_never(why->kind) || why_is_of_quota(why->kind) || why->kind == WHY_TURN ||
        why->kind == WHY_ARRAY || why_is_of_time(why->kind))
        return false; /* it is not room that it waits for */
    const struct promise *promise = promise_of(&brain->reserve.promises, job->id);
    if (promise) { /* its protected start */
        why->at = promise->at > brain->state->now ? promise->at : brain->state->now;
        return false;
    }
    if (!reserve_make(&brain->reserve, &query, &brain->ends, bucket->most, 0, &brain->arena, &at))
        return false;
    why->at = at;
    job->pending_bucket->promised = brain->plans;
    return true;
}

enum { AWAITED_PROMISES = 64 };

/* It stays where it is: with what other queues have to give back for it, and a promise. */
static void block(struct brain *brain, struct job *job, bool with_promise, struct why *why,
                  struct decisions *decisions)
{
    struct promises *promises = &brain->reserve.promises;

    bool is_promised = with_promise && promise_start(brain, job, why);
    bool is_room = why_lacks_room(why->kind) || why->kind == WHY_SHAPE || why->kind == WHY_LENT;
    if (!is_room || !reclaim_for(brain, job, why->at, decisions))
        return;
    for (struct job *next = job->pending_next; next; next = next->pending_next) {
        if (!reclaim_for(brain, next, 0, decisions))
            break; /* those behind it want the same */
    }
    if (is_promised)
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

/* Room was kept for a job that then started itself: those that it kept back are looked at again. */
static void explain_passed(struct brain *brain)
{
    LIST_EACH (struct pending_queue, queue, &brain->pending.queues) {
        for (size_t k = 0; k < queue->buckets.count; k++) {
            struct why *why = &queue->buckets.items[k]->why;
            const struct job *holder =
                why->kind == WHY_RESERVED ? state_job(brain->state, why->job) : NULL;
            if (why->kind != WHY_RESERVED || (holder && holder->pending_bucket))
                continue;
            *why = (struct why){ .kind = WHY_GPUS };
            brain_review(brain, brain->state->now);
        }
    }
}

/* The oldest of a queue is promised a start, or started. */
static uint32_t protect_first(struct brain *brain, struct pending_queue *queue,
                              struct decisions *decisions)
{
    for (struct job *job = queue->first, *next; job; job = next) {
        struct pending_bucket *bucket = job->pending_bucket;
        struct why why;
        next = job->line_next;
        if (bucket->is_settled || bucket->promised == brain->plans ||
            brain_try_grant(brain, job, 0, decisions, &why))
            continue;
        block(brain, job, true, &why, decisions);
        bucket->why = why;
        if (why.at != 0)
            return 1;
    }
    return 0;
}

/* Before the order is made. Returns how many were promised a start. */
static uint32_t protect(struct brain *brain, struct decisions *decisions)
{
    enum ordering order = (enum ordering)brain->state->settings.order;
    uint32_t promised = 0;

    if ((order != ORDER_DEFAULT && order != ORDER_SHORTEST) ||
        brain->state->settings.backfill_depth == 0)
        return 0;
    for (uint32_t i = 0; i < brain->pending.queues.count; i++) {
        struct pending_queue *queue = &brain->pending.queues.items[i];
        for (size_t k = 0; k < queue->buckets.count; k++)
            rank_guess(&brain->ranker, queue->buckets.items[k]);
        if (queue->first && order == ORDER_DEFAULT)
            claims_look(brain, i);
        else
            promised += protect_first(brain, queue, decisions);
    }
    return promised;
}

/* ---- jobs for which others were stopped ---- */

/* Before others that wait for room, which would find it first. */
static void start_where_moved(struct brain *brain, struct decisions *decisions)
{
    struct why why;

    for (size_t i = 0; i < brain->awaited.count; i++) {
        struct job *job = brain->awaited.items[i];
        const struct lease *made = kept_place_of(&brain->reclaim.made, job->id);
        if (made && fleet_has(&brain->fleet, made) && defrag_has_moved(brain, job))
            brain_try_grant(brain, job, 0, decisions, &why);
    }
}

void plan_awaited(struct brain *brain, struct decisions *decisions)
{
    struct why why;

    reserve_start(&brain->reserve); /* the promises of the last plan are over */
    brain->reserved_shares.count = 0;
    room_made_tidy(&brain->reclaim, brain->state);
    defrag_keep(brain, KEEP_MOVING);
    plan_back(brain, decisions);
    defrag_keep(brain, KEEP_MOVING);
    assert(brain->reserve.promises.count == brain->defrag.kept);
    brain_list_awaited(brain);
    for (size_t i = 0; i < brain->awaited.count; i++)
        run_time_bucket(brain->state, brain->awaited.items[i]->pending_bucket);
    start_where_moved(brain, decisions);
    brain_list_awaited(brain);
    defrag_keep(brain, KEEP_MADE); /* what was cleared for one is not for another */
    for (size_t i = 0; i < brain->awaited.count; i++)
        brain_try_grant(brain, brain->awaited.items[i], 0, decisions, &why);
    brain_list_awaited(brain);
    defrag_keep(brain, KEEP_MOVING);
}

/* Those that still wait for others to stop. */
static void promise_awaited(struct brain *brain, struct decisions *decisions)
{
    brain_list_awaited(brain);
    struct why *whys = arena_take(&brain->arena, brain->awaited.count + 1, sizeof(*whys));
    defrag_keep(brain, KEEP_MADE);
    for (size_t i = 0; i < brain->awaited.count; i++) {
        if (brain->awaited.items[i]->is_awaited == AWAITED_FROM_OTHERS)
            brain_try_grant(brain, brain->awaited.items[i], 0, decisions, &whys[i]);
    }
    defrag_keep(brain, KEEP_MOVING);
    for (size_t i = 0; i < brain->awaited.count; i++) {
        struct job *job = brain->awaited.items[i];
        struct pending_bucket *bucket = job->pending_bucket;
        if (job->is_awaited != AWAITED_FROM_OTHERS || job->state != JOB_QUEUED)
            continue;
        if (whys[i].kind == WHY_RESERVED && kept_place_of(&brain->reclaim.made, whys[i].job))
            whys[i] = (struct why){ .kind = WHY_GPUS }; /* it may need room of its own */
        block(brain, job, i < AWAITED_PROMISES, &whys[i], decisions);
        if (bucket->first == job)
            bucket->why = whys[i];
    }
}

/* What jobs of their own queue give up for them goes to no other job, nor does what is free beside
 * it: others would be stopped for them again. */
static void promise_in_queue(struct brain *brain)
{
    uint32_t promised = 0;

    for (struct ends_walk at = ends_first(&brain->yielding); at.job && promised < AWAITED_PROMISES;
         ends_next(&at)) {
        struct job *job = state_job(brain->state, at.job->run->stopped_for);
        struct why why;
        if (!job || job->is_awaited != AWAITED_IN_QUEUE || job->pending_bucket->is_settled ||
            promise_of(&brain->reserve.promises, job->id) || !brain_may_start(brain, job, &why))
            continue; /* of those that may not start, the order tells why */
        promised += promise_start(brain, job, &why);
    }
}

/* ---- all jobs ---- */

enum {
    GUESSED_AT_ONCE = 512,
    NODES_KEPT = 8, /* a bound for what a plan costs; more gain little */
};

void plan_grants(struct brain *brain, struct decisions *decisions)
{
    struct state *state = brain->state;
    uint32_t depth = state->settings.backfill_depth, by_order;
    size_t buckets = 0;
    uint64_t stopped_by = 0; /* without backfill: the job that no other may pass */
    bool is_claim_started = false;

    if (brain->pending.count == 0)
        return;
    brain->plans++;
    reserve_start(&brain->reserve);
    brain->reserved_shares.count = 0;
    brain->ranker.turn = brain->plans;
    brain->ranker.speed_now = speed_now;
    brain->ranker.user = brain;
    for (size_t i = 0; i < brain->pending.queues.count; i++)
        buckets += brain->pending.queues.items[i].buckets.count;
    brain->ranker.stride = 1 + (uint32_t)buckets / GUESSED_AT_ONCE;
    brain->reclaim.review = USEC_NEVER;
    defrag_keep(brain, KEEP_MOVING);
    promise_awaited(brain, decisions);
    promise_in_queue(brain);
    defrag_keep_turns(brain);
    uint32_t protected = protect(brain, decisions);
    by_order = state->settings.order != ORDER_SHORTEST ? depth
               : depth > protected                     ? depth - protected
                                                       : 0;
    order_start(&brain->order, state, &brain->ranker, &brain->pending, fits_somewhere, brain);
    for (uint32_t promised = 0, kept = 0;;) {
        struct pending_bucket *bucket =
            order_next(&brain->order, depth == 0 || promised < by_order);
        if (!bucket)
            break;
        struct pending_queue *queue = &brain->pending.queues.items[bucket->queue];
        if (queue->claim != 0 && queue->kept_in != brain->plans &&
            bucket->priority <= queue->claim_priority)
            claims_keep(brain, queue);
        uint64_t next = bucket->first->id;
        bool is_claim = queue->claim == next && bucket->urgent_in == brain->plans;
        bool is_short = bucket->urgent_in == brain->plans && bucket->urgent_count > 0 &&
                        bucket->urgent <= CLAIMS_SHORT;
        if (is_claim)
            claims_end_slip(brain, next);
        bool was_last = bucket->count == 1;
        struct why why = { .kind = WHY_BEHIND, .job = stopped_by };
        if (bucket->promised == brain->plans) {
            order_block(&brain->order);
            continue;
        }
        if (kept == NODES_KEPT && !is_claim && !brain_fits_somewhere(brain, bucket)) {
            bucket->why = (struct why){ .kind = WHY_GPUS };
            order_block(&brain->order);
            continue;
        }
        if (stopped_by == 0 && !brain->order.was_stuck && leaves(brain, bucket)) {
            order_block(&brain->order);
            continue;
        }
        if (stopped_by == 0 && brain->order.was_stuck)
            why = (struct why){ .kind = WHY_GPUS };
        else if (stopped_by == 0 && brain_try_grant(brain, bucket->first, 0, decisions, &why)) {
            is_claim_started |= next == queue->claim;
            if (!was_last && bucket->urgent_count > 0)
                bucket->urgent_count--;
            order_served(&brain->order, was_last);
            continue;
        }
        if (stopped_by == 0) {
            bool is_first = is_claim || (!is_short && promised < by_order);
            bool is_kept = !is_first && !is_short && kept < NODES_KEPT && keeps_node(brain, bucket);
            block(brain, bucket->first, is_first || is_kept, &why, decisions);
            kept += is_kept && why.at != 0;
            if (is_claim && why.at != 0)
                claims_promise(queue, bucket->first, why.at);
            promised += why.at != 0 && !is_claim;
        }
        bucket->why = why;
        order_block(&brain->order);
        if (depth == 0 && why_lacks_room(why.kind))
            stopped_by = bucket->first->id;
    }
    reserve_finish(&brain->reserve);
    explain_stuck(brain);
    if (is_claim_started)
        explain_passed(brain);
}
