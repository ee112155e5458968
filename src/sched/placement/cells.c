/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/placement/cells.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void release_kinds(struct cells *cells)
{
    for (size_t i = 0; i < cells->kinds.count; i++) {
        list_release(&cells->kinds.items[i].cells);
        list_release(&cells->kinds.items[i].cell_of);
        list_release(&cells->kinds.items[i].owners);
    }
    cells->kinds.count = 0;
}

void cells_release(struct cells *cells)
{
    release_kinds(cells);
    list_release(&cells->kinds);
    list_release(&cells->owner_of);
}

/* ---- which kinds there are, and where they stand ---- */

static struct cells_kind *claim_kind(struct cells *cells, const struct state *state,
                                     const struct cell_quota *quota)
{
    for (size_t i = 0; i < cells->kinds.count; i++) {
        const struct cell_quota *of = &cells->kinds.items[i].of;
        if (of->level == quota->level && of->gpus == quota->gpus &&
            strcmp(of->model, quota->model) == 0)
            return &cells->kinds.items[i];
    }
    if (cells->kinds.count == CELLS_KINDS_MAX)
        return NULL;
    int resource = resource_find(&state->resources, quota->model);
    struct cells_kind added = { .of = *quota, .model = resource > 0 ? (uint32_t)resource : 0 };
    added.of.count = 0;
    list_add(&cells->kinds, added);
    return &cells->kinds.items[cells->kinds.count - 1];
}

static struct cells_owner *owner_in(const struct cells_kind *kind, uint32_t queue)
{
    for (size_t i = 0; i < kind->owners.count; i++) {
        if (kind->owners.items[i].queue == queue)
            return &kind->owners.items[i];
    }
    return NULL;
}

static void claim_kinds(struct cells *cells, const struct state *state, uint32_t queue,
                        const struct cell_quota *quotas, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        struct cells_kind *kind = claim_kind(cells, state, &quotas[k]);
        if (!kind)
            return; /* cells_check has said so */
        struct cells_owner *owner = owner_in(kind, queue);
        if (owner)
            owner->guaranteed += quotas[k].count;
        else
            list_add(&kind->owners, (struct cells_owner){ queue, quotas[k].count, 0 });
        kind->of.count += quotas[k].count;
    }
}

/* Larger ones first; of equals by GPUs, then by name. */
static int compare_kinds(const void *left, const void *right)
{
    const struct cells_kind *a = left, *b = right;

    if (a->of.level != b->of.level)
        return a->of.level > b->of.level ? -1 : 1;
    if (a->of.gpus != b->of.gpus)
        return a->of.gpus > b->of.gpus ? -1 : 1;
    return strcmp(a->of.model, b->of.model);
}

/* Slots that make one cell have the same key; 0: it is in none. */
static uint64_t key_of(const struct layout *layout, const struct cells_kind *kind, uint32_t node,
                       const struct layout_slot *slot)
{
    const struct layout_node *at = &layout->nodes.items[node];

    switch ((enum cell_level)kind->of.level) {
    case CELL_RACK:
        return at->rack;
    case CELL_ISLAND:
        return slot->island > 0 ? (uint64_t)node << 16 | slot->island : 0;
    case CELL_PAIR: /* linked where links are known */
        return (uint64_t)(node + 1) << 16 | slot->island;
    default:
        return (uint64_t)node + 1;
    }
}

/* Slots of one key that may make a cell, in the order of their places. */
struct gathered {
    uint64_t key;
    uint32_t slot;
    bool is_well;
};

static int compare_gathered(const void *left, const void *right)
{
    const struct gathered *a = left, *b = right;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->slot > b->slot) - (a->slot < b->slot);
}

/* One cell of so many slots; some of them may be out of use, then it is none for now. */
static void add_cell(struct cells_kind *kind, const struct gathered *slots, size_t count)
{
    struct cell cell = { .slot = slots[0].slot };

    for (size_t i = 0; i < count; i++) {
        if (!slots[i].is_well)
            return;
    }
    cell.slots = (uint32_t)count;
    for (size_t i = 0; i < count; i++)
        kind->cell_of.items[slots[i].slot] = (uint32_t)kind->cells.count;
    list_add(&kind->cells, cell);
}

static void find_cells(struct cells_kind *kind, const struct layout *layout,
                       const struct state *state)
{
    LIST(struct gathered) found = { 0 };

    for (uint32_t i = 0; i < layout->slots.count; i++)
        list_add(&kind->cell_of, CELLS_NONE);
    for (uint32_t n = 0; n < layout->nodes.count; n++) {
        const struct layout_node *at = &layout->nodes.items[n];
        for (uint32_t i = at->first; i < at->first + at->count; i++) {
            const struct layout_slot *slot = &layout->slots.items[i];
            const struct device *device = &state->devices.items[slot->device];
            uint64_t key = key_of(layout, kind, n, slot);
            if (key != 0 && strcmp(device->model, kind->of.model) == 0 && device->pool == 0 &&
                !device->mig_enabled)
                list_add(&found, (struct gathered){ key, i, device_is_usable(state, device) });
        }
    }
    list_sort(&found, compare_gathered);
    for (size_t i = 0, end; i < found.count; i = end) {
        for (end = i; end < found.count && found.items[end].key == found.items[i].key;)
            end++;
        if (kind->of.level == CELL_PAIR) {
            for (size_t k = i; k + 1 < end; k += 2)
                add_cell(kind, &found.items[k], 2);
        } else if (end - i == kind->of.gpus)
            add_cell(kind, &found.items[i], end - i);
    }
    list_release(&found);
    kind->whole = kind->idle = (int64_t)kind->cells.count;
}

/* How many of the smaller kind the larger one's cells have at most. */
static uint32_t most_inside(const struct cells_kind *large, const struct cells_kind *small)
{
    uint32_t *counts = mem_zero(large->cells.count + 1, sizeof(*counts));
    uint32_t most = 0;

    for (size_t i = 0; i < small->cells.count; i++) {
        uint32_t in = large->cell_of.items[small->cells.items[i].slot];
        if (in != CELLS_NONE && ++counts[in] > most)
            most = counts[in];
    }
    free(counts);
    return most;
}

static void find_owners(struct cells *cells, const struct state *state)
{
    cells->owner_of.count = 0;
    for (uint32_t i = 0; i < state->queues.count; i++) {
        uint32_t at = i;
        while (at != QUEUE_ROOT && state->queues.items[at].cells.count == 0)
            at = state->queues.items[at].parent;
        list_add(&cells->owner_of, at);
    }
}

static void place_kinds(struct cells *cells, const struct layout *layout, const struct state *state)
{
    list_sort(&cells->kinds, compare_kinds);
    for (size_t i = 0; i < cells->kinds.count; i++) {
        struct cells_kind *kind = &cells->kinds.items[i];
        find_cells(kind, layout, state);
        for (size_t k = 0; k < i; k++) {
            struct cells_kind *larger = &cells->kinds.items[k];
            larger->inside[i] = most_inside(larger, kind);
            kind->is_within |= larger->inside[i] > 0;
        }
    }
}

void cells_make(struct cells *cells, const struct layout *layout, const struct state *state)
{
    release_kinds(cells);
    find_owners(cells, state);
    for (uint32_t i = 0; i < state->queues.count; i++) {
        const struct queue *queue = &state->queues.items[i];
        if (!queue->is_removed)
            claim_kinds(cells, state, i, queue->cells.items, queue->cells.count);
    }
    place_kinds(cells, layout, state);
}

/* ---- what owners hold ---- */

struct cells_guest cells_guest_of(const struct cells *cells, uint32_t queue, bool is_preemptible)
{
    return (struct cells_guest){ .owner = queue < cells->owner_of.count
                                              ? cells->owner_of.items[queue]
                                              : 0,
                                 .is_firm = !is_preemptible };
}

/* The owner for which the cell is open; 0: for none, or it is whole. */
static uint32_t opened_by(const struct cell *cell)
{
    if (cell->firm == 0 || cell->by * cell->by != cell->firm * cell->squares)
        return 0;
    return (uint32_t)(cell->by / cell->firm);
}

static void count(struct cells_kind *kind, const struct cell *cell, int sign)
{
    struct cells_owner *owner = cell->firm > 0 ? owner_in(kind, opened_by(cell)) : NULL;

    kind->whole += cell->firm == 0 ? sign : 0;
    kind->idle += cell->held == 0 ? sign : 0;
    if (owner)
        owner->open += sign;
}

static void take_slice(struct cells *cells, uint32_t slot, int64_t milli, struct cells_guest guest)
{
    int64_t owner = guest.owner;

    LIST_EACH (struct cells_kind, kind, &cells->kinds) {
        uint32_t number = kind->cell_of.items[slot];
        if (number == CELLS_NONE)
            continue;
        struct cell *cell = &kind->cells.items[number];
        count(kind, cell, -1);
        cell->held += milli;
        cell->firm += guest.is_firm ? milli : 0;
        cell->by += guest.is_firm ? milli * owner : 0;
        cell->squares += guest.is_firm ? milli * owner * owner : 0;
        assert(cell->held >= 0 && cell->firm >= 0 && cell->firm <= cell->held);
        count(kind, cell, 1);
    }
}

void cells_take(struct cells *cells, const struct layout *layout, const struct lease *lease,
                struct cells_guest guest, int sign)
{
    assert(sign == 1 || sign == -1);
    for (uint32_t i = 0; cells_is_any(cells) && i < lease->slices_count; i++)
        take_slice(cells, layout->slot_of_device.items[lease->slices[i].device],
                   sign * (int64_t)lease->slices[i].milli, guest);
}

void cells_take_member(struct cells *cells, const struct layout *layout, const struct lease *lease,
                       uint32_t rank, struct cells_guest guest, int sign)
{
    for (uint32_t i = lease->slices_count; i-- > 0 && lease->slices[i].rank >= rank;) {
        if (lease->slices[i].rank == rank)
            take_slice(cells, layout->slot_of_device.items[lease->slices[i].device],
                       sign * (int64_t)lease->slices[i].milli, guest);
    }
}

/* ---- what is kept ---- */

static bool is_counted(const struct cell *cell, uint32_t owner)
{
    return owner == 0 ? cell->firm == 0 : cell->firm > 0 && opened_by(cell) == owner;
}

static int compare_counts(const void *left, const void *right)
{
    const uint32_t *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

/* What is open for the queue that it is kept for counts as that, and for nothing inside it. Of more
 * than are guaranteed those count that have least inside. */
static int64_t count_inside(const struct cells_kind *larger, const struct cells_kind *kind,
                            const struct cells_owner *keeper, uint32_t owner)
{
    uint32_t *inside = mem_zero(larger->cells.count + 1, sizeof(*inside));
    size_t open = 0;
    int64_t sum = 0;

    for (size_t i = 0; i < kind->cells.count; i++) {
        uint32_t in = larger->cell_of.items[kind->cells.items[i].slot];
        if (in != CELLS_NONE && is_counted(&kind->cells.items[i], owner))
            inside[in]++;
    }
    for (size_t i = 0; i < larger->cells.count; i++) {
        if (is_counted(&larger->cells.items[i], keeper->queue))
            inside[open++] = inside[i];
    }
    mem_sort(inside, open, sizeof(*inside), compare_counts);
    for (size_t i = 0; i < open && (int64_t)i < keeper->guaranteed; i++)
        sum += inside[i];
    free(inside);
    return sum;
}

/* How many cells of the kind are whole, or with an owner, open for it; inside of none that counts
 * as a larger one. */
static int64_t count_free(const struct cells *cells, size_t number, uint32_t owner)
{
    const struct cells_kind *kind = &cells->kinds.items[number];
    const struct cells_owner *own = owner_in(kind, owner);
    int64_t sum = own ? own->open : kind->whole;

    for (size_t i = 0; i < number && kind->is_within; i++) {
        const struct cells_kind *larger = &cells->kinds.items[i];
        for (size_t k = 0; larger->inside[number] > 0 && k < larger->owners.count; k++) {
            const struct cells_owner *keeper = &larger->owners.items[k];
            if (keeper->open > 0 && (owner == 0 || owner == keeper->queue))
                sum -= count_inside(larger, kind, keeper, owner);
        }
    }
    return sum;
}

int64_t cells_owed(const struct cells *cells, size_t number, uint32_t queue)
{
    const struct cells_kind *kind = &cells->kinds.items[number];
    const struct cells_owner *owner = owner_in(kind, queue);

    if (!owner)
        return 0;
    int64_t open = count_free(cells, number, queue);
    return owner->guaranteed > open ? owner->guaranteed - open : 0;
}

static int64_t owed_to_all(const struct cells *cells, size_t number)
{
    const struct cells_kind *kind = &cells->kinds.items[number];
    int64_t sum = 0;

    for (size_t i = 0; i < kind->owners.count; i++)
        sum += cells_owed(cells, number, kind->owners.items[i].queue);
    return sum;
}

void cells_slacks(const struct cells *cells, int64_t *ret_slacks)
{
    int64_t owed[CELLS_KINDS_MAX];

    for (size_t i = 0; i < cells->kinds.count; i++) {
        owed[i] = owed_to_all(cells, i);
        ret_slacks[i] = count_free(cells, i, 0) - owed[i];
        for (size_t k = 0; k < i; k++)
            ret_slacks[i] -= owed[k] * cells->kinds.items[k].inside[i];
    }
}

int cells_broken(const struct cells *cells, const int64_t *before)
{
    int64_t slacks[CELLS_KINDS_MAX];

    cells_slacks(cells, slacks);
    for (size_t i = 0; i < cells->kinds.count; i++) {
        if (slacks[i] < 0 && slacks[i] < before[i])
            return (int)i;
    }
    return -1;
}

/* Another one opens it, or shares what was open for one. */
static bool is_spoilt(const struct cells *cells, size_t number, struct cells_guest guest,
                      const struct cell *cell)
{
    const struct cells_kind *kind = &cells->kinds.items[number];

    if (cell->firm == 0)
        return cells_owed(cells, number, guest.owner) == 0;
    const struct cells_owner *owner = owner_in(kind, opened_by(cell));
    return owner && owner->queue != guest.owner && owner->open <= owner->guaranteed;
}

bool cells_is_kept(const struct cells *cells, const int64_t *slacks, struct cells_guest guest,
                   uint32_t slot)
{
    for (size_t i = 0; i < cells->kinds.count; i++) {
        const struct cells_kind *kind = &cells->kinds.items[i];
        uint32_t number = kind->cell_of.items[slot];
        if (number == CELLS_NONE)
            continue;
        const struct cell *cell = &kind->cells.items[number];
        if (!guest.is_firm) {
            if (cell->held == 0 && slacks[i] - kind->whole + kind->idle <= 0)
                return true;
            continue;
        }
        bool is_spoiling = is_spoilt(cells, i, guest, cell);
        if (is_spoiling && slacks[i] <= 0)
            return true;
        bool is_mixed = cell->firm > 0 && opened_by(cell) != guest.owner;
        if (!is_spoiling && !is_mixed && owner_in(kind, guest.owner))
            return false; /* it is the queue's own, with all that is inside */
    }
    return false;
}

static bool holds(const struct cell_quota *of, int64_t owed, const struct request *request)
{
    for (uint32_t k = 0; k < request->gpu_alternatives && owed > 0; k++) {
        const struct gpu_ask *ask = &request->gpus[k];
        if (ask->kind == SHARE_WHOLE && !ask->accelerator[0] &&
            (!ask->model[0] || strcmp(ask->model, of->model) == 0) && ask->count > 0 &&
            ask->count <= of->gpus && owed * (of->gpus / ask->count) >= request->members)
            return true;
    }
    return false;
}

uint32_t cells_own_kind(const struct cells *cells, uint32_t owner, const struct request *request)
{
    if (request->roles_count > 0)
        return CELLS_NONE; /* its members want different ones */
    for (size_t i = cells->kinds.count; owner != 0 && i-- > 0;) {
        const struct cells_kind *kind = &cells->kinds.items[i];
        if (owner_in(kind, owner) && holds(&kind->of, cells_owed(cells, i, owner), request))
            return (uint32_t)i;
    }
    return CELLS_NONE;
}

void cells_explain(const struct cells *cells, size_t number, struct cells_guest guest,
                   struct why *ret_why)
{
    const struct cells_kind *kind = &cells->kinds.items[number];
    int64_t most = -1;

    *ret_why = (struct why){ .kind = WHY_SHAPE, .resource = kind->model, .level = kind->of.level };
    LIST_EACH (const struct cells_owner, owner, &kind->owners) {
        int64_t owed = cells_owed(cells, number, owner->queue);
        if (owner->queue == guest.owner || owed <= most)
            continue;
        most = owed;
        ret_why->queue = owner->queue;
    }
}

/* ---- may they be promised at all? ---- */

static int lacking(const struct cells_kind *kind, const struct cells_wanted *wanted, int64_t slack,
                   struct error *err)
{
    const struct cells_owner *last = &kind->owners.items[kind->owners.count - 1];
    int64_t there = (int64_t)kind->of.count + slack;

    return error_set(err, -EINVAL,
                     "queue %s: shape: %" PRIu32 " of cell %s of %" PRIu32
                     " %s wanted, with those of other queues; expected at most %" PRId64
                     ", as many as are there%s",
                     wanted[last->queue - 1].queue, kind->of.count,
                     cell_level_name((enum cell_level)kind->of.level), kind->of.gpus,
                     kind->of.model, there > 0 ? there : 0,
                     kind->is_within ? " beside larger ones" : "");
}

int cells_check(const struct state *state, const struct cells_wanted *wanted, size_t count,
                struct error *err)
{
    int64_t slacks[CELLS_KINDS_MAX];
    struct layout layout = { 0 };
    struct cells cells = { 0 };
    size_t kinds = 0;
    int code = 0;

    for (size_t i = 0; i < count; i++) {
        claim_kinds(&cells, state, (uint32_t)i + 1, wanted[i].cells, wanted[i].count);
        kinds += wanted[i].count;
    }
    if (kinds > CELLS_KINDS_MAX && cells.kinds.count == CELLS_KINDS_MAX)
        code = error_set(err, -E2BIG, "queues: shapes with %d kinds of cells; expected less",
                         CELLS_KINDS_MAX);
    layout_make(&layout, state);
    place_kinds(&cells, &layout, state);
    cells_slacks(&cells, slacks);
    for (size_t i = 0; i < cells.kinds.count && code == 0; i++)
        code = slacks[i] < 0 ? lacking(&cells.kinds.items[i], wanted, slacks[i], err) : 0;
    cells_release(&cells);
    layout_release(&layout);
    return code;
}
