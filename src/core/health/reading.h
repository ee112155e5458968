/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_HEALTH_READING_H
#define CORE_HEALTH_READING_H

/* reading - the values that one device reports at one moment
 *
 * A plain table of integers, each marked as present or absent: a value that is not available is
 * absent, never 0 and never a placeholder. The list is reading.def; values are integers, so that
 * sums are exact.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"

enum reading_unit {
    READING_RATIO,          /* millionths */
    READING_BYTES,          /* */
    READING_BYTES_A_SECOND, /* */
    READING_MILLIWATTS,     /* */
    READING_MILLIJOULES,    /* */
    READING_MILLICELSIUS,   /* */
    READING_HERTZ,          /* */
    READING_NANOSECONDS,    /* */
    READING_COUNT,          /* */
    READING_BITS,           /* */
};

enum reading_kind { READING_GAUGE, READING_COUNTER };

#define READING(ID, name, unit, kind, dcgm, factor, meaning) READING_##ID,
enum reading_id {
#include "core/health/reading.def"
    READINGS,
};
#undef READING

enum { READING_RATIO_ONE = 1000000 };

struct reading {
    usec_t at;    /* by the reader's clock; 0: never read */
    uint64_t has; /* bit i: value i is present */
    int64_t values[READINGS];
};

_Static_assert(READINGS <= 64, "one bit each");

/* The properties of a value, the same for all devices. */
struct reading_about {
    const char *name, *dcgm, *meaning; /* dcgm: NULL where it has none */
    enum reading_unit unit;
    enum reading_kind kind;
    double dcgm_factor;
};

extern const struct reading_about reading_about[READINGS];

static inline bool reading_has(const struct reading *reading, enum reading_id id)
{
    return (reading->has >> id & 1) != 0;
}

/* How much a counter grew since another reading (NULL: none); 0 if one lacks it, or it was reset.
 */
int64_t reading_grown(const struct reading *reading, const struct reading *since,
                      enum reading_id id);

static inline void reading_set(struct reading *reading, enum reading_id id, int64_t value)
{
    reading->has |= UINT64_C(1) << id;
    reading->values[id] = value;
}

static inline void reading_drop(struct reading *reading, enum reading_id id)
{
    reading->has &= ~(UINT64_C(1) << id);
}

/* More than any device draws, and hotter or colder than one that works. */
enum { READING_POWER_MAX = 20000000, READING_CELSIUS_MIN = -60, READING_CELSIUS_MAX = 200 };

/* Drop impossible values: ratios above 1 (up to a hundredth above is rounding and becomes 1; fans
 * may turn faster than their nominal maximum), negative values other than temperatures, and power
 * and temperatures beyond the bounds above. */
void reading_drop_impossible(struct reading *reading);

/* One value of a device over a period: mean and maximum of each step; steps without a reading are
 * left out. Steps shorter than a minute use readings by the second, where there are any. Wall
 * time. */
struct reading_query {
    const char *uuid;
    enum reading_id id;
    usec_t from, until, step;
};

typedef void reading_fn(void *user, usec_t at, int64_t mean, int64_t most);

/* READINGS: there is none of this name. */
enum reading_id reading_find(const char *name);

/* In the unit's base: a ratio 0 to 1, bytes, watts, joules, degrees Celsius, seconds, hertz. */
double reading_in_base(enum reading_id id, int64_t value);

/* The inverse, rounded; what does not fit becomes the largest or the smallest value. */
int64_t reading_from_base(enum reading_id id, double value);

/* "ratio", "bytes", "watts" ...; "" for counts and bits. The suffix of a name in Prometheus. */
const char *reading_base_unit(enum reading_unit unit);

#endif
