/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_CLOCK_H
#define DAEMON_CLOCK_H

/* clock - journal time: it only goes forward, whatever becomes of the wall clock
 *
 * While the machine runs, journal time is CLOCK_BOOTTIME (which goes on in sleep) plus a constant
 * that is kept in the journal. Over a reboot it goes on by what the wall clock says has passed,
 * and not at all when that went back. People are shown wall time: journal time plus what the wall
 * clock is ahead of it now.
 */

#include "base/units.h"
#include "store/journal.h"

struct clock {
    usec_t offset; /* journal time minus boot time */
};

/* latest: the time of the last event in the journal. Leaves what is to be kept in the batch. */
int clock_start(struct clock *clock, struct journal *journal, usec_t latest, struct error *err);
/* Of a struct clock; they fill a port (control/control.h). */
usec_t clock_now(const void *clock);
usec_t clock_wall_ahead(const void *clock); /* wall time minus journal time */

#endif
