/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_TEND_H
#define CONTROL_TEND_H

/* tend - performs actions that depend on the wall clock
 *
 * These are: expanding windows further ahead, removing ended reservations, submitting repeating
 * jobs, and, after the wall clock was set, moving begin times and deadlines that are dates or times
 * of day, and the next times of repeating jobs, so that they remain at their wall times. A
 * repeating job that a step of less than TEND_STEP_MAX passes over is submitted once; after a step
 * back it is not submitted again.
 */

#include "control/control.h"

#define TEND_STEP_MAX (3 * USEC_PER_HOUR)

/* Enqueue the due actions. is_first: since the start; the time zone may be another one. Returns the
 * time of the next call, or USEC_NEVER. */
usec_t tend(const struct control *control, bool is_first);

#endif
