/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_CAPACITY_LAYOUT_H
#define SCHED_CAPACITY_LAYOUT_H

/* layout - the nodes, and their devices in one array
 *
 * A slot is the place of a device in that array; the slots of a node follow each other by
 * device index. Slots that no request can distinguish are of one kind (model, memory, owner,
 * matching pools, usable or not), so rules are evaluated once per kind and not once per device.
 * The layout follows from the state and is rebuilt when nodes, devices or pools change.
 */

#include "core/cluster/mig.h"
#include "core/state/state.h"

#define LAYOUT_MIXED UINT32_MAX

struct layout_node {
    uint32_t first, count; /* its slots */
    uint32_t kind; /* of all its slots; LAYOUT_MIXED, also if one has less memory; no slots: 0 */
    uint32_t rack, block; /* numbered from 1; 0: unknown */
    uint32_t dearness;    /* models like its first device are cheaper on so many kinds of nodes */
    bool is_up;           /* up, and not about to go away */
    bool is_spot;
};

struct layout_slot {
    uint32_t device; /* number in the state */
    uint32_t kind;
    uint16_t numa;   /* plus one; 0: unknown */
    uint16_t island; /* 0: no links */
    uint16_t bridge;
};

struct layout_kind {
    uint32_t device; /* an example */
    uint32_t slots;
    uint32_t most;                 /* side by side on one node */
    uint64_t pools[4];             /* bit i: pool i of the state matches it */
    uint32_t model;                /* number of its model, from 1 */
    const struct mig_board *board; /* it offers MIG instances only; NULL: no MIG */
    const struct mig_table *table; /* of the board */
};

struct layout {
    LIST(struct layout_node) nodes; /* by number of the node */
    LIST(struct layout_slot) slots;
    LIST(struct layout_kind) kinds;
    LIST(uint32_t) slot_of_device;
    uint32_t model_count;
    uint32_t slots_most; /* of any node */
    uint32_t rack_count, block_count;
    bool has_static_pools, has_mins;       /* pools that own devices; pools with a minimum */
    bool has_bounds;                       /* pools with a min or a max */
    uint64_t version;                      /* counts up; never 0 once made */
    struct mig_table *tables[MIG_LAYOUTS]; /* NULL: not needed yet */
};

void layout_make(struct layout *layout, const struct state *state);
void layout_release(struct layout *layout);

/* Devices of this kind match the pool. */
static inline bool layout_kind_is_of(const struct layout_kind *kind, uint32_t pool)
{
    return pool < 256 && (kind->pools[pool / 64] >> pool % 64 & 1) != 0;
}

#endif
