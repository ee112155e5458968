/* SPDX-License-Identifier: Apache-2.0 */
#include "core/health/reading.h"

#include <string.h>

#define READING(ID, word, unit_of, kind_of, dcgm_name, factor, words)                              \
    [READING_##ID] = { .name = word,                                                               \
                       .dcgm = dcgm_name,                                                          \
                       .meaning = words,                                                           \
                       .unit = READING_##unit_of,                                                  \
                       .kind = READING_##kind_of,                                                  \
                       .dcgm_factor = factor },
const struct reading_about reading_about[READINGS] = {
#include "core/health/reading.def"
};
#undef READING

static const struct {
    const char *name;
    double factor;
} bases[] = {
    [READING_RATIO] = { "ratio", 1e-6 },
    [READING_BYTES] = { "bytes", 1 },
    [READING_BYTES_A_SECOND] = { "bytes_per_second", 1 },
    [READING_MILLIWATTS] = { "watts", 1e-3 },
    [READING_MILLIJOULES] = { "joules", 1e-3 },
    [READING_MILLICELSIUS] = { "celsius", 1e-3 },
    [READING_HERTZ] = { "hertz", 1 },
    [READING_NANOSECONDS] = { "seconds", 1e-9 },
    [READING_COUNT] = { "", 1 },
    [READING_BITS] = { "", 1 },
};

enum reading_id reading_find(const char *name)
{
    enum reading_id id = 0;

    while (id < READINGS && strcmp(reading_about[id].name, name) != 0)
        id++;
    return id;
}

int64_t reading_grown(const struct reading *reading, const struct reading *since,
                      enum reading_id id)
{
    if (!since || !reading_has(reading, id) || !reading_has(since, id) ||
        reading->values[id] < since->values[id])
        return 0;
    return reading->values[id] - since->values[id];
}

static bool is_in_bounds(enum reading_id id, int64_t value)
{
    const int64_t one = READING_RATIO_ONE;

    switch (reading_about[id].unit) {
    case READING_BITS:
        return true;
    case READING_MILLICELSIUS:
        return value >= READING_CELSIUS_MIN * 1000 && value <= READING_CELSIUS_MAX * 1000;
    case READING_MILLIWATTS:
        return value >= 0 && value <= READING_POWER_MAX;
    case READING_RATIO:
        return value >= 0 && value <= (id == READING_FAN_SPEED ? 2 * one : one + one / 100);
    default:
        return value >= 0;
    }
}

void reading_drop_impossible(struct reading *reading)
{
    const int64_t one = READING_RATIO_ONE;

    for (enum reading_id id = 0; id < READINGS; id++) {
        bool is_part = reading_about[id].unit == READING_RATIO && id != READING_FAN_SPEED;
        if (!reading_has(reading, id))
            continue;
        if (!is_in_bounds(id, reading->values[id]))
            reading_drop(reading, id);
        else if (is_part && reading->values[id] > one)
            reading->values[id] = one;
    }
}

double reading_in_base(enum reading_id id, int64_t value)
{
    return (double)value * bases[reading_about[id].unit].factor;
}

int64_t reading_from_base(enum reading_id id, double value)
{
    double scaled = value / bases[reading_about[id].unit].factor;

    if (scaled >= 0x1p63)
        return INT64_MAX;
    return scaled <= -0x1p63 ? INT64_MIN : (int64_t)(scaled + (scaled < 0 ? -0.5 : 0.5));
}

const char *reading_base_unit(enum reading_unit unit)
{
    return bases[unit].name;
}
