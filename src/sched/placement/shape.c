/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/placement/shape.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/cluster/label.h"
#include "core/job/role.h"

enum { REFRESH_NODES = 1024 }; /* nodes looked at in one go */

static bool is_below_named(const struct state *state, uint32_t queue, const char *name)
{
    for (uint32_t at = queue; at != QUEUE_ROOT; at = state->queues.items[at].parent) {
        if (strcmp(state->queues.items[at].name, name) == 0)
            return true;
    }
    return false;
}

/* May jobs of this shape have devices of this kind, were they free? */
static bool may_have(const struct shape *shape, const struct state *state,
                     const struct layout_kind *kind, bool ignore_health)
{
    const struct device *device = &state->devices.items[kind->device];
    const char *named = shape->request->pool;

    if (!ignore_health && !device_is_usable(state, device))
        return false;
    if (device->is_synthetic && device->sick)
        return false; /* made up, and not any more */
    if (device->pool == 0)
        return !state->pools.items[shape->pool_named].is_static &&
               layout_kind_is_of(kind, shape->pool_named);
    const struct pool *owner = &state->pools.items[device->pool];
    return is_below_named(state, shape->queue, owner->queue) &&
           (!named[0] || strcmp(named, owner->name) == 0);
}

/* An instance; its memory in proportion, which is a little more than the driver will give it. */
static struct shape_cut cut_instance(const struct gpu_ask *ask, const struct layout_kind *kind,
                                     const struct device *device)
{
    struct shape_cut cut = { .is_own = device->pool != 0 };
    int profile = kind->board ? mig_find_profile(kind->board, ask->profile) : -1;

    if (profile < 0)
        return cut;
    const struct mig_layout *layout = kind->table->layout;
    cut.profile = (uint8_t)profile;
    cut.milli = (uint16_t)mig_milli(layout, cut.profile);
    cut.memory_mib = device->memory_mib * layout->profiles[profile].memory / layout->memory;
    return cut;
}

/* What would be handed out of such a device; milli 0 when it is too small for it. */
static struct shape_cut cut_of(const struct gpu_ask *ask, const struct device *device)
{
    int64_t milli = ask->milli, memory_mib = ask->memory_mib;

    if (ask->kind == SHARE_WHOLE) {
        milli = GPU_MILLI;
        memory_mib = device->memory_mib;
    } else if (milli == 0) {
        milli = device->memory_mib > 0
                    ? (memory_mib * GPU_MILLI + device->memory_mib - 1) / device->memory_mib
                    : GPU_MILLI + 1;
    } else if (memory_mib == 0) {
        memory_mib = device->memory_mib * milli / GPU_MILLI; /* rounded down: parts make one */
    }
    bool fits = milli <= GPU_MILLI && memory_mib <= device->memory_mib;
    return (struct shape_cut){ .milli = (uint16_t)(fits ? milli : 0),
                               .memory_mib = memory_mib,
                               .is_own = device->pool != 0 };
}

/* Conditions are evaluated here once, and not while nodes are compared: for devices of one kind
 * on a node together. Kinds that are open nowhere serve nothing. */
static void evaluate_conditions(struct shape *shape, const struct state *state,
                                const struct layout *layout)
{
    const struct request *request = shape->request;
    LIST(bool) open_kinds = { 0 };

    list_zero(&shape->open_nodes, layout->nodes.count);
    list_zero(&shape->open_slots, layout->slots.count);
    list_zero(&open_kinds, layout->kinds.count);
    for (uint32_t i = 0; i < layout->nodes.count; i++) {
        const struct layout_node *at = &layout->nodes.items[i];
        const struct node *node = &state->nodes.items[i];
        uint32_t kind = UINT32_MAX;
        bool is_open = false;
        if (!shape->ask)
            shape->open_nodes.items[i] =
                where_holds(request->where, request->where_count, node, NULL);
        for (uint32_t k = at->first; shape->ask && k < at->first + at->count; k++) {
            const struct layout_slot *slot = &layout->slots.items[k];
            if (slot->kind != kind)
                is_open = where_holds(request->where, request->where_count, node,
                                      &state->devices.items[slot->device]);
            kind = slot->kind;
            shape->open_slots.items[k] = is_open;
            shape->open_nodes.items[i] |= is_open;
            open_kinds.items[kind] |= is_open;
        }
    }
    for (size_t i = 0; i < shape->cuts.count; i++)
        shape->cuts.items[i].milli = open_kinds.items[i] ? shape->cuts.items[i].milli : 0;
    list_release(&open_kinds);
}

void shape_describe(struct shape *shape, const struct state *state, const struct layout *layout,
                    const struct request *request, uint32_t alternative, uint32_t model,
                    uint32_t queue, bool ignore_health)
{
    int64_t pool = request->pool[0] ? state_find_pool(state, request->pool) : 0;

    assert(alternative < request->gpu_alternatives || request->gpu_alternatives == 0);
    shape->request = request;
    shape->ask = request->gpu_alternatives > 0 ? &request->gpus[alternative] : NULL;
    shape->alternative = alternative;
    shape->model = model;
    shape->queue = queue;
    shape->pool_named = pool > 0 ? (uint32_t)pool : 0;
    shape->is_possible = !shape->ask;
    shape->layout = layout->version;
    shape->scores = 0;
    shape->cuts.count = 0;
    for (size_t i = 0; shape->ask && i < layout->kinds.count; i++) {
        const struct layout_kind *kind = &layout->kinds.items[i];
        const struct device *device = &state->devices.items[kind->device];
        struct shape_cut cut = { 0 };
        if (pool >= 0 && (model == 0 || kind->model == model) &&
            device_is_asked_for(shape->ask, device) && may_have(shape, state, kind, ignore_health))
            cut = shape->ask->kind == SHARE_MIG ? cut_instance(shape->ask, kind, device)
                  : device->mig_enabled         ? cut
                                                : cut_of(shape->ask, device);
        list_add(&shape->cuts, cut);
    }
    shape->open_nodes.count = shape->open_slots.count = 0;
    if (request->where_count > 0)
        evaluate_conditions(shape, state, layout);
    for (size_t i = 0; i < shape->cuts.count; i++)
        shape->is_possible |= shape->cuts.items[i].milli > 0;
}

static uint64_t key_of(uint64_t serial, uint32_t role, uint32_t alternative, uint32_t model,
                       uint32_t queue)
{
    uint64_t key[] = { serial, (uint64_t)role << 48 | (uint64_t)alternative << 32 | queue, model };

    return map_hash_words(key, COUNT_OF(key));
}

static void forget_oldest(struct shapes *shapes)
{
    size_t oldest = 0;

    for (size_t i = 1; i < shapes->all.count; i++) {
        if (shapes->all.items[i]->used < shapes->all.items[oldest]->used)
            oldest = i;
    }
    struct shape *shape = shapes->all.items[oldest];
    shapes->all.items[oldest] = shapes->all.items[--shapes->all.count];
    map_remove(&shapes->by_key,
               key_of(shape->serial, shape->role, shape->alternative, shape->model, shape->queue));
    shape_release(shape);
    free(shape);
}

struct shape *shape_claim(struct shapes *shapes, const struct state *state,
                          const struct layout *layout, uint32_t class, uint32_t role,
                          uint32_t alternative, uint32_t model, uint32_t queue)
{
    const struct class *of = state->classes.classes.items[class];
    uint32_t view = layout->has_static_pools ? queue : QUEUE_DEFAULT;
    uint64_t hash = key_of(of->serial, role, alternative, model, view), found = 0;

    map_get(&shapes->by_key, hash, &found);
    struct shape *shape = (void *)(uintptr_t)found;
    bool is_it = shape && shape->serial == of->serial && shape->role == role &&
                 shape->alternative == alternative && shape->model == model && shape->queue == view;
    if (!shape) {
        if (shapes->all.count == SHAPES_MAX)
            forget_oldest(shapes);
        shape = mem_zero(1, sizeof(*shape));
        list_add(&shapes->all, shape);
        map_set(&shapes->by_key, hash, (uintptr_t)shape);
    }
    if (!is_it || shape->layout != layout->version) {
        shape->serial = of->serial;
        shape->class = class;
        shape->role = role;
        shape_describe(shape, state, layout, request_part(&of->request, role), alternative, model,
                       view, false);
    }
    assert(shapes->all.count <= SHAPES_MAX && shape->request);
    shape->used = ++shapes->uses;
    return shape;
}

void shape_release(struct shape *shape)
{
    list_release(&shape->cuts);
    list_release(&shape->open_nodes);
    list_release(&shape->open_slots);
    list_release(&shape->costs);
    list_release(&shape->least);
}

void shapes_release(struct shapes *shapes)
{
    for (size_t i = 0; i < shapes->all.count; i++) {
        shape_release(shapes->all.items[i]);
        free(shapes->all.items[i]);
    }
    list_release(&shapes->all);
    map_release(&shapes->by_key);
}

/* Plain enough for the compiler to make vector code of it (tools/check-vectors). */
static int32_t least_of(const int32_t *costs)
{
    int32_t least = COST_NONE;

    for (uint32_t i = 0; i < SHAPE_BLOCK; i++)
        least = costs[i] < least ? costs[i] : least;
    return least;
}

static void sum_up(struct shape *shape, uint32_t block)
{
    shape->least.items[block] = least_of(&shape->costs.items[(size_t)block * SHAPE_BLOCK]);
}

static uint32_t look_at_all(struct shape *shape, struct scorer *scorer, const struct fleet *fleet)
{
    uint32_t nodes = (uint32_t)fleet->nodes.count;
    uint32_t blocks = (nodes + SHAPE_BLOCK - 1) / SHAPE_BLOCK;

    list_resize(&shape->costs, (size_t)blocks * SHAPE_BLOCK);
    list_resize(&shape->least, blocks);
    for (uint32_t i = 0; i < shape->costs.count; i++) {
        struct spot spot;
        if (i < nodes)
            spot = spot_of(fleet, i);
        shape->costs.items[i] = i < nodes ? score(scorer, shape, &spot) : COST_NONE;
    }
    for (uint32_t i = 0; i < blocks; i++)
        sum_up(shape, i);
    return nodes;
}

static uint32_t look_at_changed(struct shape *shape, struct scorer *scorer,
                                const struct fleet *fleet)
{
    uint32_t looked = 0;

    for (uint64_t i = shape->seen; i < fleet->changes; i++) {
        uint32_t node = fleet_log_at(fleet, i);
        if (fleet->nodes.items[node].change != i)
            continue; /* it changed again later */
        struct spot spot = spot_of(fleet, node);
        shape_set_cost(shape, node, score(scorer, shape, &spot));
        looked++;
    }
    return looked;
}

uint32_t shape_catch_up(struct shape *shape, struct scorer *scorer, const struct fleet *fleet)
{
    uint32_t looked = 0;

    if (shape->scores != scorer->version || !fleet_can_catch_up(fleet, shape->seen))
        looked = look_at_all(shape, scorer, fleet);
    else if (shape->seen != fleet->changes)
        looked = look_at_changed(shape, scorer, fleet);
    shape->scores = scorer->version;
    shape->seen = fleet->changes;
    return looked;
}

/* Its request goes with its class; its cuts stand for one layout. */
static bool is_alive(const struct shape *shape, const struct state *state,
                     const struct layout *layout)
{
    const struct class *of = shape->class < state->classes.classes.count
                                 ? state->classes.classes.items[shape->class]
                                 : NULL;

    return of && of->serial == shape->serial && shape->layout == layout->version;
}

bool shapes_refresh(struct shapes *shapes, const struct state *state, struct scorer *scorer,
                    const struct fleet *fleet)
{
    uint32_t looked = 0;

    for (size_t i = 0; i < shapes->all.count; i++) {
        if (shapes->hand >= shapes->all.count)
            shapes->hand = 0;
        struct shape *shape = shapes->all.items[shapes->hand++];
        if (shape->is_possible && is_alive(shape, state, fleet->layout))
            looked += shape_catch_up(shape, scorer, fleet);
        if (looked >= REFRESH_NODES)
            return true;
    }
    return false;
}

int64_t shape_best(const struct shape *shape)
{
    int32_t least = COST_NONE;
    size_t block = 0;

    for (size_t i = 0; i < shape->least.count; i++) {
        if (shape->least.items[i] < least) {
            least = shape->least.items[i];
            block = i;
        }
    }
    if (least == COST_NONE)
        return -1;
    size_t at = block * SHAPE_BLOCK;
    while (shape->costs.items[at] != least)
        at++;
    return (int64_t)at;
}

int32_t shape_set_cost(struct shape *shape, uint32_t node, int32_t cost)
{
    uint32_t block = node / SHAPE_BLOCK;
    int32_t old = shape->costs.items[node];

    assert(node < shape->costs.count);
    shape->costs.items[node] = cost;
    if (cost <= shape->least.items[block])
        shape->least.items[block] = cost;
    else if (old == shape->least.items[block])
        sum_up(shape, block);
    return old;
}
