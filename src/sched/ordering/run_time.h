/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_ORDERING_RUN_TIME_H
#define SCHED_ORDERING_RUN_TIME_H

/* run_time - the predicted run time of a job, and how long room is kept for it
 *
 *   usual   for the order: the estimate that was stated, else the median of the history, else the
 *           time limit
 *   most    its window: no promise counts on the room before: the estimate, else the time limit;
 *           of a job without a limit the 90 % quantile of the history
 *
 * A job that outlives its window gets a longer one, up to its limit. A guess never ends a job.
 */

#include "sched/ordering/pending.h"

/* Bring a bucket's usual, most and share up to date. */
void run_time_bucket(const struct state *state, struct pending_bucket *bucket);
/* The same with a hypothetical request. */
void run_time_bucket_for(const struct state *state, const struct request *request,
                         struct pending_bucket *bucket);

/* A job's usual (with speeds, on its slowest model) and most. For a running job: the rest of its
 * window and a restart, as if it went on elsewhere. */
usec_t run_time_usual(const struct state *state, const struct job *job);
usec_t run_time_most(const struct state *state, const struct job *job);

/* What is left of a job's estimate on the devices of a lease, by the job's own speeds
 * (core/job/own_speed.h); 0 or less: it outlived it, or has none. */
usec_t run_time_on(const struct state *state, const struct job *job, const struct lease *lease);

/* A window for a job that holds resources; longer than its run so far. */
usec_t run_time_window(const struct state *state, const struct job *job);

#endif
