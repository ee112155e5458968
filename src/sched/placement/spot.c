/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/placement/spot.h"

#include <assert.h>

#include "sched/placement/shape.h"

struct spot spot_of(const struct fleet *fleet, uint32_t node)
{
    const struct layout_node *at;

    assert(node < fleet->nodes.count);
    at = &fleet->layout->nodes.items[node];
    struct spot spot = { .node = node,
                         .at = at,
                         .free = fleet->nodes.items[node],
                         .slots = fleet->slots.items + at->first };

    if (!fleet->is_now)
        spot.free.change = 0;
    return spot;
}

struct slice slot_slice(const struct scorer *scorer, const struct shape *shape,
                        const struct spot *spot, uint32_t i)
{
    const struct layout_slot *slot = &scorer->layout->slots.items[spot->at->first + i];
    const struct shape_cut *cut = &shape->cuts.items[slot->kind];
    assert(i < spot->at->count);
    uint32_t owner = scorer->state->devices.items[slot->device].pool;

    return (struct slice){ .device = slot->device,
                           .milli = cut->milli,
                           .memory_mib = cut->memory_mib,
                           .kind = shape->ask->kind,
                           .pool = owner ? owner : shape->pool_named };
}
