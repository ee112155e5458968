/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/ordering/gittins.h"

#include "base/wide.h"

enum {
    ONE = 1 << 30,        /* a chance of 1 */
    NEGLIGIBLE = 1 << 18, /* so few are left that no later bin is a better choice */
};

/* A half octave of S(t) = 1 / t. */
static int64_t prior_of(uint32_t bin)
{
    return bin % 2 == 1 ? ONE / 3 : ONE / 4;
}

static int64_t smooth(uint32_t ended, uint32_t left, int64_t prior)
{
    return (int64_t)(((uint64_t)ended * ONE + (uint64_t)GITTINS_WEIGHT * (uint64_t)prior) /
                     ((uint64_t)left + GITTINS_WEIGHT));
}

static usec_t rank_of(const int64_t *hazards, uint32_t from)
{
    int64_t here = ONE;
    wide_t run = 0;
    usec_t best = USEC_NEVER;

    for (uint32_t bin = from; bin + 1 < RESIDUAL_BINS && here > NEGLIGIBLE; bin++) {
        uint64_t width = (uint64_t)(residual_start(bin + 1) - residual_start(bin));
        int64_t next = here - (int64_t)((uint64_t)here * (uint64_t)hazards[bin] / ONE);
        run += (wide_t)width * (uint64_t)(here + next) / 2; /* they end evenly within the bin */
        here = next;
        if (here == ONE)
            continue;
        wide_t price = run / (uint64_t)(ONE - here);
        if (price < (wide_t)best)
            best = (usec_t)price;
    }
    return best;
}

void gittins_make(struct gittins *gittins, const struct residual *residual, uint32_t sizes)
{
    for (uint32_t class = 0; class < RESIDUAL_SIZES; class ++) {
        int64_t hazards[RESIDUAL_BINS];
        if (!(sizes >> class & 1))
            continue;
        for (uint32_t bin = 0; bin < RESIDUAL_BINS; bin++) {
            int64_t all = smooth(residual->ended[RESIDUAL_ALL][bin],
                                 residual->left[RESIDUAL_ALL][bin], prior_of(bin));
            hazards[bin] = smooth(residual->ended[class][bin], residual->left[class][bin], all);
        }
        for (uint32_t bin = 1; bin + 1 < RESIDUAL_BINS; bin++)
            gittins->ranks[class][bin] = rank_of(hazards, bin);
        gittins->ranks[class][RESIDUAL_BINS - 1] = gittins->ranks[class][RESIDUAL_BINS - 2];
        /* Nothing is known of a job's first minute: as if it were over. */
        gittins->ranks[class][0] = gittins->ranks[class][1];
    }
}
