/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/placement/score.h"

#include <assert.h>

#include "sched/placement/shape.h"

struct slice slot_slice(const struct scorer *scorer, const struct shape *shape,
                        const struct spot *spot, uint32_t i)
{
    const struct layout_slot *slot = &scorer->layout->slots.items[spot->at->first + i];
    const struct shape_cut *cut = &shape->cuts.items[slot->kind];
    uint32_t owner = scorer->state->devices.items[slot->device].pool;

    assert(i < spot->at->count);
    return (struct slice){ .device = slot->device,
                           .milli = cut->milli,
                           .memory_mib = cut->memory_mib,
                           .kind = shape->ask->kind,
                           .pool = owner ? owner : shape->pool_named };
}

struct choosing {
    const struct scorer *scorer;
    const struct shape *shape;
    const struct spot *spot;
    const bool *avoid;
    const struct slice *taken;
    uint32_t taken_count;
};

/* Where one may go, and how good that is: less of each is better, in this order. */
struct choice {
    uint32_t rank;
    int32_t cost, free;
    uint32_t slot, start;
};

static const struct layout_slot *slot_at(const struct choosing *choosing, uint32_t i)
{
    return &choosing->scorer->layout->slots.items[choosing->spot->at->first + i];
}

/* Its slot as it is with what was chosen so far. */
static struct fleet_slot see(const struct choosing *choosing, uint32_t i)
{
    struct fleet_slot slot = choosing->spot->slots[i];
    uint32_t device = slot_at(choosing, i)->device;

    for (uint32_t k = 0; k < choosing->taken_count; k++) {
        const struct slice *slice = &choosing->taken[k];
        if (slice->device != device)
            continue;
        slot.milli -= (int32_t)slice->milli;
        slot.memory_mib -= slice->memory_mib;
        slot.mig += mig_hold_of_slice(slice);
    }
    return slot;
}

static bool has_room(const struct shape_cut *cut, const struct fleet_slot *slot)
{
    return cut->milli > 0 && slot->milli >= cut->milli && slot->memory_mib >= cut->memory_mib;
}

static bool is_better(const struct choice *a, const struct choice *b)
{
    if (a->rank != b->rank)
        return a->rank < b->rank;
    if (a->cost != b->cost)
        return a->cost < b->cost;
    return a->free < b->free; /* looked at by slot and start */
}

static bool is_by_scarcity(const struct scorer *scorer)
{
    return scorer->placement == PLACEMENT_SFG || scorer->placement == PLACEMENT_FGD;
}

/* Starts that are looked at. */
static uint32_t find_starts(const struct choosing *choosing, const struct mig_table *table,
                            uint32_t held, uint32_t profile)
{
    enum placement placement = choosing->scorer->placement;
    uint32_t starts = mig_starts(table, held, profile);
    bool is_first = placement == PLACEMENT_FIRST_FIT || placement == PLACEMENT_RANDOM;

    if (starts == 0 || is_by_scarcity(choosing->scorer) || is_first)
        return starts;
    return 1u << mig_best(table, held, profile);
}

static int32_t free_by_policy(const struct choosing *choosing, int32_t free)
{
    switch (choosing->scorer->placement) {
    case PLACEMENT_FIRST_FIT:
    case PLACEMENT_RANDOM:
        return 0;
    case PLACEMENT_SPREAD:
        return -free;
    default:
        return free;
    }
}

static void look_at_slot(const struct choosing *choosing, uint32_t i, struct choice *best)
{
    const struct scorer *scorer = choosing->scorer;
    uint32_t number = slot_at(choosing, i)->kind;
    const struct mig_table *table = scorer->layout->kinds.items[number].table;
    const struct shape_cut *cut = &choosing->shape->cuts.items[number];
    struct fleet_slot slot = see(choosing, i);

    if (!has_room(cut, &slot) ||
        !shape_is_open_slot(choosing->shape, choosing->spot->at->first + i))
        return;
    uint32_t rank = slot_rank(scorer, cut, number);
    rank += choosing->avoid && choosing->avoid[i] ? RANK_AVOID : 0;
    if (rank > best->rank)
        return;
    uint32_t starts = find_starts(choosing, table, slot.mig, cut->profile);
    int32_t free = table->layout->memory - __builtin_popcount(mig_mask(slot.mig));
    for (uint32_t start = 0; starts >> start; start++) {
        if (!(starts >> start & 1))
            continue;
        struct choice choice = { rank, 0, free_by_policy(choosing, free), i, start };
        if (is_by_scarcity(scorer)) {
            uint32_t after = slot.mig + mig_hold(&table->layout->profiles[cut->profile], start);
            choice.cost =
                scarcity_cost(&scorer->typical->scarcity, scorer->layout, number, slot.mig, after);
        }
        if (is_better(&choice, best))
            *best = choice;
    }
}

uint32_t instance_options(const struct scorer *scorer, const struct shape *shape,
                          const struct spot *spot, uint32_t i)
{
    uint32_t number = scorer->layout->slots.items[spot->at->first + i].kind;
    const struct shape_cut *cut = &shape->cuts.items[number];
    const struct fleet_slot *slot = &spot->slots[i];

    if (!has_room(cut, slot) || !shape_is_open_slot(shape, spot->at->first + i))
        return 0;
    int64_t options =
        mig_options(scorer->layout->kinds.items[number].table, slot->mig, cut->profile);
    if (slot->milli / cut->milli < options)
        options = slot->milli / cut->milli;
    if (cut->memory_mib > 0 && slot->memory_mib / cut->memory_mib < options)
        options = slot->memory_mib / cut->memory_mib;
    return (uint32_t)options;
}

static struct slice slice_of(const struct choosing *choosing, const struct choice *choice)
{
    uint32_t number = slot_at(choosing, choice->slot)->kind;
    const struct mig_layout *layout = choosing->scorer->layout->kinds.items[number].table->layout;
    const struct mig_profile *profile =
        &layout->profiles[choosing->shape->cuts.items[number].profile];
    struct slice slice =
        slot_slice(choosing->scorer, choosing->shape, choosing->spot, choice->slot);

    slice.mig_start = (uint8_t)choice->start;
    slice.mig_size = profile->memory;
    slice.mig_compute = profile->compute;
    slice.mig_media = profile->has_media;
    return slice;
}

int64_t instance_choose(const struct scorer *scorer, const struct shape *shape,
                        const struct spot *spot, const bool *avoid, struct slice *ret_slices)
{
    struct choosing choosing = { scorer, shape, spot, avoid, ret_slices, 0 };
    int64_t cost = 0, free = 0;

    while (choosing.taken_count < shape->ask->count) {
        struct choice best = { .rank = NOT_FREE, .cost = INT32_MAX };
        for (uint32_t i = 0; i < spot->at->count; i++)
            look_at_slot(&choosing, i, &best);
        assert(best.rank < NOT_FREE); /* they were counted */
        ret_slices[choosing.taken_count++] = slice_of(&choosing, &best);
        cost += best.cost;
        free += best.free;
    }
    free = free < INSTANCE_COST_STEP ? free : INSTANCE_COST_STEP - 1;
    return cost * INSTANCE_COST_STEP + free;
}
