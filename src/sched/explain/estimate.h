/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_EXPLAIN_ESTIMATE_H
#define SCHED_EXPLAIN_ESTIMATE_H

/* estimate - when a waiting job will start
 *
 * A list schedule in amounts (profile.h): running jobs end when jobs like them usually end; then
 * the waiting jobs, in the order in which the brain offers them, each take the earliest time at
 * which there is enough. The schedule knows neither nodes nor future submissions. How accurate
 * it is, is learned from the jobs that started (core/predict/calibration.h) and gives the range.
 * Where promises go by time limits, a job with a promise starts no later than promised.
 *
 * Little history is said to be little: with fewer than HISTORY_FEW comparable runs behind a run
 * time that the schedule uses, or fewer than ESTIMATE_SCORES scores, the range also covers two more
 * schedules, with short run times and with long ones (time limits where little is known).
 *
 * At most ESTIMATE_PLACED jobs are placed; the jobs behind them are assumed to be served at the
 * pace of the whole cluster. Of more than ESTIMATE_RUNNING running jobs only every n-th is
 * considered, and counts n times, unless estimates of all jobs are wanted.
 *
 * A plan records the estimates of new jobs (event foresee), of one in (pending / ESTIMATE_NOTED) *
 * (running / ESTIMATE_OFTEN), and at most ESTIMATE_AT_ONCE of them.
 */

#include "sched/capacity/profile.h"
#include "sched/explain/questions.h"
#include "sched/ordering/job_order.h"

enum {
    ESTIMATE_PLACED = 512,
    ESTIMATE_RUNNING = 512,
    ESTIMATE_NOTED = 64,
    ESTIMATE_OFTEN = 256,
    ESTIMATE_AT_ONCE = 8,
    ESTIMATE_SCORES = 20,
    ESTIMATE_SCHEDULES = 4 /* enum schedule_mode (list_schedule.h) */
};

struct decisions;
struct layout;
struct pending_bucket;

/* What a running job releases, and when. */
struct estimate_release {
    usec_t at;
    int64_t amounts[PROFILE_LANES];
};

/* The caches and the working memory of estimates. */
struct estimator {
    uint64_t layout; /* version of the layout for the next three; 0: none */
    LIST(uint8_t) lane_of_kind;
    int64_t capacity[PROFILE_LANES]; /* of the GPU lanes */
    int64_t held[PROFILE_LANES];
    struct profile profile;
    LIST(struct estimate_release) releases;
    LIST(struct estimate_line) lines; /* by queue */
    LIST(struct profile_need) needs;
    LIST(uint32_t) offers;     /* by queue: kinds of jobs that wait below it */
    LIST(int64_t) extra_share; /* by queue: held by the jobs that were placed */
    LIST(int64_t) extra_milli;
    order_usage usage;
    uint32_t lane_queues[PROFILE_LANES]; /* limited queues that have a lane; 0: free */
    /* Of a complete schedule, valid until the next event. */
    /* By enum schedule_mode: job -> twice the start, plus one where is_uncertain held. */
    struct map starts[ESTIMATE_SCHEDULES];
    bool is_known[ESTIMATE_SCHEDULES];
    bool is_thin;          /* the last run time came from little history */
    int64_t thin, weighed; /* work with such run times, and all, of the last expected schedule */
    bool is_uncertain;     /* little is known of a fifth of the work in front of the last job */
    uint32_t asked;        /* questions since the last event */
    bool is_asked;         /* used for questions, not for plans */
    usec_t now;            /* of the questions; 0: the time of the last event */
};

void estimator_lease(struct estimator *estimator, const struct layout *layout,
                     const struct lease *lease, int sign);
void estimator_forget(struct estimator *estimator); /* an event: starts are unknown again */
void estimator_release(struct estimator *estimator);

/* Record the estimates of new jobs. */
void estimate_note(struct brain *brain, struct decisions *decisions);

/* The job for which a start is estimated: a pending one, or one that is not pending. */
struct estimate_ask {
    const struct job *job;
    const struct request *request; /* a hypothetical request; NULL: the job's own */
    struct pending_bucket
        *bucket; /* for a job that is not pending: its own bucket, guessed; or NULL */
};

void estimate_start(struct brain *own, const struct estimate_ask *ask, struct start_estimate *ret);

#endif
