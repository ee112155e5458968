/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/ordering/patience.h"

#include "base/log2.h"
#include "base/wide.h"

/* What nothing is known of is taken to run for an hour. */
static usec_t usual_of(const struct pending_bucket *bucket)
{
    return bucket->usual == USEC_NEVER ? USEC_PER_HOUR : bucket->usual;
}

void patience_arrival(struct patience *patience, usec_t now, const struct pending_bucket *bucket)
{
    uint32_t band = (uint32_t)log2_of(usual_of(bucket) / 1000) / (LOG2_ONE / 4);
    uint64_t work = (uint64_t)(usual_of(bucket) / 1000) * (bucket->share / 16 + 1), sum = 0;

    if (patience->arrival_count == 0)
        patience->first_arrival = now;
    patience->arrivals[patience->arrival_count++ % PATIENCE_GAPS] = now;
    patience->work[band < PATIENCE_BANDS ? band : PATIENCE_BANDS - 1] += work;
    patience->work_total += work;
    if (patience->work_total >> 60) {
        patience->work_total = 0;
        for (uint32_t i = 0; i < PATIENCE_BANDS; i++)
            patience->work_total += patience->work[i] >>= 1;
    }
    for (uint32_t i = 0; i < PATIENCE_BANDS && patience->arrival_count % 16 == 1; i++) {
        sum += patience->work[i];
        if (sum > patience->work_total / 100) {
            patience->short_below = log2_power((int32_t)i * (LOG2_ONE / 4)) * 1000;
            break;
        }
    }
}

void patience_look(struct patience *patience, const struct state *state,
                   const struct pending *pending, const struct ends *ends)
{
    wide_t work = (wide_t)ends_work(ends, state->now); /* share (2^10) x ms */
    uint64_t actual = state->history.actual >> 8, expected = state->history.expected >> 8;

    LIST_EACH (const struct pending_queue, queue, &pending->queues) {
        for (size_t k = 0; k < queue->buckets.count; k++) {
            const struct pending_bucket *bucket = queue->buckets.items[k];
            work +=
                (wide_t)(uint64_t)(usual_of(bucket) / 1000) * bucket->share / 1024 * bucket->count;
        }
    }
    wide_t drain = work / (QUEUE_SHARE_ONE / 1024) * 1000;
    if (expected > 0) {
        uint64_t percent = actual * 100 / expected;
        percent = percent < 25 ? 25 : percent > 400 ? 400 : percent;
        drain = drain * percent / 100;
    }
    if (drain > PATIENCE_MOST)
        drain = PATIENCE_MOST;
    if (state->now - patience->drain_at > PATIENCE_MOST) {
        patience->drain_most /= 2;
        patience->drain_at = state->now;
    }
    if ((usec_t)drain > patience->drain_most) {
        patience->drain_most = (usec_t)drain;
        patience->drain_at = state->now;
    }
}

usec_t patience_bound(const struct patience *patience)
{
    usec_t bound = patience->drain_most / 20 * 23; /* 1.15 */

    return bound > PATIENCE_LEAST ? bound : PATIENCE_LEAST;
}

static usec_t lull_begins(const struct patience *patience)
{
    if (patience->arrival_count < PATIENCE_GAPS)
        return USEC_NEVER;
    usec_t oldest = patience->arrivals[patience->arrival_count % PATIENCE_GAPS];
    usec_t newest = patience->arrivals[(patience->arrival_count - 1) % PATIENCE_GAPS];
    usec_t gap = (newest - patience->first_arrival) / (usec_t)patience->arrival_count;
    return oldest + PATIENCE_LULL * PATIENCE_GAPS * gap + 1;
}

bool patience_is_lull(const struct patience *patience, usec_t now)
{
    return lull_begins(patience) <= now;
}

usec_t patience_lull_at(const struct patience *patience, usec_t now)
{
    usec_t at = lull_begins(patience);

    return at > now ? at : USEC_NEVER;
}

usec_t patience_latest(const struct patience *patience, const struct pending_queue *queue)
{
    usec_t bound = patience_bound(patience), latest = USEC_NEVER, before = 0;
    uint32_t looked = 0;

    for (const struct job *job = queue->first; job && looked < PATIENCE_LOOK;
         job = job->line_next, looked++) {
        const struct pending_bucket *bucket = job->pending_bucket;
        usec_t due = job->submitted + bound - before / 9 * 10;
        uint32_t share = bucket->share > QUEUE_SHARE_ONE / 2 ? QUEUE_SHARE_ONE : bucket->share;
        latest = due < latest ? due : latest;
        before += (usec_t)wide_scale((uint64_t)usual_of(bucket), share, QUEUE_SHARE_ONE);
        if (before > USEC_NEVER / 4)
            break; /* those behind are not what is urgent */
    }
    return latest;
}
