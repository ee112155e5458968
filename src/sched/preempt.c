/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/preempt.h"

#include "sched/brain.h"

void preempt_note(struct preempt *preempt, struct job *job, bool is_gone)
{
    bool counts =
        !is_gone && job->is_preemptible && job->state >= JOB_QUEUED && job->state <= JOB_STOPPING;
    uint32_t place = counts ? job->queue + 1 : 0;

    if (job->preempt_place == place)
        return;
    if (job->preempt_place > 0) {
        preempt->counts.items[job->preempt_place - 1]--;
        preempt->count--;
    }
    job->preempt_place = place;
    if (place == 0)
        return;
    while (preempt->counts.count < place)
        list_add(&preempt->counts, 0);
    preempt->counts.items[place - 1]++;
    preempt->count++;
}

void preempt_release(struct preempt *preempt)
{
    claims_release(&preempt->claims);
    pack_release(&preempt->pack);
    list_release(&preempt->counts);
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

    for (uint32_t at = queue;; at = state->queues.items[at].parent) {
        const struct queue *q = &state->queues.items[at];
        int64_t here = q->limit_milli - q->used_milli + held;
        if (q->limit_milli != QUEUE_UNLIMITED && here < most)
            most = here;
        if (at == QUEUE_ROOT)
            return most;
    }
}

static void size_up(struct brain *brain, uint32_t queue)
{
    struct claims *claims = &brain->preempt.claims;
    int64_t held = 0, free = 0, awaited = 0, stopping = 0;
    struct ends_walk walk = { .ends = &brain->ends };

    for (size_t i = 0; i < claims->items.count; i++) {
        const struct claim *claim = &claims->items.items[i];
        held += claim->is_running ? claim->milli : 0;
        awaited += !claim->is_running && claim->job->is_awaited ? claim->milli : 0;
    }
    for (const struct ends_entry *entry = ends_next(&walk); entry; entry = ends_next(&walk)) {
        const struct job *job = entry->job;
        if (job->state == JOB_STOPPING && job->queue == queue)
            stopping += job->lease->milli;
    }
    for (size_t i = 0; i < brain->fleet.nodes.count; i++) {
        if (brain->layout.nodes.items[i].is_up)
            free += brain->fleet.nodes.items[i].milli;
    }
    if (others_wait(brain, queue))
        free = free < awaited ? free : awaited;
    claims->milli = held + free + stopping;
    int64_t most = within_limits(brain->state, queue, held + stopping);
    claims->milli = most < claims->milli ? most : claims->milli;
}

static void select_claims(struct claims *claims)
{
    int64_t left = claims->milli;

    for (size_t i = 0; i < claims->items.count; i++) {
        struct claim *claim = &claims->items.items[i];
        claim->is_selected = claim->tier == CLAIM_FIXED || claim->milli <= left;
        left -= claim->is_selected ? claim->milli : 0;
    }
}

/* ---- what follows ---- */

static void stop_claim(struct brain *brain, const struct claim *claim, struct decisions *decisions)
{
    struct event stop = {
        .kind = EVENT_STOP,
        .at = brain->state->now,
        .stop = { .job = claim->job->id,
                  .cause = STOP_PREEMPT,
                  .other = pack_taker(&brain->preempt.pack, claim->job->lease) },
    };

    brain_decide(brain, &stop, decisions);
}

static void start_claim(struct brain *brain, const struct claim *claim, struct decisions *decisions)
{
    struct place_query query;
    struct lease lease;
    struct why why;

    brain_query(brain, claim->job, &query);
    query.only = &brain->preempt.pack.nodes.items[claim->first_node];
    query.only_count = claim->node_count;
    if (!place_job(&query, &brain->arena, &lease, &why)) {
        claim->job->pending_bucket->why = why;
        return;
    }
    brain_grant(brain, claim->job, &lease, claim->tier, decisions);
}

static void decide(struct brain *brain, struct decisions *decisions)
{
    const struct claims *claims = &brain->preempt.claims;

    for (size_t i = 0; i < claims->items.count; i++) {
        const struct claim *claim = &claims->items.items[i];
        if (claim->is_running && !claim->is_kept)
            stop_claim(brain, claim, decisions);
    }
    for (size_t i = 0; i < claims->items.count; i++) {
        const struct claim *claim = &claims->items.items[i];
        if (!claim->is_running && claim->is_selected)
            start_claim(brain, claim, decisions);
    }
}

/* plan_grants has nothing to do with it. */
static void settle(struct preempt *preempt, struct pending_bucket *bucket)
{
    if (!bucket)
        return;
    bucket->is_settled = preempt->has_settled = true;
    bucket->why = (struct why){ .kind = WHY_GPUS };
}

static void unsettle(struct brain *brain)
{
    for (size_t i = 0; i < brain->pending.queues.count; i++) {
        struct pending_queue *queue = &brain->pending.queues.items[i];
        for (size_t k = 0; k < queue->buckets.count; k++)
            queue->buckets.items[k]->is_settled = false;
    }
    brain->preempt.has_settled = false;
}

/* As if those that are stopping were gone. */
static void look_ahead(struct brain *brain, uint32_t queue)
{
    struct fleet *ahead = &brain->preempt.pack.ahead;
    struct ends_walk walk = { .ends = &brain->ends };

    fleet_follow(ahead, &brain->fleet);
    for (const struct ends_entry *entry = ends_next(&walk); entry; entry = ends_next(&walk)) {
        if (entry->job->state == JOB_STOPPING && entry->job->queue == queue)
            fleet_take(ahead, entry->job->lease, -1);
    }
}

static void plan_queue(struct brain *brain, uint32_t queue, struct decisions *decisions)
{
    struct preempt *preempt = &brain->preempt;
    struct claims *claims = &preempt->claims;
    struct place_query query;
    bool is_alone = !others_wait(brain, queue);

    if (!claims_collect(claims, brain->state, queue, &brain->pending, &brain->ends))
        return;
    for (size_t i = 0; is_alone && i < claims->items.count; i++)
        settle(preempt, claims->items.items[i].job->pending_bucket);
    size_up(brain, queue);
    claims_sort(claims, brain->state);
    preempt->review = claims->review < preempt->review ? claims->review : preempt->review;
    select_claims(claims);
    brain_query(brain, claims->items.items[0].job, &query);
    look_ahead(brain, queue);
    pack_make(&preempt->pack, claims, &query, &brain->arena);
    decide(brain, decisions);
}

void plan_preempt(struct brain *brain, struct decisions *decisions)
{
    struct preempt *preempt = &brain->preempt;

    preempt->review = USEC_NEVER;
    if (preempt->has_settled)
        unsettle(brain);
    if (preempt->count == 0 || brain->state->settings.order == ORDER_FIFO)
        return;
    for (uint32_t i = 0; i < preempt->counts.count; i++) {
        if (preempt->counts.items[i] > 0)
            plan_queue(brain, i, decisions);
    }
}
