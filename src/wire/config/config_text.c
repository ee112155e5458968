/* SPDX-License-Identifier: Apache-2.0 */
/* What is different between two configurations. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "wire/config/config_keys.h"

/* What is new, other or removed of one thing: "queue", "research", "guarantee 8 -> 12 gpus". */
struct change {
    const char *kind, *name;
    char *words;
};

struct changes {
    struct arena *arena; /* of names and values */
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

/* What differs, by name: "guarantee", "8 -> 12 gpus". */
static void compare_properties(const struct properties *from, const struct properties *to,
                               struct changes *changes)
{
    static const struct property none = { .value = "none", .unit = "" };

    for (size_t i = 0; i < to->items.count + from->items.count; i++) {
        bool is_gone = i >= to->items.count;
        const struct property *property =
            is_gone ? &from->items.items[i - to->items.count] : &to->items.items[i];
        const struct property *other = find_property(is_gone ? to : from, property->name);
        const struct property *old = is_gone ? property : other ? other : &none;
        const struct property *new = is_gone ? &none : property;
        struct text words = { 0 };
        if (strcmp(new->value, "none") == 0)
            text_printf(&words, "%s%s -> none", old->value, old->unit);
        else
            text_printf(&words, "%s -> %s%s", old->value, new->value, new->unit);
        if ((!is_gone || !other) && strcmp(old->value, new->value) != 0)
            add_change(changes, "setting", property->name, &words);
        text_release(&words);
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

/* What a line says of a thing that is told as a whole. */
static void say(const struct config *config, const struct config_section *section, const void *item,
                struct text *words)
{
    const struct device_type *device = item;
    const struct event_tariff *tariff = item;
    const struct node_type *node = item;
    char factor[UNITS_TEXT_SIZE];

    if (section->table == KEYS_NODE_TYPE)
        text_printf(words, "%" PRIu32 " gpus, at most %" PRIu32, node->gpus, node->most);
    else if (section->table == KEYS_DEVICE_TYPE)
        text_printf(words, "%" PRIu32 " of %s", device->count, device->model);
    else if (section->table == KEYS_RESERVATION)
        reservation_say(config, item, words);
    else if (section->table == KEYS_TARIFF)
        text_printf(words, "%s during %s", units_format_milli(factor, tariff->factor_milli),
                    times_words(config, tariff->window));
    else
        text_add(words, ((const struct config_window *)item)->words);
}

static void compare_items(const struct config *from, const struct config *to,
                          const struct config_section *section, const void *old, const void *now,
                          struct changes *changes)
{
    union {
        struct event_queue queue;
        struct event_pool pool;
        struct node_settings node;
    } usual; /* what a new one is compared with */
    struct changes parts = { .arena = changes->arena };
    struct properties before = { .arena = changes->arena }, after = before;
    AUTO_RELEASE(text) struct text was = { 0 }, is = { 0 };
    struct text words = { 0 };

    if (section->table == KEYS_QUEUE || section->table == KEYS_POOL ||
        section->table == KEYS_NODE) {
        memset(&usual, 0, sizeof(usual));
        keys_clear(section->table, &usual);
        keys_tell(from, section->table, old ? old : &usual, &before);
        keys_tell(to, section->table, now, &after);
        if (!old)
            describe_new(&before, &after, &words);
        else
            compare_properties(&before, &after, &parts);
        for (size_t i = 0; i < parts.items.count; i++) {
            const struct change *part = &parts.items.items[i];
            text_printf(&words, "%s%s %s", i > 0 ? ", " : "", part->name, part->words);
            free(part->words);
        }
        list_release(&parts.items);
        list_release(&before.items);
        list_release(&after.items);
    } else {
        bool is_type = section->table == KEYS_NODE_TYPE || section->table == KEYS_DEVICE_TYPE;
        say(to, section, now, &is);
        if (old)
            say(from, section, old, &was);
        if (!old)
            text_printf(&words, "new, %s", is.bytes);
        else if (is_type && memcmp(old, now, section->size) != 0)
            text_printf(&words, "changed, %s", is.bytes);
        else if (!is_type && strcmp(was.bytes, is.bytes) != 0)
            text_printf(&words, "%s -> %s", was.bytes, is.bytes);
    }
    add_change(changes, section->kind, section_name(section, now), &words);
}

/* The items of `to` that are new or changed, or (is_gone) those of `from` that are not there. */
static void diff_section(const struct config *from, const struct config *to, enum setting_kind kind,
                         bool is_gone, struct changes *changes)
{
    const struct config_section *section = section_of(kind);
    const void *item;

    for (uint32_t i = 0; (item = section_item(section, is_gone ? from : to, i)); i++) {
        const char *name = section_name(section, item);
        const void *other = section_find(kind, is_gone ? to : from, name);
        struct text words = { 0 };
        if (section->table == KEYS_TOP && strchr(name, ' '))
            continue; /* a window for one thing alone: that tells it */
        if (!is_gone)
            compare_items(from, to, section, other, item, changes);
        else if (!other)
            text_add(&words, name == item && section->table != KEYS_NODE ? "gone" : "removed");
        add_change(changes, section->kind, name, &words);
    }
}

static void tell_speed(const struct event_price *price, struct properties *ret)
{
    const uint32_t speeds[] = { price->training_milli, price->inference_milli };
    static const char *const names[] = { "training", "inference" };

    for (size_t i = 0; i < COUNT_OF(speeds); i++) {
        AUTO_FREE char *name = mem_printf("speed of %s, %s", price->resource, names[i]);
        AUTO_FREE char *speed = mem_printf("%.6g", speeds[i] / 1e3);
        if (speeds[i] > 0)
            property_add(ret, name, speed, "");
    }
}

static void tell_settings(const struct config *config, struct properties *ret)
{
    keys_tell(config, KEYS_SETTINGS, &config->settings, ret);
    property_add(ret, "timezone", config->timezone[0] ? config->timezone : "local", "");
    for (uint32_t i = 0; i < config->price_count; i++) {
        AUTO_FREE char *name = mem_printf("price of %s", config->prices[i].resource);
        AUTO_FREE char *price = mem_printf("%.6g", (double)config->prices[i].price_micro / 1e6);
        if (config->prices[i].price_micro > 0)
            property_add(ret, name, price, "");
        tell_speed(&config->prices[i], ret);
    }
}

static void diff_settings(const struct config *from, const struct config *to,
                          struct changes *changes)
{
    struct properties before = { .arena = changes->arena }, after = before;

    tell_settings(from, &before);
    tell_settings(to, &after);
    compare_properties(&before, &after, changes);
    list_release(&before.items);
    list_release(&after.items);
}

size_t config_diff(const struct config *from, const struct config *to, struct text *text)
{
    /* Kinds from SETTING_POOLS on; in capitals: what is gone. */
    static const char order[] = "bBaACcDdjJgefGEF";
    struct arena arena = { 0 };
    struct changes changes = { .arena = &arena };
    int width = 0;

    for (const char *at = order; *at; at++) {
        bool is_gone = *at < 'a';
        diff_section(from, to, SETTING_POOLS + (enum setting_kind)(*at - (is_gone ? 'A' : 'a')),
                     is_gone, &changes);
    }
    diff_settings(from, to, &changes);
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

/* Whether both have the same value. */
static bool is_same(const struct setting *row, const struct config *from, const struct config *to)
{
    const struct setting_view before = { from, row, &from->settings };
    const struct setting_view after = { to, row, &to->settings };
    json_t *one = setting_ops[row->kind].write(&before);
    json_t *other = setting_ops[row->kind].write(&after);
    bool is = one == other || (one && other && json_equal(one, other));

    json_decref(one);
    json_decref(other);
    return is;
}

void config_diff_at_start(const struct config *from, const struct config *to, struct text *text)
{
    struct setting_rows rows = keys_rows(KEYS_SETTINGS);

    for (size_t i = 0; i < rows.count; i++) {
        const struct setting *row = &rows.rows[i];
        if (row->flags & SETTING_AT_START && !is_same(row, from, to))
            text_printf(text, "%s: it takes effect when the daemon starts again\n", row->label);
    }
}
