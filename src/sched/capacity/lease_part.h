/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_CAPACITY_LEASE_PART_H
#define SCHED_CAPACITY_LEASE_PART_H

/* lease_part - a part of a lease, as a lease of its own
 *
 * Owner:  the arena; the part is valid as long as the arena and, for what it borrows, the lease
 */

#include "base/arena.h"
#include "base/mem.h"
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

/* The place that is kept for a job: a copy of its future lease. */
struct kept_place {
    uint64_t job;
    struct lease *lease;
};

typedef LIST(struct kept_place) kept_places;

const struct lease *kept_place_of(const kept_places *places, uint64_t job); /* NULL: none */
/* Replaces the place that was kept for the job before. */
void kept_place_set(kept_places *places, uint64_t job, const struct lease *lease);
void kept_place_drop(kept_places *places, size_t at);
void kept_places_release(kept_places *places);

#endif
