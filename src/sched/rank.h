/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_RANK_H
#define SCHED_RANK_H

/* rank - who comes first inside a queue, and how long a job is taken to run */

#include "sched/pending.h"

struct rank_entry {
    struct pending_bucket *bucket;
    int32_t priority;
    uint8_t band; /* the lower first: those that have waited long enough have 0 */
    int64_t key;  /* then the lower */
    uint64_t id;  /* then the lower */
};

struct ranker {
    const struct state *state;
};

struct rank_entry rank_of_bucket(const struct ranker *ranker, struct pending_bucket *bucket);
bool rank_is_before(const struct rank_entry *a, const struct rank_entry *b);

#endif
