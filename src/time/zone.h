/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TIME_ZONE_H
#define TIME_ZONE_H

/* zone - conversion between Unix time and the wall time of a time zone
 *
 * Moments are Unix time (microseconds, no leap seconds). A wall time is the Unix time at which UTC
 * clocks show the same reading, so that wall / USEC_PER_DAY is the day (civil.h). Clocks jump: a
 * wall time may be skipped, or repeated. Several zones can be used at once; none changes the C
 * library's.
 *
 * Bytes are those of a TZif file (RFC 8536) of version 2 or later; its rule applies after the end
 * of its table. Files that count leap seconds ("right/...") are refused.
 *
 * Owner:      the caller of zone_parse() and the like
 * On failure: -EINVAL and words; no ret_ parameter was written
 * Limits:     ZONE_BYTES_MAX; moments and wall times within ZONE_TIME_MAX of 1970 (36,000 years);
 *             offsets from UTC of at most ZONE_OFFSET_MAX
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/error.h"
#include "base/units.h"

enum { ZONE_BYTES_MAX = 128 << 10, ZONE_NAME_MAX = 63 };

#define ZONE_OFFSET_MAX (26 * USEC_PER_HOUR)
#define ZONE_TIME_MAX   ((usec_t)1 << 60)

struct zone;

/* "Europe/Berlin": words of letters, digits and "_+-" with '/' between; nothing that leads out of
 * a folder. */
bool zone_name_is_valid(const char *name);

int zone_parse(const char *name, const void *bytes, size_t length, struct zone **ret,
               struct error *err);
/* By a rule alone (zone_rule.h). */
int zone_of_rule(const char *name, const char *rule, struct zone **ret, struct error *err);
struct zone *zone_utc(void);          /* new */
void zone_destroy(struct zone *zone); /* NULL is fine */
DEFINE_AUTO(zone)

const char *zone_name(const struct zone *zone);

/* What the clock shows at a moment. */
usec_t zone_wall(const struct zone *zone, usec_t at);

/* The latest wall time that the clock has shown up to and at a moment: what it shows, except
 * shortly after it went back. */
usec_t zone_highest(const struct zone *zone, usec_t at);

/* The first moment when the clock shows this wall time or a later one: the moment of the jump
 * where it is jumped over, the first of two where it comes twice. */
usec_t zone_first(const struct zone *zone, usec_t wall);

/* The end of the last moment when the clock shows an earlier wall time: the moment of the jump
 * where this one is jumped over; where it comes twice the second, except that a clock which goes
 * back to this very time shows nothing earlier any more: then it is the first. */
usec_t zone_last(const struct zone *zone, usec_t wall);

/* A stretch in which the clock runs evenly. */
struct zone_piece {
    usec_t from, until; /* -USEC_NEVER and USEC_NEVER: without beginning, without end */
    usec_t offset;      /* ahead of UTC */
};
struct zone_piece zone_piece_at(const struct zone *zone, usec_t at);

#endif
