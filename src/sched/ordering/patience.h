/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_ORDERING_PATIENCE_H
#define SCHED_ORDERING_PATIENCE_H

/* patience - how long a job may be passed over by shorter jobs
 *
 * Shortest-first serves most users best and some never. Each job has an age bound
 *
 *   D = max(1.15 * the longest time that draining the system ever took, PATIENCE_LEAST)
 *
 * where draining takes (waiting work + remaining work of running jobs) / capacity, corrected by
 * how predictions turned out so far. Shorter jobs go first as long as all waiting jobs could still
 * be served in the order of submission within D, with 10 % lost to packing:
 *
 *   latest = min over waiting k of (submitted_k + D - (work of the jobs before k) / 0.9)
 *
 * From then on, and in a lull (the last arrivals three times further apart than usual) from 0.85 D
 * on, the oldest jobs are served in order of submission, each with a promise. The bound follows
 * the load, so no constant fits one workload only.
 */

#include "sched/ends.h"
#include "sched/ordering/pending.h"

#define PATIENCE_LEAST (72 * USEC_PER_HOUR)
#define PATIENCE_MOST  (90 * USEC_PER_DAY) /* no drain counts as longer */
enum {
    PATIENCE_GAPS = 8,    /* arrivals that make a lull */
    PATIENCE_LULL = 3,    /* times the usual gap */
    PATIENCE_LOOK = 512,  /* oldest jobs that are considered */
    PATIENCE_BANDS = 256, /* of run times, four per octave */
};

struct patience {
    usec_t arrivals[PATIENCE_GAPS];
    uint64_t arrival_count;
    usec_t first_arrival;
    usec_t drain_most;
    usec_t drain_at; /* when that was; without a similar one for PATIENCE_MOST, half counts */
    uint64_t work[PATIENCE_BANDS]; /* submitted, by run time */
    uint64_t work_total;
    usec_t short_below; /* 1 % of the work is in jobs shorter than this */
};

/* A job was submitted, and is in its bucket. */
void patience_arrival(struct patience *patience, usec_t now, const struct pending_bucket *bucket);

/* Before a plan: update how long draining would take. */
void patience_look(struct patience *patience, const struct state *state,
                   const struct pending *pending, const struct ends *ends);

usec_t patience_bound(const struct patience *patience); /* D */
bool patience_is_lull(const struct patience *patience, usec_t now);
/* When the present gap becomes a lull; USEC_NEVER: it is one, or unknown. */
usec_t patience_lull_at(const struct patience *patience, usec_t now);

/* When the oldest jobs of this queue have to be served in order at the latest. */
usec_t patience_latest(const struct patience *patience, const struct pending_queue *queue);

#endif
