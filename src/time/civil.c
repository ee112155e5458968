/* SPDX-License-Identifier: Apache-2.0 */
#include "time/civil.h"

enum {
    ERA_YEARS = 400,
    ERA_DAYS = 146097,
    DAYS_TO_1970 = 719468, /* from 1 March of the year 0 */
};

static int64_t divide_down(int64_t number, int64_t by)
{
    return number / by - (number % by < 0);
}

/* Years begin in March here, so that a leap day is the last of its year, and the days before a
 * month follow a line: 153 days in each five months. */
int64_t civil_day(int64_t year, int month, int day)
{
    int64_t march_year = month > 2 ? year : year - 1;
    int64_t march_month = month > 2 ? month - 3 : month + 9;
    int64_t era = divide_down(march_year, ERA_YEARS);
    int64_t y = march_year - era * ERA_YEARS;

    return era * ERA_DAYS + y * 365 + y / 4 - y / 100 + (153 * march_month + 2) / 5 + day - 1 -
           DAYS_TO_1970;
}

struct civil civil_of_day(int64_t day)
{
    int64_t since = day + DAYS_TO_1970;
    int64_t era = divide_down(since, ERA_DAYS);
    int64_t in_era = since - era * ERA_DAYS;
    /* The leap days before are taken out: one in 1461 days, none in 36525, one in 146097. */
    int64_t y = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
    int64_t in_year = in_era - (y * 365 + y / 4 - y / 100);
    int64_t march_month = (5 * in_year + 2) / 153;
    int64_t month = march_month < 10 ? march_month + 3 : march_month - 9;

    return (struct civil){
        .year = era * ERA_YEARS + y + (month <= 2),
        .month = (int)month,
        .day = (int)(in_year - (153 * march_month + 2) / 5 + 1),
    };
}

bool civil_is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

int civil_month_days(int64_t year, int month)
{
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

    return days[month - 1] + (month == 2 && civil_is_leap(year));
}

/* The first of January 1970 was a Thursday. */
enum civil_weekday civil_weekday(int64_t day)
{
    int64_t since = day + CIVIL_THURSDAY;

    return (enum civil_weekday)(since - divide_down(since, CIVIL_WEEK_DAYS) * CIVIL_WEEK_DAYS);
}

int64_t civil_day_of(usec_t wall)
{
    return divide_down(wall, USEC_PER_DAY);
}
