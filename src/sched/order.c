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

static void add_offers(struct order *order, uint32_t queue, uint32_t count, bool is_less)
{
    for (uint32_t at = queue;; at = order->state->queues.items[at].parent) {
        order->offers.items[at] += is_less ? -count : count;
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

void order_start(struct order *order, const struct state *state, struct pending *pending)
{
    order->state = state;
    order->pending = pending;
    order->offers.count = 0;
    for (size_t i = 0; i < state->queues.count; i++)
        list_add(&order->offers, 0);
    list_children(order);
    for (uint32_t i = 0; i < pending->queues.count; i++) {
        const struct pending_queue *queue = &pending->queues.items[i];
        for (size_t k = 0; k < queue->buckets.count; k++)
            queue->buckets.items[k]->is_blocked = false;
        if (queue->buckets.count > 0)
            add_offers(order, i, (uint32_t)queue->buckets.count, false);
    }
}

void order_release(struct order *order)
{
    list_release(&order->offers);
    list_release(&order->children);
    list_release(&order->first_child);
}

static struct pending_bucket *best_bucket(const struct pending_queue *queue)
{
    struct pending_bucket *best = NULL;

    for (size_t i = 0; i < queue->buckets.count; i++) {
        struct pending_bucket *bucket = queue->buckets.items[i];
        if (bucket->is_blocked)
            continue;
        if (!best || bucket->priority > best->priority ||
            (bucket->priority == best->priority && bucket->first->id < best->first->id))
            best = bucket;
    }
    return best;
}

struct pending_bucket *order_next(struct order *order)
{
    uint32_t at = QUEUE_ROOT;

    if (order->offers.items[QUEUE_ROOT] == 0)
        return NULL;
    for (;;) {
        uint32_t best = 0;
        for (uint32_t i = order->first_child.items[at]; i < order->first_child.items[at + 1]; i++) {
            uint32_t child = order->children.items[i];
            if (order->offers.items[child] > 0 &&
                (best == 0 || order_is_before(order->state, child, best)))
                best = child;
        }
        /* Jobs may stand in a queue that got children later; they go first. */
        struct pending_bucket *own = at < order->pending->queues.count
                                         ? best_bucket(&order->pending->queues.items[at])
                                         : NULL;
        if (own)
            return own;
        at = best;
    }
}

void order_block(struct order *order, struct pending_bucket *bucket)
{
    bucket->is_blocked = true;
    add_offers(order, bucket->queue, 1, true);
}

void order_gone(struct order *order, uint32_t queue)
{
    add_offers(order, queue, 1, true);
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
