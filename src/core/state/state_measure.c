/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from the machines, devices and pools: capacity, static pools, MIG modes. */
#include <assert.h>

#include "core/cluster/mig.h"
#include "core/state/fold.h"

static void deal_static_pool(struct state *state, uint32_t number)
{
    const struct pool *pool = &state->pools.items[number];
    uint32_t dealt = 0;

    for (size_t i = 0; i < state->devices.count; i++) {
        struct device *device = &state->devices.items[i];
        if (pool->gpus > 0 && dealt == pool->gpus)
            return;
        if (device->pool == 0 && pool_matches(pool, device, &state->nodes.items[device->node])) {
            device->pool = number;
            dealt++;
        }
    }
}

static bool has_static_pools(const struct state *state)
{
    for (size_t i = 1; i < state->pools.count; i++) {
        if (state->pools.items[i].is_static && !state->pools.items[i].is_removed)
            return true;
    }
    return false;
}

/* What static pools have is their queue's, and counts with all above it. */
static void measure_owned(struct state *state)
{
    for (size_t i = 0; i < state->queues.count; i++)
        state->queues.items[i].owned = (struct amounts){ 0 };
    for (size_t i = 0; i < state->devices.count; i++) {
        const struct device *device = &state->devices.items[i];
        if (device->pool == 0 || !device_is_usable(state, device))
            continue;
        int64_t queue = state_find_queue(state, state->pools.items[device->pool].queue);
        for (int64_t at = queue; at > QUEUE_ROOT; at = state->queues.items[at].parent) {
            struct amounts *owned = &state->queues.items[at].owned;
            if (device_is_gpu(device))
                owned->of[RESOURCE_GPUS] += GPU_MILLI;
            if (device->resource > 0)
                owned->of[device->resource] += GPU_MILLI;
            if (device->kind_resource > 0)
                owned->of[device->kind_resource] += GPU_MILLI;
        }
    }
}

static void count_capacity(const struct state *state, struct capacity *capacity, uint32_t number,
                           int sign)
{
    const struct device *device = &state->devices.items[number];

    if (!device_is_usable(state, device))
        return;
    if (device_is_gpu(device))
        capacity->milli += sign * (int64_t)GPU_MILLI;
    capacity->worth += sign * state_worth(state, number);
    assert(capacity->milli >= 0);
    if (device->resource > 0)
        capacity->models[device->resource] += sign * (int64_t)GPU_MILLI;
    if (device->kind_resource > 0)
        capacity->models[device->kind_resource] += sign * (int64_t)GPU_MILLI;
}

static uint32_t number_of(const struct state *state, const char *name)
{
    int found = resource_find(&state->resources, name);

    return found >= RESOURCE_MODELS ? (uint32_t)found : 0;
}

/* The device's model or kind may have got a number: what is held of it counts from then on. */
static bool number_model(struct state *state, struct device *device)
{
    bool is_gpu = device_is_gpu(device);
    uint32_t resource = number_of(state, device->model);
    uint32_t kind = is_gpu ? 0 : number_of(state, device->kind);
    kind = kind != resource ? kind : 0; /* one name for both counts once */
    bool is_other = device->resource != resource || device->kind_resource != kind;

    device->resource = resource;
    device->kind_resource = kind;
    state->has_others |= !is_gpu;
    if (!is_gpu && resource > 0) {
        state->resources.items[resource].is_other = true;
        state->resources.items[resource].kind = kind;
    }
    if (kind > 0) {
        state->resources.items[kind].is_other = true;
        state->resources.items[kind].kind = kind;
    }
    return is_other;
}

static void note_model(struct state *state, uint32_t number)
{
    const struct device *device = &state->devices.items[number];

    LIST_EACH (const uint32_t, example, &state->models) {
        const struct device *other = &state->devices.items[*example];
        if (other->memory_mib == device->memory_mib && strcmp(other->model, device->model) == 0 &&
            strcmp(other->kind ? other->kind : "", device->kind ? device->kind : "") == 0)
            return;
    }
    list_add(&state->models, number);
}

static void list_models(struct state *state)
{
    state->models.count = 0;
    for (uint32_t i = 0; i < state->devices.count; i++)
        note_model(state, i);
}

/* An example may be of another model now. */
static void note_model_again(struct state *state, uint32_t number)
{
    bool is_example = false;

    LIST_EACH (const uint32_t, example, &state->models)
        is_example |= *example == number;
    if (is_example)
        list_models(state);
    else
        note_model(state, number);
}

/* The mode that its pool wants: of those that share it, the first that wants one. */
static uint8_t wanted_mig(const struct state *state, const struct device *device)
{
    const struct node *node = &state->nodes.items[device->node];

    if (device->pool != 0)
        return state->pools.items[device->pool].mig;
    for (size_t i = 0; i < state->pools.count; i++) {
        const struct pool *pool = &state->pools.items[i];
        if (pool->mig != POOL_MIG_ANY && !pool->is_removed && !pool->is_static &&
            pool_matches(pool, device, node))
            return pool->mig;
    }
    return POOL_MIG_ANY;
}

static void settle_mig(const struct state *state, struct device *device)
{
    uint8_t wanted =
        mig_board_of(device->model, device->memory_mib) ? wanted_mig(state, device) : POOL_MIG_ANY;

    device->mig_enabled = wanted == POOL_MIG_ANY ? device->mig_now : wanted == POOL_MIG_ON;
}

/* The time of these machines counts from now on. */
static void count_up(struct state *state)
{
    mtbf_advance(&state->mtbf, state->now);
    state->mtbf.up[MTBF_OWN] = state->mtbf.up[MTBF_SPOT] = 0;
    for (size_t i = 0; i < state->nodes.count; i++) {
        const struct node *node = &state->nodes.items[i];
        state->mtbf.up[node->is_spot ? MTBF_SPOT : MTBF_OWN] += node->state == NODE_UP;
    }
}

void state_measure(struct state *state)
{
    struct capacity capacity = { 0 };
    bool is_other = false;

    if (state->capacity.milli > 0) /* none: before there is anything, also of a snapshot */
        pressure_advance(&state->pressure, state->now, state->capacity.milli);
    for (size_t i = 0; i < state->devices.count; i++) {
        state->devices.items[i].pool = 0;
        is_other |= number_model(state, &state->devices.items[i]);
    }
    if (is_other)
        state_recount(state);
    list_models(state);
    for (size_t i = 1; i < state->pools.count; i++) {
        if (state->pools.items[i].is_static && !state->pools.items[i].is_removed)
            deal_static_pool(state, (uint32_t)i);
    }
    for (size_t i = 0; i < state->devices.count; i++)
        settle_mig(state, &state->devices.items[i]);
    count_up(state);
    for (size_t i = 0; i < state->nodes.count; i++) {
        if (!node_is_usable(&state->nodes.items[i]))
            continue;
        capacity.cpu_milli += state->nodes.items[i].cpu_milli;
        capacity.memory_mib += state->nodes.items[i].memory_mib;
    }
    for (uint32_t i = 0; i < state->devices.count; i++)
        count_capacity(state, &capacity, i, 1);
    state->capacity = capacity;
    measure_owned(state);
}

void state_remove_device(struct state *state, uint32_t number)
{
    count_capacity(state, &state->capacity, number, -1);
}

void state_insert_device(struct state *state, uint32_t number)
{
    struct device *device = &state->devices.items[number];

    settle_mig(state, device);
    note_model_again(state, number);
    if (number_model(state, device))
        state_recount(state);
    count_capacity(state, &state->capacity, number, 1);
    if (has_static_pools(state)) /* they are dealt anew */
        state_measure(state);
}
