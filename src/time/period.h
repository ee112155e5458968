/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TIME_PERIOD_H
#define TIME_PERIOD_H

/* period - hours, days, weeks, months, quarters and years of a place, to count within
 *
 * Every moment is in exactly one period of a kind: from period_start() until period_next(). A
 * period begins when the clock first shows its beginning or a later time, so the hour that comes
 * twice in autumn is one of two hours, the one jumped over in spring is none.
 */

#include <stdbool.h>

#include "base/units.h"
#include "time/zone.h"

enum period {
    PERIOD_HOUR,
    PERIOD_DAY,
    PERIOD_WEEK, /* from Monday */
    PERIOD_MONTH,
    PERIOD_QUARTER,
    PERIOD_YEAR,
    PERIODS,
};

const char *period_name(enum period period); /* "hour" ... */
/* False: no period has that name. */
bool period_of_name(const char *name, enum period *ret);

/* When the period that a moment is in began, and when the one after it begins. The moment is
 * within ZONE_TIME_MAX less two years of 1970. */
usec_t period_start(enum period period, const struct zone *zone, usec_t at);
usec_t period_next(enum period period, const struct zone *zone, usec_t at);

#endif
