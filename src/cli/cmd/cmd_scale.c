/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "cli/command.h"
#include "cli/fields.h"
#include "cli/screen.h"
#include "cli/session.h"

const struct option_entry options_scale[] = { { 0 } };

static void add_wanted(struct table *table, const json_t *wish)
{
    char saved[UNITS_TEXT_SIZE];

    table_start_row(table);
    table_add_text(table, field_text(wish, "type"));
    table_add_text(table, field_is_true(wish, "spot") ? "spot" : "on demand");
    table_add_format(table, "+%" PRId64, field_number(wish, "count"));
    table_add_number(table, field_number(wish, "jobs"));
    table_add_format(table, "%.2f", json_number_value(json_object_get(wish, "price")));
    table_add_text(table, field_is_null(wish, "saved_seconds")
                              ? "no end in sight"
                              : field_duration(wish, "saved_seconds", saved));
}

static void add_going(struct table *table, const json_t *node)
{
    char clock[CLOCK_SIZE];

    table_start_row(table);
    table_add_text(table, field_text(node, "type"));
    table_add_text(table, "");
    table_add_text(table, "-1");
    table_add_text(table, "");
    table_add_text(table, "");
    table_add_format(table, "%s: idle since %s", field_text(node, "node"),
                     clock_format(clock, field_time(node, "idle_since")));
}

static void print_scale(const json_t *reply)
{
    static const struct table_column columns[] = {
        { "TYPE", TABLE_LEFT, 0 },  { "AS", TABLE_LEFT, 0 },       { "NODES", TABLE_RIGHT, 0 },
        { "JOBS", TABLE_RIGHT, 0 }, { "AN HOUR", TABLE_RIGHT, 0 }, { "WAIT SAVED", TABLE_LEFT, 8 },
    };
    const json_t *wanted = json_object_get(reply, "wanted");
    const json_t *may_go = json_object_get(reply, "may_go"), *item;
    size_t i;

    if (field_number(reply, "types") == 0) {
        say("no node_types are configured; tarn apply -f FILE sets them");
        return;
    }
    if (json_array_size(wanted) + json_array_size(may_go) == 0) {
        say("no node is wanted, and none may go");
        return;
    }
    AUTO(table) struct table *table = table_create(columns, COUNT_OF(columns));
    json_array_foreach(wanted, i, item) add_wanted(table, item);
    json_array_foreach(may_go, i, item) add_going(table, item);
    screen_table(table);
}

int run_scale(int argc, char **argv)
{
    struct options options;
    AUTO(json) json_t *reply = NULL;
    int status;

    if (!options_read_only(argc, argv, &options, &status))
        return status;
    if (session_ask("GET", "/v1/scale", NULL, &reply) != 0)
        return 1;
    if (options.is_json)
        reply_print(reply);
    else
        print_scale(reply);
    return 0;
}
