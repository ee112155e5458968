/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_ORDERING_RANK_H
#define SCHED_ORDERING_RANK_H

/* rank - who comes first inside a queue
 *
 * default          0.3 log2(usual run time) + 0.7 log2(limit) + 0.1 log2(share) - 2 age / drain
 * fifo             the job number
 * shortest         the limit
 * least-attained   what it has run so far, times its share
 * deadline         the deadline; those without one last
 *
 * Prediction and limit both tell something: their mean in the log domain beats either alone. Age
 * counts in units of the longest time that draining the system ever took (patience.h).
 */

#include "sched/run_time.h"

struct rank_entry {
    struct pending_bucket *bucket;
    int32_t priority;
    uint8_t band; /* the lower first: those that have waited long enough have 0 */
    int64_t key;  /* then the lower */
    uint64_t id;  /* then the lower */
};

struct ranker {
    const struct state *state;
    usec_t drain;    /* ageing is counted in it */
    uint64_t turn;   /* where many kinds of jobs wait, each is guessed anew every so many plans: */
    uint32_t stride; /* those whose number plus turn it divides; 0: all */
};

/* Its guess, if it is its turn or has none. */
void rank_guess(const struct ranker *ranker, struct pending_bucket *bucket);
struct rank_entry rank_of_bucket(const struct ranker *ranker, struct pending_bucket *bucket);
/* As it is guessed already. */
struct rank_entry rank_as_guessed(const struct ranker *ranker, struct pending_bucket *bucket);
bool rank_is_before(const struct rank_entry *a, const struct rank_entry *b);

#endif
