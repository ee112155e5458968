/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FORECAST_RUN_TIME_H
#define FORECAST_RUN_TIME_H

/* run_time - draws the run time of a job from what is known of jobs like it
 *
 * Where at least HISTORY_FEW comparable runs are known, it is a quantile of those. With fewer, it
 * comes from them in that proportion, else from a prior: a fraction of the time limit between
 * 1 / 2^PRIOR_OCTAVES and 1, all orders of magnitude alike; without a limit, the run times of all
 * jobs, two octaves wider on each side. An estimate of the user is itself in half of the draws,
 * half to all of itself in a quarter, and up to twice of itself or the limit in a quarter.
 *
 * Errors of a prior are common to all jobs: so all of its draws in one sample are the same
 * quantile. Other draws are independent. Over the samples, the quantiles of one job are spread
 * evenly.
 *
 * Units: microseconds; work counts from the first start, over all attempts
 */

#include "core/state/state.h"

enum { PRIOR_OCTAVES = 6 };

/* Work in all, of a job that has run for `ran`, in the sample of that number; USEC_NEVER: nothing
 * is known. */
usec_t run_time_draw(const struct state *state, const struct job *job, usec_t ran, uint32_t sample);
/* The median of the draws. */
usec_t run_time_median(const struct state *state, const struct job *job, usec_t ran);

#endif
