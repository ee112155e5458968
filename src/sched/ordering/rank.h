/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_ORDERING_RANK_H
#define SCHED_ORDERING_RANK_H

/* rank - the order of jobs inside a queue
 *
 *   default          0.3 log2(usual run time) + 0.7 log2(limit) + 0.1 log2(share) - 2 age / drain
 *   fifo             the job number
 *   shortest         the limit
 *   least-attained   the run time so far, times its share
 *   deadline         the deadline; jobs without one last
 *
 * Prediction and limit are both informative: their mean in the log domain beats either alone. Age
 * is counted in units of the longest time that draining the system ever took (patience.h).
 */

#include "sched/ordering/run_time.h"

struct rank_entry {
    struct pending_bucket *bucket;
    int32_t priority;
    uint8_t band; /* the lower first: jobs with a near deadline have 0 */
    int64_t key;  /* then the lower */
    uint64_t id;  /* then the lower */
};

struct ranker {
    const struct state *state;
    usec_t drain;    /* the unit of age */
    uint64_t turn;   /* with many buckets, a plan guesses only some again: */
    uint32_t stride; /* those where it divides id plus turn; 0: all */
};

/* Guess its run time, if it is its turn or has no guess. */
void rank_guess(const struct ranker *ranker, struct pending_bucket *bucket);
struct rank_entry rank_of_bucket(const struct ranker *ranker, struct pending_bucket *bucket);
/* The same with the guess that it has. */
struct rank_entry rank_as_guessed(const struct ranker *ranker, struct pending_bucket *bucket);
bool rank_is_before(const struct rank_entry *a, const struct rank_entry *b);

#endif
