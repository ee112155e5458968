/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_CONFIG_WINDOW_EVENT_H
#define WIRE_CONFIG_WINDOW_EVENT_H

/* window_event - the words of a window, as the event with the spans that they are for some time
 *
 * Words are a calendar (calendar.h), or "each PERIOD" (period.h): such a window opens and closes
 * whenever a period begins. Spans are journal time. They are worked out from a day before now on,
 * for WINDOW_AHEAD, or half as long, and so on, until they are few enough; periods until two
 * have begun at least.
 *
 * Errors: as calendar_parse() and calendar_expand()
 */

#include "base/arena.h"
#include "core/journal/event.h"
#include "time/period.h"
#include "time/zone.h"

#define WINDOW_AHEAD (40 * USEC_PER_DAY)
enum { WINDOW_FEW = 1000 };

/* The time and time zone of the caller. */
struct window_place {
    const struct zone *zone;
    usec_t now;        /* journal time */
    usec_t wall_ahead; /* what to add for wall time */
    usec_t ahead;      /* how far; WINDOW_AHEAD */
    size_t spans_most; /* WINDOW_FEW, at most WINDOW_SPANS_MAX */
};

/* name and words are borrowed, spans live in arena. */
int window_event(const struct window_place *place, const char *name, const char *words,
                 struct arena *arena, struct event *ret, struct error *err);

/* "each month": name and words of the window that is the beginnings of periods. */
const char *window_of_period(enum period period);
/* The period of such a window; false: it is another one. */
bool window_is_period(const char *name, enum period *ret);

#endif
