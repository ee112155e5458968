/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TIME_CRON_H
#define TIME_CRON_H

/* cron - moments that come again, in the five fields of crontab(5)
 *
 *   minute 0-59   hour 0-23   day 1-31   month 1-12 jan-dec   weekday 0-7 sun-sat (0 and 7: Sunday)
 *
 * A field is a list of "*", "N", "N-M", and of the first and last also with "/STEP". Where neither
 * the day nor the weekday begins with '*', a day that fits either will do; else it must fit both.
 *
 * When the clock jumps: a time that is jumped over fires once at the jump, one that comes twice
 * fires the first time. But where the hour is "*" it is a rhythm: it fires whenever the clock
 * shows it, both times, and never for what was jumped over.
 *
 * Spec: doc/spec/08-calendar.md
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/units.h"
#include "time/zone.h"

enum { CRON_WORDS_SIZE = 160 };

/* Sets as bits: bit N is N. A plain value; all of it follows from its words. */
struct cron {
    char words[CRON_WORDS_SIZE]; /* as given, in small letters, a blank between fields */
    uint64_t minutes;
    uint32_t hours, days;
    uint16_t months;
    uint8_t weekdays; /* bit 0 is Monday (civil.h) */
    bool is_both;     /* day and weekday must fit */
    bool is_rhythm;   /* every hour */
};

/* Fails with -EINVAL (not five valid fields) or -ERANGE (a day that never occurs). */
int cron_parse(const char *words, struct cron *ret, struct error *err);

/* The first firing after `after`; USEC_NEVER: none within 40 years, which does not occur.
 * `after` is within ZONE_TIME_MAX less 50 years. */
usec_t cron_next(const struct cron *cron, const struct zone *zone, usec_t after);

#endif
