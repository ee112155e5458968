/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PLACEMENT_SPOT_H
#define SCHED_PLACEMENT_SPOT_H

/* spot - what is free on one machine as one job sees it, and what its devices are to a shape
 *
 * A spot is a view: it is valid until the fleet changes.
 */

#include "core/job/lease.h"
#include "sched/capacity/fleet.h"

struct scorer;
struct shape;
struct shape_cut;

struct spot {
    uint32_t node;
    const struct layout_node *at;
    struct fleet_node free;
    const struct fleet_slot *slots; /* at->count */
};

struct spot spot_of(const struct fleet *fleet, uint32_t node);

/* How good a slot is for a shape (score.h). */
enum { RANK_SHARED = 4, RANK_KEPT = 2, RANK_AVOID = 1, RANKS = 8, NOT_FREE = RANKS };
/* The part of the i-th slot of the machine that the shape would get; without the member's rank. */
struct slice slot_slice(const struct scorer *scorer, const struct shape *shape,
                        const struct spot *spot, uint32_t i);

#endif
