/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_BACKFILL_ROLE_PLACES_H
#define SCHED_BACKFILL_ROLE_PLACES_H

/* seats - the machines on which gangs with roles were last promised a start
 *
 * Roles are placed one after the other, each on the machines that are cheapest then. With more
 * free room than at the time of the promise, the result may differ and leave no place for the last
 * role. The machines of the promise are then tried (place.h), so that the promise is kept.
 *
 * Owner:   the reserve; leases are copies
 *
 * Limits:  one for each waiting gang with roles
 */

#include "base/mem.h"
#include "core/state/state.h"

struct seat {
    uint64_t job;
    struct lease *lease;
};

struct role_places {
    LIST(struct seat) items;
};

/* Keep the machines of this lease for the job. Jobs that no longer wait are forgotten. */
void role_places_keep(struct role_places *role_places, const struct state *state, uint64_t job,
                      const struct lease *lease);
const struct lease *role_places_of(const struct role_places *role_places,
                                   uint64_t job); /* NULL: none */
void role_places_release(struct role_places *role_places);

#endif
