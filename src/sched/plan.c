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
    const struct pending_queue *queue = &brain->pending.queues.items[bucket->queue];

    if (bucket->is_settled)
        return false;
    if (queue->claim != 0 && bucket->first->id == queue->claim)
        return true; /* others may have to make room for it */
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
    for (size_t i = 0; i < brain->reserve.promises.count; i++) {
        if (brain->reserve.promises.held.items[i].job == job->id) { /* its protected start */
            why->at = brain->reserve.promises.held.items[i].at;
            return;
        }
    }
    if (!reserve_make(&brain->reserve, &query, &brain->ends, bucket->most, 0, &brain->arena, &at))
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

/* Room was kept for a job that then started itself: those that it kept back are looked at again. */
static void explain_passed(struct brain *brain)
{
    LIST_EACH (struct pending_queue, queue, &brain->pending.queues) {
        for (size_t k = 0; k < queue->buckets.count; k++) {
            struct why *why = &queue->buckets.items[k]->why;
            if (why->kind != WHY_RESERVED || state_job(brain->state, why->job)->pending_bucket)
                continue;
            *why = (struct why){ .kind = WHY_GPUS };
            brain_review(brain, brain->state->now);
        }
    }
}

/* ---- protected starts ---- */

#define LOOK_EVERY (5 * USEC_PER_MIN)

enum {
    SLIP = 16,           /* one that is served first may be delayed by 1/16 of its own length */
    SLIP_SHORTER = 8,    /* by jobs of at most 1/8 of its length */
    LOOK_JOBS = 256,     /* that run: for each so many, claims are as good for a second */
    PACKED_PERCENT = 90, /* of the cluster are used when jobs are served in order */
};

/* Such times move while work is done and other queues are served: not too often. */
static void look_again(struct brain *brain, usec_t at)
{
    usec_t least = brain->state->now + LOOK_EVERY;

    brain_review(brain, at > least ? at : least);
}

/* What runs for the queue: usual run time (ms) x share (2^10). One that has outlived it goes on
 * half as long. */
static uint64_t running_work(const struct brain *brain, uint32_t queue)
{
    const struct state *state = brain->state;
    uint64_t work = 0;

    for (struct ends_walk at = ends_first(&brain->ends); at.job; ends_next(&at)) {
        const struct job_run *run = at.job->run;
        if (at.job->queue != queue || !run->lease)
            continue;
        usec_t elapsed = state->now - run->granted;
        usec_t usual = run->usual == USEC_NEVER ? USEC_PER_HOUR : run->usual;
        usec_t left = usual > elapsed ? usual - elapsed : elapsed / 2;
        usec_t most = at.end > state->now ? at.end - state->now : 0;
        left = left < most ? left : most;
        work += (uint64_t)(left / 1000) * (run->lease->share / 1024);
    }
    return work;
}

/* How well predictions turned out so far, in percent. */
static uint64_t predicted_percent(const struct history *history)
{
    uint64_t actual = history->actual >> 8, expected = history->expected >> 8;
    uint64_t percent = expected > 0 ? actual * 100 / expected : 100;

    return percent < 25 ? 25 : percent > 400 ? 400 : percent;
}

/* How many of the claims would miss their protected start behind this work: up to the last. */
static uint32_t count_late(const struct brain *brain, uint64_t work, usec_t *ret_nearest)
{
    uint64_t percent = predicted_percent(&brain->state->history);
    uint32_t late = 0, i = 0;

    *ret_nearest = USEC_NEVER;
    LIST_EACH (const struct plain_claim, claim, &brain->claims) {
        i++;
        usec_t drain = (usec_t)(work / (QUEUE_SHARE_ONE / 1024) * 1000 / PACKED_PERCENT * percent);
        usec_t latest = claim->protected - drain;
        work += claim->work;
        if (latest <= brain->state->now)
            late = i;
        else
            *ret_nearest = latest < *ret_nearest ? latest : *ret_nearest;
    }
    return late;
}

/* How many of the claims have to be served in order from now on. The work that runs is looked at
 * closely only if its limits do not answer it. */
static uint32_t count_urgent(struct brain *brain, uint32_t queue)
{
    usec_t nearest;
    int64_t most = ends_work(&brain->ends, brain->state->now);

    uint32_t urgent = count_late(brain, most > 0 ? (uint64_t)most : 0, &nearest);
    if (urgent > 0)
        urgent = count_late(brain, running_work(brain, queue), &nearest);
    if (urgent == 0 && nearest != USEC_NEVER)
        look_again(brain, nearest);
    return urgent;
}

/* Those that preempt.h has decided on have no claim. */
static void drop_settled(struct brain *brain)
{
    size_t kept = 0;

    for (size_t i = 0; i < brain->claims.count; i++) {
        const struct job *job = state_job(brain->state, brain->claims.items[i].job);
        if (job && job->pending_bucket && !job->pending_bucket->is_settled)
            brain->claims.items[kept++] = brain->claims.items[i];
    }
    brain->claims.count = kept;
}

/* One more of its jobs goes before others. */
static void make_urgent(struct brain *brain, struct pending_bucket *bucket, uint32_t number)
{
    if (bucket->urgent_in != brain->plans) {
        bucket->urgent = number;
        bucket->urgent_count = 0;
        bucket->urgent_in = brain->plans;
    }
    bucket->urgent_count++;
}

/* While the first may slip, jobs of at most 1/8 of its length go before it. False: there are none
 * that find room. */
static bool put_shorts_first(struct brain *brain, const struct pending_queue *queue,
                             const struct pending_bucket *first)
{
    bool is_any = false;

    for (size_t i = 0; i < queue->buckets.count; i++) {
        struct pending_bucket *bucket = queue->buckets.items[i];
        if (bucket->most > first->most / SLIP_SHORTER || !fits_somewhere(brain, bucket))
            continue;
        make_urgent(brain, bucket, 0);
        bucket->urgent = 0;
        bucket->urgent_count = bucket->count;
        is_any = true;
    }
    return is_any;
}

/* Its jobs are served in order, this one first until it starts; it may slip a little for short
 * ones. */
static void serve_first(struct brain *brain, struct pending_queue *queue, const struct job *job)
{
    usec_t now = brain->state->now;

    if (queue->served != job->id)
        queue->served_by = 0;
    queue->claim = queue->served = job->id;
    queue->claim_priority = job->priority;
    queue->claim_at = now;
    if ((queue->served_by == 0 || queue->served_by > now) &&
        put_shorts_first(brain, queue, job->pending_bucket))
        queue->claim_at = queue->served_by;
}

/* It has been reserved a start: from now on it starts by then. */
static void set_served_by(struct pending_queue *queue, const struct job *job, usec_t reserved)
{
    if (queue->served == job->id && queue->served_by == 0)
        queue->served_by = usec_after(reserved, job->pending_bucket->most / SLIP);
}

/* The first of its bucket: of jobs that are alike, the oldest starts first. */
static struct job *claimant(const struct brain *brain, size_t i)
{
    return state_job(brain->state, brain->claims.items[i].job)->pending_bucket->first;
}

static bool is_fresh(const struct brain *brain, const struct pending_queue *queue)
{
    const struct job *job = queue->claim != 0 ? state_job(brain->state, queue->claim) : NULL;
    usec_t fresh = (usec_t)(brain->ends.count / LOOK_JOBS) * USEC_PER_SEC;

    return queue->looked_in > 0 && brain->state->now - queue->looked_at < fresh &&
           (queue->claim == 0 || (job && job->pending_bucket && queue->claim_at != 0));
}

/* What was urgent in the plan before still is. */
static void keep_urgent(const struct brain *brain, struct pending_queue *queue)
{
    for (size_t i = 0; i < queue->buckets.count; i++) {
        struct pending_bucket *bucket = queue->buckets.items[i];
        if (bucket->urgent_in == queue->looked_in)
            bucket->urgent_in = brain->plans;
    }
    queue->looked_in = brain->plans;
}

/* The one that is served first comes first from when it has been promised a start. False: none is
 * served first. */
static bool put_served_first(struct brain *brain, struct pending_queue *queue)
{
    for (size_t i = 0; i < brain->claims.count; i++) {
        struct plain_claim claim = brain->claims.items[i];
        if (claimant(brain, i)->id != queue->served)
            continue;
        if (queue->served_by == 0)
            return i == 0;
        list_remove(&brain->claims, i);
        list_insert(&brain->claims, 0, claim);
        return true;
    }
    queue->served = 0;
    return false;
}

/* Which of the queue's jobs go before its others, and from when on room is kept for the first. */
static void look_at_claims(struct brain *brain, uint32_t number)
{
    struct pending_queue *queue = &brain->pending.queues.items[number];

    if (is_fresh(brain, queue)) {
        keep_urgent(brain, queue);
        return;
    }
    queue->looked_at = brain->state->now;
    queue->looked_in = brain->plans;
    plain_list(&brain->plain, brain->state, number, &brain->claims);
    drop_settled(brain);
    bool is_served = put_served_first(brain, queue);
    uint32_t urgent = count_urgent(brain, number);
    if (is_served && urgent == 0)
        urgent = 1;
    for (uint32_t i = 0; i < urgent; i++)
        make_urgent(brain, claimant(brain, i)->pending_bucket, i + 1);
    queue->claim = 0;
    if (urgent > 0)
        serve_first(brain, queue, claimant(brain, 0));
    for (uint32_t i = 0; i < brain->claims.count && queue->claim == 0; i++) {
        const struct plain_claim *claim = &brain->claims.items[i];
        if (claim->start >= brain->state->now || claim->protected == USEC_NEVER)
            continue; /* it was not passed over, or may be without end */
        queue->claim = claimant(brain, i)->id;
        queue->claim_priority = claimant(brain, i)->priority;
        queue->claim_at = claim->protected;
    }
    if (queue->claim != 0 && queue->claim_at > brain->state->now)
        look_again(brain, queue->claim_at);
}

/* Room is kept for the first from that time on; it may start before, when it is its turn. */
static void keep_claim(struct brain *brain, struct pending_queue *queue)
{
    struct state *state = brain->state;
    struct job *job = state_job(state, queue->claim);
    struct reserve *reserve = &brain->reserve;
    struct lease lease;
    usec_t at = state->now;

    queue->kept_in = brain->plans;
    if (!job || !job->pending_bucket || !brain_is_possible(brain, job))
        return;
    usec_t most = job->pending_bucket->most;
    struct place_query query = brain_query(brain, job);
    if (queue->claim_at == 0) { /* it is served in order from now on */
        if (!place_job(&query, &brain->arena, &lease, NULL)) {
            if (!reserve_make(reserve, &query, &brain->ends, most, 0, &brain->arena, &at))
                return;
            reserve->promises.count--;
        }
        set_served_by(queue, job, at);
        queue->claim_at = queue->served_by;
        look_again(brain, queue->claim_at);
    }
    /* Of a guest's cell the owner must find all when it comes. */
    if (queue->claim_at > state->now && !query.cells)
        reserve_make(reserve, &query, &brain->ends, most, queue->claim_at, &brain->arena, &at);
    if (at > queue->claim_at && queue->served != job->id) {
        queue->served = job->id;
        queue->served_by = 0;
    }
}

/* From now on it is kept room for as soon as there is some. */
static void end_slip(struct brain *brain, uint64_t job)
{
    struct promises *promises = &brain->reserve.promises;

    if (promises->count > 0 && promises->held.items[promises->count - 1].job == job)
        promises->count--;
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
            look_at_claims(brain, i);
        else
            promised += protect_first(brain, queue, decisions);
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

enum { GUESSED_AT_ONCE = 512 };

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
    for (size_t i = 0; i < brain->pending.queues.count; i++)
        buckets += brain->pending.queues.items[i].buckets.count;
    brain->ranker.stride = 1 + (uint32_t)buckets / GUESSED_AT_ONCE;
    brain->reclaim.review = USEC_NEVER;
    defrag_keep(brain, false);
    promise_awaited(brain, decisions);
    defrag_keep_turns(brain);
    uint32_t protected = protect(brain, decisions);
    by_order = state->settings.order != ORDER_SHORTEST ? depth
               : depth > protected                     ? depth - protected
                                                       : 0;
    order_start(&brain->order, state, &brain->ranker, &brain->pending, fits_somewhere, brain);
    for (uint32_t promised = 0;;) {
        struct pending_bucket *bucket =
            order_next(&brain->order, depth == 0 || promised < by_order);
        if (!bucket)
            break;
        struct pending_queue *queue = &brain->pending.queues.items[bucket->queue];
        if (queue->claim != 0 && queue->kept_in != brain->plans &&
            bucket->priority <= queue->claim_priority)
            keep_claim(brain, queue);
        uint64_t next = bucket->first->id;
        bool is_claim = queue->claim == next && bucket->urgent_in == brain->plans;
        bool is_short =
            bucket->urgent_in == brain->plans && bucket->urgent_count > 0 && bucket->urgent == 0;
        if (is_claim)
            end_slip(brain, next);
        bool was_last = bucket->count == 1;
        struct why why = { .kind = WHY_BEHIND, .job = stopped_by };
        if (bucket->promised == brain->plans) {
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
            bool with_promise = is_claim || (!is_short && promised < by_order);
            block(brain, bucket->first, with_promise, &why, decisions);
            if (is_claim && why.at != 0)
                set_served_by(queue, bucket->first, why.at);
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
