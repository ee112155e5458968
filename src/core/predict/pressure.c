/* SPDX-License-Identifier: Apache-2.0 */
#include "core/predict/pressure.h"

#include <assert.h>

#include "base/wide.h"
#include "core/predict/decay.h"

static usec_t half_life(uint32_t level)
{
    assert(level < PRESSURE_LEVELS);
    return USEC_PER_MIN << level;
}

usec_t pressure_clock(const struct pressure *pressure, usec_t now, int64_t capacity_milli)
{
    usec_t elapsed = now > pressure->clock_at ? now - pressure->clock_at : 0;
    uint64_t capacity = capacity_milli > 0 ? (uint64_t)capacity_milli : 1;

    if (pressure->wanted_milli > (int64_t)capacity)
        elapsed = (usec_t)wide_scale((uint64_t)elapsed, capacity, (uint64_t)pressure->wanted_milli);
    return pressure->clock + elapsed;
}

void pressure_advance(struct pressure *pressure, usec_t now, int64_t capacity_milli)
{
    pressure->clock = pressure_clock(pressure, now, capacity_milli);
    pressure->clock_at = now > pressure->clock_at ? now : pressure->clock_at;
}

void pressure_arrivals(const struct pressure *pressure, usec_t now, uint64_t ret[PRESSURE_LEVELS])
{
    for (uint32_t i = 0; i < PRESSURE_LEVELS; i++)
        ret[i] = usage_decay(pressure->arrived[i], now - pressure->arrived_at, half_life(i));
}

void pressure_arrival(struct pressure *pressure, usec_t now, uint64_t work)
{
    if (now > pressure->arrived_at) {
        pressure_arrivals(pressure, now, pressure->arrived);
        pressure->arrived_at = now;
    }
    for (uint32_t i = 0; i < PRESSURE_LEVELS; i++) {
        if (pressure->arrived[i] <= UINT64_MAX - work)
            pressure->arrived[i] += work;
    }
}

/* At a steady rate the sum is what came in half-life / ln 2. */
uint64_t pressure_lately(const uint64_t arrivals[PRESSURE_LEVELS], usec_t window)
{
    uint32_t level = 0;

    while (level + 1 < PRESSURE_LEVELS && half_life(level + 1) <= window)
        level++;
    return wide_scale(arrivals[level], (uint64_t)(window > 0 ? window : 0) / 1000,
                      (uint64_t)half_life(level) / 1000 * 1443 / 1000);
}
