/* SPDX-License-Identifier: Apache-2.0 */
#include "time/zone_rule.h"

#include <ctype.h>

#include "time/civil.h"

enum { OFFSET_HOURS_MAX = 24, TIME_HOURS_MAX = 167, NAME_LETTERS_MIN = 3 };

static bool take(const char **s, char c)
{
    if (**s != c)
        return false;
    (*s)++;
    return true;
}

/* One to three digits. */
static bool take_number(const char **s, int min, int max, int *ret)
{
    int number = 0, digits = 0;

    for (; digits < 3 && isdigit((unsigned char)**s); digits++, (*s)++)
        number = number * 10 + (**s - '0');
    *ret = number;
    return digits > 0 && number >= min && number <= max;
}

/* "CET" or "<+03>". */
static bool take_name(const char **s)
{
    const char *start = *s;

    if (take(s, '<')) {
        while (isalnum((unsigned char)**s) || **s == '+' || **s == '-')
            (*s)++;
        return *s - start > NAME_LETTERS_MIN && take(s, '>');
    }
    while (isalpha((unsigned char)**s))
        (*s)++;
    return *s - start >= NAME_LETTERS_MIN;
}

/* "[+-]h[:mm[:ss]]" */
static bool take_time(const char **s, int hours_max, usec_t *ret)
{
    int hours, minutes = 0, seconds = 0;

    bool is_negative = take(s, '-');
    if (!is_negative)
        take(s, '+');
    if (!take_number(s, 0, hours_max, &hours))
        return false;
    if (take(s, ':')) {
        if (!take_number(s, 0, 59, &minutes))
            return false;
        if (take(s, ':') && !take_number(s, 0, 59, &seconds))
            return false;
    }
    usec_t time = hours * USEC_PER_HOUR + minutes * USEC_PER_MIN + seconds * USEC_PER_SEC;
    *ret = is_negative ? -time : time;
    return true;
}

static bool take_day(const char **s, struct zone_date *date)
{
    if (take(s, 'M')) {
        date->kind = ZONE_DATE_MONTH;
        return take_number(s, 1, 12, &date->month) && take(s, '.') &&
               take_number(s, 1, 5, &date->week) && take(s, '.') &&
               take_number(s, 0, 6, &date->day);
    }
    if (take(s, 'J')) {
        date->kind = ZONE_DATE_JULIAN;
        return take_number(s, 1, 365, &date->day);
    }
    date->kind = ZONE_DATE_PLAIN;
    return take_number(s, 0, 365, &date->day);
}

static bool take_date(const char **s, struct zone_date *date)
{
    date->time = 2 * USEC_PER_HOUR;
    return take(s, ',') && take_day(s, date) &&
           (!take(s, '/') || take_time(s, TIME_HOURS_MAX, &date->time));
}

bool zone_rule_parse(const char *text, struct zone_rule *ret)
{
    struct zone_rule rule = { 0 };
    usec_t west;

    if (!take_name(&text) || !take_time(&text, OFFSET_HOURS_MAX, &west))
        return false;
    rule.standard = -west;
    if (*text != '\0') {
        rule.has_summer = true;
        if (!take_name(&text))
            return false;
        west -= USEC_PER_HOUR;
        if (*text != ',' && !take_time(&text, OFFSET_HOURS_MAX, &west))
            return false;
        rule.summer = -west;
        if (!take_date(&text, &rule.start) || !take_date(&text, &rule.end) || *text != '\0')
            return false;
    }
    *ret = rule;
    return true;
}

static int64_t date_day(const struct zone_date *date, int64_t year)
{
    int64_t first = civil_day(year, date->kind == ZONE_DATE_MONTH ? date->month : 1, 1);

    if (date->kind == ZONE_DATE_PLAIN)
        return first + date->day;
    if (date->kind == ZONE_DATE_JULIAN)
        return first + date->day - 1 + (civil_is_leap(year) && date->day > 31 + 28);
    /* Sunday is 0 there and the last here. */
    int weekday = (date->day + 6) % 7;
    int ahead = (weekday - (int)civil_weekday(first) + 7) % 7;
    int64_t day = first + ahead + (date->week - 1) * 7;
    return day < first + civil_month_days(year, date->month) ? day : day - 7;
}

void zone_rule_summer(const struct zone_rule *rule, int64_t year, usec_t *ret_start,
                      usec_t *ret_end)
{
    *ret_start = date_day(&rule->start, year) * USEC_PER_DAY + rule->start.time - rule->standard;
    *ret_end = date_day(&rule->end, year) * USEC_PER_DAY + rule->end.time - rule->summer;
}
