/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TIME_CALENDAR_H
#define TIME_CALENDAR_H

/* calendar - times that come again, as people write them, and the spans that they are
 *
 *   22:00-06:00                              every day, over midnight
 *   mon-fri 09:00-17:30    sat,sun           on weekdays; whole days
 *   fri 20:00 - mon 06:00                    once a week, over days
 *   2026-12-24..2026-12-27                   once; the last day is in it
 *   2026-12-24 08:00 .. 2026-12-27 18:00
 *   first mon 06:00-12:00  month-day 1,last  once a month
 *   cron 0 2 * * 1-5 for 4h                  from each firing (cron.h) so long
 *
 * Several, with ';' between, are all of them together; those after "except" are taken out:
 * "22:00-06:00; sat,sun except 2026-12-24..2026-12-27".
 *
 * The clock of the zone counts. A span lasts from the first moment when the clock shows a time of
 * it until the last such moment, so that one which begins where the clock jumps forward begins at
 * the jump, and one which ends in the hour that comes twice ends with the second.
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

/* Fails with -EINVAL (not such words, a time that there is not, nothing but exceptions), -ERANGE
 * (a value too large) or -E2BIG (too long, too many). */
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
