/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_ORDERING_GITTINS_H
#define SCHED_ORDERING_GITTINS_H

/* gittins - how long a job that has come so far must run per end that this brings
 *
 *     rank(b) = min over k >= b of  (sum of S(i) x width(i), i = b..k) / (S(b) - S(k + 1))
 *
 * the smallest price of an end: run time that it takes on average to the end of a later bin, by
 * the chance to end until then (Gittins 1989; Tiresias, NSDI'19). S is the Kaplan-Meier survival
 * of the counts in core/predict/residual.h, smoothed: each size counts as GITTINS_WEIGHT jobs of
 * all sizes would beside its own, and all sizes as so many jobs of the prior would. The prior is
 * S(t) = 1 / t: half of those that have come to t come to 2t. It makes the rank proportional to
 * what a job has had: without history this is least attained service.
 */

#include "core/predict/residual.h"

enum { GITTINS_WEIGHT = 64 };

enum { GITTINS_ALL = (1 << RESIDUAL_SIZES) - 1 };

struct gittins {
    usec_t ranks[RESIDUAL_SIZES][RESIDUAL_BINS];
};

/* Of the sizes whose bits are set; the others stay as they were. */
void gittins_make(struct gittins *gittins, const struct residual *residual, uint32_t sizes);

#endif
