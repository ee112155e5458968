/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_BYTE_LIMIT_H
#define CONTROL_BYTE_LIMIT_H

/* byte_limit - refuses requests of a user whose requests have filled the journal for a day
 *
 * Administrators have no limit. What is used is in core/state/allowance.h.
 */

#include "control/control.h"

/* bytes: what the request adds, about; 0: little. Fails with REFUSED_TOO_MANY. */
int byte_limit_check(const struct control *control, const struct identity *who, uint64_t bytes,
                     struct error *err);

#endif
