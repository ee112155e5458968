/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TIME_ZONE_RULE_H
#define TIME_ZONE_RULE_H

/* zone_rule - summer time by rule, for the years that no table has
 *
 * "CET-1CEST,M3.5.0,M10.5.0/3": the form of POSIX's TZ and of the last line of a TZif file, with
 * the hours from -167 to 167 that RFC 8536 (3.3.1) adds. A summer time without dates is not taken:
 * what it means is left to each system.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"

enum zone_date_kind {
    ZONE_DATE_MONTH,  /* Mm.w.d: the w-th weekday d of the month, of which 5 is the last */
    ZONE_DATE_JULIAN, /* Jn: 1 to 365, 29 February not counted */
    ZONE_DATE_PLAIN,  /* n: 0 to 365 */
};

struct zone_date {
    enum zone_date_kind kind;
    int month, week;
    int day;     /* n, or 0 (Sunday) to 6 */
    usec_t time; /* of the clock before the change, from the day's midnight */
};

struct zone_rule {
    usec_t standard, summer; /* what clocks are ahead of UTC */
    bool has_summer;
    struct zone_date start, end; /* of the summer */
};

/* False: not a valid rule. */
bool zone_rule_parse(const char *text, struct zone_rule *ret);

/* When the summer of that year starts and ends; the start may be later. */
void zone_rule_summer(const struct zone_rule *rule, int64_t year, usec_t *ret_start,
                      usec_t *ret_end);

#endif
