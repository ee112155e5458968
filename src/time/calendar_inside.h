/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TIME_CALENDAR_INSIDE_H
#define TIME_CALENDAR_INSIDE_H

/* What the parts of calendar.h share. */

#include <stdint.h>

#include "time/calendar.h"
#include "time/civil.h"
#include "time/cron.h"

enum {
    CALENDAR_DAY_MINUTES = 24 * 60,
    CALENDAR_WEEK_ALL = (1 << CIVIL_WEEK_DAYS) - 1,
    CALENDAR_DATES_DAYS_MAX = 3660, /* how long a span between two dates may be */
    CALENDAR_NTH_LAST = 5,
};

/* The last day of a month, as a bit of month_days; bit N is day N. */
#define CALENDAR_LAST_DAY UINT32_C(1)

enum calendar_kind {
    CALENDAR_WEEKDAYS,   /* weekdays */
    CALENDAR_MONTH_DAYS, /* month_days */
    CALENDAR_NTH,        /* nth and weekdays (one bit) */
    CALENDAR_DATES,      /* first_day */
    CALENDAR_CRON,       /* cron and duration */
};

/* On each day that fits, a span of the clock: minutes from that day's midnight. */
struct calendar_rule {
    enum calendar_kind kind;
    uint32_t weekdays; /* bit 0 is Monday */
    uint32_t month_days;
    int nth; /* 1 to 4, CALENDAR_NTH_LAST */
    int64_t first_day;
    int from_minute;  /* below a day */
    int until_minute; /* above from_minute; may be days later */
    struct cron cron;
    usec_t duration;
};

struct calendar_rules {
    struct calendar_rule *items;
    size_t count;
    size_t capacity;
};

struct calendar {
    struct calendar_rules during, except;
};

struct calendar *calendar_create(void);

/* Add words of calendar_parse(); what is not behind an "except" goes to `into`, which is of the
 * calendar. */
int calendar_add(struct calendar *calendar, struct calendar_rules *into, const char *words,
                 struct error *err);
/* Whether there is anything in it. */
int calendar_check(const struct calendar *calendar, struct error *err);

/* One item. */
int calendar_rule_parse(const char *words, struct calendar_rule *ret, struct error *err);
void calendar_rule_format(const struct calendar_rule *rule, struct text *text);

/* "mon" ..., and "first" ... "last" from 1 on. */
extern const char *const calendar_weekdays[CIVIL_WEEK_DAYS];
extern const char *const calendar_nths[CALENDAR_NTH_LAST + 1];

#endif
