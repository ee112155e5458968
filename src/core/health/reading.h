/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_HEALTH_READING_H
#define CORE_HEALTH_READING_H

/* reading - what one device says of itself at one moment
 *
 * A plain table of integers with a mark for each that is there: what can't be had is absent, never
 * 0 and never a number that stands for nothing. The list is reading.def; units are integers, so
 * that sums are exact.
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
    usec_t at;    /* by the clock of the reader; 0: never read */
    uint64_t has; /* bit i: value i is there */
    int64_t values[READINGS];
};

_Static_assert(READINGS <= 64, "one bit each");

/* What is the same for all devices. */
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

/* How much a counter grew since another reading (NULL: none); 0 if one lacks it, or it began anew.
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

/* Drop what cannot be: a part of more than all (a hundredth above is rounding and becomes all; fans
 * may turn faster than their nominal most), and less than nothing where that is no temperature. */
void reading_drop_impossible(struct reading *reading);

/* One value of a device over a stretch: means and largest of steps of so long; steps in which
 * nothing was read are left out. Steps below a minute are of seconds, where there are any. Wall
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

/* "ratio", "bytes", "watts" ...; "" for counts and bits. What Prometheus wants at a name's end. */
const char *reading_base_unit(enum reading_unit unit);

#endif
