/* SPDX-License-Identifier: Apache-2.0 */
/* What a configuration names or guarantees that the cluster does not have. Lost and drained
 * devices count: they may come back. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "control/config/configure.h"
#include "core/cluster/pool.h"

typedef LIST(const char *) names_list;

struct doubts {
    const struct state *state;
    const struct config *config;
    names_list models; /* and kinds */
    device_kind kinds[DEVICE_TYPES_MAX];
    LIST(struct node) nodes; /* of the state, with the properties of the configuration */
    struct text *lines;
    size_t count;
};

PRINTF(2, 3) static void doubt(struct doubts *doubts, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    AUTO_FREE char *line = mem_vprintf(format, args);
    va_end(args);
    text_printf(doubts->lines, "%s\n", line);
    doubts->count++;
}

/* Described devices are those of the new configuration. */
static bool is_described(const struct state *state, const struct device *device)
{
    bool is = false;
    uint32_t number;

    LIST_EACH (const struct device_type, type, &state->device_types)
        is |= device_type_is(type, device->uuid, &number);
    return is;
}

static bool has_model(const struct doubts *doubts, const char *model)
{
    for (size_t i = 0; i < doubts->models.count; i++) {
        if (strcmp(doubts->models.items[i], model) == 0)
            return true;
    }
    return false;
}

static void add_model(struct doubts *doubts, const char *model)
{
    if (model[0] && !has_model(doubts, model))
        list_add(&doubts->models, model);
}

static void find_models(struct doubts *doubts)
{
    const struct config *config = doubts->config;

    LIST_EACH (const struct device, device, &doubts->state->devices) {
        if (!is_described(doubts->state, device))
            add_model(doubts, device->model);
    }
    for (uint32_t i = 0; i < config->device_type_count; i++) {
        device_kind *kind = &doubts->kinds[i];
        add_model(doubts, config->device_types[i].model);
        add_model(doubts, device_type_kind(&config->device_types[i], *kind));
    }
    for (uint32_t i = 0; i < config->node_type_count; i++)
        add_model(doubts, config->node_types[i].model);
}

/* resource: also gpus, cpus and memory, which are always known. */
static void check_model(struct doubts *doubts, const char *where, const char *resource)
{
    bool is_common = strcmp(resource, "gpus") == 0 || strcmp(resource, "cpus") == 0 ||
                     strcmp(resource, "memory") == 0;
    AUTO_RELEASE(text) struct text known = { 0 };

    if (is_common || !resource[0] || has_model(doubts, resource))
        return;
    for (size_t i = 0; i < doubts->models.count; i++)
        text_printf(&known, "%s%s", i > 0 ? ", " : "", doubts->models.items[i]);
    doubt(doubts, "%s: no device has the model '%s'%s%s", where, resource,
          known.length > 0 ? "; there are " : "", text_string(&known));
}

static void check_models(struct doubts *doubts)
{
    const struct config *config = doubts->config;

    for (uint32_t i = 0; i < config->price_count; i++)
        check_model(doubts, config->prices[i].price_micro > 0 ? "prices" : "speeds",
                    config->prices[i].resource);
    for (uint32_t i = 0; i < config->queue_count; i++) {
        const struct event_queue *queue = &config->queues[i];
        AUTO_FREE char *where = mem_printf("queue %s", queue->name);
        for (uint32_t k = 0; k < queue->quotas_count; k++)
            check_model(doubts, where, queue->quotas[k].resource);
        for (uint32_t k = 0; k < queue->subjects_count; k++)
            check_model(doubts, where, queue->subjects[k].resource);
        for (uint32_t k = 0; k < queue->during_count; k++)
            check_model(doubts, where, queue->during[k].resource);
        for (uint32_t k = 0; k < queue->names_count; k++) {
            if (queue->names[k].list == QUEUE_MODELS)
                check_model(doubts, where, queue->names[k].name);
        }
    }
}

/* ---- nodes ---- */

static const struct node_settings *settings_of(const struct config *config, const char *node)
{
    const struct node_settings *found = NULL;

    for (uint32_t i = 0; i < config->node_count; i++)
        found = strcmp(config->nodes[i].name, node) == 0 ? &config->nodes[i] : found;
    return found;
}

static void settle_nodes(struct doubts *doubts)
{
    const struct config *config = doubts->config;

    LIST_EACH (const struct node, node, &doubts->state->nodes) {
        struct node settled = { .name = mem_string(node->name) };
        settled.reported = (struct node_report){ .rack = mem_string(node->reported.rack),
                                                 .block = mem_string(node->reported.block),
                                                 .type = mem_string(node->reported.type),
                                                 .labels = mem_string(node->reported.labels),
                                                 .is_spot = node->reported.is_spot };
        node_settle(&settled, settings_of(config, node->name));
        list_add(&doubts->nodes, settled);
    }
}

static void check_node(struct doubts *doubts, const struct node_settings *node)
{
    const struct config *config = doubts->config;
    bool has_type = !node->type[0];

    if (state_find_node(doubts->state, node->name) < 0)
        doubt(doubts, "node %s: no node has this name", node->name);
    for (uint32_t i = 0; i < config->node_type_count; i++)
        has_type |= strcmp(config->node_types[i].name, node->type) == 0;
    if (!has_type)
        doubt(doubts, "node %s: type: no node type has this name: '%s'", node->name, node->type);
}

/* ---- pools ---- */

/* With the labels that the configuration gives it. */
static bool matches(const struct doubts *doubts, const struct pool *pool,
                    const struct device *device)
{
    const struct node *node = &doubts->nodes.items[device->node];
    struct device settled = *device;

    settled.labels = NULL;
    device_settle_labels(&settled, settings_of(doubts->config, node->name));
    bool does = pool_matches(pool, &settled, node);
    free(settled.labels);
    return does;
}

/* Which machine a described device will have is not known yet. */
static bool may_match(const struct doubts *doubts, const struct pool *pool,
                      const struct device *device)
{
    LIST_EACH (const struct node, node, &doubts->nodes) {
        if (pool_matches(pool, device, node))
            return true;
    }
    return false;
}

static void check_pool(struct doubts *doubts, const struct event_pool *event)
{
    struct pool pool = { .model = (char *)(uintptr_t)event->model, .devices = event->devices };
    const struct config *config = doubts->config;
    uint32_t count = 0;

    where_assign(&pool.where, NULL, NULL, event->where, event->where_count);
    LIST_EACH (const struct device, device, &doubts->state->devices)
        count += !is_described(doubts->state, device) && matches(doubts, &pool, device);
    pool.devices = 0; /* nor its number */
    for (uint32_t i = 0; i < config->device_type_count; i++) {
        const struct device_type *type = &config->device_types[i];
        device_kind kind;
        const struct device described = { .model = (char *)(uintptr_t)type->model,
                                          .labels = (char *)(uintptr_t)type->labels,
                                          .kind = (char *)(uintptr_t)device_type_kind(type, kind) };
        count += may_match(doubts, &pool, &described) ? type->count : 0;
    }
    list_release(&pool.where);
    if (count == 0)
        doubt(doubts, "pool %s: no device matches it", event->name);
    else if (event->is_static && event->gpus > count)
        doubt(doubts, "pool %s: %" PRIu32 " gpus, but %" PRIu32 " match it", event->name,
              event->gpus, count);
}

/* ---- guarantees ---- */

static int64_t capacity_of(const struct doubts *doubts, const char *resource)
{
    const struct config *config = doubts->config;
    bool is_any = strcmp(resource, "gpus") == 0;
    int64_t sum = 0;

    LIST_EACH (const struct node, node, &doubts->state->nodes) {
        sum += strcmp(resource, "cpus") == 0     ? node->cpu_milli
               : strcmp(resource, "memory") == 0 ? node->memory_mib
                                                 : 0;
    }
    LIST_EACH (const struct device, device, &doubts->state->devices) {
        if (!is_described(doubts->state, device) &&
            (is_any ? device_is_gpu(device) : strcmp(device->model, resource) == 0))
            sum += GPU_MILLI;
    }
    for (uint32_t i = 0; i < config->device_type_count; i++) {
        const struct device_type *type = &config->device_types[i];
        device_kind buffer;
        const char *kind = device_type_kind(type, buffer);
        if (is_any ? !kind[0] : strcmp(type->model, resource) == 0 || strcmp(kind, resource) == 0)
            sum += (int64_t)type->count * GPU_MILLI;
    }
    return sum;
}

static int64_t guarantee_of(const struct event_queue *queue, const char *resource)
{
    if (strcmp(resource, "gpus") == 0)
        return queue->gpus.guarantee;
    for (uint32_t i = 0; i < queue->quotas_count; i++) {
        if (strcmp(queue->quotas[i].resource, resource) == 0)
            return queue->quotas[i].quota.guarantee;
    }
    return 0;
}

/* Of a queue, with those below it: parents stand before their children. */
static int64_t guarantee_below(const struct config *config, uint32_t number, const char *resource,
                               const int64_t *whole)
{
    int64_t own = guarantee_of(&config->queues[number], resource), sum = 0;

    for (uint32_t i = number + 1; i < config->queue_count; i++)
        sum += strcmp(config->queues[i].parent, config->queues[number].name) == 0 ? whole[i] : 0;
    return own > sum ? own : sum;
}

static void check_guarantee(struct doubts *doubts, const char *resource)
{
    const struct config *config = doubts->config;
    AUTO_FREE int64_t *whole = mem_zero(config->queue_count + 1, sizeof(*whole));
    int64_t sum = 0, capacity = capacity_of(doubts, resource);
    bool is_memory = strcmp(resource, "memory") == 0;
    int64_t unit = is_memory ? 1024 : GPU_MILLI;

    for (uint32_t i = config->queue_count; i-- > 0;) {
        whole[i] = guarantee_below(config, i, resource, whole);
        sum += config->queues[i].parent[0] ? 0 : whole[i];
    }
    if (sum > capacity)
        doubt(doubts, "guarantees: %.10g%s %s for all queues together, but the cluster has %.10g%s",
              (double)sum / (double)unit, is_memory ? "G" : "", resource,
              (double)capacity / (double)unit, is_memory ? "G" : "");
}

static void check_guarantees(struct doubts *doubts)
{
    const struct config *config = doubts->config;
    names_list resources = { 0 };

    list_add(&resources, "gpus");
    for (uint32_t i = 0; i < config->queue_count; i++) {
        const struct event_queue *queue = &config->queues[i];
        for (uint32_t k = 0; k < queue->quotas_count; k++) {
            bool is_there = false;
            for (size_t n = 0; n < resources.count; n++)
                is_there |= strcmp(resources.items[n], queue->quotas[k].resource) == 0;
            if (!is_there)
                list_add(&resources, queue->quotas[k].resource);
        }
    }
    for (size_t i = 0; i < resources.count; i++)
        check_guarantee(doubts, resources.items[i]);
    list_release(&resources);
}

size_t configure_doubts(const struct state *state, const struct config *config, struct text *ret)
{
    struct doubts doubts = { .state = state, .config = config, .lines = ret };

    find_models(&doubts);
    settle_nodes(&doubts);
    check_models(&doubts);
    for (uint32_t i = 0; i < config->pool_count; i++)
        check_pool(&doubts, &config->pools[i]);
    for (uint32_t i = 0; i < config->node_count; i++)
        check_node(&doubts, &config->nodes[i]);
    check_guarantees(&doubts);
    LIST_EACH (struct node, node, &doubts.nodes)
        node_release(node);
    list_release(&doubts.nodes);
    list_release(&doubts.models);
    return doubts.count;
}
