/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/ordering/rank.h"

#include <assert.h>

#include "base/log2.h"
#include "sched/job_facts.h"

enum { AGE_MOST = 64 }; /* drains: from then on age alone decides */

static int64_t least_10_s(usec_t time)
{
    return time < 10 * USEC_PER_SEC ? 10 * USEC_PER_SEC : time;
}

/* In 1/10 of 1/256 of an octave. */
static int64_t key_by_length(const struct ranker *ranker, const struct pending_bucket *bucket)
{
    usec_t limit = bucket->estimate > 0 ? bucket->usual : bucket->max_duration;
    usec_t usual = bucket->usual;
    usec_t age = ranker->state->now - bucket->first->submitted;
    usec_t unit = ranker->drain / LOG2_ONE + 1;

    limit = limit == USEC_NEVER ? usual : limit;
    if (usual == USEC_NEVER)
        usual = limit = USEC_PER_DAY; /* nothing is known of it */
    int64_t key = 3 * log2_of(least_10_s(usual) / 1000) +
                  7 * log2_of((limit + 10 * USEC_PER_SEC) / 1000) + log2_of(bucket->share);
    int64_t aged = age / unit;
    return key - 20 * (aged < AGE_MOST * LOG2_ONE ? aged : AGE_MOST * LOG2_ONE);
}

/* Deadlines that are near before those that can be kept before the rest; the least work first. */
static void rank_by_deadline(const struct ranker *ranker, struct rank_entry *entry)
{
    const struct pending_bucket *bucket = entry->bucket;

    entry->band = (uint8_t)(2 - job_deadline_band(bucket->first, ranker->state->now));
    if (entry->band < 2)
        entry->key = bucket->estimate / USEC_PER_SEC * bucket->share;
}

void rank_guess(const struct ranker *ranker, struct pending_bucket *bucket)
{
    if (bucket->guess_version == 0 || ranker->stride < 2 ||
        (bucket->first->id + ranker->turn) % ranker->stride == 0)
        run_time_bucket(ranker->state, bucket);
}

struct rank_entry rank_as_guessed(const struct ranker *ranker, struct pending_bucket *bucket)
{
    struct rank_entry entry = { .bucket = bucket,
                                .priority = bucket->priority,
                                .id = bucket->first->id };

    assert(bucket->count > 0);
    switch ((enum ordering)ranker->state->settings.order) {
    case ORDER_DEFAULT:
        entry.key = key_by_length(ranker, bucket);
        rank_by_deadline(ranker, &entry);
        break;
    case ORDER_SHORTEST:
        entry.key = bucket->estimate > 0 ? bucket->usual : bucket->max_duration;
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

struct rank_entry rank_of_bucket(const struct ranker *ranker, struct pending_bucket *bucket)
{
    rank_guess(ranker, bucket);
    return rank_as_guessed(ranker, bucket);
}

bool rank_is_before(const struct rank_entry *a, const struct rank_entry *b)
{
    if (a->priority != b->priority)
        return a->priority > b->priority;
    if (a->band != b->band)
        return a->band < b->band;
    return a->key != b->key ? a->key < b->key : a->id < b->id;
}
