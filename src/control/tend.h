/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_TEND_H
#define CONTROL_TEND_H

/* tend - performs actions that depend on the wall clock
 *
 * These are: expanding windows further ahead, removing ended reservations, submitting repeating
 * jobs.
 */

#include "control/control.h"

/* Enqueue the due actions. is_other_clock: the wall clock was set, or its zone changed. Returns the
 * time of the next call, or USEC_NEVER. */
usec_t tend(const struct control *control, bool is_other_clock);

#endif
