/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TIME_CIVIL_H
#define TIME_CIVIL_H

/* civil - dates of the Gregorian calendar, and days as numbers
 *
 * Days are counted from 1970-01-01. The calendar is carried on into the past and the future
 * without end; a year of 400 repeats. No time zones here: zone.h has them.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"

/* Weekdays, and bits of a set of them. */
enum civil_weekday {
    CIVIL_MONDAY,
    CIVIL_TUESDAY,
    CIVIL_WEDNESDAY,
    CIVIL_THURSDAY,
    CIVIL_FRIDAY,
    CIVIL_SATURDAY,
    CIVIL_SUNDAY,
    CIVIL_WEEK_DAYS,
};

struct civil {
    int64_t year;
    int month, day; /* 1 to 12, 1 to 31 */
};

/* month and day as in struct civil; a day beyond the month's last is one of the next month. */
int64_t civil_day(int64_t year, int month, int day);
struct civil civil_of_day(int64_t day);
int civil_month_days(int64_t year, int month); /* 28 to 31 */
bool civil_is_leap(int64_t year);
enum civil_weekday civil_weekday(int64_t day);

/* The day that a time since 1970 is on: it is rounded down, also before 1970. */
int64_t civil_day_of(usec_t wall);

#endif
