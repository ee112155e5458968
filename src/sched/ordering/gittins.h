/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_ORDERING_GITTINS_H
#define SCHED_ORDERING_GITTINS_H

/* gittins - the expected run time per completion of a job that has run for some time
 *
 *     rank(b) = min over k >= b of  (sum of S(i) x width(i), i = b..k) / (S(b) - S(k + 1))
 *
 * The smallest price of a completion: the mean run time up to the end of a later bin, divided by
 * the probability to end until then (Gittins 1989; Tiresias, NSDI'19). S is the Kaplan-Meier
 * survival of the counts in core/predict/residual.h, smoothed: each size also counts GITTINS_WEIGHT
 * jobs of all sizes, and all sizes as many jobs of the prior. The prior is S(t) = 1 / t: half of
 * the jobs that reach t reach 2t. It makes the rank proportional to the run time so far: without
 * history this is least attained service.
 */

#include "core/predict/residual.h"

enum { GITTINS_WEIGHT = 64 };

enum { GITTINS_ALL = (1 << RESIDUAL_SIZES) - 1 };

struct gittins {
    usec_t ranks[RESIDUAL_SIZES][RESIDUAL_BINS];
};

/* Compute the ranks of the sizes with set bits; others keep theirs. */
void gittins_make(struct gittins *gittins, const struct residual *residual, uint32_t sizes);

#endif
