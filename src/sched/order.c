/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/order.h"

#include "base/wide.h"

enum { CHARGE_AHEAD_MS = 3600 * 1000 }; /* what runs counts as if it had run an hour more */

bool order_is_before(const struct state *state, uint32_t a, uint32_t b)
{
    const struct queue *left = &state->queues.items[a], *right = &state->queues.items[b];
    bool left_owed = left->used_milli < left->guarantee_milli;
    bool right_owed = right->used_milli < right->guarantee_milli;
    usec_t half_life = state->settings.half_life;

    if (left_owed != right_owed)
        return left_owed;
    uint64_t left_use =
        queue_usage(left, state->now, half_life) + (uint64_t)left->share * CHARGE_AHEAD_MS;
    uint64_t right_use =
        queue_usage(right, state->now, half_life) + (uint64_t)right->share * CHARGE_AHEAD_MS;
    int sign = wide_compare(left_use, right->weight, right_use, left->weight);
    return sign != 0 ? sign < 0 : a < b;
}

static void count(struct order *order, uint32_t queue, uint32_t more, bool is_stuck)
{
    for (uint32_t at = queue;; at = order->state->queues.items[at].parent) {
        *(is_stuck ? &order->stuck.items[at] : &order->ready.items[at]) += more;
        if (at == QUEUE_ROOT)
            return;
    }
}

/* Numbers of queues sorted by parent: a counting sort. */
static void list_children(struct order *order)
{
    const struct state *state = order->state;
    size_t count = state->queues.count;

    order->first_child.count = order->children.count = 0;
    for (size_t i = 0; i <= count + 1; i++)
        list_add(&order->first_child, 0);
    for (size_t i = 1; i < count; i++) {
        order->first_child.items[state->queues.items[i].parent + 2]++;
        list_add(&order->children, 0);
    }
    for (size_t i = 2; i <= count + 1; i++)
        order->first_child.items[i] += order->first_child.items[i - 1];
    for (uint32_t i = 1; i < count; i++)
        order->children.items[order->first_child.items[state->queues.items[i].parent + 1]++] = i;
}

/* ---- a heap of entries ---- */

static void sift_down(struct rank_entry *heap, size_t count, size_t at)
{
    for (;;) {
        size_t first = at, left = 2 * at + 1, right = left + 1;
        if (left < count && rank_is_before(&heap[left], &heap[first]))
            first = left;
        if (right < count && rank_is_before(&heap[right], &heap[first]))
            first = right;
        if (first == at)
            return;
        struct rank_entry entry = heap[at];
        heap[at] = heap[first];
        heap[first] = entry;
        at = first;
    }
}

static void make_heap(struct rank_entry *heap, size_t count)
{
    for (size_t i = count / 2; i-- > 0;)
        sift_down(heap, count, i);
}

static void set_size(struct order *order, size_t count)
{
    order->ready.count = order->stuck.count = 0;
    for (size_t i = 0; i < count; i++) {
        list_add(&order->ready, 0);
        list_add(&order->stuck, 0);
    }
    while (order->lines.count < count)
        list_add(&order->lines, (struct order_line){ 0 });
    for (size_t i = 0; i < order->lines.count; i++)
        order->lines.items[i].ready.count = order->lines.items[i].stuck.count = 0;
}

void order_start(struct order *order, const struct state *state, const struct ranker *ranker,
                 const struct pending *pending, order_fits *fits, void *user)
{
    order->state = state;
    order->ranker = ranker;
    set_size(order, state->queues.count);
    list_children(order);
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
        make_heap(line->ready.items, line->ready.count);
        make_heap(line->stuck.items, line->stuck.count);
        if (line->ready.count > 0)
            count(order, i, (uint32_t)line->ready.count, false);
        if (line->stuck.count > 0)
            count(order, i, (uint32_t)line->stuck.count, true);
    }
}

void order_release(struct order *order)
{
    for (size_t i = 0; i < order->lines.count; i++) {
        list_release(&order->lines.items[i].ready);
        list_release(&order->lines.items[i].stuck);
    }
    list_release(&order->lines);
    list_release(&order->ready);
    list_release(&order->stuck);
    list_release(&order->children);
    list_release(&order->first_child);
}

static uint32_t offers(const struct order *order, uint32_t queue, bool with_stuck)
{
    return order->ready.items[queue] + (with_stuck ? order->stuck.items[queue] : 0);
}

static struct pending_bucket *best_of(struct order *order, uint32_t queue, bool with_stuck)
{
    const struct order_line *line = &order->lines.items[queue];
    bool has_ready = line->ready.count > 0, has_stuck = with_stuck && line->stuck.count > 0;

    if (!has_ready && !has_stuck)
        return NULL;
    order->queue = queue;
    order->was_stuck =
        !has_ready || (has_stuck && rank_is_before(&line->stuck.items[0], &line->ready.items[0]));
    return order->was_stuck ? line->stuck.items[0].bucket : line->ready.items[0].bucket;
}

struct pending_bucket *order_next(struct order *order, bool with_stuck)
{
    uint32_t at = QUEUE_ROOT;

    if (offers(order, QUEUE_ROOT, with_stuck) == 0)
        return NULL;
    for (;;) {
        uint32_t best = 0;
        /* Jobs may stand in a queue that got children later; they go first. */
        struct pending_bucket *own = best_of(order, at, with_stuck);
        if (own)
            return own;
        for (uint32_t i = order->first_child.items[at]; i < order->first_child.items[at + 1]; i++) {
            uint32_t child = order->children.items[i];
            if (offers(order, child, with_stuck) > 0 &&
                (best == 0 || order_is_before(order->state, child, best)))
                best = child;
        }
        at = best;
    }
}

void order_block(struct order *order)
{
    struct order_line *line = &order->lines.items[order->queue];

    if (order->was_stuck) {
        line->stuck.items[0] = line->stuck.items[--line->stuck.count];
        sift_down(line->stuck.items, line->stuck.count, 0);
    } else {
        line->ready.items[0] = line->ready.items[--line->ready.count];
        sift_down(line->ready.items, line->ready.count, 0);
    }
    count(order, order->queue, UINT32_MAX, order->was_stuck);
}

void order_served(struct order *order, bool is_gone)
{
    struct order_line *line = &order->lines.items[order->queue];

    if (is_gone) {
        order_block(order);
        return;
    }
    struct rank_entry *top = order->was_stuck ? &line->stuck.items[0] : &line->ready.items[0];
    *top = rank_of_bucket(order->ranker, top->bucket);
    sift_down(order->was_stuck ? line->stuck.items : line->ready.items,
              order->was_stuck ? line->stuck.count : line->ready.count, 0);
}

bool order_quota_allows(const struct state *state, uint32_t queue, int64_t milli, struct why *why)
{
    for (uint32_t at = queue;; at = state->queues.items[at].parent) {
        const struct queue *q = &state->queues.items[at];
        if (q->limit_milli != QUEUE_UNLIMITED && q->used_milli + milli > q->limit_milli &&
            milli > 0) {
            *why = (struct why){
                .kind = milli > q->limit_milli ? WHY_NEVER_QUOTA : WHY_QUOTA,
                .queue = at,
                .wanted = milli,
                .free = q->limit_milli - q->used_milli,
                .most = q->limit_milli,
            };
            return false;
        }
        if (at == QUEUE_ROOT)
            return true;
    }
}
