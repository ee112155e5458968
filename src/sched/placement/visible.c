/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/placement/placing.h"

#include <assert.h>
#include <string.h>

#include "core/job/role.h"

static bool is_barred(const struct visible *visible, uint32_t node)
{
    for (size_t i = 0; i < visible->barred.count; i++) {
        if (visible->barred.items[i] == node)
            return true;
    }
    return false;
}

static bool is_apart(const struct visible *visible, uint32_t node)
{
    for (size_t i = 0; i < visible->apart.count; i++) {
        if (visible->apart.items[i] == node)
            return true;
    }
    return false;
}

static bool is_kept(const struct visible *visible, uint32_t slot)
{
    return cells_is_kept(visible->query->cells, visible->slacks, visible->guest, slot);
}

/* The first cell of the kind there that is all free; CELLS_NONE: none is. */
static uint32_t find_cell(const struct visible *visible, const struct spot *spot)
{
    const struct cells_kind *kind = &visible->query->cells->kinds.items[visible->cell_kind];
    const uint32_t *cell_of = &kind->cell_of.items[spot->at->first];

    for (uint32_t i = 0; i < spot->at->count; i++) {
        bool is_free = cell_of[i] != CELLS_NONE && (i == 0 || cell_of[i] != cell_of[i - 1]);
        for (uint32_t k = i; is_free && k < spot->at->count; k++)
            is_free = cell_of[k] != cell_of[i] ||
                      (spot->slots[k].milli == GPU_MILLI && !is_kept(visible, spot->at->first + k));
        if (is_free)
            return cell_of[i];
    }
    return CELLS_NONE;
}

/* Nothing of the cells that are kept for others; for a cell of its own, that alone. */
static void hide_cells(const struct visible *visible, struct spot *spot)
{
    struct fleet_slot *seen = visible->seen;
    bool is_of_cell = visible->cell_kind != CELLS_NONE;
    uint32_t cell = is_of_cell ? find_cell(visible, spot) : CELLS_NONE;
    const uint32_t *cell_of =
        is_of_cell ? visible->query->cells->kinds.items[visible->cell_kind].cell_of.items : NULL;

    if (spot->slots != seen)
        mem_copy(seen, spot->slots, spot->at->count * sizeof(seen[0]));
    for (uint32_t i = 0; i < spot->at->count; i++) {
        uint32_t slot = spot->at->first + i;
        bool is_hidden =
            cell_of ? cell == CELLS_NONE || cell_of[slot] != cell : is_kept(visible, slot);
        if (!is_hidden)
            continue;
        spot->free.milli -= seen[i].milli;
        spot->free.whole -= seen[i].milli == GPU_MILLI && spot->free.whole > 0;
        spot->free.change = 0;
        seen[i].milli = 0;
        seen[i].memory_mib = 0;
    }
    spot->slots = seen;
}

static bool has_kept_cells(const struct visible *visible, uint32_t node)
{
    const struct layout_node *at = &visible->query->fleet->layout->nodes.items[node];

    if (visible->keeps_cells && visible->cell_kind != CELLS_NONE)
        return true;
    for (uint32_t i = at->first; visible->keeps_cells && i < at->first + at->count; i++) {
        if (is_kept(visible, i))
            return true;
    }
    return false;
}

bool visible_hides(const struct visible *visible, uint32_t node)
{
    return is_barred(visible, node) || has_kept_cells(visible, node);
}

static void keep_apart(struct visible *visible, uint32_t node)
{
    list_add(&visible->apart, node);
    list_add(&visible->barred, node);
}

/* Nodes where jobs are, or are promised to be while this one runs, that share none with it. */
static void list_apart(struct visible *visible)
{
    const struct place_query *query = visible->query;
    const struct fleet *fleet = query->fleet;

    for (size_t i = 0; i < fleet->company.count; i++) {
        const struct fleet_company *at = &fleet->company.items[i];
        if (!fleet_is_apart(fleet, at->node, query->labels, query->apart) &&
            !is_apart(visible, at->node))
            keep_apart(visible, at->node);
    }
    for (size_t i = 0; query->promises && i < query->promises->count; i++) {
        const struct promise *promise = &query->promises->held.items[i];
        if (!promise_is_touched(query->promises, promise, query->end) ||
            !lease_is_apart(promise->lease, query->labels, query->apart))
            continue;
        for (uint32_t k = 0; k < promise->lease->members_count; k++) {
            if (!is_apart(visible, promise->lease->members[k].node))
                keep_apart(visible, promise->lease->members[k].node);
        }
    }
}

void visible_start(struct visible *visible)
{
    const struct place_query *query = visible->query;
    struct keepout_ask ask = { query->queue, query->user, query->from,
                               usec_after(query->from, query->stay) };

    if (query->promises && query->promises->count > 0)
        promise_list(query->promises, query->end, &visible->barred);
    if (query->cells && cells_is_any(query->cells) && request_wants_gpus(query->request)) {
        visible->guest = cells_guest_of(query->cells, query->queue, query->is_preemptible);
        visible->slacks = arena_take(visible->arena, CELLS_KINDS_MAX, sizeof(int64_t));
    }
    for (size_t i = 0; query->keepouts && i < query->keepouts->items.count; i++) {
        const struct keepout *keepout = &query->keepouts->items.items[i];
        if (!keepout_bars(keepout, query->state, &ask))
            continue;
        list_add(&visible->shut, (uint32_t)i);
        list_add(&visible->barred, keepout->node);
    }
    if ((query->labels | query->apart) != 0)
        list_apart(visible);
    if (visible->barred.count > 0 || visible->slacks)
        visible->seen = arena_take(visible->arena, query->fleet->layout->slots_most + 1,
                                   sizeof(struct fleet_slot));
}

/* What of a node is shut, by slot. is_all: the node. */
static uint64_t shut_slots(const struct visible *visible, uint32_t node, bool *ret_is_all)
{
    uint64_t slots = 0;

    *ret_is_all = is_apart(visible, node);
    for (size_t i = 0; i < visible->shut.count; i++) {
        const struct keepout *keepout =
            &visible->query->keepouts->items.items[visible->shut.items[i]];
        if (keepout->node != node)
            continue;
        *ret_is_all |= keepout->slots == 0;
        slots |= keepout->slots;
    }
    return slots;
}

static void shut(const struct visible *visible, struct spot *spot, uint64_t slots, bool is_all)
{
    if (is_all) {
        struct layout_node *at = arena_take(visible->arena, 1, sizeof(*at));
        *at = *spot->at;
        at->is_up = false;
        spot->at = at;
        return;
    }
    if (spot->slots != visible->seen)
        memcpy(visible->seen, spot->slots, spot->at->count * sizeof(visible->seen[0]));
    spot->slots = visible->seen;
    spot->free.milli = 0;
    spot->free.whole = 0;
    spot->free.change = 0;
    for (uint32_t i = 0; i < spot->at->count; i++) {
        if (i < 64 && (slots >> i & 1) != 0)
            visible->seen[i].milli = 0;
        spot->free.milli += visible->seen[i].milli;
        spot->free.whole += visible->seen[i].milli == GPU_MILLI;
    }
}

struct spot visible_spot(const struct visible *visible, const struct shape *shape, uint32_t node)
{
    struct spot spot = spot_of(visible->query->fleet, node);

    assert(spot.at->count == 0 || visible->seen ||
           (visible->barred.count == 0 && !visible->slacks));
    if (visible->query->ignore_health) {
        struct layout_node *at = arena_take(visible->arena, 1, sizeof(*at));
        *at = *spot.at;
        at->is_up = true;
        spot.at = at;
    }
    if (visible->barred.count > 0 && is_barred(visible, node)) {
        bool is_shut = false;
        uint64_t slots = shut_slots(visible, node, &is_shut);
        bool by_number = slots == 0 && shape->ask && shape->ask->kind == SHARE_WHOLE &&
                         spot.at->kind != LAYOUT_MIXED &&
                         spot.free.milli == (int32_t)spot.free.whole * GPU_MILLI;
        if (visible->query->promises)
            promise_limit(visible->query->promises, visible->query->end, by_number, &spot,
                          visible->seen);
        if (is_shut || slots != 0)
            shut(visible, &spot, slots, is_shut);
    }
    if (has_kept_cells(visible, node))
        hide_cells(visible, &spot);
    return spot;
}

void visible_release(struct visible *visible)
{
    list_release(&visible->barred);
    list_release(&visible->shut);
    list_release(&visible->apart);
}
