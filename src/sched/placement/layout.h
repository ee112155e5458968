/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PLACEMENT_LAYOUT_H
#define SCHED_PLACEMENT_LAYOUT_H

/* layout - who stands where: the machines, and their devices packed side by side
 *
 * A slot is the place of a device: those of one machine follow each other, by their index. Slots
 * that no request could tell apart are of one kind (model, memory, owner, which pools they match,
 * whether they may be given out), so what a request may have is asked once a kind, not once a
 * device. Follows from the state; made anew when machines, devices or pools change.
 */

#include "core/cluster/mig.h"
#include "core/state/state.h"

#define LAYOUT_MIXED UINT32_MAX

struct layout_node {
    uint32_t first, count; /* its slots */
    uint32_t kind; /* of all its slots; LAYOUT_MIXED, also when one lacks memory; no slots: 0 */
    uint32_t rack, block; /* numbers from 1; 0: not known */
    bool is_up;           /* and not about to be taken away */
    bool is_spot;
};

struct layout_slot {
    uint32_t device; /* number in the state */
    uint32_t kind;
    uint16_t numa;   /* plus one; 0: not known */
    uint16_t island; /* 0: linked with none */
    uint16_t bridge;
};

struct layout_kind {
    uint32_t device; /* one like it */
    uint32_t slots;
    uint64_t pools[4];             /* bit i: pool i of the state matches it */
    const struct mig_board *board; /* that gives MIG instances, and nothing else; NULL */
    const struct mig_table *table; /* of the board */
};

struct layout {
    LIST(struct layout_node) nodes; /* by number of the node */
    LIST(struct layout_slot) slots;
    LIST(struct layout_kind) kinds;
    LIST(uint32_t) slot_of_device;
    uint32_t slots_most; /* of any machine */
    uint32_t rack_count, block_count;
    bool has_static_pools, has_mins;       /* pools that own, pools that are promised */
    bool has_bounds;                       /* pools with a min or a max */
    uint64_t version;                      /* counts up; never 0 once made */
    struct mig_table *tables[MIG_LAYOUTS]; /* NULL: not needed so far */
};

void layout_make(struct layout *layout, const struct state *state);
void layout_release(struct layout *layout);

/* Whether it is of the model and size that are asked for; its sharing aside. */
bool device_is_asked_for(const struct gpu_ask *ask, const struct device *device);

static inline bool layout_kind_is_of(const struct layout_kind *kind, uint32_t pool)
{
    return pool < 256 && (kind->pools[pool / 64] >> pool % 64 & 1) != 0;
}

#endif
