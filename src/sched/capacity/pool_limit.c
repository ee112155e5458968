/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/capacity/pool_limit.h"

#include <assert.h>
#include <string.h>

static struct pool_size size_of(const struct state *state, const struct fleet *fleet, uint32_t pool)
{
    struct pool_size size;

    state_pool_at(state, pool, fleet->pools_at, &size);
    return size;
}

/* What this dynamic pool, unless it is the job's own, is promised and does not use. */
static int64_t promised_to(const struct state *state, const struct fleet *fleet, uint32_t own,
                           uint32_t number)
{
    const struct pool *pool = &state->pools.items[number];
    int64_t held = fleet->pools.items[number];

    assert(held >= 0);
    if (number == own || pool->is_static || pool->is_removed)
        return 0;
    int64_t min = size_of(state, fleet, number).min;
    return held < min ? min - held : 0;
}

static bool may_use(const struct state *state, const struct fleet *fleet,
                    const struct layout_kind *kind, uint32_t pool)
{
    const struct device *device = &state->devices.items[kind->device];

    return device->pool == 0 && (fleet->ignores_health || device_is_usable(state, device)) &&
           layout_kind_is_of(kind, pool);
}

bool pool_limit_mark_kept(const struct state *state, const struct fleet *fleet, uint32_t own,
                          uint8_t *kept)
{
    const struct layout *layout = fleet->layout;
    bool is_any = false;

    memset(kept, 0, layout->kinds.count);
    for (uint32_t i = 0; layout->has_mins && i < state->pools.count; i++) {
        if (promised_to(state, fleet, own, i) == 0)
            continue;
        for (size_t k = 0; k < layout->kinds.count; k++) {
            if (state->devices.items[layout->kinds.items[k].device].pool == 0 &&
                layout_kind_is_of(&layout->kinds.items[k], i)) {
                kept[k] = 1;
                is_any = true;
            }
        }
    }
    return is_any;
}

/* Whether every shared device of `inner` is one that `outer` may use, too. */
static bool is_within(const struct state *state, const struct fleet *fleet, uint32_t inner,
                      uint32_t outer)
{
    const struct layout *layout = fleet->layout;

    for (size_t k = 0; inner != outer && k < layout->kinds.count; k++) {
        const struct layout_kind *kind = &layout->kinds.items[k];
        if (may_use(state, fleet, kind, inner) && !layout_kind_is_of(kind, outer))
            return false;
    }
    return true;
}

/* What is free of the devices that this pool may use, less what it and those within it are
 * promised. */
static int64_t free_beside_promises(const struct state *state, const struct fleet *fleet,
                                    uint32_t own, uint32_t pool)
{
    const struct layout *layout = fleet->layout;
    int64_t milli = 0;

    for (size_t i = 0; i < layout->slots.count; i++) {
        if (may_use(state, fleet, &layout->kinds.items[layout->slots.items[i].kind], pool))
            milli += fleet->slots.items[i].milli;
    }
    for (uint32_t i = 0; i < state->pools.count; i++) {
        int64_t promised = promised_to(state, fleet, own, i);
        if (promised > 0 && is_within(state, fleet, i, pool))
            milli -= promised;
    }
    return milli;
}

/* Whether any of the devices is one that this pool may use. */
static bool takes_from(const struct layout *layout, const struct slice *slices, uint32_t count,
                       uint32_t pool)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot = layout->slot_of_device.items[slices[i].device];
        if (layout_kind_is_of(&layout->kinds.items[layout->slots.items[slot].kind], pool))
            return true;
    }
    return false;
}

/* What a pool is promised may not be there at all: that keeps only those from it that take some. */
static bool mins_allow(const struct state *state, const struct fleet *fleet, uint32_t own,
                       const struct slice *slices, uint32_t count, int64_t wanted, struct why *why)
{
    for (uint32_t i = 0; fleet->layout->has_mins && i < state->pools.count; i++) {
        if (promised_to(state, fleet, own, i) == 0 || !takes_from(fleet->layout, slices, count, i))
            continue;
        int64_t left = free_beside_promises(state, fleet, own, i);
        if (left < 0) {
            *why = (struct why){ .kind = WHY_POOL_MIN,
                                 .pool = i,
                                 .wanted = wanted,
                                 .free = wanted + left > 0 ? wanted + left : 0 };
            return false;
        }
    }
    return true;
}

bool pool_limit_allows(const struct state *state, const struct fleet *fleet, uint32_t own,
                       const struct slice *slices, uint32_t count, bool is_taken, struct why *why)
{
    const struct pool *pool = &state->pools.items[own];
    int64_t held = fleet->pools.items[own], wanted = 0;

    assert(is_taken || !fleet->layout->has_mins);

    for (uint32_t i = 0; i < count && !pool->is_static; i++)
        wanted += slices[i].pool == own ? slices[i].milli : 0;
    if (wanted == 0)
        return true;
    held += is_taken ? 0 : wanted;
    int64_t most = size_of(state, fleet, own).max;
    if (most > 0 && held > most) {
        *why = (struct why){ .kind = WHY_POOL_MAX,
                             .pool = own,
                             .wanted = wanted,
                             .most = most,
                             .free = most - (held - wanted) };
        return false;
    }
    return mins_allow(state, fleet, own, slices, count, wanted, why);
}
