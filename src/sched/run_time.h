/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_RUN_TIME_H
#define SCHED_RUN_TIME_H

/* guess - how long a job is taken to run, and how long room is kept free for it
 *
 * usual   puts it in order: what somebody who knows says (estimate), else the 75 % quantile of its
 *         history, else its limit
 * most    is its window: no promise counts on the room before: estimate, else the 90 % quantile,
 *         else the limit; where nothing is predicted always the limit
 *
 * One that outlives its window gets a longer one, up to its limit. Never a reason to end a job.
 */

#include "sched/ordering/pending.h"

/* Bring a bucket's usual, most and share up to date. */
void guess_bucket(const struct state *state, struct pending_bucket *bucket);
/* The same of jobs with a request that nobody submitted. */
void guess_bucket_for(const struct state *state, const struct request *request,
                      struct pending_bucket *bucket);

/* A job's usual and most; of one that runs: what is left of its window, and its restart, as if it
 * went on elsewhere. */
usec_t guess_usual(const struct state *state, const struct job *job);
usec_t guess_most(const struct state *state, const struct job *job);

/* A window for a job that holds resources: it lasts longer than the job has run. */
usec_t guess_window(const struct state *state, const struct job *job);

#endif
