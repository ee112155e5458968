/* SPDX-License-Identifier: Apache-2.0 */
/* A configuration as a document, and what is different between two. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "wire/config/config_keys.h"

/* ---- a document ---- */

static void write_section(const struct config *config, const struct config_section *section,
                          json_t *document)
{
    json_t *map = json_object();
    const void *item;

    for (uint32_t i = 0; (item = section_item(section, config, i)); i++) {
        json_t *object = json_object();
        keys_write(config, section->table, item, object);
        json_object_set_new(map, section_name(section, item), object);
    }
    if (json_object_size(map) > 0 || section->table == KEYS_POOL || section->table == KEYS_QUEUE)
        json_object_set(document, section->key, map);
    json_decref(map);
}

/* A tariff under the name of a window is a number. */
static void shorten_tariffs(const struct config *config, json_t *tariffs)
{
    for (uint32_t i = 0; i < config->tariff_count; i++) {
        const struct event_tariff *tariff = &config->tariffs[i];
        json_t *item = json_object_get(tariffs, tariff->name);
        if (strcmp(tariff->window, tariff->name) == 0)
            json_object_set(tariffs, tariff->name, json_object_get(item, "factor"));
    }
}

static void write_windows(const struct config *config, json_t *document)
{
    json_t *windows = json_object();

    if (config->timezone[0])
        json_object_set_new(document, "timezone", json_string(config->timezone));
    for (uint32_t i = 0; i < config->window_count; i++) {
        if (!strchr(config->windows[i].name, ' '))
            json_object_set_new(windows, config->windows[i].name,
                                json_string(config->windows[i].words));
    }
    if (json_object_size(windows) > 0)
        json_object_set(document, "windows", windows);
    json_decref(windows);
}

static void write_prices(const struct config *config, json_t *document)
{
    json_t *prices = json_object();

    for (uint32_t i = 0; i < config->price_count; i++)
        json_object_set_new(prices, config->prices[i].resource,
                            json_real((double)config->prices[i].price_micro / 1e6));
    if (config->price_count > 0)
        json_object_set(document, "prices", prices);
    json_decref(prices);
}

json_t *config_to_json(const struct config *config)
{
    const struct settings *settings = &config->settings;
    json_t *document = json_object();

    for (size_t i = 0; i < CONFIG_SECTIONS; i++) {
        if (config_sections[i].table == KEYS_TARIFF)
            write_windows(config, document);
        write_section(config, &config_sections[i], document);
        if (config_sections[i].table == KEYS_QUEUE)
            write_prices(config, document);
    }
    shorten_tariffs(config, json_object_get(document, "tariffs"));
    keys_write(config, KEYS_SETTINGS, settings, document);
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

/* What a line says of a machine or a device; all of it counts. */
static void say_type(const struct config_section *section, const void *item, struct text *words)
{
    const struct device_type *device = item;
    const struct node_type *node = item;

    if (section->table == KEYS_NODE_TYPE)
        text_printf(words, "%" PRIu32 " gpus, at most %" PRIu32, node->gpus, node->most);
    else
        text_printf(words, "%" PRIu32 " of %s", device->count, device->model);
}

static void say_times(const struct config *config, const struct config_section *section,
                      const void *item, struct text *words)
{
    const struct event_tariff *tariff = item;
    char factor[UNITS_TEXT_SIZE];

    if (section->table == KEYS_RESERVATION)
        reservation_say(config, item, words);
    else
        text_printf(words, "%s during %s", units_format_milli(factor, tariff->factor_milli),
                    times_words(config, tariff->window));
}

static void add_words(struct things *things, struct thing thing, struct text *words)
{
    thing.words = arena_string(things->arena, text_string(words), words->length);
    list_add(&things->items, thing);
    text_clear(words);
}

static void list_section(const struct config *config, const struct config_section *section,
                         struct things *things)
{
    AUTO_RELEASE(text) struct text words = { 0 };
    const void *item;

    for (uint32_t i = 0; (item = section_item(section, config, i)); i++) {
        struct thing thing = { .kind = section->kind,
                               .name = section_name(section, item),
                               .gone = "removed",
                               .properties = { .arena = things->arena } };
        if (section->table == KEYS_POOL || section->table == KEYS_QUEUE) {
            keys_tell(config, section->table, item, &thing.properties);
            list_add(&things->items, thing);
        } else if (section->table == KEYS_NODE_TYPE || section->table == KEYS_DEVICE_TYPE) {
            thing.changed = "changed";
            thing.gone = "gone";
            thing.bytes = item;
            thing.size = section->size;
            say_type(section, item, &words);
            add_words(things, thing, &words);
        } else {
            say_times(config, section, item, &words);
            add_words(things, thing, &words);
        }
    }
}

static void list_windows(const struct config *config, struct things *things)
{
    for (uint32_t i = 0; i < config->window_count; i++) {
        if (!strchr(config->windows[i].name, ' '))
            list_add(&things->items, (struct thing){ .kind = "window",
                                                     .name = config->windows[i].name,
                                                     .words = config->windows[i].words,
                                                     .gone = "removed" });
    }
}

static void tell_settings(const struct config *config, struct properties *ret)
{
    char buffer[UNITS_TEXT_SIZE];

    keys_tell(config, KEYS_SETTINGS, &config->settings, ret);
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

/* What a new queue or pool is compared with. */
static void tell_usual(const struct config *config, const struct config_section *section,
                       struct properties *ret)
{
    union {
        struct event_queue queue;
        struct event_pool pool;
    } item;

    memset(&item, 0, sizeof(item));
    if (section->table == KEYS_QUEUE)
        item.queue.gpus = QUOTA_OPEN;
    keys_clear(section->table, &item);
    keys_tell(config, section->table, &item, ret);
}

static void diff_group(const struct config *from, const struct config *to, const char *tables,
                       struct arena *arena, struct changes *changes)
{
    struct things before = { .arena = arena }, after = { .arena = arena };
    struct properties usual = { .arena = arena };
    bool is_of_types = false;

    for (; *tables; tables++) {
        const struct config_section *section = &config_sections[*tables - '0'];
        if (section->table == KEYS_TARIFF) {
            list_windows(from, &before);
            list_windows(to, &after);
        } else if (section->table == KEYS_QUEUE || section->table == KEYS_POOL)
            tell_usual(to, section, &usual);
        is_of_types = section->table == KEYS_NODE_TYPE || section->table == KEYS_DEVICE_TYPE;
        list_section(from, section, &before);
        list_section(to, section, &after);
    }
    if (is_of_types)
        diff_gone(&before, &after, changes);
    diff_now(&before, &after, &usual, changes);
    if (!is_of_types)
        diff_gone(&before, &after, changes);
    list_release(&usual.items);
    things_clear(&before);
    things_clear(&after);
}

size_t config_diff(const struct config *from, const struct config *to, struct text *text)
{
    static const char *const groups[] = { "1", "0", "2", "3", "45" }; /* of config_sections */
    struct changes changes = { 0 };
    struct arena arena = { 0 };
    int width = 0;

    for (size_t i = 0; i < COUNT_OF(groups); i++)
        diff_group(from, to, groups[i], &arena, &changes);
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
