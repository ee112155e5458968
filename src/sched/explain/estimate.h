/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_EXPLAIN_ESTIMATE_H
#define SCHED_EXPLAIN_ESTIMATE_H

/* estimate - when a job that waits will start
 *
 * A list schedule in counts (profile.h): the jobs that run end when they usually would, then those
 * that wait, in the order in which the brain offers them, each take the earliest time at which
 * there is enough. It knows no machines and no jobs to come; what it is worth is learned from the
 * jobs that started (core/predict/calibration.h), and makes the range. A job that holds a promise
 * starts no later than that says, where promises go by limits.
 *
 * At most ESTIMATE_PLACED jobs are placed; those behind them wait for their work to be done at the
 * pace of the whole cluster. Of more than ESTIMATE_RUNNING running jobs only every n-th is looked
 * at, and counts n times, unless all estimates are asked for.
 *
 * Each job that begins to wait is noted (event foresee), of many one in
 * (pending / ESTIMATE_NOTED) * (running / ESTIMATE_OFTEN), and at most ESTIMATE_AT_ONCE in a plan.
 */

#include "sched/backfill/profile.h"
#include "sched/ordering/job_order.h"
#include "sched/questions.h"

enum {
    ESTIMATE_PLACED = 512,
    ESTIMATE_RUNNING = 512,
    ESTIMATE_NOTED = 64,
    ESTIMATE_OFTEN = 256,
    ESTIMATE_AT_ONCE = 8
};

struct decisions;
struct layout;
struct pending_bucket;

/* What a running job gives back, and when. */
struct estimate_release {
    usec_t at;
    int64_t amounts[PROFILE_LANES];
};

/* What the brain keeps for it. */
struct estimator {
    uint64_t layout; /* version that the next three stand for; 0: none */
    LIST(uint8_t) lane_of_kind;
    int64_t capacity[PROFILE_LANES]; /* of the GPU lanes */
    int64_t held[PROFILE_LANES];
    struct profile profile;
    LIST(struct estimate_release) releases;
    LIST(struct estimate_line) lines; /* by queue */
    LIST(struct profile_need) needs;
    LIST(uint32_t) offers;     /* by queue: those who wait below it */
    LIST(int64_t) extra_share; /* by queue: of those that were placed */
    LIST(int64_t) extra_milli;
    struct order_usage usage;
    uint32_t lane_queues[PROFILE_LANES]; /* limited queues that have a lane; 0: free */
    /* Of a walk to the end, until something happens. */
    struct map starts[2]; /* by limits or not: job -> start */
    bool is_known[2];
    uint32_t asked; /* since something happened */
    bool is_asked;  /* it answers questions, and is no plan's */
};

void estimator_lease(struct estimator *estimator, const struct layout *layout,
                     const struct lease *lease, int sign);
void estimator_forget(struct estimator *estimator); /* something happened */
void estimator_release(struct estimator *estimator);

/* Note those that began to wait. */
void estimate_note(struct brain *brain, struct decisions *decisions);

/* Whose start is estimated: one that waits, or one that is not pending. */
struct estimate_ask {
    const struct job *job;
    const struct request *request; /* that nobody submitted; NULL: the job's own */
    struct pending_bucket *bucket; /* of one that is not pending: of its own, guessed; or NULL */
};

void estimate_start(struct brain *own, const struct estimate_ask *ask, struct start_estimate *ret);

#endif
