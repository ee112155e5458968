/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/ordering/job_order.h"

#include <assert.h>

#include "base/log2.h"
#include "base/wide.h"
#include "core/job/own_speed.h"
#include "sched/job_facts.h"
#include "sched/ordering/quota_check.h"

enum { CHARGE_AHEAD_MS = 3600 * 1000 }; /* what runs counts as if it had run an hour more */
#define NO_QUEUE UINT32_MAX

static uint64_t used_by(const struct state *state, const struct order_claim *claim)
{
    const struct queue *queue = &state->queues.items[claim->queue];
    uint64_t ahead = (uint64_t)(queue->share[claim->kind] + claim->more_share) * CHARGE_AHEAD_MS;

    if (!claim->usage)
        return queue_usage(queue, claim->kind, state->now, state->settings.half_life) + ahead;
    uint64_t *usage = &claim->usage->items[claim->queue * SHARES + claim->kind];
    if (*usage == ORDER_UNKNOWN)
        *usage = queue_usage(queue, claim->kind, state->now, state->settings.half_life);
    return *usage + ahead;
}

void order_usage_start(order_usage *usage, size_t queues)
{
    usage->count = 0;
    for (size_t i = 0; i < queues * SHARES; i++)
        list_add(usage, ORDER_UNKNOWN);
}

static bool is_owed(const struct state *state, const struct order_claim *claim)
{
    const struct queue *queue = &state->queues.items[claim->queue];
    int64_t owed = quota_owed(&queue->quota[RESOURCE_GPUS], queue->owned.of[RESOURCE_GPUS]);

    if (claim->more_milli > 0 && claim->kind == SHARE_OF_GPUS) /* looking ahead: GPUs in all */
        return queue->used.of[RESOURCE_GPUS] + claim->more_milli < owed;
    return quota_is_owed(state, claim->queue, claim->kind);
}

bool order_is_before(const struct state *state, const struct order_claim *a,
                     const struct order_claim *b)
{
    bool left_owed = is_owed(state, a), right_owed = is_owed(state, b);

    if (left_owed != right_owed)
        return left_owed;
    int sign = wide_compare(used_by(state, a), state->queues.items[b->queue].weight,
                            used_by(state, b), state->queues.items[a->queue].weight);
    return sign != 0 ? sign < 0 : a->queue < b->queue;
}

/* Numbers of queues sorted by parent: a counting sort. */
static void list_children(struct order *order)
{
    const struct state *state = order->state;
    size_t count = state->queues.count;

    list_zero(&order->first_child, count + 2);
    list_zero(&order->children, count - 1);
    for (size_t i = 1; i < count; i++)
        order->first_child.items[state->queues.items[i].parent + 2]++;
    for (size_t i = 2; i <= count + 1; i++)
        order->first_child.items[i] += order->first_child.items[i - 1];
    for (uint32_t i = 1; i < count; i++)
        order->children.items[order->first_child.items[state->queues.items[i].parent + 1]++] = i;
}

static bool before(const void *a, const void *b)
{
    return rank_is_before(a, b);
}

static void set_size(struct order *order, size_t count)
{
    order->next.count = order->kinds.count = 0;
    for (size_t i = 0; i < count; i++) {
        list_add(&order->next, NO_QUEUE);
        list_add(&order->kinds, 0);
    }
    while (order->lines.count < count)
        list_add(&order->lines, (struct order_line){ 0 });
    for (size_t i = 0; i < order->lines.count; i++)
        order->lines.items[i].ready.count = order->lines.items[i].stuck.count = 0;
}

void order_release(struct order *order)
{
    for (size_t i = 0; i < order->lines.count; i++) {
        list_release(&order->lines.items[i].ready);
        list_release(&order->lines.items[i].stuck);
    }
    list_release(&order->lines);
    list_release(&order->next);
    list_release(&order->kinds);
    list_release(&order->usage);
    list_release(&order->children);
    list_release(&order->first_child);
}

/* The next of the queue's own jobs, if it has one to offer. */
static const struct rank_entry *best_of(const struct order *order, uint32_t queue,
                                        bool *ret_is_stuck)
{
    const struct order_line *line = &order->lines.items[queue];
    bool has_ready = line->ready.count > 0, has_stuck = order->with_stuck && line->stuck.count > 0;

    if (!has_ready && !has_stuck)
        return NULL;
    *ret_is_stuck =
        !has_ready || (has_stuck && rank_is_before(&line->stuck.items[0], &line->ready.items[0]));
    return *ret_is_stuck ? &line->stuck.items[0] : &line->ready.items[0];
}

static struct order_claim claim_of(struct order *order, uint32_t queue)
{
    return (struct order_claim){ .queue = queue,
                                 .kind = (enum share)order->kinds.items[queue],
                                 .usage = &order->usage };
}

/* Choose the next queue at or below this one; the children have chosen already. */
static void choose(struct order *order, uint32_t queue)
{
    bool is_stuck;
    const struct rank_entry *own = best_of(order, queue, &is_stuck);
    uint32_t best = NO_QUEUE;

    assert(order->first_child.items[queue] <= order->first_child.items[queue + 1]);
    order->next.items[queue] = NO_QUEUE;
    if (own) { /* jobs may stand in a queue that got children later; they go first */
        order->next.items[queue] = queue;
        order->kinds.items[queue] = own->bucket->kind;
        return;
    }
    for (uint32_t i = order->first_child.items[queue]; i < order->first_child.items[queue + 1];
         i++) {
        uint32_t child = order->children.items[i];
        if (order->next.items[child] == NO_QUEUE)
            continue;
        struct order_claim claim = claim_of(order, child), other;
        if (best != NO_QUEUE)
            other = claim_of(order, best);
        if (best == NO_QUEUE || order_is_before(order->state, &claim, &other))
            best = child;
    }
    if (best == NO_QUEUE)
        return;
    order->next.items[queue] = order->next.items[best];
    order->kinds.items[queue] = order->kinds.items[best];
}

/* A parent's number is lower than its children's. */
static void choose_all(struct order *order, bool with_stuck)
{
    order->with_stuck = with_stuck;
    for (uint32_t i = (uint32_t)order->next.count; i-- > 0;)
        choose(order, i);
}

/* Something of this queue, or what it used, is no longer as it was. */
static void choose_above(struct order *order, uint32_t queue)
{
    for (uint32_t at = queue; at != QUEUE_NONE; at = queue_above(order->state->queues.items, at)) {
        choose(order, at);
    }
}

void order_start(struct order *order, const struct state *state, const struct ranker *ranker,
                 const struct pending *pending, order_fits *fits, void *user)
{
    order->state = state;
    order->ranker = ranker;
    set_size(order, state->queues.count);
    order_usage_start(&order->usage, state->queues.count);
    list_children(order);
    assert(order->next.count == state->queues.count);
    for (uint32_t i = 0; i < pending->queues.count; i++) {
        const struct pending_queue *queue = &pending->queues.items[i];
        struct order_line *line = &order->lines.items[i];
        for (size_t k = 0; k < queue->buckets.count; k++) {
            if (queue->buckets.items[k]->is_settled)
                continue;
            struct rank_entry entry = rank_of_bucket(ranker, queue->buckets.items[k]);
            if (fits(user, entry.bucket))
                list_add(&line->ready, entry);
            else
                list_add(&line->stuck, entry);
        }
        list_heap(&line->ready, before);
        list_heap(&line->stuck, before);
    }
    choose_all(order, true);
}

/* Where the bucket that order_next returned is the first. */
static order_heap *heap_at_hand(struct order *order)
{
    struct order_line *line = &order->lines.items[order->queue];

    assert(order->queue != NO_QUEUE);
    return order->was_stuck ? &line->stuck : &line->ready;
}

/* Since it was ranked, others took the last free GPUs of its model. */
static bool is_ranked_anew(struct order *order, order_heap *heap)
{
    const struct rank_entry *first = &heap->items[0];

    if (!first->bucket->has_speeds)
        return false;
    struct rank_entry entry = rank_of_bucket(order->ranker, first->bucket);
    if (entry.key <= first->key)
        return false;
    heap->items[0] = entry;
    list_sift(heap, 0, before);
    choose_above(order, order->queue);
    return true;
}

struct pending_bucket *order_next(struct order *order, bool with_stuck)
{
    if (with_stuck != order->with_stuck)
        choose_all(order, with_stuck);
    do {
        order->queue = order->next.items[QUEUE_ROOT];
        if (order->queue == NO_QUEUE)
            return NULL;
        assert(order->queue < order->lines.count);
        best_of(order, order->queue, &order->was_stuck);
    } while (is_ranked_anew(order, heap_at_hand(order)));
    return heap_at_hand(order)->items[0].bucket;
}

void order_block(struct order *order)
{
    order_heap *heap = heap_at_hand(order);

    heap->items[0] = heap->items[--heap->count];
    list_sift(heap, 0, before);
    choose_above(order, order->queue);
}

void order_served(struct order *order, bool is_gone)
{
    order_heap *heap = heap_at_hand(order);

    if (is_gone) {
        order_block(order);
        return;
    }
    heap->items[0] = rank_of_bucket(order->ranker, heap->items[0].bucket);
    list_sift(heap, 0, before);
    choose_above(order, order->queue);
}

/* The usual run time, of an estimate on the model that the job would get now. */
static usec_t run_now(const struct pending_bucket *bucket)
{
    if (bucket->speed == 0 || bucket->estimate <= 0)
        return bucket->usual;
    usec_t run = own_speed_run(bucket->estimate, bucket->speed);
    return run < bucket->max_duration ? run : bucket->max_duration;
}

#define AGE_SAME (12 * USEC_PER_HOUR) /* ages far below it count alike */

/* In 1/512 of an octave. */
static int64_t key_by_length(const struct ranker *ranker, const struct pending_bucket *bucket)
{
    usec_t usual = run_now(bucket);
    usec_t limit = bucket->estimate > 0 ? usual : bucket->max_duration;
    usec_t waited = ranker->state->now - bucket->first->submitted + AGE_SAME;

    limit = limit == USEC_NEVER ? usual : limit;
    if (usual == USEC_NEVER)
        usual = limit = USEC_PER_DAY; /* nothing is known of it */
    usual = usual > 10 * USEC_PER_SEC ? usual : 10 * USEC_PER_SEC;
    return log2_of(usual / 1000) + log2_of((limit + 10 * USEC_PER_SEC) / 1000) -
           2 * log2_of(waited / 1000);
}

void rank_guess(const struct ranker *ranker, struct pending_bucket *bucket)
{
    if (bucket->guess_version == 0 || ranker->stride < 2 ||
        (bucket->first->id + ranker->turn) % ranker->stride == 0)
        run_time_bucket(ranker->state, bucket);
}

struct rank_entry rank_as_guessed(const struct ranker *ranker, struct pending_bucket *bucket)
{
    bool is_urgent = bucket->urgent_in == ranker->turn && bucket->urgent_count > 0;
    struct rank_entry entry = { .bucket = bucket,
                                .urgent = is_urgent ? bucket->urgent : UINT32_MAX,
                                .priority = bucket->priority,
                                .id = bucket->first->id };

    assert(bucket->count > 0);
    switch ((enum ordering)ranker->state->settings.order) {
    case ORDER_DEFAULT:
        entry.is_undated = !pending_can_be_met(bucket, ranker->state->now);
        entry.key = entry.is_undated ? key_by_length(ranker, bucket)
                                     : bucket->usual / USEC_PER_SEC * bucket->share;
        break;
    case ORDER_SHORTEST:
        entry.key = bucket->estimate > 0 ? run_now(bucket) : bucket->max_duration;
        break;
    case ORDER_LEAST_ATTAINED:
        entry.key = bucket->first->run->attained / 1024 * bucket->share;
        break;
    case ORDER_DEADLINE:
        entry.key = bucket->first->deadline > 0 ? bucket->first->deadline : USEC_NEVER;
        break;
    default:
        break;
    }
    return entry;
}

static void find_speed(const struct ranker *ranker, struct pending_bucket *bucket)
{
    enum ordering order = (enum ordering)ranker->state->settings.order;
    bool is_by_length = order == ORDER_DEFAULT || order == ORDER_SHORTEST;

    if (!bucket->has_speeds || !is_by_length || !ranker->speed_now ||
        (bucket->speed_in == ranker->turn && bucket->speed_after == ranker->grants))
        return;
    bucket->speed = ranker->speed_now(ranker->user, bucket);
    bucket->speed_in = ranker->turn;
    bucket->speed_after = ranker->grants;
}

struct rank_entry rank_of_bucket(const struct ranker *ranker, struct pending_bucket *bucket)
{
    rank_guess(ranker, bucket);
    find_speed(ranker, bucket);
    return rank_as_guessed(ranker, bucket);
}

bool rank_is_before(const struct rank_entry *a, const struct rank_entry *b)
{
    if (a->priority != b->priority)
        return a->priority > b->priority;
    if (a->urgent != b->urgent)
        return a->urgent < b->urgent;
    if (a->is_undated != b->is_undated)
        return b->is_undated;
    return a->key != b->key ? a->key < b->key : a->id < b->id;
}
