/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/ordering/fair_share.h"

#include <assert.h>

#include "base/wide.h"
#include "sched/ordering/quota_check.h"

enum { ONE = 1 << 20 };

/* A child while its parent's GPUs are dealt out. */
struct part {
    uint32_t queue;
    int64_t weight; /* P, in parts of ONE */
    int64_t given;  /* in this round */
    uint64_t rest;  /* of the division, to be rounded up first */
    bool is_open;   /* wants more */
};

struct dealing {
    LIST(struct part) parts;
    fair_list *fair;
    const struct state *state;
};

int64_t fair_owed(const struct state *state, uint32_t queue)
{
    const struct queue *q = &state->queues.items[queue];

    return quota_owed(&q->quota[RESOURCE_GPUS], q->owned.of[RESOURCE_GPUS]);
}

/* What each holds and waits for, with all below it, each within its own bound. */
static void count_wanted(fair_list *fair, const struct state *state, const struct pending *pending)
{
    size_t count = state->queues.count;
    LIST(int64_t) below = { 0 };

    list_zero(fair, count);
    list_zero(&below, count);
    for (uint32_t i = (uint32_t)count; i-- > 0;) {
        const struct queue *queue = &state->queues.items[i];
        int64_t bound = quota_bound(state, i, RESOURCE_GPUS), own = queue->used.of[RESOURCE_GPUS];
        for (uint32_t k = i + 1; k < count; k++) /* what is held below is counted there */
            own -= state->queues.items[k].parent == i
                       ? state->queues.items[k].used.of[RESOURCE_GPUS]
                       : 0;
        for (size_t k = 0; i < pending->queues.count && k < pending->queues.items[i].buckets.count;
             k++) {
            const struct pending_bucket *bucket = pending->queues.items[i].buckets.items[k];
            own += bucket->count * request_least_milli(state_request(state, bucket->first));
        }
        int64_t wanted = own + below.items[i];
        if (bound != QUOTA_NONE && wanted > bound)
            wanted = bound;
        fair->items[i].wanted_milli = wanted;
        if (i != QUEUE_ROOT)
            below.items[queue->parent] += wanted;
    }
    list_release(&below);
}

/* ---- one parent ---- */

static int64_t still_wanted(const struct dealing *dealing, uint32_t queue)
{
    const struct fair_queue *fair = &dealing->fair->items[queue];

    return fair->wanted_milli - fair->fair_milli;
}

/* Divide in proportion to the weights, in whole GPUs; no queue gets more than it wants. Returns
 * what is left, and whether a queue wanted less than its part. */
static int64_t deal(struct dealing *dealing, int64_t amount, bool *ret_is_capped)
{
    int64_t sum = 0, left = amount;

    *ret_is_capped = false;

    for (size_t i = 0; i < dealing->parts.count; i++)
        sum += dealing->parts.items[i].is_open ? dealing->parts.items[i].weight : 0;
    for (size_t i = 0; i < dealing->parts.count && sum > 0; i++) {
        struct part *part = &dealing->parts.items[i];
        part->given = 0;
        part->rest = 0;
        if (!part->is_open)
            continue;
        wide_t exact = (wide_t)(uint64_t)amount * (uint64_t)part->weight;
        uint64_t share = (uint64_t)(exact / (uint64_t)sum);
        int64_t most = still_wanted(dealing, part->queue);
        part->given = (int64_t)share / GPU_MILLI * GPU_MILLI;
        part->rest = (uint64_t)(exact - (wide_t)(uint64_t)part->given * (uint64_t)sum) /
                     ((uint64_t)sum / ONE + 1);
        *ret_is_capped |= part->given > most;
        part->given = part->given < most ? part->given : most;
        dealing->fair->items[part->queue].fair_milli += part->given;
        left -= part->given;
    }
    return left;
}

/* Give what rounding left, a GPU at a time (less if the queue wants less), to the largest
 * remainder. */
static int64_t deal_rest(struct dealing *dealing, int64_t left)
{
    while (left > 0) {
        struct part *best = NULL;
        LIST_EACH (struct part, part, &dealing->parts) {
            if (part->is_open && part->weight > 0 && still_wanted(dealing, part->queue) > 0 &&
                (!best || part->rest > best->rest))
                best = part;
        }
        if (!best)
            return left;
        int64_t more = still_wanted(dealing, best->queue);
        more = more < GPU_MILLI ? more : GPU_MILLI;
        more = more < left ? more : left;
        dealing->fair->items[best->queue].fair_milli += more;
        best->rest = 0;
        left -= more;
    }
    return 0;
}

static bool weigh(struct dealing *dealing, bool by_guarantee)
{
    const struct state *state = dealing->state;
    uint64_t weights = 0, usage = 0;
    int64_t sum = 0;

    LIST_EACH (struct part, part, &dealing->parts) {
        part->is_open = still_wanted(dealing, part->queue) > 0;
        if (!part->is_open)
            continue;
        weights += state->queues.items[part->queue].weight;
        usage += queue_usage(&state->queues.items[part->queue], SHARE_OF_GPUS, state->now,
                             state->settings.half_life) >>
                 16;
    }
    LIST_EACH (struct part, part, &dealing->parts) {
        const struct queue *queue = &state->queues.items[part->queue];
        uint64_t used = queue_usage(queue, SHARE_OF_GPUS, state->now, state->settings.half_life);
        int64_t weight = (int64_t)wide_scale(queue->weight, ONE, weights > 0 ? weights : 1);
        int64_t part_used = usage > 0 ? (int64_t)wide_scale(used >> 16, ONE, usage) : weight;
        part->weight = by_guarantee ? fair_owed(state, part->queue) : 2 * weight - part_used;
        part->weight = part->weight > 0 && part->is_open ? part->weight : 0;
        sum += part->weight;
    }
    for (size_t i = 0; i < dealing->parts.count && sum == 0 && !by_guarantee; i++) {
        struct part *part = &dealing->parts.items[i];
        part->weight = part->is_open ? state->queues.items[part->queue].weight : 0;
        sum += part->weight;
    }
    return sum > 0;
}

/* What a queue itself takes first (jobs that stand in one with children), then its children. */
static void deal_below(struct dealing *dealing, uint32_t queue)
{
    const struct state *state = dealing->state;
    int64_t left = dealing->fair->items[queue].fair_milli, owed = 0;
    LIST(int64_t) wanted = { 0 };
    bool is_capped;

    dealing->parts.count = 0;
    for (uint32_t i = queue + 1; i < state->queues.count; i++) {
        if (state->queues.items[i].parent == queue && !state->queues.items[i].is_removed) {
            list_add(&dealing->parts, (struct part){ .queue = i });
            list_add(&wanted, dealing->fair->items[i].wanted_milli);
        }
    }
    assert(left >= 0);
    /* First as if no queue wanted more than its guarantee. */
    for (size_t i = 0; i < dealing->parts.count; i++) {
        struct fair_queue *fair = &dealing->fair->items[dealing->parts.items[i].queue];
        int64_t least = fair_owed(state, dealing->parts.items[i].queue);
        fair->wanted_milli = least < fair->wanted_milli ? least : fair->wanted_milli;
        owed += fair->wanted_milli;
    }
    if (owed <= left) {
        for (size_t i = 0; i < dealing->parts.count; i++) {
            struct fair_queue *fair = &dealing->fair->items[dealing->parts.items[i].queue];
            fair->fair_milli = fair->wanted_milli;
        }
        left -= owed;
    } else if (weigh(dealing, true)) {
        left = deal(dealing, left, &is_capped);
        left = deal_rest(dealing, left);
    }
    for (size_t i = 0; i < dealing->parts.count; i++)
        dealing->fair->items[dealing->parts.items[i].queue].wanted_milli = wanted.items[i];
    while (left > 0 && weigh(dealing, false)) {
        left = deal(dealing, left, &is_capped);
        if (!is_capped) {
            deal_rest(dealing, left);
            break;
        }
    }
    list_release(&wanted);
}

void fair_divide(fair_list *fair, const struct state *state, const struct pending *pending)
{
    struct dealing dealing = { .fair = fair, .state = state };

    count_wanted(fair, state, pending);
    assert(fair->count == state->queues.count);
    struct fair_queue *root = &fair->items[QUEUE_ROOT];
    root->fair_milli =
        root->wanted_milli < state->capacity.milli ? root->wanted_milli : state->capacity.milli;
    for (uint32_t i = 0; i < state->queues.count; i++) {
        if (state->queues.items[i].child_count > 0)
            deal_below(&dealing, i);
    }
    list_release(&dealing.parts);
}
