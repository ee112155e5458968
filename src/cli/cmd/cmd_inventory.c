/* SPDX-License-Identifier: Apache-2.0 */
/* nodes, pools, queues: a listing each */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/fields.h"
#include "cli/screen.h"
#include "cli/session.h"

const struct option_entry options_nodes[] = { { 0 } };
const struct option_entry options_pools[] = { { 0 } };
const struct option_entry options_queues[] = { { 0 } };

/* What one listing is made of. */
struct listing {
    const char *path, *key; /* of the API, and of the list in its reply */
    const char *id;         /* what -q prints of each */
    const struct table_column *columns;
    size_t column_count;
    void (*add_row)(struct table *table, const json_t *item);
    void (*print_footer)(const json_t *list);
};

static void add_milli(struct table *table, const json_t *object, const char *key)
{
    if (field_is_null(object, key))
        table_add_absent(table);
    else
        table_add_milli(table, field_milli(object, key));
}

/* "6 of 8" */
static void add_part(struct table *table, const json_t *item, const char *given, const char *of)
{
    char part[UNITS_TEXT_SIZE], whole[UNITS_TEXT_SIZE];

    table_add_format(table, "%s of %s", units_format_milli(part, field_milli(item, given)),
                     units_format_milli(whole, field_milli(item, of)));
}

static void add_memory(struct table *table, const json_t *item)
{
    char part[UNITS_TEXT_SIZE], whole[UNITS_TEXT_SIZE];

    int64_t given = field_number(item, "memory_given");

    if (field_is_null(item, "memory"))
        table_add_absent(table);
    else
        table_add_format(table, "%s of %s", given > 0 ? units_format_mib(part, given) : "0",
                         units_format_mib(whole, field_number(item, "memory")));
}

static int print_listing(const struct listing *listing, const json_t *reply,
                         const struct options *options)
{
    const json_t *list = json_object_get(reply, listing->key);
    const json_t *item;
    size_t i;

    if (options->is_json) {
        reply_print(reply);
        return 0;
    }
    AUTO(table) struct table *table = table_create(listing->columns, listing->column_count);
    json_array_foreach(list, i, item)
    {
        if (options->is_quiet && json_is_integer(json_object_get(item, listing->id)))
            printf("%" PRId64 "\n", field_number(item, listing->id));
        else if (options->is_quiet)
            printf("%s\n", field_text(item, listing->id));
        else
            listing->add_row(table, item);
    }
    if (options->is_quiet)
        return 0;
    if (json_array_size(list) == 0) {
        talk("no %s", listing->key);
        return 0;
    }
    screen_table(table);
    if (listing->print_footer)
        listing->print_footer(list);
    return 0;
}

static int list(int argc, char **argv, const struct listing *listing)
{
    struct options options;
    AUTO(json) json_t *reply = NULL;
    int status;

    if (!options_read_only(argc, argv, &options, &status))
        return status;
    if (session_ask("GET", listing->path, NULL, &reply) != 0)
        return 1;
    return print_listing(listing, reply, &options);
}

/* Why it is not up, or when it will no longer be. */
static void add_node_fate(struct table *table, const json_t *node)
{
    char clock[CLOCK_SIZE];

    if (field_time(node, "going_at") > 0) {
        table_add_format(table, "taken away at %s",
                         clock_format(clock, field_time(node, "going_at")));
        table_style(table, TABLE_BAD);
    } else
        table_add_format(table, "%s%s", field_is_true(node, "spot") ? "spot " : "",
                         field_text(node, "reason"));
}

static void add_node(struct table *table, const json_t *node)
{
    const char *state = field_text(node, "state");

    table_start_row(table);
    table_add_text(table, field_text(node, "name"));
    table_add_text(table, state);
    table_style(table, strcmp(state, "up") == 0 ? TABLE_GOOD : TABLE_WAITS);
    add_part(table, node, "gpus_given", "gpus");
    add_part(table, node, "cpus_given", "cpus");
    add_memory(table, node);
    add_node_fate(table, node);
}

int run_nodes(int argc, char **argv)
{
    static const struct table_column columns[] = {
        { "NODE", TABLE_LEFT, 0 }, { "STATE", TABLE_LEFT, 0 },  { "GPUS", TABLE_LEFT, 0 },
        { "CPUS", TABLE_LEFT, 0 }, { "MEMORY", TABLE_LEFT, 0 }, { "REASON", TABLE_LEFT, 8 },
    };
    static const struct listing listing = {
        "/v1/nodes", "nodes", "name", columns, COUNT_OF(columns), add_node, NULL,
    };

    return list(argc, argv, &listing);
}

static void add_pool(struct table *table, const json_t *pool)
{
    AUTO_RELEASE(text) struct text devices = { 0 };
    const char *queue = field_text(pool, "queue"), *model = field_text(pool, "model");

    numbers_format(json_object_get(pool, "devices"), &devices);
    table_start_row(table);
    table_add_text(table, field_text(pool, "name"));
    table_add_text(table, field_text(pool, "type"));
    table_add_text(table, queue[0] ? queue : "any");
    table_add_text(table, model[0] ? model : "any");
    add_part(table, pool, "given", "gpus");
    add_milli(table, pool, "min");
    add_milli(table, pool, "max");
    table_add_text(table, text_string(&devices));
}

int run_pools(int argc, char **argv)
{
    static const struct table_column columns[] = {
        { "POOL", TABLE_LEFT, 0 },  { "TYPE", TABLE_LEFT, 0 },    { "QUEUE", TABLE_LEFT, 0 },
        { "MODEL", TABLE_LEFT, 0 }, { "GIVEN", TABLE_LEFT, 0 },   { "MIN", TABLE_RIGHT, 0 },
        { "MAX", TABLE_RIGHT, 0 },  { "DEVICES", TABLE_LEFT, 8 },
    };
    static const struct listing listing = {
        "/v1/pools", "pools", "name", columns, COUNT_OF(columns), add_pool, NULL,
    };

    return list(argc, argv, &listing);
}

/* "67%" of its siblings; "-" when there is nothing to have a part of. */
static void add_percent(struct table *table, const json_t *queue, const char *key)
{
    if (json_is_number(json_object_get(queue, key)))
        table_add_format(table, "%.0f%%", field_real(queue, key) * 100);
    else
        table_add_text(table, "-");
}

/* Zero is shown as "-". */
static void add_some(struct table *table, const json_t *object, const char *key)
{
    if (field_milli(object, key) == 0)
        table_add_absent(table);
    else
        table_add_milli(table, field_milli(object, key));
}

static void add_queue(struct table *table, const json_t *queue)
{
    table_start_row(table);
    table_add_format(table, "%*s%s", (int)field_number(queue, "depth") * 2, "",
                     field_text(queue, "name"));
    add_milli(table, queue, "guarantee");
    add_milli(table, queue, "limit");
    add_milli(table, queue, "given");
    add_milli(table, queue, "fair");
    add_some(table, queue, "borrowed");
    add_some(table, queue, "lent");
    add_milli(table, queue, "claim");
    table_add_number(table, field_number(queue, "weight"));
    add_percent(table, queue, "used_share");
    table_add_number(table, field_number(queue, "running"));
    table_add_number(table, field_number(queue, "queued"));
}

int run_queues(int argc, char **argv)
{
    static const struct table_column columns[] = {
        { "QUEUE", TABLE_LEFT, 0 },    { "GUARANTEE", TABLE_RIGHT, 0 },
        { "LIMIT", TABLE_RIGHT, 0 },   { "GIVEN", TABLE_RIGHT, 0 },
        { "FAIR", TABLE_RIGHT, 0 },    { "BORROWED", TABLE_RIGHT, 0 },
        { "LENT", TABLE_RIGHT, 0 },    { "CLAIM", TABLE_RIGHT, 0 },
        { "WEIGHT", TABLE_RIGHT, 0 },  { "USED", TABLE_RIGHT, 0 },
        { "RUNNING", TABLE_RIGHT, 0 }, { "QUEUED", TABLE_RIGHT, 0 },
    };
    static const struct listing listing = {
        "/v1/queues", "queues", "name", columns, COUNT_OF(columns), add_queue, NULL,
    };

    return list(argc, argv, &listing);
}
