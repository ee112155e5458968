/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PREDICT_CALIBRATION_H
#define CORE_PREDICT_CALIBRATION_H

/* calibration - the accuracy of past estimates of waits, and the ranges that follow from it
 *
 * When a job begins to wait, the brain notes the estimated wait (event foresee); when the job is
 * granted, the score is known: log2((actual + 1 s) / (noted + 1 s)). For each band of the noted
 * wait, separately for a busy and for a quiet system, three quantiles of the scores are tracked:
 * 10, 50 and 90 %. Each score moves a quantile one step up or down; the ratio of the two steps is
 * such that in the long run the wanted share of waits falls outside the ranges, whatever the scores
 * are and however late they arrive (adaptive conformal inference: Gibbs and Candes 2021; as
 * quantile tracking: Angelopoulos and others 2023). The step is proportional to the width, so a
 * calm band stays narrow. A new band starts from the quantiles of all waits.
 *
 * Part of the state: integers, folded from events. A range never begins before now.
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
    uint32_t count;           /* scores that it is based on */
};

/* A wait that was noted, and the range that was given for it. */
struct calibration_note {
    usec_t wait, low, high;
    bool is_busy;
};
void calibration_learn(struct calibration *calibration, const struct calibration_note *note,
                       usec_t actual);

/* 80 % of the waits that are estimated as `base` lie between low and high. */
void calibration_range(const struct calibration *calibration, usec_t base, bool is_busy,
                       struct calibration_range *ret);

#endif
