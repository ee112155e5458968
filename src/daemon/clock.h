/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_CLOCK_H
#define DAEMON_CLOCK_H

/* clock - journal time, which is monotonic even if the wall clock is set
 *
 * While the machine runs, journal time is CLOCK_BOOTTIME (which includes sleep) plus a constant
 * that is kept in the journal. Across a reboot it advances by the time that passed on the wall
 * clock; if that clock went back, it does not advance. Users see wall time: journal time plus the
 * current difference between the wall clock and journal time.
 */

#include "base/units.h"
#include "store/journal.h"

struct clock {
    usec_t offset; /* journal time minus boot time */
    usec_t ahead;  /* wall time minus journal time that the times in the state are right for */
};

/* latest: the time of the last event in the journal. Adds the values to store to the batch. */
int clock_start(struct clock *clock, struct journal *journal, usec_t latest, struct error *err);
/* clock: a struct clock. These functions fill a port (control/control.h). */
usec_t clock_now(const void *clock);
usec_t clock_wall_ahead(const void *clock); /* wall time minus journal time */
usec_t clock_noted_ahead(const void *clock);

/* The times in the state are right for another offset now. Adds it to the batch. */
void clock_note_ahead(struct clock *clock, struct journal *journal, usec_t ahead);

#endif
