/* SPDX-License-Identifier: Apache-2.0 */
/* The maps at the top of a configuration, from names to things. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "wire/config/config_amounts.h"
#include "wire/config/window_event.h"
#include "wire/json.h"

static int check_pool(const struct reader *reader, const json_t *object,
                      const struct event_pool *pool)
{
    const char *bound = reader_get(object, "min")   ? "min"
                        : reader_get(object, "max") ? "max"
                                                    : NULL;

    if (pool->is_static && !pool->queue[0])
        return reader_fail(reader, -EINVAL, object, NULL,
                           "a static pool belongs to a queue; expected queue: NAME");
    if (!pool->is_static && pool->queue[0])
        return reader_fail(reader, -EINVAL, object, "queue",
                           "a dynamic pool is shared; expected type: static, or no queue");
    if (pool->is_static && bound)
        return reader_fail(reader, -EINVAL, object, bound,
                           "a static pool has a fixed size; expected gpus: N");
    if (reader_get(object, "gpus") && bound)
        return reader_fail(reader, -EINVAL, object, "gpus",
                           "a size and min or max at once; expected one of the two");
    if (reader_get(object, "max") && pool->milli_min > pool->milli_max)
        return reader_fail(reader, -EINVAL, object, "max", "%" PRId64 " is less than min, %" PRId64,
                           pool->milli_max / GPU_MILLI, pool->milli_min / GPU_MILLI);
    return 0;
}

static int check_node_type(const struct reader *reader, const json_t *object,
                           const struct node_type *type)
{
    if (type->cpu_milli == 0 || type->memory_mib == 0)
        return reader_fail(reader, -EINVAL, object, NULL, "expected cpus and memory, above 0");
    if (type->gpus > 0 && !type->model[0])
        return reader_fail(reader, -EINVAL, object, "model", "expected the model of its gpus");
    return 0;
}

/* `nights: 0.6`: under the name of a window. */
static int read_factor(struct config *config, const struct reader *reader, const json_t *tariffs,
                       struct event_tariff *tariff)
{
    const struct setting *factor = &keys_rows(KEYS_TARIFF).rows[1];
    const json_t *value = reader_get(tariffs, tariff->name);
    struct setting_place place = { config, reader, tariffs, tariff->name, value, factor, tariff };

    if (!config_find_window(config, tariff->name))
        return section_fail(SETTING_WINDOWS, config, reader, tariffs, tariff->name, tariff->name);
    tariff->window = tariff->name;
    if (!value)
        return reader_fail(reader, -EINVAL, tariffs, tariff->name, "expected a factor, 0 to 50");
    return config->ops[factor->kind].read(&place);
}

static int read_item(struct config *config, const struct reader *above,
                     const struct config_section *section, const json_t *map, const char *name,
                     void *item)
{
    const json_t *value = json_object_get(map, name);
    struct reader reader = reader_at(above, "%s %.63s", section->kind, name);
    const char *own = config_text(config, name);

    if (section_name(section, item) == item)
        snprintf(item, REQUEST_NAME_SIZE, "%s", name);
    else
        memcpy(item, &own, sizeof(own));
    if (section->table == KEYS_TARIFF && !json_is_object(value))
        return read_factor(config, &reader, map, item);
    int code = keys_read(config, &reader, value, section->table, item);
    if (code < 0)
        return code;
    return section->table == KEYS_POOL          ? check_pool(&reader, value, item)
           : section->table == KEYS_NODE_TYPE   ? check_node_type(&reader, value, item)
           : section->table == KEYS_RESERVATION ? reservation_check(&reader, value, item)
                                                : 0;
}

int read_section(const struct setting_place *place)
{
    const struct config_section *section = section_of(place->row->kind);
    struct config *config = place->config;
    const char *name;
    json_t *value;

    int code = map_check(place->reader, place->object, place->key, place->row->kind);
    json_object_foreach((json_t *)(uintptr_t)place->value, name, value)
    {
        void *count = (char *)config + section->count;
        if (code == 0)
            code = read_item(
                config, place->reader, section, place->value, name,
                config_new(config, (char *)config + section->items, count, section->size));
    }
    return code;
}

/* A tariff under the name of a window is its factor. */
json_t *write_section(const struct setting_view *of)
{
    const struct config_section *section = section_of(of->row->kind);
    bool is_written = of->row->flags & SETTING_ALWAYS || section_item(section, of->base, 0);
    json_t *all = !is_written ? NULL : section->kind ? json_object() : json_array();
    const void *item;

    for (uint32_t i = 0; (item = section_item(section, of->base, i)); i++) {
        const struct event_tariff *tariff = item;
        json_t *object = keys_to_json(of->config, section->table, item);
        if (section->table == KEYS_TARIFF && strcmp(tariff->window, tariff->name) == 0)
            json_object_set(all, tariff->name, json_object_get(object, "factor"));
        else if (section->kind)
            json_object_set(all, section_name(section, item), object);
        else
            json_array_append(all, object);
        json_decref(object);
    }
    return all;
}

json_t *write_windows(const struct setting_view *of)
{
    json_t *map = NULL;

    for (uint32_t i = 0; i < of->config->window_count; i++) {
        const struct config_window *window = &of->config->windows[i];
        if (strchr(window->name, ' '))
            continue;
        map = map ? map : json_object();
        json_object_set_new(map, window->name, json_string(window->words));
    }
    return map;
}

/* ---- prices ---- */

/* Of a resource: its price, and its speeds. */
static struct event_price *claim_price(struct config *config, const char *resource)
{
    for (uint32_t i = 0; i < config->price_count; i++) {
        if (strcmp(config->prices[i].resource, resource) == 0)
            return &config->prices[i];
    }
    struct event_price *added = CONFIG_NEW(config, config->prices, config->price_count);
    added->resource = config_text(config, resource);
    return added;
}

static int read_speed(const struct reader *reader, const json_t *map, const char *name,
                      uint32_t *ret_milli)
{
    AUTO(json) json_t *value = plain_read(json_object_get(map, name));
    double speed = json_number_value(value);

    if (!value)
        return 0;
    if (!json_is_number(value) || speed < 0.001 || speed > 1000)
        return reader_fail(reader, -EINVAL, map, name,
                           "expected a speed relative to a T4, 0.001 to 1000");
    *ret_milli = (uint32_t)(speed * 1000 + 0.5);
    return 0;
}

/* {h100: 12} or {h100: {training: 12, inference: 2.3}} */
int read_speeds(const struct setting_place *place)
{
    static const char *const keys[] = { "training", "inference", NULL };
    const struct reader reader = reader_at(place->reader, "speeds");
    json_t *speeds = (json_t *)(uintptr_t)place->value, *value;
    char model[REQUEST_MODEL_SIZE];
    const char *name;

    if (!json_is_object(speeds) || json_object_size(speeds) > RESOURCES_MAX)
        return place_fail(place, -EINVAL, "expected a map of at most %d from model to speed",
                          RESOURCES_MAX);
    json_object_foreach(speeds, name, value)
    {
        struct reader inner = reader_at(&reader, "%.63s", name);
        int code = resource_read(&reader, speeds, name, model);
        if (code < 0)
            return code;
        struct event_price *added = claim_price(place->config, model);
        if (!json_is_object(value)) {
            code = read_speed(&reader, speeds, name, &added->training_milli);
            added->inference_milli = added->training_milli;
        } else {
            code = reader_check_keys(&inner, value, keys);
            if (code == 0)
                code = read_speed(&inner, value, "training", &added->training_milli);
            if (code == 0)
                code = read_speed(&inner, value, "inference", &added->inference_milli);
        }
        if (code < 0)
            return code;
    }
    return 0;
}

json_t *write_speeds(const struct setting_view *of)
{
    const struct config *config = of->config;
    json_t *map = NULL;

    for (uint32_t i = 0; i < config->price_count; i++) {
        const struct event_price *price = &config->prices[i];
        if (price->training_milli == 0 && price->inference_milli == 0)
            continue;
        json_t *speeds = json_object();
        if (price->training_milli > 0)
            json_object_set_new(speeds, "training", json_real(price->training_milli / 1e3));
        if (price->inference_milli > 0)
            json_object_set_new(speeds, "inference", json_real(price->inference_milli / 1e3));
        map = map ? map : json_object();
        json_object_set_new(map, price->resource, speeds);
    }
    return map;
}

/* {h100: 3.50, cpus: 0.02}: of one for an hour, of memory for a GiB. */
int read_prices(const struct setting_place *place)
{
    const struct reader reader = reader_at(place->reader, "prices");
    struct config *config = place->config;
    const json_t *prices = place->value;
    char resource[REQUEST_MODEL_SIZE];
    const char *name;
    json_t *value;

    if (!json_is_object(prices) || json_object_size(prices) > RESOURCES_MAX)
        return place_fail(place, -EINVAL, "expected a map of at most %d from resource to price",
                          RESOURCES_MAX);
    json_object_foreach((json_t *)(uintptr_t)prices, name, value)
    {
        AUTO(json) json_t *number = plain_read(value);
        double price = json_number_value(number);
        int code = resource_read(&reader, prices, name, resource);
        if (code == 0 && (!json_is_number(number) || price < 0 || price > 1000))
            code =
                reader_fail(&reader, -EINVAL, prices, name, "expected a price per hour, 0 to 1000");
        if (code < 0)
            return code;
        struct event_price *added = claim_price(config, resource);
        added->price_micro = (int64_t)(price * 1e6 + 0.5);
    }
    return 0;
}

json_t *write_prices(const struct setting_view *of)
{
    const struct config *config = of->config;
    json_t *map = NULL;

    for (uint32_t i = 0; i < config->price_count; i++) {
        const struct event_price *price = &config->prices[i];
        bool has_speed = price->training_milli > 0 || price->inference_milli > 0;
        if (has_speed && price->price_micro == 0)
            continue;
        map = map ? map : json_object();
        json_object_set_new(map, price->resource, json_real((double)price->price_micro / 1e6));
    }
    return map;
}

/* ---- queues ---- */

/* How deep a queue stands, or 0 when it is below itself or too deep. */
static uint32_t depth_of(const struct config *config, int64_t index)
{
    uint32_t depth = 0;

    for (int64_t at = index; at >= 0; at = config_find_queue(config, config->queues[at].parent)) {
        if (++depth > CONFIG_DEPTH_MAX)
            return 0;
    }
    return depth;
}

/* A queue of this map; parent: the one that has the map, or -1. objects: of the queues, for what
 * is looked at after all are known. */
static int add_queue(struct config *config, const struct reader *above, const json_t *map,
                     const char *name, int64_t parent, const json_t **objects)
{
    struct reader reader = reader_at(above, "queue %.63s", name);

    int code = 0;
    if (config_find_queue(config, name) >= 0)
        code = error_set(reader.err, -EEXIST, "named twice");
    else if (config->queue_count == CONFIG_QUEUES_MAX)
        code = error_set(reader.err, -E2BIG, "more than %d queues", CONFIG_QUEUES_MAX);
    else if (parent >= 0 && depth_of(config, parent) == CONFIG_DEPTH_MAX)
        code = error_set(reader.err, -E2BIG, "more than %d levels deep", CONFIG_DEPTH_MAX);
    if (code < 0)
        return reader_place_line(&reader, code, map, name);

    const json_t *value = json_object_get(map, name);
    struct event_queue *queue = CONFIG_NEW(config, config->queues, config->queue_count);
    objects[config->queue_count - 1] = value;
    queue->name = config_text(config, name);
    code = keys_read(config, &reader, value, KEYS_QUEUE, queue);
    if (code == 0 && parent >= 0 && queue->parent[0])
        code = reader_fail(&reader, -EINVAL, value, "parent", "'%s', but its parent is already %s",
                           queue->parent, config->queues[parent].name);
    if (parent >= 0 || strcmp(queue->parent, "root") == 0)
        queue->parent = parent >= 0 ? config->queues[parent].name : "";
    return code < 0 ? code : queue_check(config, &reader, value, queue);
}

/* The map at the top, then those of each queue: so a parent comes before its children. */
static int read_levels(struct config *config, const struct reader *reader, const json_t *document,
                       const json_t **objects)
{
    int code = 0;

    for (int64_t parent = -1; parent < config->queue_count && code == 0; parent++) {
        const json_t *object = parent < 0 ? document : objects[parent];
        const json_t *map = reader_get(object, "queues");
        const char *name;
        json_t *value;

        if (map)
            code = map_check(reader, object, "queues", SETTING_QUEUES);
        json_object_foreach((json_t *)(uintptr_t)map, name, value)
        {
            if (code == 0)
                code = add_queue(config, reader, map, name, parent, objects);
        }
    }
    return code;
}

/* Parents first; those of one depth keep their order. */
static int link_queues(struct config *config, const struct reader *above,
                       const json_t *const *objects)
{
    uint32_t depths[CONFIG_QUEUES_MAX], count = 0;
    struct event_queue *ordered =
        arena_take(&config->arena, config->queue_count + 1, sizeof(ordered[0]));

    for (uint32_t i = 0; i < config->queue_count; i++) {
        const char *parent = config->queues[i].parent;
        const json_t *object = objects[i];
        const struct reader reader = reader_at(above, "queue %.63s", config->queues[i].name);
        depths[i] = depth_of(config, i);
        if (parent[0] && config_find_queue(config, parent) < 0)
            return section_fail(SETTING_QUEUES, config, &reader, object, "parent", parent);
        if (depths[i] == 0)
            return reader_fail(&reader, -EINVAL, object, "parent",
                               "it is below itself, or more than %d levels deep", CONFIG_DEPTH_MAX);
    }
    for (uint32_t depth = 1; depth <= CONFIG_DEPTH_MAX; depth++) {
        for (uint32_t i = 0; i < config->queue_count; i++) {
            if (depths[i] == depth)
                ordered[count++] = config->queues[i];
        }
    }
    config->queues = ordered;
    return 0;
}

/* What the queues below one are guaranteed must not be more than its limit. */
static int check_guarantees(const struct config *config, const struct reader *reader,
                            const json_t *document, const struct event_queue *queue)
{
    char all[UNITS_TEXT_SIZE], limit[UNITS_TEXT_SIZE];
    const char *resource, *other;
    const struct quota *quota, *part;

    for (uint32_t i = 0; (quota = queue_quota_at(queue, i, &resource)); i++) {
        int64_t sum = 0;
        for (const struct event_queue *below = queue + 1;
             below < config->queues + config->queue_count; below++) {
            for (uint32_t k = 0; strcmp(below->parent, queue->name) == 0 &&
                                 (part = queue_quota_at(below, k, &other));
                 k++)
                sum += strcmp(other, resource) == 0 ? part->guarantee : 0;
        }
        if (quota->limit != QUOTA_NONE && sum > quota->limit)
            return reader_fail(
                reader, -EINVAL, document, NULL,
                "its queues are guaranteed %s %s together, more than its limit of %s",
                amount_spell(all, resource, sum), resource,
                amount_spell(limit, resource, quota->limit));
    }
    return 0;
}

/* Cells are of one queue with all below it. */
static int check_shape(const struct config *config, const struct reader *reader,
                       const json_t *document, const struct event_queue *queue)
{
    int32_t at = config_find_queue(config, queue->parent);

    for (; at >= 0; at = config_find_queue(config, config->queues[at].parent)) {
        if (queue->cells_count > 0 && config->queues[at].cells_count > 0)
            return reader_fail(
                reader, -EINVAL, document, NULL,
                "queue %s above it has a shape already; expected one of the two to have it",
                config->queues[at].name);
    }
    return 0;
}

/* A static pool's queue must be one. */
static int check_pool_queues(const struct config *config, const struct reader *above,
                             const json_t *document)
{
    for (uint32_t i = 0; i < config->pool_count; i++) {
        const struct event_pool *pool = &config->pools[i];
        struct reader reader = reader_at(above, "pool %.63s", pool->name);
        if (pool->queue[0] && config_find_queue(config, pool->queue) < 0)
            return section_fail(SETTING_QUEUES, config, &reader,
                                json_object_get(reader_get(document, "pools"), pool->name), "queue",
                                pool->queue);
    }
    return 0;
}

/* The windows that queues count their budgets by, each once. */
static void add_periods(struct config *config)
{
    for (enum period period = 0; period < PERIODS; period++) {
        const char *window = window_of_period(period);
        for (uint32_t i = 0; i < config->queue_count; i++) {
            const struct event_queue *queue = &config->queues[i];
            for (uint32_t k = 0; k < queue->budgets_count; k++) {
                if (strcmp(queue->budgets[k].window, window) == 0 &&
                    !config_find_window(config, window))
                    config_add_window(config, window, window);
            }
        }
    }
}

int read_queues(const struct setting_place *place)
{
    const struct reader *reader = place->reader;
    const json_t *document = place->object;
    struct config *config = place->config;
    const json_t *objects[CONFIG_QUEUES_MAX];

    int code = read_levels(config, reader, document, objects);
    if (code == 0)
        code = link_queues(config, reader, objects);
    for (uint32_t i = 0; i < config->queue_count && code == 0; i++) {
        const struct event_queue *queue = &config->queues[i];
        const struct reader inner = reader_at(reader, "queue %.63s", queue->name);
        code = check_shape(config, &inner, document, queue);
        if (code == 0)
            code = check_guarantees(config, &inner, document, queue);
    }
    add_periods(config);
    return code < 0 ? code : check_pool_queues(config, reader, document);
}
