/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/config/config_keys.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* ---- the tables ---- */

#define IN_PLACE_INT    0
#define IN_PLACE_UINT   0
#define IN_PLACE_SWITCH 0
#define IN_PLACE_CHARS  SETTING_IN_PLACE
#define ROW(table, owner, member, section, key, label, kind, flags, least, most, fallback, words,  \
            unit, example, sentence)                                                               \
    {                                                                                              \
        section, key, label, words, unit, example, sentence, least, most, fallback,                \
            offsetof(owner, member), sizeof(((owner *)0)->member), table, SETTING_##kind, flags    \
    }
#define SETTING(event_tag, world_tag, form, type, member, section, key, label, kind, flags, ...)   \
    ROW(KEYS_SETTINGS, struct settings, member, section, key, label, kind,                         \
        (flags) | IN_PLACE_##form, __VA_ARGS__),
#define RULE(tag, form, type, member, ...) SETTING(0, tag, form, type, watch.member, __VA_ARGS__)
#define NODE_TYPE(tag, form, type, member, key, kind, flags, ...)                                  \
    ROW(KEYS_NODE_TYPE, struct node_type, member, "", key, key, kind, (flags) | IN_PLACE_##form,   \
        __VA_ARGS__),
#define DEVICE_TYPE(tag, form, type, member, key, kind, flags, ...)                                \
    ROW(KEYS_DEVICE_TYPE, struct device_type, member, "", key, key, kind,                          \
        (flags) | IN_PLACE_##form, __VA_ARGS__),
#define NODE(tag, form, type, member, key, kind, flags, ...)                                       \
    ROW(KEYS_NODE, struct node_settings, member, "", key, key, kind, (flags) | IN_PLACE_##form,    \
        __VA_ARGS__),
#define KEY(table, member, key, ...)                                                               \
    ROW(KEYS_##table, struct OF_##table, member, "", key, key, __VA_ARGS__),
#define OF_POOL        event_pool
#define OF_QUEUE       event_queue
#define OF_CELL        cell_quota
#define OF_BUDGET      event_budget
#define OF_WINDOWED    event_pool_during
#define OF_TARIFF      event_tariff
#define OF_RESERVATION event_reservation
#define OF_SILENCE     config_silence
#define OF_TOP         config

/* Those of one table stand together. */
static const struct setting all_rows[] = {
#include "core/config.def"
};

struct setting_rows keys_rows(enum setting_table table)
{
    struct setting_rows found = { all_rows, 0 };

    for (size_t i = 0; i < COUNT_OF(all_rows); i++) {
        if (all_rows[i].table == table && found.count++ == 0)
            found.rows = &all_rows[i];
    }
    return found;
}

/* ---- members ---- */

int64_t setting_load(const struct setting *row, const void *base)
{
    return (int64_t)record_load((const char *)base + row->offset, row->size);
}

void setting_store(const struct setting *row, void *base, int64_t value)
{
    record_store((char *)base + row->offset, row->size, (uint64_t)value);
}

const char *setting_text(const struct setting *row, const void *base)
{
    const char *at = (const char *)base + row->offset, *text;

    if (row->flags & SETTING_IN_PLACE)
        return at;
    memcpy(&text, at, sizeof(text));
    return text ? text : "";
}

int setting_store_text(const struct setting_place *place, const char *text)
{
    char *at = (char *)place->base + place->row->offset;

    if (!(place->row->flags & SETTING_IN_PLACE)) {
        const char *own = config_text(place->config, text);
        memcpy(at, &own, sizeof(own));
        return 0;
    }
    if (strlen(text) >= place->row->size)
        return place_fail(place, -EINVAL, "longer than %d letters in all", place->row->size - 1);
    snprintf(at, place->row->size, "%s", text);
    return 0;
}

/* ---- reading ---- */

size_t keys_names(enum setting_table table, const char *section, const char *ret[KEYS_MAX])
{
    const struct setting_rows keys = keys_rows(table);
    size_t count = 0;

    for (size_t i = 0; i < keys.count && count < KEYS_MAX - 1; i++) {
        const struct setting *row = &keys.rows[i];
        bool is_outer = !section && row->section[0];
        const char *key = is_outer ? row->section : row->key;
        if (row->kind == SETTING_HIDDEN || (section && strcmp(row->section, section) != 0) ||
            (is_outer && count > 0 && strcmp(ret[count - 1], key) == 0))
            continue;
        ret[count++] = key;
    }
    ret[count] = NULL;
    return count;
}

void keys_clear(enum setting_table table, void *base)
{
    const struct setting_rows keys = keys_rows(table);
    static const char *const empty = "";

    for (size_t i = 0; i < keys.count; i++) {
        const struct setting *row = &keys.rows[i];
        bool is_text = row->kind >= SETTING_TEXT && row->kind <= SETTING_OWNER;
        if (is_text && !(row->flags & SETTING_IN_PLACE))
            memcpy((char *)base + row->offset, &empty, sizeof(empty));
        else if (row->fallback != 0)
            setting_store(row, base, row->fallback);
    }
}

static int read_row(struct setting_place *place)
{
    const struct setting *row = place->row;
    const struct setting_ops *ops = &place->config->ops[row->kind];

    place->value = reader_get(place->object, place->key);
    if ((row->flags & SETTING_NEEDED) && !place->value) {
        if (row->kind == SETTING_MILLI)
            return reader_fail(place->reader, -EINVAL, place->object, NULL,
                               "expected %s: %" PRId64 " to %" PRId64, row->key, row->least / 1000,
                               row->most / 1000);
        return reader_fail(place->reader, -EINVAL, place->object, NULL, "expected %s, like %s",
                           row->key, row->example);
    }
    return ops->read && (place->value || row->flags & SETTING_ANYWAY) ? ops->read(place) : 0;
}

int keys_read(struct config *config, const struct reader *reader, const json_t *object,
              enum setting_table table, void *base)
{
    const struct setting_rows keys = keys_rows(table);
    const char *names[KEYS_MAX], *section = "";
    int code = 0;

    if (table != KEYS_TOP && table != KEYS_SETTINGS) {
        keys_clear(table, base);
        keys_names(table, NULL, names);
        code = reader_check_keys(reader, object, names);
    }
    for (size_t i = 0; i < keys.count && code == 0; i++) {
        const struct setting *row = &keys.rows[i];
        const struct reader inner = reader_at(reader, "%s", row->section);
        const json_t *map = row->section[0] ? reader_get(object, row->section) : NULL;
        struct setting_place place = { config, reader, object, row->key, NULL, row, base };
        if (map && !json_is_object(map) && row->flags & SETTING_SHORT)
            place.key = row->section;
        else if (row->section[0]) {
            place.reader = &inner;
            place.object = map;
            keys_names(table, row->section, names);
            if (map && strcmp(row->section, section) != 0)
                code = reader_check_keys(&inner, map, names);
        }
        section = row->section;
        if (code == 0)
            code = read_row(&place);
    }
    return code;
}

/* ---- writing ---- */

json_t *keys_to_json(const struct config *config, enum setting_table table, const void *base)
{
    const struct setting_rows keys = keys_rows(table);
    json_t *object = json_object();

    for (size_t i = 0; i < keys.count; i++) {
        const struct setting *row = &keys.rows[i];
        const struct setting_view view = { config, row, base };
        kind_write_fn *write = config->ops[row->kind].write;
        bool is_default = row->kind < SETTING_TEXT && setting_load(row, base) == row->fallback;
        bool is_written = write && (row->flags & SETTING_ALWAYS || !is_default);
        json_t *value = is_written ? write(&view) : NULL;
        if (value)
            json_object_set_new(row->section[0] ? map_below(object, row->section) : object,
                                row->key, value);
    }
    return object;
}

void keys_tell(const struct config *config, enum setting_table table, const void *base,
               struct properties *ret)
{
    const struct setting_rows keys = keys_rows(table);

    for (size_t i = 0; i < keys.count; i++) {
        const struct setting_view view = { config, &keys.rows[i], base };
        if (config->ops[view.row->kind].tell)
            config->ops[view.row->kind].tell(&view, ret);
    }
}

void property_add(struct properties *ret, const char *name, const char *value, const char *unit)
{
    const char *own = arena_string(ret->arena, name, strlen(name));
    const char *told = value[0] ? arena_string(ret->arena, value, strlen(value)) : "none";

    list_add(&ret->items, (struct property){ own, told, unit });
}

const char *amount_spell(char *buffer, const char *resource, int64_t amount)
{
    if (strcmp(resource, "memory") != 0)
        return units_format_milli(buffer, amount);
    snprintf(buffer, UNITS_TEXT_SIZE, "%" PRId64 "%s", amount % 1024 == 0 ? amount / 1024 : amount,
             amount % 1024 == 0 ? "G" : "M");
    return buffer;
}

void property_add_amount(struct properties *ret, const char *name, const char *resource,
                         int64_t amount)
{
    char buffer[UNITS_TEXT_SIZE];
    const char *value = amount == QUOTA_NONE ? "" : amount_spell(buffer, resource, amount);
    bool is_gpus = strcmp(resource, "gpus") == 0;
    AUTO_FREE char *full =
        mem_printf("%s%s%s", name, is_gpus ? "" : " of ", is_gpus ? "" : resource);

    property_add(ret, full, value, !is_gpus ? "" : amount == GPU_MILLI ? " gpu" : " gpus");
}

/* ---- small things ---- */

const char *duration_spell(char *buffer, usec_t duration)
{
    static const usec_t units[] = { USEC_PER_DAY, USEC_PER_HOUR, USEC_PER_MIN, USEC_PER_SEC, 1 };
    static const char *const names[] = { "d", "h", "m", "s", "us" };
    size_t i = 0;

    if (duration == USEC_NEVER)
        return "unlimited";
    while (duration % units[i] != 0)
        i++;
    snprintf(buffer, UNITS_TEXT_SIZE, "%" PRId64 "%s", duration / units[i], names[i]);
    return buffer;
}

json_t *map_below(json_t *map, const char *key)
{
    if (!json_object_get(map, key))
        json_object_set_new(map, key, json_object());
    return json_object_get(map, key);
}

json_t *decimal_to_json(int64_t amount, int64_t unit)
{
    return amount % unit == 0 ? json_integer(amount / unit)
                              : json_real((double)amount / (double)unit);
}
