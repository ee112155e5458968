/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FORECAST_STRETCH_H
#define FORECAST_STRETCH_H

/* stretch - moves the ends of a forecast's range so that 8 of 10 waits lie in it
 *
 * A forecast knows no future submissions. For each kind of wait, two offsets are learned from the
 * ranges that were given and the waits that followed: one in log2 of the shortest wait, one of the
 * longest; inward, of the distance from the median. An end that was wrong moves outward by ten
 * steps, one that was right moves inward by one: so in the long run one of eleven lies beyond each
 * end, whatever happens and however late it is known (quantile tracking: Angelopoulos and others
 * 2023). A kind starts from what all have learned.
 *
 * The median stays in the range; a range whose ends are the median has collapsed to a time. A time
 * that follows from the calendar alone is left as it is, and one that was right teaches nothing.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"

/* What a job waits for, as far as estimates of it err alike. */
enum wait_kind {
    WAIT_ROOM,    /* free resources */
    WAIT_ORDER,   /* its turn */
    WAIT_RECLAIM, /* resources that are taken back for it */
    WAIT_LIMIT,   /* a limit of its queue or user */
    WAIT_TIME,    /* its begin, a window, a reservation, a tariff */
    WAIT_BUDGET,
    WAIT_SPOT,
    WAIT_NEEDS, /* other jobs */
    WAIT_FAR,   /* no forecast came so far: an estimate of the list schedule */
    WAIT_KINDS,
};

/* In log2 of the wait and a second, parts of LOG2_ONE times 16. */
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
/* The range that was given, and what the wait was. */
void stretch_learn(struct stretch *stretch, enum wait_kind kind, const struct wait_range *given,
                   usec_t actual);

/* A wait is in a range if it is not off by more than this. */
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
