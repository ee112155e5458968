/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TIME_BEGIN_H
#define TIME_BEGIN_H

/* begin - parses the earliest start time of a job
 *
 * "now", "now+1h", "now+30minutes", "90s", "1h30m": from now on. "14:30", "2030-01-31",
 * "2030-01-31T08:00[:00]": a time of day or a date, kept as text until code with a clock resolves
 * it. "04:00" is 4 a.m., not four minutes. Slurm's words: "today" and "tomorrow" (at 0:00),
 * "midnight", "elevenses" (11:00), "noon", "fika" (15:00), "teatime" (16:00); "2:30pm"; "01/31/30",
 * "01.31.30" and "01/31/30-08:00" are of 2030-01-31, "01/31" is the next such day.
 */

#include <stdbool.h>

#include "base/error.h"
#include "base/units.h"

struct begin_fields {
    bool has_date;
    bool lacks_year;          /* of its date: the next such day; year is 0 */
    bool is_relative;         /* a day from today on, `day` days later: no date */
    int year, month, day;     /* 1970 on, 1 to 12, 1 to 31 */
    int hour, minute, second; /* 0 when there is only a date */
};

/* A time of day or a date as numbers. False: neither, or no valid day or time. */
bool begin_split(const char *text, struct begin_fields *ret);

/* ret_at is new, or NULL when it is a delay. */
int begin_parse(const char *text, usec_t *ret_delay, char **ret_at, struct error *err);

#endif
