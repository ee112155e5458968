/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration that holds, from the state. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "control/configure.h"
#include "control/times.h"
#include "control/unix_names.h"
#include "wire/config/config.h"

static int64_t gpus_or_none(int64_t milli)
{
    return milli > 0 ? milli / GPU_MILLI : CONFIG_NONE;
}

static void add_pool(struct config *config, const struct state *state, const struct pool *pool)
{
    struct config_pool added = {
        .is_static = pool->is_static,
        .mig = pool->mig,
        .gpus = pool->is_static && pool->gpus > 0 ? pool->gpus : CONFIG_NONE,
        .min = pool->is_static ? CONFIG_NONE : gpus_or_none(pool->base_min),
        .max = pool->is_static ? CONFIG_NONE : gpus_or_none(pool->base_max),
    };
    LIST(char *) nodes = { 0 };

    snprintf(added.name, sizeof(added.name), "%s", pool->name);
    snprintf(added.queue, sizeof(added.queue), "%s", pool->queue);
    snprintf(added.model, sizeof(added.model), "%s", pool->model);
    snprintf(added.labels, sizeof(added.labels), "%s", pool->labels ? pool->labels : "");
    for (const char *at = pool->nodes; *at; at += strcspn(at, ","), at += *at == ',')
        list_add(&nodes, mem_string_of(at, strcspn(at, ",")));
    if (nodes.count > 0)
        list_add(&nodes, NULL);
    added.nodes = nodes.items;
    if (pool->devices != 0) {
        added.devices = mem_zero(64, sizeof(uint32_t));
        for (uint32_t i = 0; i < 64; i++) {
            if (pool->devices >> i & 1)
                added.devices[added.device_count++] = i;
        }
    }
    times_pool_of(&added, state, pool);
    config->pools = mem_resize(config->pools, config->pool_count + 1, sizeof(added));
    config->pools[config->pool_count++] = added;
}

static void add_subject(struct config_queue *added, const struct state *state,
                        const struct subject_limit *subject)
{
    struct config_subject limit = { .kind = subject->kind,
                                    .limit = subject->limit,
                                    .gid = subject->id };
    char name[REQUEST_NAME_SIZE];

    if (subject->kind == SUBJECT_USER)
        snprintf(limit.name, sizeof(limit.name), "%s", state_user(state, subject->id));
    else if (subject->kind == SUBJECT_GROUP)
        snprintf(limit.name, sizeof(limit.name), "%s",
                 group_name_of(subject->id, name, sizeof(name)));
    snprintf(limit.resource, sizeof(limit.resource), "%s",
             state->resources.items[subject->resource].name);
    added->subjects =
        mem_resize(added->subjects, added->subject_count + 1, sizeof(added->subjects[0]));
    added->subjects[added->subject_count++] = limit;
}

static void add_queue(struct config *config, const struct state *state, const struct queue *queue)
{
    struct config_queue added = {
        .parent = config_find_queue(config, state->queues.items[queue->parent].name),
        .weight = queue->weight,
        .min_runtime = queue->min_runtime,
        .firm_within = queue->firm_within,
        .cell_count = queue->cells.count,
    };

    config_quota_init(&added);
    for (size_t i = 0; i < state->resources.count; i++) {
        if (!quota_is_empty(&queue->base[i]))
            *config_quota_of(&added, state->resources.items[i].name) = queue->base[i];
    }
    added.cells = mem_zero(queue->cells.count + 1, sizeof(added.cells[0]));
    for (size_t i = 0; i < queue->cells.count; i++)
        added.cells[i] = queue->cells.items[i];
    times_queue_of(&added, state, queue);
    for (size_t i = 0; i < queue->subjects.count; i++)
        add_subject(&added, state, &queue->subjects.items[i]);
    snprintf(added.name, sizeof(added.name), "%s", queue->name);
    config->queues = mem_resize(config->queues, config->queue_count + 1, sizeof(added));
    config->queues[config->queue_count++] = added;
}

/* "default" is there anyway: it is only named when it is not as it was born. */
static bool is_as_born(const struct queue *queue)
{
    for (size_t i = 0; i < RESOURCES_MAX; i++) {
        if (!quota_is_empty(&queue->base[i]))
            return false;
    }
    for (size_t i = 0; i < ACCOUNTS; i++) {
        if (queue->accounts[i].most != ACCOUNT_NO_BUDGET)
            return false;
    }
    return queue->weight == 1 && queue->subjects.count == 0 && queue->during.count == 0 &&
           queue->cells.count == 0 && queue->min_runtime == 0 && !queue->firm_within;
}

static void add_prices(struct config *config, const struct state *state)
{
    config->prices = mem_zero(RESOURCES_MAX, sizeof(config->prices[0]));
    for (size_t i = 0; i < state->resources.count; i++) {
        struct config_price *price = &config->prices[config->price_count];
        price->price_micro = state->resources.items[i].price_micro;
        snprintf(price->resource, sizeof(price->resource), "%s", state->resources.items[i].name);
        config->price_count += price->price_micro > 0;
    }
}

struct config *config_of_state(const struct state *state)
{
    struct config *config = config_create();

    times_config_of(config, state);
    for (size_t i = 1; i < state->pools.count; i++) {
        if (!state->pools.items[i].is_removed)
            add_pool(config, state, &state->pools.items[i]);
    }
    for (size_t i = QUEUE_DEFAULT; i < state->queues.count; i++) {
        const struct queue *queue = &state->queues.items[i];
        if (!queue->is_removed && (i != QUEUE_DEFAULT || !is_as_born(queue)))
            add_queue(config, state, queue);
    }
    add_prices(config, state);
    config->node_types = mem_zero(NODE_TYPES_MAX, sizeof(config->node_types[0]));
    for (size_t i = 0; i < state->node_types.count; i++)
        config->node_types[config->node_type_count++] = state->node_types.items[i];
    config->device_types = mem_zero(DEVICE_TYPES_MAX, sizeof(config->device_types[0]));
    for (size_t i = 0; i < state->device_types.count; i++)
        config->device_types[config->device_type_count++] = state->device_types.items[i];
    config->half_life = state->settings.half_life;
    config->has_half_life = config->half_life != CONFIG_HALF_LIFE;
    config->placement = state->settings.placement;
    config->has_placement = config->placement != CONFIG_PLACEMENT;
    config->order = state->settings.order;
    config->has_order = config->order != CONFIG_ORDER;
    config->predict = state->settings.predict;
    config->has_predict = config->predict != CONFIG_PREDICT(config->order);
    config->backfill_depth = state->settings.backfill_depth;
    config->has_backfill = config->backfill_depth != CONFIG_BACKFILL_DEPTH;
    config->watch = state->settings.watch;
    config->defrag_most = state->settings.defrag_most;
    config->has_defrag = config->defrag_most > 0;
    return config;
}
