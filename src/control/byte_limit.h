/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_BYTE_LIMIT_H
#define CONTROL_BYTE_LIMIT_H

/* byte_limit - refuses requests of a user who has added as much to the journal as a day permits
 *
 * Administrators have no limit. core/state/allowance.h counts what a user has added.
 */

#include "control/control.h"

/* bytes: what the request adds, about; 0: little. Fails with REFUSED_TOO_MANY. */
int byte_limit_check(const struct control *control, const struct identity *who, uint64_t bytes,
                     struct error *err);

#endif
