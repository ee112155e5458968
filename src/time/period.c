/* SPDX-License-Identifier: Apache-2.0 */
#include "time/period.h"

#include <string.h>

#include "time/civil.h"

static const char *const names[PERIODS] = {
    [PERIOD_HOUR] = "hour",   [PERIOD_DAY] = "day",         [PERIOD_WEEK] = "week",
    [PERIOD_MONTH] = "month", [PERIOD_QUARTER] = "quarter", [PERIOD_YEAR] = "year",
};

static const int months_of[PERIODS] = {
    [PERIOD_MONTH] = 1, [PERIOD_QUARTER] = 3, [PERIOD_YEAR] = 12
};

const char *period_name(enum period period)
{
    return names[period];
}

bool period_of_name(const char *name, enum period *ret)
{
    for (int i = 0; i < PERIODS; i++) {
        if (strcmp(name, names[i]) != 0)
            continue;
        *ret = (enum period)i;
        return true;
    }
    return false;
}

/* The wall time at which the period of a wall time begins, or the one that is `ahead` (0 or 1)
 * further on. */
static usec_t wall_start(enum period period, usec_t wall, int ahead)
{
    int64_t day = civil_day_of(wall);

    if (period == PERIOD_HOUR)
        return wall - (wall - day * USEC_PER_DAY) % USEC_PER_HOUR + ahead * USEC_PER_HOUR;
    if (period == PERIOD_DAY)
        return (day + ahead) * USEC_PER_DAY;
    if (period == PERIOD_WEEK)
        return (day - (int)civil_weekday(day) + ahead * CIVIL_WEEK_DAYS) * USEC_PER_DAY;
    struct civil date = civil_of_day(day);
    int month = date.month - 1;
    month += ahead * months_of[period] - month % months_of[period];
    return civil_day(date.year + month / 12, month % 12 + 1, 1) * USEC_PER_DAY;
}

/* What the clock has shown counts, not what it shows after it went back: a period that has begun
 * is not left again. */
usec_t period_start(enum period period, const struct zone *zone, usec_t at)
{
    return zone_first(zone, wall_start(period, zone_highest(zone, at), 0));
}

usec_t period_next(enum period period, const struct zone *zone, usec_t at)
{
    return zone_first(zone, wall_start(period, zone_highest(zone, at), 1));
}
