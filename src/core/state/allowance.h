/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_STATE_ALLOWANCE_H
#define CORE_STATE_ALLOWANCE_H

/* allowance - how many bytes the requests of each user have added to the journal in a day
 *
 * The events say how many. Those of a submission tell what it adds, and about what the runs of its
 * jobs will add; the audit event tells what any other request has added. Content that the journal
 * has already costs nothing. What a user has used up comes back evenly within ALLOWANCE_PERIOD, at
 * the rate of the limit in force (journal: user_mib).
 */

#include "core/state/state.h"

#define ALLOWANCE_PERIOD USEC_PER_DAY

/* The limit, in bytes a day; 0: none. */
uint64_t allowance_limit(const struct state *state);
/* What a user has used of it at a time that is not before the state's. */
uint64_t allowance_used(const struct state *state, const char *user, usec_t now);
/* How long it takes until so many bytes have come back; there is a limit. */
usec_t allowance_wait(const struct state *state, uint64_t bytes);
/* The user, by number, has added bytes now. */
void allowance_take(struct state *state, uint32_t user, uint64_t bytes);

#endif
