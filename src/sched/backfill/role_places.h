/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_BACKFILL_ROLE_PLACES_H
#define SCHED_BACKFILL_ROLE_PLACES_H

/* seats - the machines on which gangs with roles were last promised a start
 *
 * Roles are placed one after the other, each where it is cheapest then. With more room than when
 * the promise was made that may come out otherwise, and at its end leave none for the last role.
 * Where that happens, the machines of the promise are tried (place.h): so a promise comes true.
 *
 * Owner:   the reserve; leases are copies
 * Limits:  one for each gang with roles that waits
 */

#include "base/mem.h"
#include "core/state/state.h"

struct seat {
    uint64_t job;
    struct lease *lease;
};

struct seats {
    LIST(struct seat) items;
};

/* Instead of what was kept for this job. Those that no longer wait are forgotten. */
void seats_keep(struct seats *seats, const struct state *state, uint64_t job,
                const struct lease *lease);
const struct lease *seats_of(const struct seats *seats, uint64_t job); /* NULL: none */
void seats_release(struct seats *seats);

#endif
