/* SPDX-License-Identifier: Apache-2.0 */

/* A calendar's spans within a stretch of time. */

#include <errno.h>
#include <inttypes.h>

#include "time/calendar_inside.h"

#define YEAR_MIN 1900
#define YEAR_MAX 9999

struct expansion {
    const struct zone *zone;
    usec_t from, until;
    uint32_t firings;
    struct error *err;
};

static bool starts_on(const struct calendar_rule *rule, int64_t day)
{
    if (rule->kind == CALENDAR_WEEKDAYS)
        return rule->weekdays >> civil_weekday(day) & 1;

    struct civil date = civil_of_day(day);
    int last = civil_month_days(date.year, date.month);
    if (rule->kind == CALENDAR_MONTH_DAYS)
        return (rule->month_days >> date.day & 1) ||
               (date.day == last && (rule->month_days & CALENDAR_LAST_DAY));
    if (!(rule->weekdays >> civil_weekday(day) & 1))
        return false;
    return rule->nth == CALENDAR_NTH_LAST ? date.day > last - CIVIL_WEEK_DAYS
                                          : (date.day - 1) / CIVIL_WEEK_DAYS + 1 == rule->nth;
}

/* What begins on a day, by the clock. */
static void add_day(const struct expansion *expansion, const struct calendar_rule *rule,
                    int64_t day, struct span_list *spans)
{
    usec_t midnight = day * USEC_PER_DAY;
    struct span span = {
        .from = zone_first(expansion->zone, midnight + rule->from_minute * USEC_PER_MIN),
        .until = zone_last(expansion->zone, midnight + rule->until_minute * USEC_PER_MIN),
    };

    if (span.until > expansion->from && span.from < expansion->until)
        span_list_add(spans, span);
}

static void add_days(const struct expansion *expansion, const struct calendar_rule *rule,
                     struct span_list *spans)
{
    /* Days of the clock are at most two of UTC's away. */
    int64_t long_days = rule->until_minute / CALENDAR_DAY_MINUTES + 2;
    int64_t last = civil_day_of(expansion->until) + 2;

    for (int64_t day = civil_day_of(expansion->from) - long_days; day <= last; day++) {
        if (starts_on(rule, day))
            add_day(expansion, rule, day, spans);
    }
}

static int fail_spans(const struct expansion *expansion)
{
    return error_set(expansion->err, -E2BIG, "more than %d spans or %d firings in %" PRId64 " days",
                     CALENDAR_SPANS_MAX, CALENDAR_FIRINGS_MAX,
                     (expansion->until - expansion->from) / USEC_PER_DAY + 1);
}

static int add_firings(struct expansion *expansion, const struct calendar_rule *rule,
                       struct span_list *spans)
{
    size_t before = spans->count;
    usec_t at = cron_next(&rule->cron, expansion->zone, expansion->from - rule->duration);

    for (; at < expansion->until; at = cron_next(&rule->cron, expansion->zone, at)) {
        if (++expansion->firings > CALENDAR_FIRINGS_MAX ||
            spans->count - before > CALENDAR_SPANS_MAX)
            return fail_spans(expansion);
        span_list_add(spans, (struct span){ at, at + rule->duration });
    }
    return 0;
}

static int expand_rules(struct expansion *expansion, const struct calendar_rules *rules,
                        struct span_list *spans)
{
    for (size_t i = 0; i < rules->count; i++) {
        const struct calendar_rule *rule = &rules->items[i];
        int code = 0;

        if (rule->kind == CALENDAR_CRON)
            code = add_firings(expansion, rule, spans);
        else if (rule->kind == CALENDAR_DATES)
            add_day(expansion, rule, rule->first_day, spans);
        else
            add_days(expansion, rule, spans);
        if (code < 0)
            return code;
    }
    span_list_sort(spans);
    return 0;
}

static int check_range(usec_t from, usec_t until, struct error *err)
{
    if (from < civil_day(YEAR_MIN, 1, 1) * USEC_PER_DAY ||
        until > civil_day(YEAR_MAX + 1, 1, 1) * USEC_PER_DAY)
        return error_set(err, -ERANGE, "not within the years %d to %d", YEAR_MIN, YEAR_MAX);
    if (until - from > CALENDAR_DAYS_MAX * USEC_PER_DAY)
        return error_set(err, -ERANGE, "more than %d days at once", CALENDAR_DAYS_MAX);
    return 0;
}

int calendar_expand(const struct calendar *calendar, const struct zone *zone, usec_t from,
                    usec_t until, struct span_list *spans, struct error *err)
{
    struct expansion expansion = { .zone = zone, .from = from, .until = until, .err = err };
    AUTO_RELEASE(span_list) struct span_list during = { 0 };
    AUTO_RELEASE(span_list) struct span_list except = { 0 };

    int code = check_range(from, until, err);
    if (code == 0)
        code = expand_rules(&expansion, &calendar->during, &during);
    if (code == 0)
        code = expand_rules(&expansion, &calendar->except, &except);
    if (code < 0)
        return code;
    span_list_subtract(&during, &except);
    span_list_clip(&during, from, until);
    if (during.count > CALENDAR_SPANS_MAX)
        return fail_spans(&expansion);
    span_list_release(spans);
    *spans = during;
    during = (struct span_list){ 0 };
    return 0;
}
