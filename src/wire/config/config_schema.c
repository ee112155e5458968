/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/config/config_schema.h"

#include <string.h>

#include "wire/json.h"

static const char *const json_kinds[SETTING_KINDS] = {
#define KIND(ID, type, json, read, write, tell) json,
#include "wire/config/config_kinds.def"
};

const struct setting_below setting_below[SETTING_KINDS] = {
    [SETTING_POOLS] = { KEYS_POOL, MAP, "POOLS" },
    [SETTING_QUEUES] = { KEYS_QUEUE, MAP, "QUEUES" },
    [SETTING_SHAPE] = { KEYS_CELL, ITEMS, "CELLS OF A SHAPE" },
    [SETTING_BUDGETS] = { KEYS_BUDGET, ITSELF_OR_NUMBER, "BUDGETS" },
    [SETTING_POOL_DURING] = { KEYS_WINDOWED, MAP, "POOLS WHILE A WINDOW IS OPEN" },
    [SETTING_TARIFFS] = { KEYS_TARIFF, MAP_OR_NUMBER, "TARIFFS" },
    [SETTING_RESERVATIONS] = { KEYS_RESERVATION, MAP, "RESERVATIONS" },
    [SETTING_NODE_TYPES] = { KEYS_NODE_TYPE, MAP, "MACHINES THAT COULD BE HAD" },
    [SETTING_DEVICE_TYPES] = { KEYS_DEVICE_TYPE, MAP, "DEVICES" },
    [SETTING_NODES] = { KEYS_NODE, MAP, "NODES" },
    [SETTING_SILENCES] = { KEYS_SILENCE, ITEMS, "SILENCES" },
};

json_t *setting_default(enum setting_table table, const struct setting *row)
{
    static union {
        struct settings settings;
        char bytes[1 << 14];
    } base;
    const struct setting_view view = { NULL, row, &base };

    memset(&base, 0, sizeof(base));
    keys_clear(table, &base);
    if (table == KEYS_SETTINGS)
        settings_default(&base.settings);
    if (row->kind >= SETTING_TEXT || !setting_ops[row->kind].write || row->fallback == ABSENT ||
        row->flags & SETTING_NEEDED || (row->fallback == 0 && row->least > 0) ||
        (row->fallback == 0 && (row->kind <= SETTING_MONEY || row->kind == SETTING_DURATION)))
        return NULL;
    return setting_ops[row->kind].write(&view);
}

double setting_scale(const struct setting *row)
{
    return row->kind == SETTING_COUNT || row->kind == SETTING_DEPTH    ? 1
           : row->kind == SETTING_MILLIS || row->kind == SETTING_MILLI ? 1000
           : row->kind == SETTING_MONEY                                ? 1e6
           : row->kind == SETTING_HOURS                                ? (double)USEC_PER_HOUR
                                                                       : 0;
}

static json_t *schema_of_table(enum setting_table table, int depth);

/* null is as good as no key: in YAML, a key without a value has it. */
static json_t *types_of(const char *words)
{
    json_t *list = json_array();

    for (const char *at = words; *at; at += strcspn(at, " "), at += *at == ' ')
        json_array_append_new(list, json_stringn(at, strcspn(at, " ")));
    json_array_append_new(list, json_string("null"));
    return list;
}

static json_t *words_of(const char *words)
{
    json_t *list = json_array();

    for (const char *at = words[0] ? words + 2 : words; *at;
         at += strcspn(at, ","), at += *at == ',' ? 2 : 0)
        json_array_append_new(list, json_stringn(at, strcspn(at, ",")));
    json_array_append_new(list, json_null());
    return list;
}

/* What is below a key, where that is a map or a list of things with keys of their own. */
static void add_below(json_t *schema, const struct setting *row, int depth)
{
    json_t *inner = NULL;

    if (setting_below[row->kind].table == KEYS_TOP || depth > 2)
        return;
    inner = schema_of_table(setting_below[row->kind].table, depth + 1);
    switch (setting_below[row->kind].shape) {
    case ITEMS:
        json_object_set_new(schema, "items", inner);
        break;
    case MAP:
        json_object_set_new(schema, "additionalProperties", inner);
        break;
    case MAP_OR_NUMBER:
        json_object_set_new(
            schema, "additionalProperties",
            json_pack("{s:[{s:s}, {s:s}, o]}", "anyOf", "type", "number", "type", "string", inner));
        break;
    case ITSELF:
    case ITSELF_OR_NUMBER:
        json_object_set(schema, "properties", json_object_get(inner, "properties"));
        json_object_set_new(schema, "additionalProperties", json_false());
        json_decref(inner);
        break;
    }
}

static json_t *schema_of_row(enum setting_table table, const struct setting *row, int depth)
{
    double scale = setting_scale(row);
    json_t *value = setting_default(table, row);
    json_t *schema = json_pack(
        "{s:s, s:o}", "description", row->sentence, "type",
        types_of(json_kinds[row->kind][0] ? json_kinds[row->kind] : "number string boolean"));

    if (row->kind == SETTING_WORD)
        json_object_set_new(schema, "enum", words_of(row->words));
    if (scale > 0 && row->most > 0) {
        json_object_set_new(schema, "minimum", json_real((double)row->least / scale));
        json_object_set_new(schema, "maximum", json_real((double)row->most / scale));
    }
    if (value)
        json_object_set_new(schema, "default", value);
    add_below(schema, row, depth);
    return schema;
}

static json_t *schema_of_table(enum setting_table table, int depth)
{
    const struct setting_rows keys = keys_rows(table);
    json_t *properties = json_object();

    for (size_t i = 0; i < keys.count; i++) {
        const struct setting *row = &keys.rows[i];
        json_t *map = properties, *section;
        if (row->kind == SETTING_HIDDEN)
            continue;
        if (row->section[0]) {
            section = json_object_get(properties, row->section);
            if (!section) {
                section = json_pack("{s:{}, s:b}", "properties", "additionalProperties", 0);
                json_object_set_new(section, "type",
                                    row->flags & SETTING_SHORT
                                        ? types_of("object string number boolean")
                                        : types_of("object"));
                json_object_set_new(properties, row->section, section);
            }
            map = json_object_get(section, "properties");
        }
        json_object_set_new(map, row->key, schema_of_row(table, row, depth));
    }
    return json_pack("{s:s, s:o, s:b}", "type", "object", "properties", properties,
                     "additionalProperties", 0);
}

json_t *config_schema_of(enum setting_table table)
{
    return schema_of_table(table, 0);
}

json_t *config_schema(void)
{
    json_t *schema = schema_of_table(KEYS_TOP, 0);
    AUTO(json) json_t *settings = schema_of_table(KEYS_SETTINGS, 0);

    json_object_update(json_object_get(schema, "properties"),
                       json_object_get(settings, "properties"));
    return schema;
}
