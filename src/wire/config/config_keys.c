/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/config/config_keys.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* ---- the tables ---- */

#define OFFSET(owner, member) offsetof(owner, member), sizeof(((owner *)0)->member)
#define IN_PLACE_INT          0
#define IN_PLACE_UINT         0
#define IN_PLACE_CHARS        SETTING_IN_PLACE
#define ROW(owner, member, section, key, label, kind, flags, least, most, fallback, words, unit,   \
            example, sentence)                                                                     \
    { section,                                                                                     \
      key,                                                                                         \
      label,                                                                                       \
      words,                                                                                       \
      unit,                                                                                        \
      example,                                                                                     \
      sentence,                                                                                    \
      least,                                                                                       \
      most,                                                                                        \
      fallback,                                                                                    \
      OFFSET(owner, member),                                                                       \
      SETTING_##kind,                                                                              \
      flags },
#define TABLE(name, rows) const struct setting_table name = { rows, COUNT_OF(rows) }

static const struct setting settings_rows[] = {
#define SETTING(event_tag, world_tag, form, type, member, section, key, label, kind, flags, ...)   \
    ROW(struct settings, member, section, key, label, kind, (flags) | IN_PLACE_##form, __VA_ARGS__)
#define RULE(tag, form, type, member, section, key, label, kind, flags, ...)                       \
    ROW(struct settings, watch.member, section, key, label, kind, (flags) | IN_PLACE_##form,       \
        __VA_ARGS__)
#include "core/config.def"
};
TABLE(settings_keys, settings_rows);

static const struct setting node_type_rows[] = {
#define NODE_TYPE(tag, form, type, member, key, kind, flags, ...)                                  \
    ROW(struct node_type, member, "", key, key, kind, (flags) | IN_PLACE_##form, __VA_ARGS__)
#include "core/config.def"
};
TABLE(node_type_keys, node_type_rows);

static const struct setting device_type_rows[] = {
#define DEVICE_TYPE(tag, form, type, member, key, kind, flags, ...)                                \
    ROW(struct device_type, member, "", key, key, kind, (flags) | IN_PLACE_##form, __VA_ARGS__)
#include "core/config.def"
};
TABLE(device_type_keys, device_type_rows);

static const struct setting pool_rows[] = {
#define POOL(member, key, ...) ROW(struct event_pool, member, "", key, key, __VA_ARGS__)
#include "core/config.def"
};
TABLE(pool_keys, pool_rows);

static const struct setting windowed_rows[] = {
#define WINDOWED(member, key, ...) ROW(struct event_pool_during, member, "", key, key, __VA_ARGS__)
#include "core/config.def"
};
TABLE(windowed_keys, windowed_rows);

static const struct setting queue_rows[] = {
#define QUEUE(member, key, ...) ROW(struct event_queue, member, "", key, key, __VA_ARGS__)
#include "core/config.def"
};
TABLE(queue_keys, queue_rows);

static const struct setting cell_rows[] = {
#define CELL(member, key, ...) ROW(struct cell_quota, member, "", key, key, __VA_ARGS__)
#include "core/config.def"
};
TABLE(cell_keys, cell_rows);

static const struct setting budget_rows[] = {
#define BUDGET(member, key, ...) ROW(struct event_budget, member, "", key, key, __VA_ARGS__)
#include "core/config.def"
};
TABLE(budget_keys, budget_rows);

static const struct setting tariff_rows[] = {
#define TARIFF(member, key, ...) ROW(struct event_tariff, member, "", key, key, __VA_ARGS__)
#include "core/config.def"
};
TABLE(tariff_keys, tariff_rows);

static const struct setting reservation_rows[] = {
#define RESERVATION(member, key, ...)                                                              \
    ROW(struct event_reservation, member, "", key, key, __VA_ARGS__)
#include "core/config.def"
};
TABLE(reservation_keys, reservation_rows);

static const struct setting silence_rows[] = {
#define SILENCE(member, key, ...) ROW(struct config_silence, member, "", key, key, __VA_ARGS__)
#include "core/config.def"
};
TABLE(silence_keys, silence_rows);

static const struct setting top_rows[] = {
#define TOP(member, key, ...) ROW(struct config_window, member, "", key, key, __VA_ARGS__)
#include "core/config.def"
};
TABLE(top_keys, top_rows);

/* ---- reading ---- */

/* The key under which a row stands in the map that it is read from. */
static const char *outer_key(const struct setting *row)
{
    return row->section[0] ? row->section : row->key;
}

void keys_names(const struct setting_table *table, const char *ret[KEYS_MAX])
{
    size_t count = 0;

    for (size_t i = 0; i < table->count && count < KEYS_MAX - 1; i++) {
        const struct setting *row = &table->rows[i];
        if (row->kind == SETTING_HIDDEN)
            continue;
        if (count == 0 || strcmp(ret[count - 1], outer_key(row)) != 0)
            ret[count++] = outer_key(row);
    }
    ret[count] = NULL;
}

void keys_clear(const struct setting_table *table, void *base)
{
    for (size_t i = 0; i < table->count; i++) {
        if (table->rows[i].fallback != 0 && table->rows[i].kind != SETTING_HIDDEN)
            setting_store(&table->rows[i], base, table->rows[i].fallback);
    }
}

static int read_row(const struct setting_place *place)
{
    const struct setting *row = place->row;
    const struct setting_ops *ops = &setting_ops[row->kind];

    if ((row->flags & SETTING_NEEDED) && !reader_get(place->object, place->key)) {
        if (row->kind == SETTING_MILLI)
            return reader_fail(place->reader, -EINVAL, place->object, NULL,
                               "expected %s: %" PRId64 " to %" PRId64, row->key, row->least / 1000,
                               row->most / 1000);
        return reader_fail(place->reader, -EINVAL, place->object, NULL, "expected %s, like %s",
                           row->key, row->example);
    }
    return ops->read ? ops->read(place) : 0;
}

/* The rows from `first` on that stand in one map. Returns how many they are. */
static size_t section_size(const struct setting_table *table, size_t first)
{
    size_t i = first + 1;

    while (i < table->count && table->rows[i].section && table->rows[first].section[0] &&
           strcmp(table->rows[i].section, table->rows[first].section) == 0)
        i++;
    return i - first;
}

static int read_section(const struct setting_place *document, const struct setting_table *rows)
{
    const char *section = rows->rows[0].section, *names[KEYS_MAX];
    const json_t *value = reader_get(document->object, section);
    struct setting_place place = *document;
    struct reader reader = *document->reader;
    int code = 0;

    if (!value)
        return 0;
    if (!json_is_object(value) && rows->rows[0].flags & SETTING_SHORT) {
        place.key = section;
        place.row = &rows->rows[0];
        return read_row(&place);
    }
    snprintf(reader.where, sizeof(reader.where), "%s", section);
    place.reader = &reader;
    place.object = value;
    for (size_t i = 0; i < rows->count; i++)
        names[i] = rows->rows[i].key;
    names[rows->count] = NULL;
    code = reader_check_keys(&reader, value, names);
    for (size_t i = 0; i < rows->count && code == 0; i++) {
        place.row = &rows->rows[i];
        place.key = place.row->key;
        code = read_row(&place);
    }
    return code;
}

int keys_read(struct config *config, const struct reader *reader, const json_t *object,
              const struct setting_table *table, void *base)
{
    struct setting_place place = {
        .config = config, .reader = reader, .object = object, .base = base
    };
    int code = 0;

    for (size_t i = 0, size; i < table->count && code == 0; i += size) {
        struct setting_table section = { &table->rows[i], 1 };
        size = 1;
        if (table->rows[i].kind == SETTING_HIDDEN)
            continue;
        section.count = size = section_size(table, i);
        place.row = &table->rows[i];
        place.key = place.row->key;
        code = place.row->section[0] ? read_section(&place, &section) : read_row(&place);
    }
    return code;
}

int keys_check(const struct reader *reader, const json_t *object, const struct setting_table *table)
{
    const char *names[KEYS_MAX];

    keys_names(table, names);
    return reader_check_keys(reader, object, names);
}

/* ---- writing ---- */

static bool is_default(const struct setting *row, const void *base)
{
    return row->size <= sizeof(int64_t) && !(row->flags & SETTING_IN_PLACE) &&
           row->kind != SETTING_NAME && row->kind < SETTING_TEXT &&
           setting_load(row, base) == row->fallback;
}

void keys_write(const struct config *config, const struct setting_table *table, const void *base,
                json_t *object)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct setting *row = &table->rows[i];
        const struct setting_view view = { config, row, base };
        kind_write_fn *write = setting_ops[row->kind].write;
        json_t *map = object;
        json_t *value =
            write && (row->flags & SETTING_ALWAYS || !is_default(row, base)) ? write(&view) : NULL;
        if (!value)
            continue;
        if (row->section[0]) {
            map = json_object_get(object, row->section);
            if (!map) {
                map = json_object();
                json_object_set_new(object, row->section, map);
            }
        }
        json_object_set_new(map, row->key, value);
    }
}

void keys_tell(const struct config *config, const struct setting_table *table, const void *base,
               struct properties *ret)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct setting_view view = { config, &table->rows[i], base };
        if (setting_ops[view.row->kind].tell)
            setting_ops[view.row->kind].tell(&view, ret);
    }
}

void property_add(struct properties *ret, const char *name, const char *value, const char *unit)
{
    list_add(&ret->items,
             (struct property){ arena_string(ret->arena, name, strlen(name)),
                                value[0] ? arena_string(ret->arena, value, strlen(value)) : "none",
                                unit });
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

struct reader reader_of(const struct reader *reader, const char *kind, const char *name)
{
    struct reader inner = *reader;

    snprintf(inner.where, sizeof(inner.where), "%.50s %.63s", kind, name);
    return inner;
}

struct reader reader_below(const struct reader *reader, const char *key, const char *name)
{
    struct reader inner = *reader;

    snprintf(inner.where, sizeof(inner.where), "%.70s: %s%s%.40s", reader->where, key,
             name[0] ? " " : "", name);
    return inner;
}

const char *duration_spell(char *buffer, usec_t duration)
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

json_t *decimal_to_json(int64_t amount, int64_t unit)
{
    return amount % unit == 0 ? json_integer(amount / unit)
                              : json_real((double)amount / (double)unit);
}
