/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_WHEN_H
#define CONTROL_WHEN_H

/* when - parses a time of day or a date as people write it, into wall time */

#include "base/error.h"
#include "base/units.h"

/* "HH:MM[:SS]" (the next time that the clock shows it) or "YYYY-MM-DD[THH:MM[:SS]]", in the local
 * time of this machine. now: wall time. what: the key, for error messages. */
int when_parse(const char *what, const char *text, usec_t now, usec_t *ret, struct error *err);

#endif
