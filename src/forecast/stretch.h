/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FORECAST_STRETCH_H
#define FORECAST_STRETCH_H

/* stretch - moves the ends of a forecast's range so that 8 of 10 waits are within it
 *
 * A forecast does not include future submissions. For each kind of wait, the daemon therefore
 * learns two offsets from the ranges that it gave and the waits that followed: one for the lower
 * end and one for the upper end, in log2 of the wait (inward, in log2 of the distance from the
 * median). An end that was wrong moves outward by ten steps, an end that was right moves inward by
 * one step. In the long run one of eleven waits is beyond each end, whatever happens and however
 * late the result is known (quantile tracking: Angelopoulos and others 2023). A new kind starts
 * with the offsets that all kinds have learned.
 *
 * The median stays within the range. A range whose two ends equal the median has collapsed to a
 * time. A time that follows from the calendar alone is not changed, and if it was right, nothing is
 * learned from it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"

/* Kinds of wait, whose estimates have similar errors. */
enum wait_kind {
    WAIT_ROOM,    /* free resources */
    WAIT_ORDER,   /* jobs in front of it */
    WAIT_RECLAIM, /* resources that tarn reclaims for it */
    WAIT_LIMIT,   /* a limit of its queue or user */
    WAIT_TIME,    /* its begin time, a window, a reservation, a tariff */
    WAIT_BUDGET,
    WAIT_SPOT,
    WAIT_NEEDS, /* other jobs */
    WAIT_FAR,   /* no forecast reached it: an estimate of the list schedule */
    WAIT_KINDS,
};

/* In log2 of (wait + 1 s), in units of 1 / (16 LOG2_ONE). */
struct stretch_ends {
    int32_t low, high;
    uint32_t count;
};

struct stretch {
    struct stretch_ends kinds[WAIT_KINDS], all;
};

/* A range of waits. */
struct wait_range {
    usec_t low, median, high; /* USEC_NEVER: unknown */
};

const char *wait_kind_name(enum wait_kind kind);
/* False: there is no such kind. */
bool wait_kind_of_name(const char *name, enum wait_kind *ret);

void stretch_range(const struct stretch *stretch, enum wait_kind kind, struct wait_range *range);
/* Learn from the range that was given and the actual wait. */
void stretch_learn(struct stretch *stretch, enum wait_kind kind, const struct wait_range *given,
                   usec_t actual);

/* A wait counts as within a range if it is outside by at most this. */
#define STRETCH_TICK USEC_PER_SEC

static inline bool wait_is_below(const struct wait_range *range, usec_t actual)
{
    return actual < range->low - STRETCH_TICK;
}

static inline bool wait_is_above(const struct wait_range *range, usec_t actual)
{
    return range->high != USEC_NEVER && actual > range->high + STRETCH_TICK;
}

#endif
