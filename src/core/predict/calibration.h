/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PREDICT_CALIBRATION_H
#define CORE_PREDICT_CALIBRATION_H

/* calibration - how estimates of a wait turned out, and the ranges that follow from it
 *
 * When a job begins to wait, the brain notes how long that should take (event foresee); when it is
 * granted, the score is known: log2((actual + 1 s) / (noted + 1 s)). For each band of the noted
 * wait, apart for a busy and for a quiet system, three quantiles of the scores are tracked: 10, 50
 * and 90 %. Each score moves a quantile by a step, up or down in the proportion that leaves the
 * wanted part outside of the ranges that were given, in the long run, whatever the scores are and
 * however late they come (adaptive conformal inference:
 * Gibbs and Candes 2021; as quantile tracking: Angelopoulos and others 2023). The step follows the
 * width, so that a calm band stays narrow. A band starts from what holds for all.
 *
 * Part of the state: integers, folded from events. A range never says less than now.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"

enum {
    CALIBRATION_WAITS = 12,                        /* bands of two octaves, from a second on */
    CALIBRATION_BANDS = 2 * CALIBRATION_WAITS + 1, /* the last: of all */
};

/* Scores in parts of 2^12. */
struct calibration_band {
    int32_t low, median, high;
    uint32_t count;
};

struct calibration {
    struct calibration_band bands[CALIBRATION_BANDS];
};

struct calibration_range {
    usec_t low, median, high; /* waits */
    uint32_t count;           /* scores that stand behind it */
};

/* A wait that was noted, the range that was given for it, and what it came to. */
struct calibration_note {
    usec_t wait, low, high;
    bool is_busy;
};
void calibration_learn(struct calibration *calibration, const struct calibration_note *note,
                       usec_t actual);

/* 8 of 10 waits that are estimated as `base` lie between low and high. */
void calibration_range(const struct calibration *calibration, usec_t base, bool is_busy,
                       struct calibration_range *ret);

#endif
