/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/preemption/preempt.h"

#include <assert.h>

#include "core/job/gang_size.h"
#include "sched/brain.h"
#include "sched/grant.h"
#include "sched/job_facts.h"
#include "sched/ordering/quota_check.h"
#include "sched/preemption/reclaim.h"

enum { ROUNDS_MOST = 8 }; /* of placing; a claim that finds no place is left out of the next */

static struct preempt_queue *queue_of(struct preempt *preempt, uint32_t queue)
{
    while (preempt->queues.count <= queue)
        list_add(&preempt->queues, (struct preempt_queue){ .review = USEC_NEVER });
    return &preempt->queues.items[queue];
}

void preempt_note_world(struct preempt *preempt)
{
    for (size_t i = 0; i < preempt->queues.count; i++)
        preempt->queues.items[i].is_due = true;
}

void preempt_note_queue(struct preempt *preempt, const struct state *state, uint32_t queue)
{
    for (uint32_t i = 0; i < preempt->queues.count && i < state->queues.count; i++)
        preempt->queues.items[i].is_due |= state_is_below(state, i, queue);
}

void preempt_note(struct preempt *preempt, struct job *job, bool is_gone)
{
    bool counts =
        !is_gone && job->is_preemptible && job->state >= JOB_QUEUED && job->state <= JOB_STOPPING;
    uint32_t place = counts ? job->queue + 1 : 0;

    queue_of(preempt, job->queue)->is_due = true;
    if (job->preempt_place == place)
        return;
    if (job->preempt_place > 0) {
        struct preempt_queue *old = queue_of(preempt, job->preempt_place - 1);
        old->count--;
        old->is_due = true;
        assert(preempt->count > 0);
        preempt->count--;
    }
    job->preempt_place = place;
    if (place == 0)
        return;
    queue_of(preempt, place - 1)->count++;
    preempt->count++;
}

void preempt_release(struct preempt *preempt)
{
    list_release(&preempt->claims.items);
    list_release(&preempt->dues);
    preempt_place_release(&preempt->pack);
    list_release(&preempt->queues);
}

/* ---- how much there is ---- */

static bool others_wait(const struct brain *brain, uint32_t queue)
{
    for (size_t i = 0; i < brain->pending.queues.count; i++) {
        if (i != queue && brain->pending.queues.items[i].first)
            return true;
    }
    return false;
}

/* What the claimants may have by the limits of the queue and those above, with what they hold. */
static int64_t within_limits(const struct state *state, uint32_t queue, int64_t held)
{
    int64_t most = INT64_MAX;

    for (uint32_t at = queue; at != QUEUE_NONE; at = queue_above(state->queues.items, at)) {
        int64_t bound = quota_bound(state, at, RESOURCE_GPUS);
        int64_t here = bound - state->queues.items[at].used.of[RESOURCE_GPUS] + held;
        if (bound != QUOTA_NONE && here < most)
            most = here;
    }
    return most;
}

/* For the queue: a job of its own that stops, but not for another queue's. */
static bool is_coming_free(const struct state *state, const struct job *job, uint32_t queue)
{
    const struct job *taker =
        job->run->stop_cause == STOP_PREEMPT ? state_job(state, job->run->stopped_for) : NULL;

    return job_is_leaving(job) && job->run->stop_cause != STOP_RESIZE &&
           job->run->stop_cause != STOP_MOVE && job->queue == queue &&
           (!taker || taker->queue == queue);
}

/* What a gang of the queue that is shrunk will no longer have. */
static int64_t given_up(const struct state *state, const struct job *job, uint32_t queue)
{
    const struct job *taker = state_job(state, job->run->resized_for);
    const struct lease *lease = job->run->lease;

    if (job->state != JOB_STOPPING || job->run->stop_cause != STOP_RESIZE || job->queue != queue ||
        (taker && taker->queue != queue) || job->run->members_next >= lease->members_count)
        return 0;
    return lease->milli / lease->members_count * (lease->members_count - job->run->members_next);
}

/* What was given up for jobs of other queues. */
static int64_t awaited_by_others(const struct brain *brain, uint32_t queue)
{
    int64_t milli = 0;

    for (size_t i = 0; i < brain->awaited.count; i++) {
        const struct job *job = brain->awaited.items[i];
        if (job->queue != queue)
            milli += request_least_milli(state_request(brain->state, job));
    }
    return milli;
}

/* Whether limits of GPUs bound all claims together. Else each is held against its limits when it
 * starts. */
static bool are_gpus(const struct state *state, const struct contenders *claims)
{
    struct amounts amounts;

    if (!state->has_others)
        return true;
    LIST_EACH (const struct contender, claim, &claims->items) {
        if (claim->is_running)
            amounts_of_lease(state, claim->job->run->lease, &amounts);
        else
            quota_least(state, state_request(state, claim->job), &amounts);
        if (amounts.of[RESOURCE_GPUS] == 0)
            return false;
    }
    return true;
}

/* left_out: GPUs of those of the queue that take part no more, their places are kept for them. */
static void size_up(struct brain *brain, uint32_t queue, int64_t left_out)
{
    struct contenders *claims = &brain->preempt.claims;
    int64_t held = 0, free = 0, awaited = 0, stopping = 0;

    LIST_EACH (const struct contender, claim, &claims->items) {
        held += claim->is_running ? claim->milli : 0;
        awaited += !claim->is_running && claim->job->is_awaited ? claim->milli : 0;
    }
    for (struct ends_walk at = ends_first(&brain->ends); at.job; ends_next(&at)) {
        const struct job *job = at.job;
        if (is_coming_free(brain->state, job, queue))
            stopping += job->run->lease->milli;
        else
            stopping += given_up(brain->state, job, queue);
    }
    for (size_t i = 0; i < brain->fleet.nodes.count; i++) {
        if (brain->layout.nodes.items[i].is_up)
            free += brain->fleet.nodes.items[i].milli;
    }
    if (others_wait(brain, queue)) {
        free -= awaited_by_others(brain, queue);
        free = free < awaited ? free : awaited;
        free = free > 0 ? free : 0;
    }
    free = free > left_out ? free - left_out : 0;
    claims->milli = held + free + stopping;
    int64_t most = are_gpus(brain->state, claims)
                       ? within_limits(brain->state, queue, held + stopping)
                       : INT64_MAX;
    if (left_out > 0 && most > held)
        most = most - left_out > held ? most - left_out : held;
    claims->milli = most < claims->milli ? most : claims->milli;
}

/* only_running: select the running jobs only, so that none is stopped for another. */
static void select_claims(struct contenders *claims, bool only_running)
{
    int64_t left = claims->milli;
    bool is_closed = false; /* what is left is first for one that may have to go */

    LIST_EACH (struct contender, claim, &claims->items) {
        bool is_barred = claim->is_homeless || (is_closed && !claim->is_running);
        claim->is_selected = claim->tier == CLAIM_FIXED || (!is_barred && claim->milli <= left);
        is_closed |= claim->is_homeless && claim->is_running;
        if (only_running)
            claim->is_selected = claim->is_running;
        left -= claim->is_selected ? claim->milli : 0;
    }
}

/* ---- what follows ---- */

/* The job for which this one is stopped: the best claim that is better and gets a place where this
 * one runs. Else the best of all that start: it took the GPUs that this one could have moved to. */
static uint64_t stopped_for(const struct brain *brain, const struct contender *claim)
{
    const struct contenders *claims = &brain->preempt.claims;
    const struct contender *taker =
        preempt_place_taker(&brain->preempt.pack, claims, claim->job->run->lease);

    if (taker && taker < claim && !taker->is_running)
        return taker->job->id;
    LIST_EACH (const struct contender, other, &claims->items) {
        if (!other->is_running && other->is_selected)
            return other->job->id;
    }
    return 0;
}

/* False: its place is not free yet. */
static bool start_claim(struct brain *brain, const struct contender *claim,
                        struct decisions *decisions)
{
    struct place_query query = brain_query(brain, claim->job);
    struct amounts amounts;
    struct lease lease;
    struct why why;

    query.only = &brain->preempt.pack.nodes.items[claim->first_node];
    query.only_count = claim->node_count;
    defrag_respect(brain, claim->job, &query);
    promise_set_own(&brain->reserve.promises, &brain->layout, claim->job->id);
    bool is_placed =
        brain_may_start(brain, claim->job, &why) && place_job(&query, &brain->arena, &lease, &why);
    promise_set_own(&brain->reserve.promises, &brain->layout, 0);
    if (is_placed)
        amounts_of_lease(brain->state, &lease, &amounts);
    if (!is_placed || !brain_may_take(brain, claim->job, &amounts, &why)) {
        claim->job->pending_bucket->why = why;
        return false;
    }
    contenders_note_start(&brain->preempt.claims, claim, brain->state);
    brain_grant(brain, claim->job, &lease, claim->cause, decisions);
    return true;
}

/* Is it a whole cell of another queue that keeps it? */
static void explain_cells(struct brain *brain, const struct job *job,
                          const struct place_query *query)
{
    struct lease lease;
    struct why why;

    if (!job->is_preemptible && !place_job(query, &brain->arena, &lease, &why) &&
        why.kind == WHY_SHAPE)
        job->pending_bucket->why = why;
}

/* Those that wait on: there is no room, or what there is is kept for `holder`. */
static void explain(struct brain *brain, uint64_t holder)
{
    const struct contenders *claims = &brain->preempt.claims;
    const struct job *job = holder != 0 ? state_job(brain->state, holder) : NULL;

    LIST_EACH (const struct contender, claim, &claims->items) {
        struct pending_bucket *bucket = claim->job->pending_bucket;
        bool is_alike = bucket && job && bucket == job->pending_bucket; /* what keeps that one */
        if (!bucket || !bucket->is_settled || claim->is_selected || is_alike)
            continue;
        struct place_query query = brain_query(brain, claim->job);
        if (holder == 0) {
            explain_cells(brain, claim->job, &query);
            continue;
        }
        bool may_fit = (query.labels | query.apart) == 0 && place_may_fit(&query);
        bucket->why = may_fit ? (struct why){ .kind = WHY_RESERVED, .job = holder }
                              : (struct why){ .kind = WHY_GPUS };
    }
}

static bool may_have_more(const struct brain *brain, const struct contender *claim)
{
    return request_is_elastic(state_request(brain->state, claim->job));
}

/* The last to start, when there is enough for all: with as many members as fit. */
static bool start_largest(struct brain *brain, const struct contender *claim,
                          struct decisions *decisions)
{
    struct why why;

    contenders_note_start(&brain->preempt.claims, claim, brain->state);
    if (brain_try_grant(brain, claim->job, claim->cause, decisions, &why))
        return true;
    claim->job->pending_bucket->why = why;
    return false;
}

/* Every claim has a place, and no job has to stop for it. */
static bool all_have_places(const struct contenders *claims)
{
    LIST_EACH (const struct contender, claim, &claims->items) {
        if (!claim->is_selected || (claim->is_running && !claim->is_kept))
            return false;
    }
    return true;
}

static void decide(struct brain *brain, struct decisions *decisions)
{
    const struct contenders *claims = &brain->preempt.claims;
    bool is_enough =
        all_have_places(claims) && !others_wait(brain, claims->items.items[0].job->queue);
    uint64_t holder = 0;

    LIST_EACH (const struct contender, claim, &claims->items) {
        if (claim->is_running && !claim->is_kept)
            brain_stop(
                brain, claim->job,
                (struct event_stop){ .cause = STOP_PREEMPT, .other = stopped_for(brain, claim) },
                decisions);
    }
    LIST_EACH (const struct contender, claim, &claims->items) {
        if (claim->is_running || !claim->is_selected || (is_enough && may_have_more(brain, claim)))
            continue;
        if (!start_claim(brain, claim, decisions))
            holder = claim->job->id;
    }
    for (size_t i = 0; i < claims->items.count && is_enough; i++) {
        const struct contender *claim = &claims->items.items[i];
        if (!claim->is_running && may_have_more(brain, claim) &&
            !start_largest(brain, claim, decisions))
            holder = claim->job->id;
    }
    if (holder != 0 || cells_is_any(&brain->cells))
        explain(brain, holder);
}

static void unsettle(struct brain *brain)
{
    LIST_EACH (struct pending_queue, queue, &brain->pending.queues) {
        for (size_t k = 0; k < queue->buckets.count; k++)
            queue->buckets.items[k]->is_settled = false;
    }
    brain->preempt.has_settled = false;
}

/* Keep a place for a job for which other queues made room. */
static void keep_for(struct brain *brain, struct fleet *ahead, const struct job *job)
{
    const struct lease *known = kept_place_of(&brain->reclaim.made, job->id);
    struct place_query query = brain_query_ahead(brain, job, ahead, PLACE_QUOTA_NONE);
    struct lease lease;

    if (known && fleet_has(ahead, known))
        fleet_take(ahead, known, 1);
    else if (place_job(&query, &brain->arena, &lease, NULL))
        fleet_take(ahead, &lease, 1);
}

/* As if those that are stopping were gone, and those that other queues made room for were there. */
static void look_ahead(struct brain *brain, uint32_t queue)
{
    struct fleet *ahead = &brain->preempt.pack.ahead;

    fleet_follow(ahead, &brain->fleet);
    for (struct ends_walk at = ends_first(&brain->ends); at.job; ends_next(&at)) {
        bool is_moved = at.job->run->stop_cause == STOP_MOVE;
        bool is_gone = brain->awaited.count > 0 || is_moved
                           ? job_is_leaving(at.job)
                           : is_coming_free(brain->state, at.job, queue);
        const struct lease *kept =
            job_is_back(at.job) ? kept_place_of(&brain->reclaim.made, at.job->id) : NULL;
        if ((at.job->run->stop_cause == STOP_RESIZE || is_moved) && !kept)
            continue;
        if (is_gone)
            fleet_take(ahead, at.job->run->lease, -1);
        if (is_gone && kept)
            fleet_take(ahead, kept, 1);
    }
    for (size_t i = 0; i < brain->awaited.count; i++)
        keep_for(brain, ahead, brain->awaited.items[i]);
}

enum { TAKE_BACK_MOST = 8 };

/* The best of those that wait on may have something to get back from other queues. */
static void take_back(struct brain *brain, struct decisions *decisions)
{
    const struct contenders *claims = &brain->preempt.claims;
    int tried = 0;

    for (size_t i = 0; i < claims->items.count && tried < TAKE_BACK_MOST; i++) {
        const struct contender *claim = &claims->items.items[i];
        struct job *job = claim->job;
        if (job->state != JOB_QUEUED || claim->is_selected)
            continue;
        tried += !reclaim_for(brain, job, 0, decisions);
    }
}

/* A job that has to wait for other hours takes no part until then. */
static void note_times(struct brain *brain, uint32_t queue)
{
    struct pending_queue *pending =
        queue < brain->pending.queues.count ? &brain->pending.queues.items[queue] : NULL;

    for (size_t i = 0; pending && i < pending->buckets.count; i++) {
        struct pending_bucket *bucket = pending->buckets.items[i];
        struct why why;
        run_time_bucket(brain->state, bucket);
        bucket->is_timed_out =
            !brain_may_start(brain, bucket->first, &why) && why_is_of_time(why.kind);
    }
}

/* Leave out jobs for which others move: their places are kept. Returns the GPUs of these places. */
static int64_t leave_out_moved(struct brain *brain, struct contenders *claims)
{
    int64_t milli = 0;

    for (size_t i = claims->items.count; brain->defrag.kept > 0 && i-- > 0;) {
        const struct contender *claim = &claims->items.items[i];
        if (claim->is_running || !defrag_is_under_way(brain, claim->job))
            continue;
        milli += kept_place_of(&brain->reclaim.made, claim->job->id)->milli;
        list_remove(&claims->items, i);
    }
    return milli;
}

static void plan_queue(struct brain *brain, uint32_t queue, struct decisions *decisions)
{
    struct preempt *preempt = &brain->preempt;
    struct contenders *claims = &preempt->claims;
    bool is_alone = !others_wait(brain, queue);

    note_times(brain, queue);
    if (!contenders_collect(claims, brain->state, queue, &brain->pending, &brain->ends))
        return;
    int64_t left_out = leave_out_moved(brain, claims);
    if (claims->items.count == 0)
        return;
    for (size_t i = 0; is_alone && i < claims->items.count; i++) {
        struct pending_bucket *bucket = claims->items.items[i].job->pending_bucket;
        if (!bucket)
            continue;
        bucket->is_settled = preempt->has_settled = true; /* plan_grants leaves it alone */
        bucket->why = (struct why){ .kind = WHY_GPUS };
    }
    size_up(brain, queue, left_out);
    preempt->dues.count = 0;
    if (is_alone) /* else what a job on its line takes may go to another queue */
        plain_list_due(&brain->plain, queue, &preempt->dues);
    contenders_set_due(claims, &preempt->dues);
    claims->is_guarded = !is_alone && cells_is_any(&brain->cells);
    contenders_sort(claims, brain->state);
    usec_t next = is_alone ? plain_next(&brain->plain, queue, brain->state->now) : USEC_NEVER;
    claims->review = next < claims->review ? next : claims->review;
    struct place_query query = brain_query(brain, claims->items.items[0].job);
    for (int round = 0;; round++) {
        select_claims(claims, round == ROUNDS_MOST);
        look_ahead(brain, queue);
        if (preempt_place_make(&preempt->pack, claims, &query, &brain->arena))
            break;
    }
    decide(brain, decisions);
    if (is_alone)
        take_back(brain, decisions);
    preempt->queues.items[queue].review = claims->review;
}

/* One that is alone is settled anew in each plan. */
static bool is_due(const struct brain *brain, uint32_t number)
{
    const struct preempt_queue *queue = &brain->preempt.queues.items[number];
    const struct pending_queue *waiting =
        number < brain->pending.queues.count ? &brain->pending.queues.items[number] : NULL;

    if (queue->is_due || queue->review <= brain->state->now || !others_wait(brain, number))
        return true;
    for (size_t i = 0; waiting && i < waiting->buckets.count; i++) {
        if (waiting->buckets.items[i]->first->is_awaited)
            return true;
    }
    return false;
}

/* Jobs for which others were stopped, also those for which this plan moves others. For one that may
 * not start, though nothing is being stopped for it any more (a window has opened since), nothing
 * is kept: its place would stop job after job until it may. */
static void list_awaited(struct brain *brain)
{
    brain_list_awaited(brain);
    for (size_t i = brain->awaited.count; i-- > 0;) {
        struct why why;
        const struct job *job = brain->awaited.items[i];
        if (!brain_may_start(brain, job, &why) && !room_made_is_under_way(brain, job))
            list_remove(&brain->awaited, i);
    }
}

void plan_preempt(struct brain *brain, struct decisions *decisions)
{
    struct preempt *preempt = &brain->preempt;

    preempt->review = USEC_NEVER;
    if (preempt->has_settled)
        unsettle(brain);
    if (preempt->count == 0 || brain->state->settings.order == ORDER_FIFO)
        return;
    list_awaited(brain);
    defrag_keep(brain, KEEP_MOVING);
    for (uint32_t i = 0; i < preempt->queues.count; i++) {
        if (preempt->queues.items[i].count == 0)
            continue;
        if (is_due(brain, i)) {
            preempt->queues.items[i].is_due = false;
            preempt->queues.items[i].review = USEC_NEVER;
            plan_queue(brain, i, decisions);
        }
        usec_t review = preempt->queues.items[i].review;
        preempt->review = review < preempt->review ? review : preempt->review;
    }
}
