/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/capacity/layout.h"

#include <stdlib.h>
#include <string.h>

enum { POOLS_TOLD_APART = 256 };

static void find_matching_pools(const struct state *state, const struct device *device,
                                uint64_t pools[4])
{
    memset(pools, 0, 4 * sizeof(pools[0]));
    for (size_t i = 0; i < state->pools.count && i < POOLS_TOLD_APART; i++) {
        const struct pool *pool = &state->pools.items[i];
        if (!pool->is_removed && pool_matches(pool, device, &state->nodes.items[device->node]))
            pools[i / 64] |= UINT64_C(1) << i % 64;
    }
}

static const char *kind_of(const struct device *device)
{
    return device->kind ? device->kind : "";
}

static const char *labels_of(const struct device *device)
{
    return device->labels ? device->labels : "";
}

static bool are_alike(const struct state *state, const struct device *a, const struct device *b)
{
    return a->memory_mib == b->memory_mib && a->pool == b->pool &&
           a->mig_enabled == b->mig_enabled && a->mig_now == b->mig_now &&
           (a->sick != NULL) == (b->sick != NULL) && (a->drained != NULL) == (b->drained != NULL) &&
           a->is_synthetic == b->is_synthetic && strcmp(a->model, b->model) == 0 &&
           strcmp(kind_of(a), kind_of(b)) == 0 && string_equal(labels_of(a), labels_of(b)) &&
           state_node_price(state, a) == state_node_price(state, b) &&
           state->nodes.items[a->node].state == state->nodes.items[b->node].state &&
           node_is_usable(&state->nodes.items[a->node]) ==
               node_is_usable(&state->nodes.items[b->node]);
}

static void find_instances(struct layout *layout, const struct device *device,
                           struct layout_kind *kind)
{
    kind->board = device->mig_enabled ? mig_board_of(device->model, device->memory_mib) : NULL;
    if (!kind->board)
        return;
    struct mig_table **table = &layout->tables[kind->board->layout];
    if (!*table) {
        *table = mem_zero(1, sizeof(**table));
        mig_table_make(*table, kind->board->layout);
    }
    kind->table = *table;
}

/* Models are numbered by the kinds' order. */
static uint32_t claim_model(struct layout *layout, const struct state *state,
                            const struct device *device)
{
    LIST_EACH (const struct layout_kind, kind, &layout->kinds) {
        const struct device *other = &state->devices.items[kind->device];
        if (strcmp(other->model, device->model) == 0 &&
            strcmp(kind_of(other), kind_of(device)) == 0)
            return kind->model;
    }
    return ++layout->model_count;
}

/* Devices alike come in rows: the kind of the slot before is tried first. */
static uint32_t claim_kind(struct layout *layout, const struct state *state, uint32_t number,
                           uint32_t guess)
{
    const struct device *device = &state->devices.items[number];
    uint64_t pools[4];

    find_matching_pools(state, device, pools);
    for (size_t i = 0; i < layout->kinds.count; i++) {
        uint32_t at = i == 0 ? guess : i == guess ? 0 : (uint32_t)i;
        struct layout_kind *kind = &layout->kinds.items[at];
        if (memcmp(kind->pools, pools, sizeof(pools)) == 0 &&
            are_alike(state, device, &state->devices.items[kind->device])) {
            kind->slots++;
            return at;
        }
    }
    struct layout_kind kind = { .device = number, .slots = 1 };
    memcpy(kind.pools, pools, sizeof(pools));
    kind.model = claim_model(layout, state, device);
    find_instances(layout, device, &kind);
    list_add(&layout->kinds, kind);
    return (uint32_t)layout->kinds.count - 1;
}

/* The number of a rack or block: those of equal names have the same. */
struct place_name {
    const char *name;
    uint32_t node;
};

static int compare_place_names(const void *a, const void *b)
{
    const struct place_name *left = a, *right = b;
    int sign = strcmp(left->name, right->name);

    return sign != 0 ? sign : (left->node > right->node) - (left->node < right->node);
}

static uint32_t number_places(struct layout *layout, const struct state *state, bool is_block)
{
    size_t count = state->nodes.count;
    struct place_name *names = mem_zero(count + 1, sizeof(*names));
    uint32_t number = 0;

    for (uint32_t i = 0; i < count; i++) {
        const struct node *node = &state->nodes.items[i];
        const char *name = is_block ? node->block : node->rack;
        names[i] = (struct place_name){ name ? name : "", i };
    }
    mem_sort(names, count, sizeof(names[0]), compare_place_names);
    for (size_t i = 0; i < count; i++) {
        struct layout_node *node = &layout->nodes.items[names[i].node];
        if (names[i].name[0] && (i == 0 || strcmp(names[i].name, names[i - 1].name) != 0))
            number++;
        *(is_block ? &node->block : &node->rack) = names[i].name[0] ? number : 0;
    }
    free(names);
    return number;
}

struct priced_node {
    uint32_t node, model;
    int64_t price;
};

static int compare_priced_nodes(const void *a, const void *b)
{
    const struct priced_node *left = a, *right = b;

    if (left->model != right->model)
        return left->model < right->model ? -1 : 1;
    if (left->price != right->price)
        return left->price < right->price ? -1 : 1;
    return (left->node > right->node) - (left->node < right->node);
}

/* A model may have another price on each node. */
static void number_prices(struct layout *layout, const struct state *state)
{
    struct priced_node *nodes = mem_zero(layout->nodes.count + 1, sizeof(*nodes));
    size_t count = 0;

    for (uint32_t i = 0; i < layout->nodes.count; i++) {
        const struct layout_node *node = &layout->nodes.items[i];
        const struct layout_slot *slot = &layout->slots.items[node->first];
        if (node->count == 0 || !node->is_up)
            continue;
        nodes[count++] =
            (struct priced_node){ i, layout->kinds.items[slot->kind].model,
                                  state_price(state, &state->devices.items[slot->device]) };
    }
    mem_sort(nodes, count, sizeof(nodes[0]), compare_priced_nodes);
    for (size_t i = 1; i < count; i++) {
        uint32_t before = layout->nodes.items[nodes[i - 1].node].dearness;
        if (nodes[i].model == nodes[i - 1].model)
            layout->nodes.items[nodes[i].node].dearness =
                before + (nodes[i].price > nodes[i - 1].price);
    }
    free(nodes);
}

/* The devices of each node side by side: a counting sort, then each node by index. */
static void pack_slots(struct layout *layout, const struct state *state)
{
    uint32_t first = 0;

    for (size_t i = 0; i < state->devices.count; i++)
        layout->nodes.items[state->devices.items[i].node].count++;
    for (size_t i = 0; i < layout->nodes.count; i++) {
        layout->nodes.items[i].first = first;
        first += layout->nodes.items[i].count;
        layout->nodes.items[i].count = 0;
    }
    list_resize(&layout->slots, state->devices.count);
    list_resize(&layout->slot_of_device, state->devices.count);
    for (uint32_t i = 0; i < state->devices.count; i++) {
        struct layout_node *node = &layout->nodes.items[state->devices.items[i].node];
        uint32_t at = node->first + node->count++;
        for (; at > node->first; at--) {
            const struct layout_slot *before = &layout->slots.items[at - 1];
            if (state->devices.items[before->device].index <= state->devices.items[i].index)
                break;
            layout->slots.items[at] = *before;
        }
        layout->slots.items[at] = (struct layout_slot){ .device = i };
    }
}

static void describe_slots(struct layout *layout, const struct state *state)
{
    uint32_t guess = 0;

    for (uint32_t i = 0; i < layout->slots.count; i++) {
        struct layout_slot *slot = &layout->slots.items[i];
        const struct device *device = &state->devices.items[slot->device];
        guess = claim_kind(layout, state, slot->device, guess);
        slot->kind = guess;
        slot->numa = (uint16_t)(device->numa_node > 0 ? device->numa_node : 0);
        slot->island = (uint16_t)device->island;
        slot->bridge = (uint16_t)device->bridge;
        layout->slot_of_device.items[slot->device] = i;
    }
    LIST_EACH (struct layout_node, node, &layout->nodes) {
        layout->slots_most = node->count > layout->slots_most ? node->count : layout->slots_most;
        node->kind = node->count > 0 ? layout->slots.items[node->first].kind : 0;
        for (uint32_t k = 0, alike = 0; k < node->count; k++) {
            const struct layout_slot *slot = &layout->slots.items[node->first + k];
            struct layout_kind *kind = &layout->kinds.items[slot->kind];
            alike = k > 0 && slot[-1].kind == slot->kind ? alike + 1 : 1;
            kind->most = alike > kind->most ? alike : kind->most;
            if (slot->kind != node->kind || state->devices.items[slot->device].foreign_mib > 0)
                node->kind = LAYOUT_MIXED;
        }
    }
}

/* At any time: answers are about other hours, too. */
static void note_pool(struct layout *layout, const struct pool *pool)
{
    bool has_min = pool->base_min > 0, has_max = pool->base_max > 0;

    for (size_t i = 0; i < pool->during.count; i++) {
        const struct pool_during *during = &pool->during.items[i];
        has_min |= during->milli_min > 0;
        has_max |= during->milli_max > 0;
    }
    if (pool->is_removed)
        return;
    layout->has_static_pools |= pool->is_static;
    layout->has_mins |= !pool->is_static && has_min;
    layout->has_bounds |= !pool->is_static && (has_min || has_max);
}

void layout_make(struct layout *layout, const struct state *state)
{
    layout->version++;
    layout->slots_most = 0;
    layout->nodes.count = layout->slots.count = layout->kinds.count = 0;
    layout->model_count = 0;
    layout->has_static_pools = layout->has_mins = layout->has_bounds = false;
    for (size_t i = 0; i < state->nodes.count; i++)
        list_add(&layout->nodes,
                 (struct layout_node){ .is_up = node_is_usable(&state->nodes.items[i]),
                                       .is_spot = state->nodes.items[i].is_spot });
    for (size_t i = 1; i < state->pools.count; i++)
        note_pool(layout, &state->pools.items[i]);
    pack_slots(layout, state);
    describe_slots(layout, state);
    layout->rack_count = number_places(layout, state, false);
    layout->block_count = number_places(layout, state, true);
    if (state->node_price_least > 0)
        number_prices(layout, state);
}

void layout_release(struct layout *layout)
{
    list_release(&layout->nodes);
    list_release(&layout->slots);
    list_release(&layout->kinds);
    list_release(&layout->slot_of_device);
    for (size_t i = 0; i < MIG_LAYOUTS; i++) {
        free(layout->tables[i]);
        layout->tables[i] = NULL;
    }
}
