/* SPDX-License-Identifier: Apache-2.0 */
/* A configuration as a document, and what is different between two. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "wire/config/config_keys.h"

/* ---- a document ---- */

#define WRITE(key, member, count, table, is_needed)                                                \
    if (config->count > 0 || (is_needed)) {                                                        \
        json_t *map = json_object();                                                               \
        for (uint32_t i = 0; i < config->count; i++) {                                             \
            json_t *item = json_object();                                                          \
            keys_write(config, &(table), &config->member[i], item);                                \
            json_object_set_new(map, config->member[i].name, item);                                \
        }                                                                                          \
        json_object_set_new(document, key, map);                                                   \
    }

static void write_times(const struct config *config, json_t *document)
{
    json_t *windows = json_object(), *tariffs = json_object();

    if (config->timezone[0])
        json_object_set_new(document, "timezone", json_string(config->timezone));
    for (uint32_t i = 0; i < config->window_count; i++) {
        if (!strchr(config->windows[i].name, ' '))
            json_object_set_new(windows, config->windows[i].name,
                                json_string(config->windows[i].words));
    }
    for (uint32_t i = 0; i < config->tariff_count; i++) {
        const struct event_tariff *tariff = &config->tariffs[i];
        json_t *item = json_object();
        keys_write(config, &tariff_keys, tariff, item);
        if (strcmp(tariff->window, tariff->name) == 0) { /* under the name of a window: a number */
            json_t *factor = json_incref(json_object_get(item, "factor"));
            json_decref(item);
            item = factor;
        }
        json_object_set_new(tariffs, tariff->name, item);
    }
    if (json_object_size(windows) > 0)
        json_object_set(document, "windows", windows);
    if (config->tariff_count > 0)
        json_object_set(document, "tariffs", tariffs);
    json_decref(windows);
    json_decref(tariffs);
    WRITE("reservations", reservations, reservation_count, reservation_keys, false)
}

json_t *config_to_json(const struct config *config)
{
    const struct settings *settings = &config->settings;
    json_t *document = json_object(), *prices = json_object();

    WRITE("pools", pools, pool_count, pool_keys, true)
    WRITE("queues", queues, queue_count, queue_keys, true)
    for (uint32_t i = 0; i < config->price_count; i++)
        json_object_set_new(prices, config->prices[i].resource,
                            json_real((double)config->prices[i].price_micro / 1e6));
    if (config->price_count > 0)
        json_object_set(document, "prices", prices);
    json_decref(prices);
    WRITE("node_types", node_types, node_type_count, node_type_keys, false)
    WRITE("devices", device_types, device_type_count, device_type_keys, false)
    write_times(config, document);
    keys_write(config, &settings_keys, settings, document);
    /* Two whose defaults follow from other settings. */
    json_t *idle = json_object_get(document, "idle");
    if (!config->has_predict)
        json_object_del(document, "predict");
    if (settings->watch.idle_stop == 0)
        json_object_del(idle, "action");
    if (json_object_size(idle) == 0)
        json_object_del(document, "idle");
    return document;
}

/* ---- differences ---- */

/* Something that is told in a line: by its properties, or by words about all of it. */
struct thing {
    const char *kind, *name;
    const char *words;   /* NULL: by its properties */
    const char *changed; /* before the words of one that is another now; NULL: "WORDS -> WORDS" */
    const char *gone;
    const void *bytes; /* what is compared, where words do not say all */
    size_t size;
    struct properties properties;
};

struct things {
    struct arena *arena;
    LIST(struct thing) items;
};

/* What is new, other or removed of one thing: "queue", "research", "guarantee 8 -> 12 gpus". */
struct change {
    const char *kind, *name;
    char *words;
};

struct changes {
    LIST(struct change) items;
};

static void add_change(struct changes *changes, const char *kind, const char *name,
                       struct text *words)
{
    if (words->length > 0)
        list_add(&changes->items, (struct change){ kind, name, text_take(words) });
}

static const struct property *find_property(const struct properties *of, const char *name)
{
    for (size_t i = 0; i < of->items.count; i++) {
        if (strcmp(of->items.items[i].name, name) == 0)
            return &of->items.items[i];
    }
    return NULL;
}

static void compare_property(const struct property *from, const struct property *to,
                             struct text *words)
{
    const char *old = from ? from->value : "none", *new = to ? to->value : "none";
    const char *unit = to ? to->unit : from->unit;
    bool is_gone = strcmp(new, "none") == 0;

    if (is_gone && from)
        unit = from->unit;
    if (strcmp(old, new) != 0)
        text_printf(words, "%s%s %s%s -> %s%s", words->length > 0 ? ", " : "",
                    to ? to->name : from->name, old, is_gone ? unit : "", new, is_gone ? "" : unit);
}

/* "guarantee 8 -> 12 gpus, weight 1 -> 2", nothing when all are equal. */
static void compare_properties(const struct properties *from, const struct properties *to,
                               struct text *words)
{
    for (size_t i = 0; i < to->items.count; i++)
        compare_property(find_property(from, to->items.items[i].name), &to->items.items[i], words);
    for (size_t i = 0; i < from->items.count; i++) {
        if (!find_property(to, from->items.items[i].name))
            compare_property(&from->items.items[i], NULL, words);
    }
}

/* "new, weight 2, guarantee 4 gpus": the first, and those that are not as usual. */
static void describe_new(const struct properties *usual, const struct properties *now,
                         struct text *words)
{
    text_add(words, "new");
    for (size_t i = 0; i < now->items.count; i++) {
        const struct property *property = &now->items.items[i];
        const struct property *old = find_property(usual, property->name);
        if (i == 0 || strcmp(old ? old->value : "none", property->value) != 0)
            text_printf(words, ", %s %s%s", property->name, property->value, property->unit);
    }
}

static const struct thing *find_thing(const struct things *things, const struct thing *like)
{
    for (size_t i = 0; i < things->items.count; i++) {
        const struct thing *at = &things->items.items[i];
        if (strcmp(at->kind, like->kind) == 0 && strcmp(at->name, like->name) == 0)
            return at;
    }
    return NULL;
}

static void compare_thing(const struct thing *old, const struct thing *now,
                          const struct properties *usual, struct text *words)
{
    if (!now->words && old)
        compare_properties(&old->properties, &now->properties, words);
    else if (!now->words)
        describe_new(usual, &now->properties, words);
    else if (!old)
        text_printf(words, "new, %s", now->words);
    else if (now->changed && memcmp(old->bytes, now->bytes, now->size) != 0)
        text_printf(words, "%s, %s", now->changed, now->words);
    else if (!now->changed && strcmp(old->words, now->words) != 0)
        text_printf(words, "%s -> %s", old->words, now->words);
}

static void diff_now(const struct things *from, const struct things *to,
                     const struct properties *usual, struct changes *changes)
{
    for (size_t i = 0; i < to->items.count; i++) {
        const struct thing *now = &to->items.items[i];
        struct text words = { 0 };
        compare_thing(find_thing(from, now), now, usual, &words);
        add_change(changes, now->kind, now->name, &words);
    }
}

static void diff_gone(const struct things *from, const struct things *to, struct changes *changes)
{
    for (size_t i = 0; i < from->items.count; i++) {
        const struct thing *old = &from->items.items[i];
        struct text words = { 0 };
        if (!find_thing(to, old))
            text_add(&words, old->gone);
        add_change(changes, old->kind, old->name, &words);
    }
}

static struct thing *add_thing(struct things *things, const char *kind, const char *name,
                               const char *gone)
{
    list_add(&things->items, (struct thing){ .kind = kind,
                                             .name = name,
                                             .gone = gone,
                                             .properties = { .arena = things->arena } });
    return &things->items.items[things->items.count - 1];
}

static void add_words(struct things *things, const char *kind, const char *name, const char *gone,
                      struct text *words)
{
    add_thing(things, kind, name, gone)->words =
        arena_string(things->arena, text_string(words), words->length);
    text_clear(words);
}

static void list_queues(const struct config *config, struct things *things)
{
    for (uint32_t i = 0; i < config->queue_count; i++)
        keys_tell(config, &queue_keys, &config->queues[i],
                  &add_thing(things, "queue", config->queues[i].name, "removed")->properties);
}

static void list_pools(const struct config *config, struct things *things)
{
    for (uint32_t i = 0; i < config->pool_count; i++)
        keys_tell(config, &pool_keys, &config->pools[i],
                  &add_thing(things, "pool", config->pools[i].name, "removed")->properties);
}

static void list_types(const struct config *config, struct things *things)
{
    AUTO_RELEASE(text) struct text words = { 0 };

    for (uint32_t i = 0; i < config->node_type_count; i++) {
        const struct node_type *type = &config->node_types[i];
        text_printf(&words, "%" PRIu32 " gpus, at most %" PRIu32, type->gpus, type->most);
        add_words(things, "node type", type->name, "gone", &words);
        struct thing *thing = &things->items.items[things->items.count - 1];
        *thing = (struct thing){ thing->kind, thing->name, thing->words,  "changed",
                                 "gone",      type,        sizeof(*type), { 0 } };
    }
}

static void list_devices(const struct config *config, struct things *things)
{
    AUTO_RELEASE(text) struct text words = { 0 };

    for (uint32_t i = 0; i < config->device_type_count; i++) {
        const struct device_type *type = &config->device_types[i];
        text_printf(&words, "%" PRIu32 " of %s", type->count, type->model);
        add_words(things, "device", type->name, "gone", &words);
        struct thing *thing = &things->items.items[things->items.count - 1];
        *thing = (struct thing){ thing->kind, thing->name, thing->words,  "changed",
                                 "gone",      type,        sizeof(*type), { 0 } };
    }
}

static void list_times(const struct config *config, struct things *things)
{
    AUTO_RELEASE(text) struct text words = { 0 };
    char factor[UNITS_TEXT_SIZE];

    for (uint32_t i = 0; i < config->window_count; i++) {
        text_add(&words, config->windows[i].words);
        if (!strchr(config->windows[i].name, ' '))
            add_words(things, "window", config->windows[i].name, "removed", &words);
        text_clear(&words);
    }
    for (uint32_t i = 0; i < config->tariff_count; i++) {
        const struct event_tariff *tariff = &config->tariffs[i];
        units_format_milli(factor, tariff->factor_milli);
        text_printf(&words, "%s during %s", factor, times_words(config, tariff->window));
        add_words(things, "tariff", tariff->name, "removed", &words);
    }
    for (uint32_t i = 0; i < config->reservation_count; i++) {
        reservation_say(config, &config->reservations[i], &words);
        add_words(things, "reservation", config->reservations[i].name, "removed", &words);
    }
}

static void tell_settings(const struct config *config, struct properties *ret)
{
    char buffer[UNITS_TEXT_SIZE];

    keys_tell(config, &settings_keys, &config->settings, ret);
    property_add(ret, "timezone", config->timezone[0] ? config->timezone : "local", "");
    for (uint32_t i = 0; i < config->price_count; i++) {
        AUTO_FREE char *name = mem_printf("price of %s", config->prices[i].resource);
        snprintf(buffer, sizeof(buffer), "%.6g", (double)config->prices[i].price_micro / 1e6);
        property_add(ret, name, buffer, "");
    }
}

/* A line each: those that were there, then those that were not. */
static void diff_settings(const struct config *from, const struct config *to, struct arena *arena,
                          struct changes *changes)
{
    struct properties before = { .arena = arena }, after = { .arena = arena };

    tell_settings(from, &before);
    tell_settings(to, &after);
    for (size_t i = 0; i < before.items.count + after.items.count; i++) {
        bool is_new = i >= before.items.count;
        const char *name =
            is_new ? after.items.items[i - before.items.count].name : before.items.items[i].name;
        const struct property *old = find_property(&before, name);
        const struct property *new = find_property(&after, name);
        const char *was = old ? old->value : "none", *is = new ? new->value : "none";
        struct text words = { 0 };
        if (!(is_new && old) && strcmp(was, is) != 0)
            text_printf(&words, "%s -> %s", was, is);
        add_change(changes, "setting", name, &words);
    }
    list_release(&before.items);
    list_release(&after.items);
}

static void things_clear(struct things *things)
{
    for (size_t i = 0; i < things->items.count; i++)
        list_release(&things->items.items[i].properties.items);
    list_release(&things->items);
    things->items = (__typeof__(things->items)){ 0 };
}

static void diff_things(const struct config *from, const struct config *to, struct arena *arena,
                        struct changes *changes)
{
    static const struct {
        void (*list)(const struct config *config, struct things *things);
        const struct setting_table *table; /* NULL: of words */
        size_t size;
        bool is_gone_first;
    } groups[] = { { list_queues, &queue_keys, sizeof(struct event_queue), false },
                   { list_pools, &pool_keys, sizeof(struct event_pool), false },
                   { list_types, NULL, 0, true },
                   { list_devices, NULL, 0, true },
                   { list_times, NULL, 0, false } };
    union {
        struct event_queue queue;
        struct event_pool pool;
    } item;

    for (size_t i = 0; i < COUNT_OF(groups); i++) {
        struct things before = { .arena = arena }, after = { .arena = arena };
        struct properties usual = { .arena = arena };
        memset(&item, 0, sizeof(item));
        if (groups[i].table) {
            item.queue.gpus = groups[i].size == sizeof(item.queue) ? QUOTA_OPEN : item.queue.gpus;
            keys_clear(groups[i].table, &item);
            keys_tell(to, groups[i].table, &item, &usual);
        }
        groups[i].list(from, &before);
        groups[i].list(to, &after);
        if (groups[i].is_gone_first)
            diff_gone(&before, &after, changes);
        diff_now(&before, &after, &usual, changes);
        if (!groups[i].is_gone_first)
            diff_gone(&before, &after, changes);
        list_release(&usual.items);
        things_clear(&before);
        things_clear(&after);
    }
}

size_t config_diff(const struct config *from, const struct config *to, struct text *text)
{
    struct changes changes = { 0 };
    struct arena arena = { 0 };
    int width = 0;

    diff_things(from, to, &arena, &changes);
    diff_settings(from, to, &arena, &changes);
    for (size_t i = 0; i < changes.items.count; i++) {
        const struct change *change = &changes.items.items[i];
        int length = (int)(strlen(change->kind) + strlen(change->name)) + 1;
        width = length > width ? length : width;
    }
    for (size_t i = 0; i < changes.items.count; i++) {
        const struct change *change = &changes.items.items[i];
        text_printf(text, "%s %-*s  %s\n", change->kind, width - (int)strlen(change->kind) - 1,
                    change->name, change->words);
        free(change->words);
    }
    size_t count = changes.items.count;
    list_release(&changes.items);
    arena_release(&arena);
    return count;
}
