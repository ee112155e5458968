/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TIME_CALENDAR_H
#define TIME_CALENDAR_H

/* calendar - recurring times: their text form and the time spans they stand for
 *
 *   22:00-06:00                              every day, over midnight
 *   mon-fri 09:00-17:30    sat,sun           on weekdays; whole days
 *   fri 20:00 - mon 06:00                    once a week, over days
 *   2026-12-24..2026-12-27                   once; the last day is in it
 *   2026-12-24 08:00 .. 2026-12-27 18:00
 *   first mon 06:00-12:00  month-day 1,last  once a month
 *   cron 0 2 * * 1-5 for 4h                  from each firing (cron.h), for a duration
 *
 * ';' joins several into a union; "except" subtracts those after it:
 * "22:00-06:00; sat,sun except 2026-12-24..2026-12-27".
 *
 * Times are wall times of the zone. A span lasts from the first to the last moment whose wall time
 * is in it. A span that begins in a skipped hour begins at the jump; a span that ends in a repeated
 * hour ends in its second occurrence.
 *
 * Spec:       doc/spec/08-calendar.md
 * Owner:      the caller of calendar_parse()
 * On failure: no ret_ parameter was written, no list changed
 * Limits:     CALENDAR_WORDS_MAX bytes, CALENDAR_RULES_MAX items, CALENDAR_SPANS_MAX spans
 */

#include "base/compiler.h"
#include "base/error.h"
#include "base/text.h"
#include "time/span.h"
#include "time/zone.h"

enum {
    CALENDAR_WORDS_MAX = 32768, /* more than any normal form has */
    CALENDAR_RULES_MAX = 64,
    CALENDAR_SPANS_MAX = 10000,
    CALENDAR_FIRINGS_MAX = 1 << 20, /* of cron, in one expansion */
    CALENDAR_DAYS_MAX = 3660,       /* of one expansion */
};

struct calendar;

/* Fails with -EINVAL (syntax, no such time, only exceptions), -ERANGE (value too large) or -E2BIG
 * (too long, too many). */
int calendar_parse(const char *words, struct calendar **ret, struct error *err);

void calendar_destroy(struct calendar *calendar); /* NULL is fine */
DEFINE_AUTO(calendar)

/* What of the calendar is within [from, until), in order, in place of what the list has. Where a
 * span goes beyond, it is cut. What two halves give together is what the whole gives.
 * Fails with -ERANGE (more than CALENDAR_DAYS_MAX days, or not within years 1900 to 9999) or
 * -E2BIG (more spans or firings than the limits). */
int calendar_expand(const struct calendar *calendar, const struct zone *zone, usec_t from,
                    usec_t until, struct span_list *spans, struct error *err);

/* The words, in normal form: they read back as the same calendar. */
void calendar_format(const struct calendar *calendar, struct text *text);

#endif
