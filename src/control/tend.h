/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_TEND_H
#define CONTROL_TEND_H

/* tend - what depends on the wall clock
 *
 * Windows are worked out further ahead, reservations that are over are removed, and repeating jobs
 * are submitted.
 */

#include "control/control.h"

/* Enqueue what is due. is_other_clock: the wall clock was set, or its zone is another. Returns when
 * to call it again at the latest; USEC_NEVER. */
usec_t tend(const struct control *control, bool is_other_clock);

#endif
