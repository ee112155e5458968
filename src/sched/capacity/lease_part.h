/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_CAPACITY_LEASE_PART_H
#define SCHED_CAPACITY_LEASE_PART_H

/* parts - a part of a lease as a lease of its own
 *
 * Owner:  the arena; the part is valid as long as the arena and, for what it borrows, the lease
 */

#include "base/arena.h"
#include "sched/capacity/fleet.h"

/* The marked members: ranks from 0, shares 0. */
void lease_part_pick(const struct lease *lease, const bool *is_picked, struct arena *arena,
                     struct lease *ret);
/* The members [first, first + count). */
void lease_part_range(const struct lease *lease, uint32_t first, uint32_t count,
                      struct arena *arena, struct lease *ret);
/* The devices that are free in a fleet and not part of another lease (NULL: none); no CPUs and no
 * memory. */
void lease_part_free(struct arena *arena, const struct fleet *fleet, const struct lease *lease,
                     const struct lease *other, struct lease *ret);

#endif
