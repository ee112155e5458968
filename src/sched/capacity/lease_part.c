/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/capacity/lease_part.h"

#include <assert.h>

void lease_part_pick(const struct lease *lease, const bool *is_picked, struct arena *arena,
                     struct lease *ret)
{
    uint32_t count = lease->members_count, members_count = 0, slices_count = 0;
    struct slice *slices = arena_take(arena, lease->slices_count + 1, sizeof(struct slice));
    struct lease_member *members = arena_take(arena, count, sizeof(struct lease_member));
    uint32_t *ranks = arena_take(arena, count, sizeof(uint32_t));
    int64_t milli = 0; /* by memory, members on different devices have different parts */

    for (uint32_t rank = 0; rank < count; rank++) {
        ranks[rank] = members_count;
        if (is_picked[rank])
            members[members_count++] = (struct lease_member){ .node = lease->members[rank].node };
    }
    for (uint32_t i = 0; i < lease->slices_count; i++) {
        if (!is_picked[lease->slices[i].rank])
            continue;
        milli += lease->slices[i].milli;
        slices[slices_count] = lease->slices[i];
        slices[slices_count++].rank = ranks[lease->slices[i].rank];
    }
    *ret = (struct lease){
        .members = members,
        .members_count = members_count,
        .slices = slices,
        .slices_count = slices_count,
        .alternative = lease->alternative,
        .labels = lease->labels,
        .apart = lease->apart,
        .milli = milli,
        .cpu_milli = lease->cpu_milli,
        .memory_mib = lease->memory_mib,
    };
}

/* The members [first, first + count) of a lease. */
void lease_part_range(const struct lease *lease, uint32_t first, uint32_t count,
                      struct arena *arena, struct lease *ret)
{
    assert(first + count <= lease->members_count);
    bool *is_picked = arena_take(arena, lease->members_count, sizeof(bool));

    for (uint32_t rank = 0; rank < lease->members_count; rank++)
        is_picked[rank] = rank >= first && rank < first + count;
    lease_part_pick(lease, is_picked, arena, ret);
}

void lease_part_free(struct arena *arena, const struct fleet *fleet, const struct lease *lease,
                     const struct lease *other, struct lease *ret)
{
    struct slice *slices = arena_take(arena, lease->slices_count + 1, sizeof(*slices));
    uint32_t count = 0;

    for (uint32_t i = 0; i < lease->slices_count; i++) {
        struct lease one = { .slices = &lease->slices[i], .slices_count = 1 };
        if (fleet_has(fleet, &one) && (!other || !lease_slice_on(other, lease->slices[i].device)))
            slices[count++] = lease->slices[i];
    }
    *ret = *lease;
    ret->slices = slices;
    ret->slices_count = count;
    ret->cpu_milli = 0;
    ret->memory_mib = 0;
}

const struct lease *kept_place_of(const kept_places *places, uint64_t job)
{
    for (size_t i = 0; i < places->count; i++) {
        if (places->items[i].job == job)
            return places->items[i].lease;
    }
    return NULL;
}

void kept_place_drop(kept_places *places, size_t at)
{
    lease_destroy(places->items[at].lease);
    list_remove(places, at);
}

void kept_place_set(kept_places *places, uint64_t job, const struct lease *lease)
{
    struct lease *copy = lease_copy(lease);

    assert(job != 0 && lease->members_count > 0);
    for (size_t i = places->count; i-- > 0;) {
        if (places->items[i].job == job)
            kept_place_drop(places, i);
    }
    list_add(places, (struct kept_place){ job, copy });
}

void kept_places_release(kept_places *places)
{
    while (places->count > 0)
        kept_place_drop(places, places->count - 1);
    list_release(places);
}
