/* SPDX-License-Identifier: Apache-2.0 */

/* One item of a calendar, back in words. */

#include <inttypes.h>
#include <stdio.h>

#include "time/calendar_inside.h"

static void add_clock(struct text *text, int minute)
{
    text_printf(text, "%02d:%02d", minute / 60, minute % 60);
}

/* Where in a day a minute that may be days later is; the end of a day stays in it. */
static int end_of_day_minute(int minute)
{
    int in_day = minute % CALENDAR_DAY_MINUTES;

    return in_day == 0 ? CALENDAR_DAY_MINUTES : in_day;
}

static bool is_whole_day(const struct calendar_rule *rule)
{
    return rule->from_minute == 0 && rule->until_minute == CALENDAR_DAY_MINUTES;
}

static void add_hours(struct text *text, const struct calendar_rule *rule)
{
    add_clock(text, rule->from_minute);
    text_add_char(text, '-');
    add_clock(text, end_of_day_minute(rule->until_minute));
}

/* The bits from first to last as "1", "1,2" or "1-3", after a comma where something is there. */
static void add_run(struct text *text, bool is_first, const char *first, const char *last,
                    int length)
{
    text_printf(text, "%s%s", is_first ? "" : ",", first);
    if (length > 1)
        text_printf(text, "%c%s", length > 2 ? '-' : ',', last);
}

static void add_weekdays(struct text *text, uint32_t weekdays)
{
    bool is_first = true;

    for (int day = 0; day < CIVIL_WEEK_DAYS; day++) {
        int last = day;

        if (!(weekdays >> day & 1))
            continue;
        while (weekdays >> (last + 1) & 1)
            last++;
        add_run(text, is_first, calendar_weekdays[day], calendar_weekdays[last], last - day + 1);
        is_first = false;
        day = last;
    }
}

static void add_month_days(struct text *text, uint32_t days)
{
    bool is_first = true;

    for (int day = 1; day <= 31; day++) {
        char first[16], final[16];
        int last = day;

        if (!(days >> day & 1))
            continue;
        while (last < 31 && (days >> (last + 1) & 1))
            last++;
        snprintf(first, sizeof(first), "%d", day);
        snprintf(final, sizeof(final), "%d", last);
        add_run(text, is_first, first, final, last - day + 1);
        is_first = false;
        day = last;
    }
    if (days & CALENDAR_LAST_DAY)
        text_printf(text, "%slast", is_first ? "" : ",");
}

static void add_date(struct text *text, int64_t day)
{
    struct civil date = civil_of_day(day);

    text_printf(text, "%04" PRId64 "-%02d-%02d", date.year, date.month, date.day);
}

/* A day and more: "fri 20:00 - mon 06:00". */
static void format_week_span(const struct calendar_rule *rule, struct text *text)
{
    int first = 0;

    while (!(rule->weekdays >> first & 1))
        first++;
    int last = (first + rule->until_minute / CALENDAR_DAY_MINUTES) % CIVIL_WEEK_DAYS;
    text_printf(text, "%s ", calendar_weekdays[first]);
    add_clock(text, rule->from_minute);
    text_printf(text, " - %s ", calendar_weekdays[last]);
    add_clock(text, rule->until_minute % CALENDAR_DAY_MINUTES);
}

static void format_weekdays(const struct calendar_rule *rule, struct text *text)
{
    bool is_daily = rule->weekdays == CALENDAR_WEEK_ALL;

    if (!is_whole_day(rule) && rule->until_minute - rule->from_minute >= CALENDAR_DAY_MINUTES) {
        format_week_span(rule, text);
        return;
    }
    if (!is_daily)
        add_weekdays(text, rule->weekdays);
    if (is_daily || !is_whole_day(rule)) {
        text_add(text, is_daily ? "" : " ");
        add_hours(text, rule);
    }
}

static void format_dates(const struct calendar_rule *rule, struct text *text)
{
    bool is_whole = rule->from_minute == 0 && rule->until_minute % CALENDAR_DAY_MINUTES == 0;
    int64_t days = (rule->until_minute - 1) / CALENDAR_DAY_MINUTES;

    add_date(text, rule->first_day);
    if (is_whole && days == 0)
        return;
    if (!is_whole && rule->until_minute - rule->from_minute < CALENDAR_DAY_MINUTES) {
        text_add_char(text, ' ');
        add_hours(text, rule);
        return;
    }
    if (!is_whole) {
        text_add_char(text, ' ');
        add_clock(text, rule->from_minute);
    }
    text_add(text, is_whole ? ".." : " .. ");
    add_date(text, rule->first_day + days);
    if (!is_whole) {
        text_add_char(text, ' ');
        add_clock(text, end_of_day_minute(rule->until_minute));
    }
}

/* Exactly, unlike units_format_duration(): "1d12h", "90s" as "1m30s". */
static void add_duration(struct text *text, usec_t duration)
{
    static const struct {
        usec_t unit;
        char letter;
    } units[] = {
        { USEC_PER_DAY, 'd' },
        { USEC_PER_HOUR, 'h' },
        { USEC_PER_MIN, 'm' },
        { USEC_PER_SEC, 's' },
    };

    for (size_t i = 0; i < COUNT_OF(units); i++) {
        if (duration >= units[i].unit)
            text_printf(text, "%" PRId64 "%c", duration / units[i].unit, units[i].letter);
        duration %= units[i].unit;
    }
}

void calendar_rule_format(const struct calendar_rule *rule, struct text *text)
{
    switch (rule->kind) {
    case CALENDAR_WEEKDAYS:
        format_weekdays(rule, text);
        return;
    case CALENDAR_DATES:
        format_dates(rule, text);
        return;
    case CALENDAR_CRON:
        text_printf(text, "cron %s for ", rule->cron.words);
        add_duration(text, rule->duration);
        return;
    case CALENDAR_MONTH_DAYS:
        text_add(text, "month-day ");
        add_month_days(text, rule->month_days);
        break;
    case CALENDAR_NTH:
        text_printf(text, "%s ", calendar_nths[rule->nth]);
        add_weekdays(text, rule->weekdays);
        break;
    }
    if (!is_whole_day(rule)) {
        text_add_char(text, ' ');
        add_hours(text, rule);
    }
}
