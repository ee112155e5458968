/* SPDX-License-Identifier: Apache-2.0 */
#include "core/calibration.h"

#include "base/log2.h"

enum {
    FINE = 16,          /* scores are finer than logarithms by so much */
    PRIOR = 256 * FINE, /* half to double, until something is known */
    STEP_LEAST = 8,
    STEP_WIDTH = 192, /* a step is the width by this */
    HASTE = 24,       /* the first scores move more */
};

static const usec_t tick = USEC_PER_SEC / 1000;

/* log2 of the milliseconds, with a second more. */
static int32_t log_of(usec_t wait)
{
    usec_t bounded = wait > 0 ? wait : 0;

    return log2_of((bounded < USEC_NEVER / 2 ? bounded : USEC_NEVER / 2) / tick + 1000);
}

static usec_t wait_of(int32_t fine)
{
    int64_t ms = log2_power(fine / FINE) - 1000;

    return ms <= 0 ? 0 : ms < USEC_NEVER / 2 / tick ? ms * tick : USEC_NEVER / 2;
}

static uint32_t band_of(usec_t base, bool is_busy)
{
    int32_t band = (log_of(base) - log_of(0)) / (2 * LOG2_ONE);

    band = band < CALIBRATION_WAITS ? band : CALIBRATION_WAITS - 1;
    return (uint32_t)band + (is_busy ? CALIBRATION_WAITS : 0);
}

static const struct calibration_band *known(const struct calibration *calibration, uint32_t number)
{
    static const struct calibration_band prior = { .low = -PRIOR, .high = PRIOR };
    const struct calibration_band *all = &calibration->bands[CALIBRATION_BANDS - 1];

    if (calibration->bands[number].count > 0)
        return &calibration->bands[number];
    return all->count > 0 ? all : &prior;
}

/* Of `one_in` scores one should lie beyond: so far back for one that does not, so far on for one
 * that does. */
static void track(int32_t *quantile, int32_t score, int32_t step, int32_t below, int32_t above)
{
    *quantile += score > *quantile ? step * below : -step * above;
}

static void learn(struct calibration *calibration, uint32_t number, int32_t score)
{
    struct calibration_band *band = &calibration->bands[number];

    if (band->count == 0) {
        *band = *known(calibration, number);
        band->count = 0;
    }
    int32_t width = band->high - band->low;
    int32_t step = STEP_LEAST + width / STEP_WIDTH;
    step += step * HASTE / (HASTE + (int32_t)(band->count < 100000 ? band->count : 100000)) * 2;
    track(&band->low, score, step, 1, 9);
    track(&band->median, score, step, 5, 5);
    track(&band->high, score, step, 9, 1);
    /* Quantiles that cross make no range. */
    if (band->median < band->low)
        band->median = band->low;
    if (band->high < band->median)
        band->high = band->median;
    band->count++;
}

void calibration_learn(struct calibration *calibration, usec_t noted, bool is_busy, usec_t actual)
{
    int32_t score = (log_of(actual) - log_of(noted)) * FINE;

    learn(calibration, band_of(noted, is_busy), score);
    learn(calibration, CALIBRATION_BANDS - 1, score);
}

void calibration_range(const struct calibration *calibration, usec_t base, bool is_busy,
                       struct calibration_range *ret)
{
    const struct calibration_band *band = known(calibration, band_of(base, is_busy));
    int32_t log = log_of(base) * FINE;

    *ret = (struct calibration_range){
        .low = wait_of(log + band->low),
        .median = wait_of(log + band->median),
        .high = wait_of(log + band->high),
        .count = band->count,
    };
}
