/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/choice_view.h"

#include <stdio.h>

#include "base/table.h"
#include "cli/fields.h"
#include "cli/screen.h"

static void add_duration(struct table *table, const json_t *offer, const char *key)
{
    char buffer[UNITS_TEXT_SIZE];

    if (field_is_null(offer, key))
        table_add_absent(table);
    else
        table_add_text(table, field_duration(offer, key, buffer));
}

static void add_row(struct table *table, const json_t *offer)
{
    char memory[UNITS_TEXT_SIZE];
    bool fits = json_is_true(json_object_get(offer, "fits"));

    table_start_row(table);
    table_add_text(table, field_text(offer, "model"));
    if (json_is_true(json_object_get(offer, "chosen")))
        table_style(table, TABLE_GOOD);
    add_duration(table, offer, "run_seconds");
    add_duration(table, offer, "wait_seconds");
    if (field_is_null(offer, "cost"))
        table_add_absent(table);
    else
        table_add_format(table, "%.2f", field_real(offer, "cost"));
    if (field_is_null(offer, "rate"))
        table_add_absent(table);
    else
        table_add_format(table, "%.2f", field_real(offer, "rate"));
    if (field_is_null(offer, "speed"))
        table_add_absent(table);
    else
        table_add_format(table, "%.2f", field_real(offer, "speed"));
    if (field_is_null(offer, "memory"))
        table_add_text(table, fits ? "fits" : "too small");
    else
        table_add_format(table, "%s, %s", units_format_mib(memory, field_number(offer, "memory")),
                         fits ? "fits" : "does not fit");
    table_add_text(table, fits ? field_text(offer, "evidence") : "");
}

void choice_print(const json_t *reply)
{
    static const struct table_column columns[] = {
        { "MODEL", TABLE_LEFT, 0 },  { "RUN", TABLE_RIGHT, 0 },      { "WAIT", TABLE_RIGHT, 0 },
        { "COST", TABLE_RIGHT, 0 },  { "PER HOUR", TABLE_RIGHT, 0 }, { "SPEED", TABLE_RIGHT, 0 },
        { "MEMORY", TABLE_LEFT, 0 }, { "EVIDENCE", TABLE_LEFT, 8 },
    };
    AUTO(table) struct table *table = table_create(columns, COUNT_OF(columns));
    bool has_wait = false;
    const json_t *offer;
    size_t i;

    json_array_foreach(json_object_get(reply, "models"), i, offer)
    {
        add_row(table, offer);
        has_wait |= field_real(offer, "wait_seconds") > 0;
    }
    screen_table(table);
    AUTO_RELEASE(text) struct text line = { 0 };
    text_printf(&line, "%s\n", field_text(reply, "text"));
    if (has_wait)
        text_add(&line, "WAIT goes by run times of similar jobs, else by time limits; tarn when "
                        "forecasts the start\n");
    screen_prose(stdout, text_string(&line));
}
