/* SPDX-License-Identifier: Apache-2.0 */

/* A calendar for people: what is now, and until when. */

#include <inttypes.h>

#include "time/calendar_inside.h"

/* "22:00" today, "Fri 22:00" within six days, else "2026-12-24 22:00". */
static void add_moment(struct text *text, const struct zone *zone, usec_t now, usec_t at)
{
    static const char *const weekdays[CIVIL_WEEK_DAYS] = { "Mon", "Tue", "Wed", "Thu",
                                                           "Fri", "Sat", "Sun" };
    usec_t wall = zone_wall(zone, at);
    int64_t day = civil_day_of(wall);
    int minute = (int)((wall - day * USEC_PER_DAY) / USEC_PER_MIN);
    int64_t today = civil_day_of(zone_wall(zone, now));
    struct civil date = civil_of_day(day);

    if (day > today && day - today <= 6)
        text_printf(text, "%s ", weekdays[civil_weekday(day)]);
    else if (day != today)
        text_printf(text, "%04" PRId64 "-%02d-%02d ", date.year, date.month, date.day);
    text_printf(text, "%02d:%02d", minute / 60, minute % 60);
}

/* The first span within so many days; one that goes on beyond them has no end. */
static int find_first(const struct calendar *calendar, const struct zone *zone, usec_t now,
                      int days, struct span *ret)
{
    AUTO_RELEASE(span_list) struct span_list spans = { 0 };
    usec_t until = now + days * USEC_PER_DAY;

    int code = calendar_expand(calendar, zone, now, until, &spans, NULL);
    if (code < 0)
        return code;
    *ret = spans.count > 0 ? spans.items[0] : (struct span){ USEC_NEVER, USEC_NEVER };
    if (ret->until == until)
        ret->until = USEC_NEVER;
    return 0;
}

void calendar_say(const struct calendar *calendar, const char *name, const struct zone *zone,
                  usec_t now, struct text *text)
{
    static const int days[] = { 1, 8, 400 };
    struct span first = { USEC_NEVER, USEC_NEVER };
    int seen = 0;

    /* No further than it takes: a calendar of many spans may be too much for a year. */
    for (size_t i = 0; i < COUNT_OF(days); i++) {
        bool is_known = first.from == now ? first.until != USEC_NEVER : first.from != USEC_NEVER;
        if (is_known || find_first(calendar, zone, now, days[i], &first) < 0)
            break;
        seen = days[i];
    }
    text_printf(text, "%s, ", name);
    if (first.from == USEC_NEVER) {
        text_printf(text, "not within %d days", seen);
    } else if (first.from > now) {
        text_add(text, "next ");
        add_moment(text, zone, now, first.from);
    } else if (first.until != USEC_NEVER) {
        text_add(text, "until ");
        add_moment(text, zone, now, first.until);
    } else {
        text_printf(text, "for more than %d days", seen);
    }
}
