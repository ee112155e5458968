/* SPDX-License-Identifier: Apache-2.0 */
#include "core/predict/calibration.h"

#include <assert.h>

#include "base/log2.h"

enum {
    FINE = 16, /* scores are finer than logarithms by so much */
    OCTAVE = LOG2_ONE * FINE,
    PRIOR = OCTAVE, /* half to double, until something is known */
    STEP_LEAST = 8,
    STEP_WIDTH = 128, /* a step is the width by this */
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

    assert(band >= 0);
    band = band < CALIBRATION_WAITS ? band : CALIBRATION_WAITS - 1;
    return (uint32_t)band + (is_busy ? CALIBRATION_WAITS : 0);
}

static const struct calibration_band *known(const struct calibration *calibration, uint32_t number)
{
    assert(number < CALIBRATION_BANDS);

    static const struct calibration_band prior = { .low = -PRIOR, .high = PRIOR };
    const struct calibration_band *all = &calibration->bands[CALIBRATION_BANDS - 1];

    if (calibration->bands[number].count > 0)
        return &calibration->bands[number];
    return all->count > 0 ? all : &prior;
}

static int32_t bound(int32_t value, int32_t least, int32_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* What moves what was wrong by nine steps when one of ten is to be, and by one when it was right,
 * leaves one of ten wrong. */
static void learn(struct calibration *calibration, uint32_t number,
                  const struct calibration_note *note, usec_t actual)
{
    struct calibration_band *band = &calibration->bands[number];
    int32_t score = (log_of(actual) - log_of(note->wait)) * FINE;

    if (band->count == 0)
        *band = *known(calibration, number);
    int32_t width = bound(band->high - band->low, 0, 4 * OCTAVE);
    int32_t step = STEP_LEAST + width / STEP_WIDTH;
    int32_t young = band->count < HASTE ? (int32_t)(HASTE - band->count) : 0;
    step += step * young / HASTE * 3;
    band->low += actual < note->low ? -9 * step : step;
    band->high += actual > note->high ? 9 * step : -step;
    band->median += score > band->median ? step : -step;
    band->median = bound(band->median, -12 * OCTAVE, 12 * OCTAVE);
    band->low = bound(band->low, -16 * OCTAVE, 12 * OCTAVE);
    band->high = bound(band->high, -12 * OCTAVE, 16 * OCTAVE);
    if (band->low > band->high) /* quantiles that cross make no range */
        band->low = band->high = band->low - (band->low - band->high) / 2;
    assert(band->low <= band->high);
    band->count++;
}

void calibration_learn(struct calibration *calibration, const struct calibration_note *note,
                       usec_t actual)
{
    learn(calibration, band_of(note->wait, note->is_busy), note, actual);
    learn(calibration, CALIBRATION_BANDS - 1, note, actual);
}

void calibration_range(const struct calibration *calibration, usec_t base, bool is_busy,
                       struct calibration_range *ret)
{
    const struct calibration_band *band = known(calibration, band_of(base, is_busy));
    int32_t log = log_of(base) * FINE;

    *ret = (struct calibration_range){
        .low = wait_of(log + band->low),
        .median = wait_of(log + bound(band->median, band->low, band->high)),
        .high = wait_of(log + band->high),
        .count = band->count,
    };
    /* log2_power() is exact to a unit only: of two logarithms, the larger may give the smaller. */
    ret->median = ret->median > ret->low ? ret->median : ret->low;
    ret->high = ret->high > ret->median ? ret->high : ret->median;
}
