/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "sched/explain/list_schedule.h"

static bool before(const void *a, const void *b)
{
    const struct estimate_entry *left = a, *right = b;

    return rank_is_before(&left->rank, &right->rank);
}

static void count_offers(struct schedule *walk, uint32_t queue, uint32_t more)
{
    for (uint32_t at = queue; at != QUEUE_NONE;
         at = queue_above(walk->brain->state->queues.items, at)) {
        walk->estimator->offers.items[at] += more;
    }
}

static struct estimate_entry entry_as_guessed(const struct schedule *walk,
                                              struct pending_bucket *bucket)
{
    return (struct estimate_entry){ .rank = rank_as_guessed(&walk->brain->ranker, bucket),
                                    .next = bucket->first,
                                    .kind = bucket->kind };
}

/* An inquiry predicts on a copy, so that the predictions that plans use stay unchanged. */
static struct estimate_entry entry_of(const struct schedule *walk, struct pending_bucket *bucket)
{
    struct pending_bucket copy = *bucket;
    struct pending_bucket *guessed = walk->estimator->is_asked ? &copy : bucket;

    rank_guess(&walk->brain->ranker, guessed);
    struct estimate_entry entry = entry_as_guessed(walk, guessed);
    entry.rank.bucket = bucket;
    return entry;
}

void schedule_start_lines(struct schedule *walk, struct pending_bucket *candidate)
{
    struct estimator *estimator = walk->estimator;
    const struct brain *brain = walk->brain;
    size_t count = brain->state->queues.count;

    estimator->needs.count = 0;
    order_usage_start(&estimator->usage, count);
    list_zero(&estimator->offers, count);
    list_zero(&estimator->extra_share, count);
    list_zero(&estimator->extra_milli, count);
    for (size_t i = 0; i < count; i++) {
        if (estimator->lines.count <= i)
            list_add(&estimator->lines, (struct estimate_line){ 0 });
        estimator->lines.items[i].heap.count = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct estimate_line *line = &estimator->lines.items[i];
        size_t buckets =
            i < brain->pending.queues.count ? brain->pending.queues.items[i].buckets.count : 0;
        for (size_t k = 0; k < buckets; k++) {
            struct pending_bucket *bucket = brain->pending.queues.items[i].buckets.items[k];
            list_add(&line->heap, entry_of(walk, bucket));
        }
        if (candidate && candidate->queue == i)
            list_add(&line->heap, entry_as_guessed(walk, candidate));
        list_heap(&line->heap, before);
        if (line->heap.count == 0)
            continue;
        walk->line_count++;
        walk->last_line = i;
        count_offers(walk, i, (uint32_t)line->heap.count);
    }
}

/* As job_order.h has it, with what was placed so far as if it ran. */
static struct order_claim claim_of(struct estimator *estimator, uint32_t queue)
{
    const struct estimate_line *line = &estimator->lines.items[queue];
    uint8_t kind = line->heap.count > 0 ? line->heap.items[0].kind : SHARE_OF_GPUS;

    return (struct order_claim){ .queue = queue,
                                 .kind = (enum share)kind,
                                 .more_share = estimator->extra_share.items[queue],
                                 .more_milli = estimator->extra_milli.items[queue],
                                 .usage = &estimator->usage };
}

uint32_t schedule_next_line(const struct schedule *walk)
{
    const struct estimator *estimator = walk->estimator;
    const struct state *state = walk->brain->state;
    uint32_t at = QUEUE_ROOT;

    assert(walk->line_count > 0);
    if (walk->line_count == 1)
        return walk->last_line;
    while (estimator->lines.items[at].heap.count == 0) {
        uint32_t best = 0;
        for (uint32_t i = 1; i < state->queues.count; i++) {
            struct order_claim claim = claim_of(walk->estimator, i);
            struct order_claim other = claim_of(walk->estimator, best);
            if (state->queues.items[i].parent == at && estimator->offers.items[i] > 0 &&
                (best == 0 || order_is_before(state, &claim, &other)))
                best = i;
        }
        at = best;
    }
    return at;
}

/* Its first job was placed: go on to the next of the same bucket, if there is one. */
void schedule_advance(struct schedule *walk, uint32_t number)
{
    struct estimate_line *line = &walk->estimator->lines.items[number];
    struct estimate_entry *top = &line->heap.items[0];

    assert(line->heap.count > 0);
    top->next = top->next->pending_next;
    if (top->next) {
        top->rank.id = top->next->id;
    } else {
        *top = line->heap.items[--line->heap.count];
        count_offers(walk, number, UINT32_MAX);
        if (line->heap.count == 0 && --walk->line_count == 1) {
            for (uint32_t i = 0; i < walk->estimator->lines.count; i++)
                walk->last_line =
                    walk->estimator->lines.items[i].heap.count > 0 ? i : walk->last_line;
        }
    }
    list_sift(&line->heap, 0, before);
}
