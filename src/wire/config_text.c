/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "wire/config.h"

/* In thousandths, so that what is read back is the same. */
static json_t *milli_to_json(int64_t milli)
{
    if (milli % GPU_MILLI == 0)
        return json_integer(milli / GPU_MILLI);
    return json_real((double)milli / GPU_MILLI);
}

static json_t *strings_to_json(char *const *strings)
{
    json_t *list = json_array();

    for (; *strings; strings++)
        json_array_append_new(list, json_string(*strings));
    return list;
}

static void set_count(json_t *object, const char *key, int64_t count)
{
    if (count != CONFIG_NONE)
        json_object_set_new(object, key, json_integer(count));
}

static json_t *pool_to_json(const struct config_pool *pool)
{
    json_t *object = json_object();

    json_object_set_new(object, "type", json_string(pool->is_static ? "static" : "dynamic"));
    if (pool->queue[0])
        json_object_set_new(object, "queue", json_string(pool->queue));
    set_count(object, "gpus", pool->gpus);
    set_count(object, "min", pool->min);
    set_count(object, "max", pool->max);
    if (pool->model[0])
        json_object_set_new(object, "model", json_string(pool->model));
    if (pool->nodes)
        json_object_set_new(object, "nodes", strings_to_json(pool->nodes));
    if (pool->devices) {
        json_t *devices = json_array();
        for (size_t i = 0; i < pool->device_count; i++)
            json_array_append_new(devices, json_integer(pool->devices[i]));
        json_object_set_new(object, "devices", devices);
    }
    return object;
}

static json_t *queue_to_json(const struct config *config, const struct config_queue *queue)
{
    json_t *object = json_object();

    json_object_set_new(object, "weight", json_integer(queue->weight));
    if (queue->guarantee_milli > 0)
        json_object_set_new(object, "guarantee", milli_to_json(queue->guarantee_milli));
    if (queue->limit_milli != CONFIG_NONE)
        json_object_set_new(object, "limit", milli_to_json(queue->limit_milli));
    if (queue->parent >= 0)
        json_object_set_new(object, "parent", json_string(config->queues[queue->parent].name));
    return object;
}

/* Exactly, so that it reads back the same. */
static const char *duration_spell(char *buffer, usec_t duration)
{
    static const struct {
        usec_t unit;
        const char *name;
    } units[] = { { USEC_PER_DAY, "d" },
                  { USEC_PER_HOUR, "h" },
                  { USEC_PER_MIN, "m" },
                  { USEC_PER_SEC, "s" },
                  { 1, "us" } };
    size_t i = 0;

    if (duration == USEC_NEVER)
        return "unlimited";
    while (duration % units[i].unit != 0)
        i++;
    snprintf(buffer, UNITS_TEXT_SIZE, "%" PRId64 "%s", duration / units[i].unit, units[i].name);
    return buffer;
}

json_t *config_to_json(const struct config *config)
{
    json_t *document = json_object(), *pools = json_object(), *queues = json_object();
    char buffer[UNITS_TEXT_SIZE];

    for (size_t i = 0; i < config->pool_count; i++)
        json_object_set_new(pools, config->pools[i].name, pool_to_json(&config->pools[i]));
    for (size_t i = 0; i < config->queue_count; i++)
        json_object_set_new(queues, config->queues[i].name,
                            queue_to_json(config, &config->queues[i]));
    json_object_set_new(document, "pools", pools);
    json_object_set_new(document, "queues", queues);
    if (config->has_half_life)
        json_object_set_new(
            document, "fair_share",
            json_pack("{s:s}", "half_life", duration_spell(buffer, config->half_life)));
    if (config->has_placement)
        json_object_set_new(document, "placement",
                            json_string(config_placement_words[config->placement]));
    if (config->has_backfill)
        json_object_set_new(document, "backfill",
                            json_pack("{s:I}", "depth", (json_int_t)config->backfill_depth));
    if (config->has_order)
        json_object_set_new(document, "order", json_string(config_order_words[config->order]));
    if (config->has_predict)
        json_object_set_new(document, "predict", json_boolean(config->predict));
    return document;
}

/* What changes of one thing: "queue", "research", "guarantee 8 -> 12 gpus, weight 1 -> 2". */
struct change {
    const char *kind;
    const char *name;
    struct text words;
};

struct changes {
    LIST(struct change) items;
};

/* One property as text. */
struct property {
    const char *name;
    const char *unit;                  /* "" or " gpus" */
    char value[REQUEST_NAME_SIZE * 2]; /* "none" when there is none */
};

static struct property text_field(const char *name, const char *value)
{
    struct property field = { .name = name, .unit = "" };

    snprintf(field.value, sizeof(field.value), "%s", value[0] ? value : "none");
    return field;
}

static struct property gpus_field(const char *name, int64_t milli)
{
    char buffer[UNITS_TEXT_SIZE];
    struct property field =
        text_field(name, milli == CONFIG_NONE ? "" : units_format_milli(buffer, milli));

    field.unit = milli == GPU_MILLI ? " gpu" : " gpus";
    return field;
}

static struct property number_field(const char *name, int64_t number)
{
    struct property field = { .name = name, .unit = "" };

    snprintf(field.value, sizeof(field.value), "%" PRId64, number);
    return field;
}

enum { QUEUE_FIELDS = 4, POOL_FIELDS = 8, SETTING_FIELDS = 5 };

static void queue_fields(const struct config *config, const struct config_queue *queue,
                         struct property fields[QUEUE_FIELDS])
{
    fields[0] = number_field("weight", queue->weight);
    fields[1] = gpus_field("guarantee", queue->guarantee_milli);
    fields[2] = gpus_field("limit", queue->limit_milli);
    fields[3] =
        text_field("parent", queue->parent >= 0 ? config->queues[queue->parent].name : "root");
}

static void pool_fields(const struct config_pool *pool, struct property fields[POOL_FIELDS])
{
    AUTO_RELEASE(text) struct text nodes = { 0 };
    AUTO_RELEASE(text) struct text devices = { 0 };

    for (size_t i = 0; pool->nodes && pool->nodes[i]; i++)
        text_printf(&nodes, "%s%s", i > 0 ? " " : "", pool->nodes[i]);
    for (size_t i = 0; i < pool->device_count; i++)
        text_printf(&devices, "%s%" PRIu32, i > 0 ? " " : "", pool->devices[i]);
    fields[0] = text_field("type", pool->is_static ? "static" : "dynamic");
    fields[1] = text_field("queue", pool->queue);
    fields[2] =
        gpus_field("gpus", pool->gpus == CONFIG_NONE ? CONFIG_NONE : pool->gpus * GPU_MILLI);
    fields[2].unit = "";
    fields[3] = gpus_field("min", pool->min == CONFIG_NONE ? CONFIG_NONE : pool->min * GPU_MILLI);
    fields[4] = gpus_field("max", pool->max == CONFIG_NONE ? CONFIG_NONE : pool->max * GPU_MILLI);
    fields[5] = text_field("model", pool->model);
    fields[6] = text_field("nodes", text_string(&nodes));
    fields[7] = text_field("devices", text_string(&devices));
}

static void setting_fields(const struct config *config, struct property fields[SETTING_FIELDS])
{
    char buffer[UNITS_TEXT_SIZE];

    fields[0] = text_field("half_life", duration_spell(buffer, config->half_life));
    fields[1] = text_field("placement", config_placement_words[config->placement]);
    fields[2] = number_field("backfill", config->backfill_depth);
    fields[3] = text_field("order", config_order_words[config->order]);
    fields[4] = text_field("predict", config->predict ? "true" : "false");
}

/* "guarantee 8 -> 12 gpus, weight 1 -> 2", nothing when all are equal. */
static void compare_fields(const struct property *from, const struct property *to, size_t count,
                           struct text *words)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(from[i].value, to[i].value) == 0)
            continue;
        bool is_gone = strcmp(to[i].value, "none") == 0;
        text_printf(words, "%s%s %s%s -> %s%s", words->length > 0 ? ", " : "", to[i].name,
                    from[i].value, is_gone ? from[i].unit : "", to[i].value,
                    is_gone ? "" : to[i].unit);
    }
}

/* "new, weight 2, guarantee 4 gpus": the first field, and those that are not as usual. */
static void describe_new(const struct property *usual, const struct property *fields, size_t count,
                         struct text *words)
{
    text_add(words, "new");
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || strcmp(usual[i].value, fields[i].value) != 0)
            text_printf(words, ", %s %s%s", fields[i].name, fields[i].value, fields[i].unit);
    }
}

static struct change *add_change(struct changes *changes, const char *kind, const char *name)
{
    list_add(&changes->items, (struct change){ .kind = kind, .name = name });
    return &changes->items.items[changes->items.count - 1];
}

static void diff_queues(const struct config *from, const struct config *to, struct changes *changes)
{
    static const struct config_queue usual = { .parent = -1, .weight = 1, .limit_milli = -1 };
    struct property before[QUEUE_FIELDS], after[QUEUE_FIELDS];

    for (size_t i = 0; i < to->queue_count; i++) {
        const struct config_queue *queue = &to->queues[i];
        int32_t old = config_find_queue(from, queue->name);
        struct change *change = add_change(changes, "queue", queue->name);

        queue_fields(from, old >= 0 ? &from->queues[old] : &usual, before);
        queue_fields(to, queue, after);
        if (old >= 0)
            compare_fields(before, after, QUEUE_FIELDS, &change->words);
        else
            describe_new(before, after, QUEUE_FIELDS, &change->words);
    }
    for (size_t i = 0; i < from->queue_count; i++) {
        if (config_find_queue(to, from->queues[i].name) < 0)
            text_add(&add_change(changes, "queue", from->queues[i].name)->words, "removed");
    }
}

static void diff_pools(const struct config *from, const struct config *to, struct changes *changes)
{
    static const struct config_pool usual = { .gpus = -1, .min = -1, .max = -1 };
    struct property before[POOL_FIELDS], after[POOL_FIELDS];

    for (size_t i = 0; i < to->pool_count; i++) {
        const struct config_pool *pool = &to->pools[i];
        int32_t old = config_find_pool(from, pool->name);
        struct change *change = add_change(changes, "pool", pool->name);

        pool_fields(old >= 0 ? &from->pools[old] : &usual, before);
        pool_fields(pool, after);
        if (old >= 0)
            compare_fields(before, after, POOL_FIELDS, &change->words);
        else
            describe_new(before, after, POOL_FIELDS, &change->words);
    }
    for (size_t i = 0; i < from->pool_count; i++) {
        if (config_find_pool(to, from->pools[i].name) < 0)
            text_add(&add_change(changes, "pool", from->pools[i].name)->words, "removed");
    }
}

static void diff_settings(const struct config *from, const struct config *to,
                          struct changes *changes)
{
    struct property before[SETTING_FIELDS], after[SETTING_FIELDS];

    setting_fields(from, before);
    setting_fields(to, after);
    for (size_t i = 0; i < SETTING_FIELDS; i++) {
        if (strcmp(before[i].value, after[i].value) != 0)
            text_printf(&add_change(changes, "setting", before[i].name)->words, "%s -> %s",
                        before[i].value, after[i].value);
    }
}

size_t config_diff(const struct config *from, const struct config *to, struct text *text)
{
    struct changes changes = { 0 };
    size_t count = 0;
    int width = 0;

    diff_queues(from, to, &changes);
    diff_pools(from, to, &changes);
    diff_settings(from, to, &changes);
    for (size_t i = 0; i < changes.items.count; i++) {
        const struct change *change = &changes.items.items[i];
        int length = (int)(strlen(change->kind) + strlen(change->name)) + 1;
        if (change->words.length > 0 && length > width)
            width = length;
    }
    for (size_t i = 0; i < changes.items.count; i++) {
        struct change *change = &changes.items.items[i];
        if (change->words.length > 0) {
            text_printf(text, "%s %-*s  %s\n", change->kind, width - (int)strlen(change->kind) - 1,
                        change->name, change->words.bytes);
            count++;
        }
        text_release(&change->words);
    }
    list_release(&changes.items);
    return count;
}
