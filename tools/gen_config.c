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
#include "wire/config/config_schema.h"
#include "wire/json.h"

static const char *const kinds[SETTING_KINDS] = {
#define KIND(ID, type, json, read, write, tell) type,
#include "wire/config/config_kinds.def"
};

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
    double scale = setting_scale(row);

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
    AUTO(json) json_t *value = setting_default(table, row);
    AUTO_FREE char *bytes = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
    const char *unit = row->unit;

    text_add_char(out, '*');
    put(out, row->section);
    put(out, row->section[0] ? "." : "");
    put(out, row->key);
    text_printf(out, "* (%s%s%s)\n\t", kinds[row->kind][0] ? kinds[row->kind] : "value",
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
        if (setting_below[i].table != KEYS_TOP)
            put_table(out, setting_below[i].table, setting_below[i].title);
    }
    text_add(out, "# SEE ALSO\n\n*tarn*(1), *tarn-jobfile*(5), *tarn-serve*(8)\n");
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
        AUTO(json) json_t *schema = config_schema();
        json_object_set_new(schema, "$schema",
                            json_string("https://json-schema.org/draft/2020-12/schema"));
        json_object_set_new(schema, "title", json_string("configuration of tarn"));
        json_dumpf(schema, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
        putchar('\n');
        return 0;
    }
    fprintf(stderr, "usage: gen_config --man | --schema\n");
    return 2;
}
