/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/claims.h"

#include "sched/brain.h"
#include "sched/deadlines.h"
#include "sched/grant.h"

enum {
    LOOK_JOBS = 256,     /* that run: for each so many, claims are as good for a second, */
    LOOK_WORK = 64,      /* and for each so many, the sum of their work */
    PACKED_PERCENT = 90, /* of the cluster are used when jobs are served in order */
};

/* Such times move while work is done and other queues are served: not too often. */
static void look_again(struct brain *brain, usec_t at)
{
    usec_t least = brain->state->now + CLAIMS_LOOK;

    brain_review(brain, at > least ? at : least);
}

/* How long a look at all running jobs is as good: with few of them, not at all. */
static usec_t fresh_for(const struct brain *brain, uint32_t jobs)
{
    return (usec_t)(brain->ends.count / jobs) * USEC_PER_SEC;
}

/* What runs for each queue: usual run time (ms) x share (2^10). One that has outlived it goes on
 * half as long. */
static void add_up_work(struct brain *brain)
{
    const struct state *state = brain->state;

    list_zero(&brain->running_work, brain->pending.queues.count);
    brain->running_work_in = brain->plans;
    brain->running_work_at = state->now;
    for (struct ends_walk at = ends_first(&brain->ends); at.job; ends_next(&at)) {
        const struct job_run *run = at.job->run;
        if (at.job->queue >= brain->running_work.count || !run->lease)
            continue;
        usec_t elapsed = state->now - run->granted;
        usec_t usual = plain_usual(run->usual);
        usec_t left = usual > elapsed ? usual - elapsed : elapsed / 2;
        usec_t most = at.end > state->now ? at.end - state->now : 0;
        left = left < most ? left : most;
        brain->running_work.items[at.job->queue] +=
            (uint64_t)(left / 1000) * (run->lease->share / 1024);
    }
}

static uint64_t running_work(struct brain *brain, uint32_t queue)
{
    bool is_fresh = brain->running_work_in == brain->plans ||
                    brain->state->now - brain->running_work_at < fresh_for(brain, LOOK_WORK);

    if (!is_fresh || queue >= brain->running_work.count)
        add_up_work(brain);
    return brain->running_work.items[queue];
}

/* How well predictions turned out so far, in percent. */
static uint64_t predicted_percent(const struct history *history)
{
    uint64_t actual = history->actual >> 8, expected = history->expected >> 8;
    uint64_t percent = expected > 0 ? actual * 100 / expected : 100;

    return percent < 25 ? 25 : percent > 400 ? 400 : percent;
}

/* How many of the claims would miss their protected start behind this work: up to the last. */
static uint32_t count_late(const struct brain *brain, const plain_claim_list *claims, uint64_t work,
                           usec_t *ret_nearest)
{
    uint64_t percent = predicted_percent(&brain->state->history);
    uint32_t late = 0, i = 0;

    *ret_nearest = USEC_NEVER;
    LIST_EACH (const struct plain_claim, claim, claims) {
        i++;
        usec_t drain = plain_work_time(work) / PACKED_PERCENT * (usec_t)percent;
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
 * closely only if its limits do not answer it. more: work that may come before them. */
static uint32_t count_urgent(struct brain *brain, const plain_claim_list *claims, uint32_t queue,
                             uint64_t more)
{
    usec_t nearest;
    int64_t most = ends_work(&brain->ends, brain->state->now);

    uint32_t urgent = count_late(brain, claims, more + (most > 0 ? (uint64_t)most : 0), &nearest);
    if (urgent > 0)
        urgent = count_late(brain, claims, more + running_work(brain, queue), &nearest);
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

static bool is_among(const plain_claim_list *claims, uint64_t job)
{
    LIST_EACH (const struct plain_claim, claim, claims) {
        if (claim->job == job)
            return true;
    }
    return false;
}

/* Those that would miss their deadlines if they waited on come first, by deadline. Else *ret_next
 * is the one that room is kept for; its job is 0 if there is none. */
static void put_due_first(struct brain *brain, uint32_t number, struct plain_claim *ret_next)
{
    plain_claim_list due = { 0 }, others = brain->claims;

    *ret_next = (struct plain_claim){ 0 };
    uint64_t other = deadlines_list(&brain->pending.queues.items[number], brain->state->now, &due);
    uint32_t late = due.count > 0 ? count_urgent(brain, &due, number, other) : 0;
    for (size_t i = 0; i < due.count && late == 0 && ret_next->job == 0; i++) {
        struct why why;
        if (brain_may_start(brain, state_job(brain->state, due.items[i].job), &why))
            *ret_next = due.items[i];
    }
    if (late == 0) {
        list_release(&due);
        return;
    }
    due.count = late;
    LIST_EACH (const struct plain_claim, claim, &others) {
        const struct job *job = state_job(brain->state, claim->job);
        if (!pending_can_be_met(job->pending_bucket, brain->state->now) ||
            !is_among(&due, claim->job))
            list_add(&due, *claim);
    }
    brain->claims = due;
    list_release(&others);
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

/* While the first may slip, jobs of at most 1/8 of its length go before it, and before these, jobs
 * that would miss their deadlines. False: there are none that find room. */
static bool put_shorts_first(struct brain *brain, const struct pending_queue *queue,
                             const struct pending_bucket *first)
{
    usec_t now = brain->state->now;
    bool is_any = false, is_first_dated = pending_can_be_met(first, now);

    for (size_t i = 0; i < queue->buckets.count; i++) {
        struct pending_bucket *bucket = queue->buckets.items[i];
        bool is_short = bucket->most <= first->most / CLAIMS_SLIP;
        bool is_due = (is_short || !is_first_dated) && bucket->urgent_in == brain->plans &&
                      pending_can_be_met(bucket, now);
        if ((!is_due && !is_short) || bucket->is_settled || !brain_fits_somewhere(brain, bucket))
            continue;
        bucket->urgent = is_due ? bucket->urgent - CLAIMS_SHORT : CLAIMS_SHORT;
        bucket->urgent_in = brain->plans;
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
void claims_promise(struct pending_queue *queue, const struct job *job, usec_t reserved)
{
    if (queue->served == job->id && queue->served_by == 0)
        queue->served_by = usec_after(reserved, job->pending_bucket->most / CLAIMS_SLIP);
}

/* The first of its bucket: of jobs that are alike, the oldest starts first. */
static struct job *claimant(const struct brain *brain, size_t i)
{
    return state_job(brain->state, brain->claims.items[i].job)->pending_bucket->first;
}

static bool is_fresh(const struct brain *brain, const struct pending_queue *queue)
{
    const struct job *job = queue->claim != 0 ? state_job(brain->state, queue->claim) : NULL;

    return queue->looked_in > 0 &&
           brain->state->now - queue->looked_at < fresh_for(brain, LOOK_JOBS) &&
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

/* The first ones that quotas, hours or budgets keep back have no claim: room does not help them.
 * False: what is served first is among them, or nothing is. */
static bool drop_kept_back(struct brain *brain, struct pending_queue *queue, bool is_served)
{
    size_t dropped = 0;
    struct why why;

    while (dropped < brain->claims.count && !brain_may_start(brain, claimant(brain, dropped), &why))
        dropped++;
    for (size_t i = dropped; i < brain->claims.count; i++)
        brain->claims.items[i - dropped] = brain->claims.items[i];
    brain->claims.count -= dropped;
    if (dropped > 0 && is_served)
        queue->served = 0;
    return is_served && dropped == 0;
}

static void keep_room_for(struct pending_queue *queue, const struct job *job, usec_t at)
{
    queue->claim = job->id;
    queue->claim_priority = job->priority;
    queue->claim_at = at;
}

/* Which of the queue's jobs go before its others, and from when on room is kept for the first. */
void claims_look(struct brain *brain, uint32_t number)
{
    struct pending_queue *queue = &brain->pending.queues.items[number];
    struct plain_claim next;

    if (is_fresh(brain, queue)) {
        keep_urgent(brain, queue);
        return;
    }
    queue->looked_at = brain->state->now;
    queue->looked_in = brain->plans;
    plain_list(&brain->plain, brain->state, number, &brain->claims);
    drop_settled(brain);
    put_due_first(brain, number, &next);
    bool is_served = drop_kept_back(brain, queue, put_served_first(brain, queue));
    uint32_t urgent = count_urgent(brain, &brain->claims, number, 0);
    if (is_served && urgent == 0)
        urgent = 1;
    for (uint32_t i = 0; i < urgent; i++)
        make_urgent(brain, claimant(brain, i)->pending_bucket, CLAIMS_SHORT + i + 1);
    queue->claim = 0;
    if (urgent > 0)
        serve_first(brain, queue, claimant(brain, 0));
    else if (next.job != 0)
        keep_room_for(queue, state_job(brain->state, next.job)->pending_bucket->first,
                      next.protected);
    for (uint32_t i = 0; i < brain->claims.count && queue->claim == 0; i++) {
        const struct plain_claim *claim = &brain->claims.items[i];
        if (claim->start >= brain->state->now || claim->protected == USEC_NEVER)
            continue; /* it was not passed over, or may be without end */
        keep_room_for(queue, claimant(brain, i), claim->protected);
    }
    if (queue->claim != 0 && queue->claim_at > brain->state->now)
        look_again(brain, queue->claim_at);
}

/* Room is kept for the first from that time on; it may start before, when it is its turn. */
void claims_keep(struct brain *brain, struct pending_queue *queue)
{
    struct state *state = brain->state;
    struct job *job = state_job(state, queue->claim);
    struct reserve *reserve = &brain->reserve;
    struct lease lease;

    queue->kept_in = brain->plans;
    if (!job || !job->pending_bucket || !brain_is_possible(brain, job))
        return;
    usec_t most = job->pending_bucket->most;
    struct place_query query = brain_query(brain, job);
    const struct promise *promise = promise_of(&reserve->promises, job->id); /* it is awaited */
    usec_t at = promise ? promise->at : state->now;
    if (queue->claim_at == 0) { /* it is served in order from now on */
        if (!promise && !place_job(&query, &brain->arena, &lease, NULL)) {
            if (!reserve_make(reserve, &query, &brain->ends, most, 0, &brain->arena, &at))
                return;
            reserve->promises.count--;
        }
        claims_promise(queue, job, at);
        queue->claim_at = queue->served_by;
        look_again(brain, queue->claim_at);
    }
    /* Of a guest's cell the owner must find all when it comes. */
    if (queue->claim_at > state->now && !query.cells && !promise)
        reserve_make(reserve, &query, &brain->ends, most, queue->claim_at, &brain->arena, &at);
    if (at > queue->claim_at && queue->served != job->id) {
        queue->served = job->id;
        queue->served_by = 0;
    }
}

/* From now on it is kept room for as soon as there is some. */
void claims_end_slip(struct brain *brain, uint64_t job)
{
    struct promises *promises = &brain->reserve.promises;

    if (promises->count > 0 && promises->held.items[promises->count - 1].job == job)
        promises->count--;
}
