/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_WHEN_H
#define CONTROL_WHEN_H

/* when - a time of day or a date as people write it, as wall time */

#include "base/error.h"
#include "base/units.h"

/* "HH:MM[:SS]": the next time the clock shows it; "YYYY-MM-DD[THH:MM[:SS]]". Local time of this
 * machine. now: wall time. what: the key, for errors. */
int when_parse(const char *what, const char *text, usec_t now, usec_t *ret, struct error *err);

#endif
