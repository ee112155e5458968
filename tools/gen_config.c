/* SPDX-License-Identifier: Apache-2.0 */

/* gen_config - what documents the configuration, made from the rows of core/config.def
 *
 *     gen_config --man       tarn-config(5), for scdoc
 *     gen_config --schema    a JSON Schema (draft 2020-12), for editors and for checks
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "wire/config/config_keys.h"
#include "wire/json.h"

static const struct {
    const char *type, *json;
} kinds[SETTING_KINDS] = {
#define KIND(ID, type, json, read, write, tell) { type, json },
#include "wire/config/config_kinds.def"
};

/* What stands below a key of a kind. */
enum shape { ITSELF, MAP, ITEMS, ITSELF_OR_NUMBER, MAP_OR_NUMBER };
static const struct {
    enum setting_table table;
    enum shape shape;
    const char *title;
} below[SETTING_KINDS] = {
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

/* The default as the document has it; NULL: there is none, or it is nothing. */
static json_t *default_of(enum setting_table table, const struct setting *row)
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

static double scale_of(const struct setting *row)
{
    return row->kind == SETTING_COUNT || row->kind == SETTING_DEPTH    ? 1
           : row->kind == SETTING_MILLIS || row->kind == SETTING_MILLI ? 1000
           : row->kind == SETTING_MONEY                                ? 1e6
           : row->kind == SETTING_HOURS                                ? (double)USEC_PER_HOUR
                                                                       : 0;
}

/* ---- the page ---- */

/* With what scdoc would take for something else behind a backslash. */
static void put(struct text *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("_*\\~", *text))
            text_add_char(out, '\\');
        text_add_char(out, *text);
    }
}

static void put_range(struct text *out, const struct setting *row)
{
    char least[UNITS_TEXT_SIZE], most[UNITS_TEXT_SIZE];
    double scale = scale_of(row);

    if (row->kind == SETTING_WORD || row->kind == SETTING_DEPTH) {
        text_add(out, " One of ");
        put(out, row->words + 2);
        text_add_char(out, '.');
    } else if (scale > 0 && row->most > 0)
        text_printf(out, " %.12g to %.12g.", (double)row->least / scale, (double)row->most / scale);
    else if (row->kind == SETTING_DURATION && (row->least > 0 || row->most < USEC_NEVER))
        text_printf(out, " %s to %s.", duration_spell(least, row->least),
                    duration_spell(most, row->most));
}

static void put_row(struct text *out, enum setting_table table, const struct setting *row)
{
    AUTO(json) json_t *value = default_of(table, row);
    AUTO_FREE char *bytes = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
    const char *unit = row->unit;

    text_add_char(out, '*');
    put(out, row->section);
    put(out, row->section[0] ? "." : "");
    put(out, row->key);
    text_printf(out, "* (%s%s%s)\n\t", kinds[row->kind].type[0] ? kinds[row->kind].type : "value",
                unit[0] && strcmp(unit, "duration") != 0 ? "; " : "",
                strcmp(unit, "duration") != 0 ? unit : "");
    put(out, row->sentence);
    text_add_char(out, '.');
    put_range(out, row);
    if (row->flags & SETTING_NEEDED)
        text_add(out, " Needed.");
    if (bytes) {
        text_add(out, " Default: ");
        put(out, bytes);
        text_add_char(out, '.');
    }
    text_add(out, " Example: ");
    put(out, row->key);
    text_add(out, ": ");
    put(out, row->example);
    text_add(out, "\n\n");
}

static void put_table(struct text *out, enum setting_table table, const char *title)
{
    const struct setting_rows keys = keys_rows(table);

    text_printf(out, "# %s\n\n", title);
    for (size_t i = 0; i < keys.count; i++) {
        if (keys.rows[i].kind != SETTING_HIDDEN)
            put_row(out, table, &keys.rows[i]);
    }
}

static void put_page(struct text *out)
{
    text_add(
        out,
        "tarn-config(5)\n\n# NAME\n\ntarn-config - the configuration of tarn: every key\n\n"
        "# SYNOPSIS\n\n*tarn apply -f* _FILE_\n\n# DESCRIPTION\n\n"
        "A configuration is a file in YAML, or JSON. *tarn diff* _FILE_ shows what it would "
        "change, *tarn apply -f* _FILE_ puts it into force, *tarn apply --undo* takes the last "
        "change back, and *tarn config show* prints what is in force. A configuration is "
        "complete: pools and queues that it leaves out are removed, and a setting that it "
        "leaves out is back at its default. A key that is not listed here is an error.\n\n"
        "A key *a.b* is the key _b_ of the map _a_. The value of *backfill* and of *defrag* may "
        "stand without its map: _backfill: easy_, _defrag: 2_. Amounts of GPUs have up to three "
        "decimals; CPUs are counted in the same way, memory has a unit (512M, 20G, 1.5T).\n\n");
    put_table(out, KEYS_TOP, "THINGS BY NAME");
    put_table(out, KEYS_SETTINGS, "SETTINGS");
    for (size_t i = 0; i < SETTING_KINDS; i++) {
        if (below[i].table != KEYS_TOP)
            put_table(out, below[i].table, below[i].title);
    }
    text_add(out, "# SEE ALSO\n\n*tarn*(1), *tarn-jobfile*(5), *tarn-serve*(8)\n");
}

/* ---- the schema ---- */

static json_t *schema_of_table(enum setting_table table, int depth);

static json_t *types_of(const char *words)
{
    json_t *list = json_array();

    for (const char *at = words; *at; at += strcspn(at, " "), at += *at == ' ')
        json_array_append_new(list, json_stringn(at, strcspn(at, " ")));
    return list;
}

static json_t *words_of(const char *words)
{
    json_t *list = json_array();

    for (const char *at = words[0] ? words + 2 : words; *at;
         at += strcspn(at, ","), at += *at == ',' ? 2 : 0)
        json_array_append_new(list, json_stringn(at, strcspn(at, ",")));
    return list;
}

/* What is below a key, where that is a map or a list of things with keys of their own. */
static void add_below(json_t *schema, const struct setting *row, int depth)
{
    json_t *inner = NULL;

    if (below[row->kind].table == KEYS_TOP || depth > 2)
        return;
    inner = schema_of_table(below[row->kind].table, depth + 1);
    switch (below[row->kind].shape) {
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
    double scale = scale_of(row);
    json_t *value = default_of(table, row);
    json_t *schema = json_pack(
        "{s:s, s:o}", "description", row->sentence, "type",
        types_of(kinds[row->kind].json[0] ? kinds[row->kind].json : "number string boolean"));

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
                                        : json_string("object"));
                json_object_set_new(properties, row->section, section);
            }
            map = json_object_get(section, "properties");
        }
        json_object_set_new(map, row->key, schema_of_row(table, row, depth));
    }
    return json_pack("{s:s, s:o, s:b}", "type", "object", "properties", properties,
                     "additionalProperties", 0);
}

static json_t *whole_schema(void)
{
    json_t *schema = schema_of_table(KEYS_TOP, 0), *settings = schema_of_table(KEYS_SETTINGS, 0);

    json_object_update(json_object_get(schema, "properties"),
                       json_object_get(settings, "properties"));
    json_decref(settings);
    json_object_set_new(schema, "$schema",
                        json_string("https://json-schema.org/draft/2020-12/schema"));
    json_object_set_new(schema, "title", json_string("configuration of tarn"));
    return schema;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--man") == 0) {
        AUTO_RELEASE(text) struct text page = { 0 };
        put_page(&page);
        fputs(text_string(&page), stdout);
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--schema") == 0) {
        AUTO(json) json_t *schema = whole_schema();
        json_dumpf(schema, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
        putchar('\n');
        return 0;
    }
    fprintf(stderr, "usage: gen_config --man | --schema\n");
    return 2;
}
