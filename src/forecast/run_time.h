/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FORECAST_RUN_TIME_H
#define FORECAST_RUN_TIME_H

/* run_time - draws a random run time for a job from the history of comparable jobs
 *
 * With n comparable runs, the draw is a quantile of their run times: the next run is as likely
 * below all of them, or above all of them, as in each gap between two (Hill's A(n)); there it is up
 * to four octaves from the shortest or the longest. With n < HISTORY_FEW, it comes from them with
 * probability n / HISTORY_FEW, else from a prior. The prior is log-uniform between
 * 1 / 2^PRIOR_OCTAVES of the time limit and the limit, and for a fifth of the jobs, which end at
 * once, eight octaves below that; without a limit, it is the distribution of the run times of all
 * jobs, four octaves wider on each side. If the user gave an estimate, half of the draws are the
 * estimate, a quarter lie between half of it and all of it, and a quarter between it and twice its
 * value (or the limit).
 *
 * A job that runs is drawn from what is longer than it has run. If that is nothing (it has run for
 * longer than its estimate and all comparable runs), half of the draws are that it runs for as long
 * again.
 *
 * If the prior is wrong, it is wrong for all jobs; so all draws from it in one sample use the same
 * quantile. Other draws are independent. Over the samples, the quantiles of one job are spread
 * evenly.
 *
 * Units: microseconds; work counts from the first start, over all attempts
 */

#include "core/state/state.h"

enum { PRIOR_OCTAVES = 6 };

/* The total work of a job that has already run for `ran`, in this sample; USEC_NEVER: not known. */
usec_t run_time_draw(const struct state *state, const struct job *job, usec_t ran, uint32_t sample);
/* The stated run time by the job's own speeds (core/job/own_speed.h): on the devices that it has,
 * or at their mean. 0: none. */
usec_t run_time_estimate(const struct state *state, const struct job *job);
/* The median of the draws. */
usec_t run_time_median(const struct state *state, const struct job *job, usec_t ran);

#endif
