/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PREDICT_RESIDUAL_H
#define CORE_PREDICT_RESIDUAL_H

/* residual - how long jobs ran before they ended, by size; gives the remaining time of a job
 *
 * Run time is cut into bins: the first minute, then half octaves of 30 s (60 s, 90 s, 2 min, 3 min,
 * 4 min ...). For each bin: how many jobs passed it or ended in it, and how many ended in it. A job
 * that is stopped for others counts only in the bins that it passed, so these are the counts for a
 * Kaplan-Meier estimate. Part of the state: integers, folded from events.
 */

#include <stdint.h>

#include "base/units.h"

enum {
    RESIDUAL_BINS = 56,            /* up to 250 years */
    RESIDUAL_SIZES = 7,            /* 1 GPU or less, 2 to 3, 4 to 7 ... 64 and more */
    RESIDUAL_ALL = RESIDUAL_SIZES, /* all sizes together */
    RESIDUAL_CLASSES,
};

struct residual {
    uint32_t left[RESIDUAL_CLASSES][RESIDUAL_BINS];  /* passed, or ended there */
    uint32_t ended[RESIDUAL_CLASSES][RESIDUAL_BINS]; /* ended there */
};

usec_t residual_start(uint32_t bin);    /* of the bin; bin up to RESIDUAL_BINS */
uint32_t residual_bin(usec_t attained); /* the last bin has no end */
uint32_t residual_class(int64_t milli); /* GPU-milli of all members */

/* A job of this class passed the bins from `from` up to, not including, `to`. */
void residual_pass(struct residual *residual, uint32_t class, uint32_t from, uint32_t to);
/* A job of this class ended in this bin. */
void residual_end(struct residual *residual, uint32_t class, uint32_t bin);

#endif
