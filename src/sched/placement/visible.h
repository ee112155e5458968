/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PLACEMENT_VISIBLE_H
#define SCHED_PLACEMENT_VISIBLE_H

/* visible - what of a machine a placement may use
 *
 * Starts from what is free, and hides what reservations close, what promises keep for other jobs
 * and what belongs to cells that are kept for other queues.
 *
 * Order of calls:  query, arena and cell_kind set; start, visible_spot*, release
 */

#include "base/arena.h"
#include "sched/placement/place.h"

struct visible {
    const struct place_query *query;
    struct arena *arena;
    promise_nodes barred;    /* machines that promises touch, or that keepouts close */
    promise_nodes shut;      /* indices of keepouts that bar the job */
    struct fleet_slot *seen; /* slots of a machine that is not seen as it is */
    struct cells_guest guest;
    int64_t *slacks;    /* of the cells now, by kind; NULL: no cells are kept */
    bool keeps_cells;   /* hide what is kept for other queues */
    uint32_t cell_kind; /* show only a whole cell of this kind; CELLS_NONE: anything */
};

void visible_start(struct visible *visible);
void visible_release(struct visible *visible);

/* Something of the machine may be hidden. */
bool visible_hides(const struct visible *visible, uint32_t node);
/* The machine as this job sees it; valid until the next call. */
struct spot visible_spot(const struct visible *visible, const struct shape *shape, uint32_t node);

#endif
