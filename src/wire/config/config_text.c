/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "wire/config/config.h"
#include "wire/config/config_watch.h"

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
    if (pool->mig != POOL_MIG_ANY)
        json_object_set_new(object, "mig", json_string(pool->mig == POOL_MIG_ON ? "on" : "off"));
    config_labels_to_json(pool->labels, object);
    config_times_pool_to_json(pool, object);
    return object;
}

static json_t *queue_to_json(const struct config *config, const struct config_queue *queue)
{
    json_t *object = json_object();

    json_object_set_new(object, "weight", json_integer(queue->weight));
    config_quota_to_json(queue, object);
    config_times_queue_to_json(queue, object);
    if (queue->parent >= 0)
        json_object_set_new(object, "parent", json_string(config->queues[queue->parent].name));
    return object;
}

const char *config_duration_spell(char *buffer, usec_t duration)
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

static json_t *prices_to_json(const struct config *config)
{
    json_t *prices = json_object();

    for (size_t i = 0; i < config->price_count; i++)
        json_object_set_new(prices, config->prices[i].resource,
                            json_real((double)config->prices[i].price_micro / 1e6));
    return prices;
}

static json_t *hours_to_json(int64_t time)
{
    if (time % USEC_PER_HOUR == 0)
        return json_integer(time / USEC_PER_HOUR);
    return json_real((double)time / (double)USEC_PER_HOUR);
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
    if (config->price_count > 0)
        json_object_set_new(document, "prices", prices_to_json(config));
    if (config->node_type_count > 0)
        json_object_set_new(document, "node_types",
                            config_types_to_json(config->node_types, config->node_type_count));
    if (config->device_type_count > 0)
        json_object_set_new(
            document, "devices",
            config_devices_to_json(config->device_types, config->device_type_count));
    config_times_to_json(config, document);
    if (config->has_half_life)
        json_object_set_new(
            document, "fair_share",
            json_pack("{s:s}", "half_life", config_duration_spell(buffer, config->half_life)));
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
    if (config->has_defrag)
        json_object_set_new(document, "defrag",
                            json_pack("{s:o}", "hours", hours_to_json(config->defrag_most)));
    config_watch_to_json(&config->watch, document);
    return document;
}

/* What changes of one thing: "queue", "research", "guarantee 8 -> 12 gpus, weight 1 -> 2". */
struct change {
    const char *kind;
    const char *name;                     /* "": own_name */
    char own_name[REQUEST_NAME_SIZE * 2]; /* of one that is not in the configuration */
    struct text words;
};

static const char *name_of(const struct change *change)
{
    return change->name[0] ? change->name : change->own_name;
}

struct changes {
    LIST(struct change) items;
};

/* One property as text. */
struct property {
    char name[REQUEST_NAME_SIZE * 2];
    char unit[REQUEST_MODEL_SIZE + 2]; /* "" or " gpus" */
    char value[WATCH_TEXT_SIZE];       /* "none" when there is none */
};

struct properties {
    LIST(struct property) items;
};

static struct property *add_field(struct properties *fields, const char *name, const char *value)
{
    struct property field = { .unit = "" };

    snprintf(field.name, sizeof(field.name), "%s", name);
    snprintf(field.value, sizeof(field.value), "%s", value[0] ? value : "none");
    list_add(&fields->items, field);
    return &fields->items.items[fields->items.count - 1];
}

static void add_gpus(struct properties *fields, const char *name, int64_t milli)
{
    char buffer[UNITS_TEXT_SIZE];
    struct property *field =
        add_field(fields, name, milli == CONFIG_NONE ? "" : units_format_milli(buffer, milli));

    snprintf(field->unit, sizeof(field->unit), "%s", milli == GPU_MILLI ? " gpu" : " gpus");
}

static void add_number(struct properties *fields, const char *name, int64_t number)
{
    char buffer[UNITS_TEXT_SIZE];

    snprintf(buffer, sizeof(buffer), "%" PRId64, number);
    add_field(fields, name, buffer);
}

static void add_amount(struct properties *fields, const char *name, const char *resource,
                       int64_t amount)
{
    char buffer[UNITS_TEXT_SIZE];

    if (strcmp(resource, "gpus") == 0) {
        add_gpus(fields, name, amount);
        return;
    }
    struct property *field = add_field(
        fields, name, amount == CONFIG_NONE ? "" : config_amount_spell(buffer, resource, amount));
    snprintf(field->name, sizeof(field->name), "%.60s of %s", name, resource);
}

static void add_quotas(struct properties *fields, const struct config_queue *queue)
{
    AUTO_RELEASE(text) struct text name = { 0 };
    char buffer[UNITS_TEXT_SIZE];

    for (size_t i = 0; i < queue->quota_count; i++) {
        const struct config_quota *quota = &queue->quotas[i];
        bool is_gpus = i == 0;
        if (is_gpus || quota->quota.guarantee > 0)
            add_amount(fields, "guarantee", quota->resource, quota->quota.guarantee);
        if (is_gpus || quota->quota.limit != QUOTA_NONE)
            add_amount(fields, "limit", quota->resource, quota->quota.limit);
        if (quota->quota.borrow != QUOTA_NONE)
            add_amount(fields, "borrow", quota->resource, quota->quota.borrow);
        if (quota->quota.lend != QUOTA_NONE)
            add_amount(fields, "lend", quota->resource, quota->quota.lend);
    }
    for (size_t i = 0; i < queue->subject_count; i++) {
        const struct config_subject *subject = &queue->subjects[i];
        text_clear(&name);
        text_printf(&name, "limit of %s%s", subject->kind == SUBJECT_GROUP ? "group " : "",
                    subject->kind == SUBJECT_EACH_USER ? "each user" : subject->name);
        add_amount(fields, name.bytes, subject->resource, subject->limit);
    }
    for (size_t i = 0; i < queue->cell_count; i++) {
        const struct cell_quota *cell = &queue->cells[i];
        text_clear(&name);
        text_printf(&name, "whole %.8s of %" PRIu32 " %.31s",
                    cell_level_name((enum cell_level)cell->level), cell->gpus, cell->model);
        add_number(fields, name.bytes, cell->count);
    }
    if (queue->min_runtime > 0)
        add_field(fields, "min_runtime", config_duration_spell(buffer, queue->min_runtime));
    if (queue->firm_within)
        add_field(fields, "above_guarantee", "preemptible");
}

static void add_during(struct properties *fields, const struct config_queue *queue)
{
    static const char *const names[] = { "guarantee", "limit", "borrow", "lend" };
    AUTO_RELEASE(text) struct text name = { 0 };

    for (size_t i = 0; i < queue->during_count; i++) {
        const struct config_during *during = &queue->during[i];
        const int64_t bounds[] = { during->quota.guarantee, during->quota.limit,
                                   during->quota.borrow, during->quota.lend };
        for (size_t k = 0; k < COUNT_OF(names); k++) {
            if (quota_part_of(&during->quota, (enum quota_bound)k) == ABSENT)
                continue;
            text_clear(&name);
            text_printf(&name, "%s during %s", names[k], during->window);
            if (bounds[k] == QUOTA_NONE)
                add_field(fields, name.bytes, "unbounded");
            else
                add_amount(fields, name.bytes, during->resource, bounds[k]);
        }
    }
}

static void add_budget(struct properties *fields, const char *name,
                       const struct config_budget *budget, int64_t unit)
{
    static const char *const words[] = { "", ", hard", ", hard: kill" };
    char buffer[UNITS_TEXT_SIZE * 2];

    if (budget->most == ACCOUNT_NO_BUDGET)
        return;
    snprintf(buffer, sizeof(buffer), "%.10g per %s%s", (double)budget->most / (double)unit,
             period_name(budget->period), words[budget->firmness]);
    add_field(fields, name, buffer);
}

static void queue_fields(const struct config *config, const struct config_queue *queue,
                         struct properties *fields)
{
    fields->items.count = 0;
    add_number(fields, "weight", queue->weight);
    add_quotas(fields, queue);
    add_during(fields, queue);
    add_budget(fields, "budget", &queue->budgets[ACCOUNT_MONEY], 1000000);
    add_budget(fields, "gpu_hours", &queue->budgets[ACCOUNT_GPU_TIME], USEC_PER_HOUR);
    add_field(fields, "parent", queue->parent >= 0 ? config->queues[queue->parent].name : "root");
}

static void pool_fields(const struct config_pool *pool, struct properties *fields)
{
    AUTO_RELEASE(text) struct text nodes = { 0 };
    AUTO_RELEASE(text) struct text devices = { 0 };

    for (size_t i = 0; pool->nodes && pool->nodes[i]; i++)
        text_printf(&nodes, "%s%s", i > 0 ? " " : "", pool->nodes[i]);
    for (size_t i = 0; i < pool->device_count; i++)
        text_printf(&devices, "%s%" PRIu32, i > 0 ? " " : "", pool->devices[i]);
    fields->items.count = 0;
    add_field(fields, "type", pool->is_static ? "static" : "dynamic");
    add_field(fields, "queue", pool->queue);
    add_gpus(fields, "gpus", pool->gpus == CONFIG_NONE ? CONFIG_NONE : pool->gpus * GPU_MILLI);
    fields->items.items[fields->items.count - 1].unit[0] = 0;
    add_gpus(fields, "min", pool->min == CONFIG_NONE ? CONFIG_NONE : pool->min * GPU_MILLI);
    add_gpus(fields, "max", pool->max == CONFIG_NONE ? CONFIG_NONE : pool->max * GPU_MILLI);
    for (size_t i = 0; i < pool->during_count; i++) {
        const struct config_pool_during *during = &pool->during[i];
        AUTO_RELEASE(text) struct text name = { 0 };
        text_printf(&name, "min during %s", during->window);
        if (during->min != CONFIG_NONE)
            add_gpus(fields, name.bytes, during->min * GPU_MILLI);
        memcpy(name.bytes, "max", 3);
        if (during->max != CONFIG_NONE)
            add_gpus(fields, name.bytes, during->max * GPU_MILLI);
    }
    add_field(fields, "model", pool->model);
    add_field(fields, "nodes", text_string(&nodes));
    add_field(fields, "devices", text_string(&devices));
    add_field(fields, "mig",
              pool->mig == POOL_MIG_ON    ? "on"
              : pool->mig == POOL_MIG_OFF ? "off"
                                          : "");
    add_field(fields, "labels", pool->labels);
}

static void watch_fields(const struct watch_rules *rules, struct properties *fields)
{
    char buffer[UNITS_TEXT_SIZE];

    add_field(fields, "idle warn",
              rules->idle_warn > 0 ? config_duration_spell(buffer, rules->idle_warn) : "never");
    add_field(fields, "idle stop",
              rules->idle_stop > 0 ? config_duration_spell(buffer, rules->idle_stop) : "never");
    add_field(fields, "idle action", idle_action_name(rules->idle_action));
    add_field(fields, "idle dry_run", rules->idle_dry_run ? "true" : "false");
    add_field(fields, "idle exempt", rules->idle_exempt);
    add_field(fields, "memory_grace",
              rules->memory_grace > 0 ? config_duration_spell(buffer, rules->memory_grace) : "1m");
    add_field(fields, "affinity", rules->cpus_anywhere ? "any" : "near");
    add_field(fields, "health jobs", sick_jobs_name(rules->sick_jobs));
    add_field(fields, "health before", rules->health_before);
    add_field(fields, "health after", rules->health_after);
    add_field(fields, "health timeout",
              rules->health_timeout > 0 ? config_duration_spell(buffer, rules->health_timeout)
                                        : "30s");
    add_field(fields, "alert command", rules->alert_command);
    add_field(fields, "alert webhook", rules->alert_webhook);
    add_field(fields, "alert mail", rules->alert_mail);
    add_field(fields, "alert mail_server", rules->alert_mail_server);
    add_field(fields, "alert owner_command", rules->alert_owner_command);
    add_field(fields, "alert owner_mail", rules->alert_owner_mail);
    add_field(fields, "alert silence", rules->alert_silence);
    add_field(fields, "alert repeat",
              rules->alert_repeat > 0 ? config_duration_spell(buffer, rules->alert_repeat) : "4h");
}

static void setting_fields(const struct config *config, struct properties *fields)
{
    AUTO_RELEASE(text) struct text name = { 0 };
    char buffer[UNITS_TEXT_SIZE];

    fields->items.count = 0;
    add_field(fields, "half_life", config_duration_spell(buffer, config->half_life));
    add_field(fields, "placement", config_placement_words[config->placement]);
    add_number(fields, "backfill", config->backfill_depth);
    add_field(fields, "order", config_order_words[config->order]);
    add_field(fields, "predict", config->predict ? "true" : "false");
    snprintf(buffer, sizeof(buffer), "%.6g", (double)config->defrag_most / (double)USEC_PER_HOUR);
    add_field(fields, "defrag hours", config->defrag_most > 0 ? buffer : "none");
    watch_fields(&config->watch, fields);
    add_field(fields, "timezone", config->timezone ? config->timezone : "local");
    for (size_t i = 0; i < config->price_count; i++) {
        text_clear(&name);
        text_printf(&name, "price of %s", config->prices[i].resource);
        snprintf(buffer, sizeof(buffer), "%.6g", (double)config->prices[i].price_micro / 1e6);
        add_field(fields, name.bytes, buffer);
    }
}

static bool has_field(const struct properties *fields, const char *name)
{
    for (size_t i = 0; i < fields->items.count; i++) {
        if (strcmp(fields->items.items[i].name, name) == 0)
            return true;
    }
    return false;
}

/* The property of that name; where there is none, one that says so. */
static struct property find_field(const struct properties *fields, const struct property *like)
{
    for (size_t i = 0; i < fields->items.count; i++) {
        if (strcmp(fields->items.items[i].name, like->name) == 0)
            return fields->items.items[i];
    }
    struct property none = *like;
    snprintf(none.value, sizeof(none.value), "none");
    return none;
}

static void compare_field(const struct property *from, const struct property *to,
                          struct text *words)
{
    bool is_gone = strcmp(to->value, "none") == 0;

    if (strcmp(from->value, to->value) != 0)
        text_printf(words, "%s%s %s%s -> %s%s", words->length > 0 ? ", " : "", to->name,
                    from->value, is_gone ? from->unit : "", to->value, is_gone ? "" : to->unit);
}

/* "guarantee 8 -> 12 gpus, weight 1 -> 2", nothing when all are equal. */
static void compare_fields(const struct properties *from, const struct properties *to,
                           struct text *words)
{
    for (size_t i = 0; i < to->items.count; i++) {
        struct property old = find_field(from, &to->items.items[i]);
        compare_field(&old, &to->items.items[i], words);
    }
    for (size_t i = 0; i < from->items.count; i++) {
        struct property none = find_field(to, &from->items.items[i]);
        if (!has_field(to, from->items.items[i].name))
            compare_field(&from->items.items[i], &none, words);
    }
}

/* "new, weight 2, guarantee 4 gpus": the first field, and those that are not as usual. */
static void describe_new(const struct properties *usual, const struct properties *fields,
                         struct text *words)
{
    text_add(words, "new");
    for (size_t i = 0; i < fields->items.count; i++) {
        const struct property *field = &fields->items.items[i];
        struct property old = find_field(usual, field);
        if (i == 0 || strcmp(old.value, field->value) != 0)
            text_printf(words, ", %s %s%s", field->name, field->value, field->unit);
    }
}

static struct change *add_change(struct changes *changes, const char *kind, const char *name)
{
    list_add(&changes->items, (struct change){ .kind = kind, .name = name });
    return &changes->items.items[changes->items.count - 1];
}

static void diff_queues(const struct config *from, const struct config *to, struct changes *changes)
{
    struct config_queue usual = { .parent = -1, .weight = 1 };
    struct properties before = { 0 }, after = { 0 };

    config_quota_init(&usual);
    for (size_t i = 0; i < to->queue_count; i++) {
        const struct config_queue *queue = &to->queues[i];
        int32_t old = config_find_queue(from, queue->name);
        struct change *change = add_change(changes, "queue", queue->name);

        queue_fields(from, old >= 0 ? &from->queues[old] : &usual, &before);
        queue_fields(to, queue, &after);
        if (old >= 0)
            compare_fields(&before, &after, &change->words);
        else
            describe_new(&before, &after, &change->words);
    }
    for (size_t i = 0; i < from->queue_count; i++) {
        if (config_find_queue(to, from->queues[i].name) < 0)
            text_add(&add_change(changes, "queue", from->queues[i].name)->words, "removed");
    }
    config_quota_release(&usual);
    list_release(&before.items);
    list_release(&after.items);
}

static void diff_pools(const struct config *from, const struct config *to, struct changes *changes)
{
    static const struct config_pool usual = { .gpus = -1, .min = -1, .max = -1 };
    struct properties before = { 0 }, after = { 0 };

    for (size_t i = 0; i < to->pool_count; i++) {
        const struct config_pool *pool = &to->pools[i];
        int32_t old = config_find_pool(from, pool->name);
        struct change *change = add_change(changes, "pool", pool->name);

        pool_fields(old >= 0 ? &from->pools[old] : &usual, &before);
        pool_fields(pool, &after);
        if (old >= 0)
            compare_fields(&before, &after, &change->words);
        else
            describe_new(&before, &after, &change->words);
    }
    for (size_t i = 0; i < from->pool_count; i++) {
        if (config_find_pool(to, from->pools[i].name) < 0)
            text_add(&add_change(changes, "pool", from->pools[i].name)->words, "removed");
    }
    list_release(&before.items);
    list_release(&after.items);
}

/* One line each. */
static void diff_settings(const struct config *from, const struct config *to,
                          struct changes *changes)
{
    struct properties before = { 0 }, after = { 0 };

    setting_fields(from, &before);
    setting_fields(to, &after);
    for (size_t i = 0; i < before.items.count + after.items.count; i++) {
        bool is_new = i >= before.items.count;
        const struct property *field =
            is_new ? &after.items.items[i - before.items.count] : &before.items.items[i];
        struct property old = find_field(&before, field), new = find_field(&after, field);
        if ((is_new && has_field(&before, field->name)) || strcmp(old.value, new.value) == 0)
            continue;
        struct change *change = add_change(changes, "setting", "");
        snprintf(change->own_name, sizeof(change->own_name), "%s", field->name);
        text_printf(&change->words, "%s -> %s", old.value, new.value);
    }
    list_release(&before.items);
    list_release(&after.items);
}

static const struct node_type *find_type(const struct config *config, const char *name)
{
    for (size_t i = 0; i < config->node_type_count; i++) {
        if (strcmp(config->node_types[i].name, name) == 0)
            return &config->node_types[i];
    }
    return NULL;
}

/* Things that are a line of words each. */
struct listed {
    const char *kind, *name;
    char *words;
};

struct listing {
    LIST(struct listed) items;
};

static void list_times(const struct config *config, struct listing *listing)
{
    for (size_t i = 0; i < config->window_count; i++)
        list_add(&listing->items, (struct listed){ "window", config->windows[i].name,
                                                   mem_string(config->windows[i].words) });
    for (size_t i = 0; i < config->tariff_count; i++) {
        const struct config_tariff *tariff = &config->tariffs[i];
        char factor[UNITS_TEXT_SIZE];
        units_format_milli(factor, tariff->factor_milli);
        list_add(&listing->items, (struct listed){ "tariff", tariff->name,
                                                   mem_printf("%s during %s", factor,
                                                              config_when_words(&tariff->when)) });
    }
    for (size_t i = 0; i < config->reservation_count; i++) {
        struct text words = { 0 };
        config_reservation_say(&config->reservations[i], &words);
        list_add(&listing->items,
                 (struct listed){ "reservation", config->reservations[i].name, text_take(&words) });
    }
}

static const struct listed *find_listed(const struct listing *listing, const struct listed *like)
{
    for (size_t i = 0; i < listing->items.count; i++) {
        const struct listed *at = &listing->items.items[i];
        if (strcmp(at->kind, like->kind) == 0 && strcmp(at->name, like->name) == 0)
            return at;
    }
    return NULL;
}

static void diff_types(const struct config *from, const struct config *to, struct changes *changes)
{
    for (size_t i = 0; i < from->node_type_count; i++) {
        if (!find_type(to, from->node_types[i].name))
            text_add(&add_change(changes, "node type", from->node_types[i].name)->words, "gone");
    }
    for (size_t i = 0; i < to->node_type_count; i++) {
        const struct node_type *now = &to->node_types[i], *old = find_type(from, now->name);
        if (!old || memcmp(old, now, sizeof(*now)) != 0)
            text_printf(&add_change(changes, "node type", now->name)->words,
                        "%s, %" PRIu32 " gpus, at most %" PRIu32, old ? "changed" : "new",
                        now->gpus, now->most);
    }
}

static const struct device_type *find_device(const struct config *config, const char *name)
{
    for (size_t i = 0; i < config->device_type_count; i++) {
        if (strcmp(config->device_types[i].name, name) == 0)
            return &config->device_types[i];
    }
    return NULL;
}

static void diff_devices(const struct config *from, const struct config *to,
                         struct changes *changes)
{
    for (size_t i = 0; i < from->device_type_count; i++) {
        if (!find_device(to, from->device_types[i].name))
            text_add(&add_change(changes, "device", from->device_types[i].name)->words, "gone");
    }
    for (size_t i = 0; i < to->device_type_count; i++) {
        const struct device_type *now = &to->device_types[i], *old = find_device(from, now->name);
        if (!old || memcmp(old, now, sizeof(*now)) != 0)
            text_printf(&add_change(changes, "device", now->name)->words, "%s, %" PRIu32 " of %s",
                        old ? "changed" : "new", now->count, now->model);
    }
}

static void listing_release(struct listing *listing)
{
    for (size_t i = 0; i < listing->items.count; i++)
        free(listing->items.items[i].words);
    list_release(&listing->items);
}

static void diff_times(const struct config *from, const struct config *to, struct changes *changes)
{
    struct listing before = { 0 }, after = { 0 };

    list_times(from, &before);
    list_times(to, &after);
    for (size_t i = 0; i < after.items.count; i++) {
        const struct listed *now = &after.items.items[i], *old = find_listed(&before, now);
        struct change *change = add_change(changes, now->kind, now->name);
        if (!old)
            text_printf(&change->words, "new, %s", now->words);
        else if (strcmp(old->words, now->words) != 0)
            text_printf(&change->words, "%s -> %s", old->words, now->words);
    }
    for (size_t i = 0; i < before.items.count; i++) {
        const struct listed *old = &before.items.items[i];
        if (!find_listed(&after, old))
            text_add(&add_change(changes, old->kind, old->name)->words, "removed");
    }
    listing_release(&before);
    listing_release(&after);
}

size_t config_diff(const struct config *from, const struct config *to, struct text *text)
{
    struct changes changes = { 0 };
    size_t count = 0;
    int width = 0;

    diff_queues(from, to, &changes);
    diff_pools(from, to, &changes);
    diff_types(from, to, &changes);
    diff_devices(from, to, &changes);
    diff_times(from, to, &changes);
    diff_settings(from, to, &changes);
    for (size_t i = 0; i < changes.items.count; i++) {
        const struct change *change = &changes.items.items[i];
        int length = (int)(strlen(change->kind) + strlen(name_of(change))) + 1;
        if (change->words.length > 0 && length > width)
            width = length;
    }
    for (size_t i = 0; i < changes.items.count; i++) {
        struct change *change = &changes.items.items[i];
        if (change->words.length > 0) {
            text_printf(text, "%s %-*s  %s\n", change->kind, width - (int)strlen(change->kind) - 1,
                        name_of(change), change->words.bytes);
            count++;
        }
        text_release(&change->words);
    }
    list_release(&changes.items);
    return count;
}
