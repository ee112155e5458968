/* SPDX-License-Identifier: Apache-2.0 */
/* reserve, reservations, cron: what happens at times that come again */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/command.h"
#include "cli/fields.h"
#include "cli/screen.h"
#include "cli/session.h"

enum {
    RESERVE_FOR,
    RESERVE_WHEN,
    RESERVE_GPUS,
    RESERVE_MODEL,
    RESERVE_NODES,
    RESERVE_REMOVE,
};
enum { CRON_REMOVE };

const struct option_entry options_reserve[] = {
    [RESERVE_FOR] = { "for", 0, "WHOM", "queue:NAME, user:NAME or maintenance" },
    [RESERVE_WHEN] = { "when", 'w', "TIMES",
                       "'mon 14:00-16:00', '2030-01-31 08:00-12:00', a window" },
    [RESERVE_GPUS] = { "gpus", 0, "N", "number of GPUs, of one model or any" },
    [RESERVE_MODEL] = { "model", 0, "MODEL", "only GPUs of this model" },
    [RESERVE_NODES] = { "nodes", 0, "NAMES", "these nodes, separated by commas" },
    [RESERVE_REMOVE] = { "remove", 0, NULL, "end the reservation" },
    { 0 },
};
const struct option_entry options_reservations[] = { { 0 } };
const struct option_entry options_cron[] = {
    [CRON_REMOVE] = { "remove", 0, NULL, "remove these jobs" },
    { 0 },
};

static int delete_at(struct session *session, const char *path, json_t **ret, struct error *err)
{
    const struct client_request request = { .method = "DELETE", .path = path };

    return session_send(session, &request, ret, err);
}

/* ---- reserve ---- */

/* "queue:research", "user:ana", "maintenance". False: it is neither. */
static bool add_whom(json_t *body, const char *whom)
{
    const char *colon = strchr(whom, ':');
    size_t length = colon ? (size_t)(colon - whom) : 0;

    if (strcmp(whom, "maintenance") == 0) {
        json_object_set_new(body, "for", json_string(whom));
        return true;
    }
    if (!colon || !colon[1] || (strncmp(whom, "queue:", 6) != 0 && strncmp(whom, "user:", 5) != 0))
        return false;
    AUTO_FREE char *kind = mem_string_of(whom, length);
    json_object_set_new(body, "for", json_pack("{s:s}", kind, colon + 1));
    return true;
}

static void add_nodes(json_t *body, const char *names)
{
    AUTO_FREE char *copy = mem_string(names);
    json_t *nodes = json_array();
    char *rest = copy;

    while (rest) {
        const char *name = strsep(&rest, ",");
        if (name[0])
            json_array_append_new(nodes, json_string(name));
    }
    json_object_set_new(body, "nodes", nodes);
}

/* 0, or the exit status of a wrong usage. */
static int build(const struct options *options, json_t *body)
{
    const char *const *values = options->values;
    char *end = NULL;

    if (!values[RESERVE_FOR] || !values[RESERVE_WHEN])
        return usage_wrong("reserve", "expected --for and --when");
    if (!values[RESERVE_GPUS] && !values[RESERVE_NODES])
        return usage_wrong("reserve", "expected --gpus N or --nodes NAMES");
    if (!add_whom(body, values[RESERVE_FOR]))
        return usage_wrong("reserve", "--for %s: expected queue:NAME, user:NAME or maintenance",
                           values[RESERVE_FOR]);
    long gpus = values[RESERVE_GPUS] ? strtol(values[RESERVE_GPUS], &end, 10) : 0;
    if (end && (*end || end == values[RESERVE_GPUS] || gpus < 1))
        return usage_wrong("reserve", "--gpus %s: expected a number", values[RESERVE_GPUS]);
    json_object_set_new(body, "name", json_string(options->words[0]));
    json_object_set_new(body, "when", json_string(values[RESERVE_WHEN]));
    if (gpus > 0)
        json_object_set_new(body, "gpus", json_integer(gpus));
    if (values[RESERVE_MODEL])
        json_object_set_new(body, "model", json_string(values[RESERVE_MODEL]));
    if (values[RESERVE_NODES])
        add_nodes(body, values[RESERVE_NODES]);
    return 0;
}

/* "open until 16:00", "Mon 14:00 to Mon 16:00", "not within the next weeks" */
static void add_next(const json_t *item, struct text *text)
{
    char from[CLOCK_SIZE], until[CLOCK_SIZE];

    if (field_is_true(item, "open"))
        text_printf(text, "open until %s", clock_format(until, field_time(item, "until")));
    else if (field_is_null(item, "from"))
        text_add(text, "not within the next weeks");
    else
        text_printf(text, "%s to %s", clock_format(from, field_time(item, "from")),
                    clock_format(until, field_time(item, "until")));
}

static int send_reservation(const struct options *options, const json_t *body, struct error *err)
{
    AUTO_RELEASE(session) struct session session = { 0 };
    AUTO_RELEASE(text) struct text next = { 0 };
    json_t *reply = NULL;

    int code = session_open(&session, err);
    if (code == 0 && body)
        code = session_post(&session, "/v1/reservations", body, &reply, err);
    else if (code == 0) {
        AUTO_FREE char *path = mem_printf("/v1/reservations?name=%s", options->words[0]);
        code = delete_at(&session, path, &reply, err);
    }
    if (code < 0)
        return complain(err);
    if (body)
        add_next(reply, &next);
    if (options->is_json)
        reply_print(reply);
    else if (options->is_quiet)
        printf("%s\n", options->words[0]);
    else if (body)
        printf("reservation %s · %s\n", options->words[0], text_string(&next));
    else
        printf("removed %s\n", options->words[0]);
    json_decref(reply);
    return 0;
}

int run_reserve(int argc, char **argv)
{
    struct options options;
    struct error err;
    int status;

    if (!options_read(argc, argv, &options, &status))
        return status;
    if (options.word_count != 1 || !string_is_name(options.words[0], 63))
        return usage_wrong("reserve", "expected one name for the reservation");
    if (options.values[RESERVE_REMOVE])
        return send_reservation(&options, NULL, &err);
    json_t *body = json_object();
    status = build(&options, body);
    if (status == 0)
        status = send_reservation(&options, body, &err);
    json_decref(body);
    return status;
}

/* ---- listings ---- */

static void add_what(const json_t *item, struct text *text)
{
    const char *model = field_text(item, "model");
    const json_t *nodes = json_object_get(item, "nodes"), *node;
    int64_t gpus = field_number(item, "gpus");
    size_t i;

    if (gpus > 0)
        text_printf(text, "%" PRId64 " %s", gpus, model[0] ? model : gpus == 1 ? "gpu" : "gpus");
    json_array_foreach(nodes, i, node) text_printf(text, "%s%s",
                                                   i > 0      ? ","
                                                   : gpus > 0 ? " of "
                                                              : "",
                                                   json_string_value(node));
}

static void add_reservation(struct table *table, const json_t *item)
{
    AUTO_RELEASE(text) struct text next = { 0 }, what = { 0 };
    const json_t *whom = json_object_get(item, "for");
    const char *queue = field_text(whom, "queue"), *user = field_text(whom, "user");

    add_next(item, &next);
    add_what(item, &what);
    table_start_row(table);
    table_add_text(table, field_text(item, "name"));
    if (json_is_string(whom))
        table_add_text(table, json_string_value(whom));
    else
        table_add_format(table, "%s %s", queue[0] ? "queue" : "user", queue[0] ? queue : user);
    table_add_text(table, text_string(&what));
    table_add_text(table, text_string(&next));
    table_add_text(table, field_text(item, "when"));
    table_add_text(table, field_is_null(item, "by") ? "configuration" : field_text(item, "by"));
}

static void add_cron(struct table *table, const json_t *item)
{
    char next[CLOCK_SIZE], last[CLOCK_SIZE];

    table_start_row(table);
    table_add_number(table, field_number(item, "id"));
    table_add_text(table, field_text(item, "name"));
    table_add_text(table, field_text(item, "user"));
    table_add_text(table, field_text(item, "schedule"));
    table_add_text(table, clock_format(next, field_time(item, "next")));
    table_add_text(
        table, field_is_null(item, "fired") ? "-" : clock_format(last, field_time(item, "fired")));
    table_add_number(table, field_number(item, "count"));
    if (!field_is_null(item, "trouble")) {
        table_add_format(table, "refused: %s", field_text(item, "trouble"));
        table_style(table, TABLE_BAD);
    } else if (field_is_null(item, "job"))
        table_add_text(table, "-");
    else
        table_add_number(table, field_number(item, "job"));
}

struct times_listing {
    const char *path, *key, *id, *none;
    const struct table_column *columns;
    size_t column_count;
    void (*add_row)(struct table *table, const json_t *item);
};

static void print_listing(const struct times_listing *listing, const json_t *reply,
                          const struct options *options)
{
    const json_t *list = json_object_get(reply, listing->key), *item;
    size_t i;

    if (options->is_json) {
        reply_print(reply);
        return;
    }
    AUTO(table) struct table *table = table_create(listing->columns, listing->column_count);
    json_array_foreach(list, i, item)
    {
        const json_t *id = json_object_get(item, listing->id);
        if (!options->is_quiet)
            listing->add_row(table, item);
        else if (json_is_integer(id))
            printf("%" JSON_INTEGER_FORMAT "\n", json_integer_value(id));
        else
            printf("%s\n", json_string_value(id));
    }
    if (options->is_quiet)
        return;
    if (json_array_size(list) == 0)
        talk("%s", listing->none);
    else
        screen_table(table);
}

static int list(const struct options *options, const struct times_listing *listing)
{
    AUTO(json) json_t *reply = NULL;

    if (session_ask("GET", listing->path, NULL, &reply) != 0)
        return 1;
    print_listing(listing, reply, options);
    return 0;
}

int run_reservations(int argc, char **argv)
{
    static const struct table_column columns[] = {
        { "NAME", TABLE_LEFT, 0 }, { "FOR", TABLE_LEFT, 0 },  { "WHAT", TABLE_LEFT, 0 },
        { "NEXT", TABLE_LEFT, 0 }, { "WHEN", TABLE_LEFT, 8 }, { "BY", TABLE_LEFT, 0 },
    };
    static const struct times_listing listing = {
        "/v1/reservations", "reservations", "name", "no reservations", columns,
        COUNT_OF(columns),  add_reservation
    };
    struct options options;
    int status;

    if (!options_read_only(argc, argv, &options, &status))
        return status;
    return list(&options, &listing);
}

/* One that refuses does not keep the others. */
static int remove_crons(const struct options *options)
{
    AUTO_RELEASE(session) struct session session = { 0 };
    struct error err;
    int status = 0;

    if (session_open(&session, &err) < 0)
        return complain(&err);
    for (size_t i = 0; i < options->word_count; i++) {
        const char *id = options->words[i];
        AUTO_FREE char *path = mem_printf("/v1/cron/%s", id);
        json_t *reply = NULL;
        if (!id[0] || strspn(id, "0123456789") != strlen(id))
            return usage_wrong("cron", "'%s': expected the number of a repeating job", id);
        if (delete_at(&session, path, &reply, &err) < 0)
            status = complain(&err);
        else
            printf(options->is_quiet ? "%s\n" : "removed %s\n", id);
        json_decref(reply);
    }
    return status;
}

int run_cron(int argc, char **argv)
{
    static const struct table_column columns[] = {
        { "ID", TABLE_RIGHT, 0 },   { "NAME", TABLE_LEFT, 0 }, { "USER", TABLE_LEFT, 0 },
        { "AT", TABLE_LEFT, 0 },    { "NEXT", TABLE_LEFT, 0 }, { "LAST", TABLE_LEFT, 0 },
        { "RUNS", TABLE_RIGHT, 0 }, { "JOB", TABLE_LEFT, 8 },
    };
    static const struct times_listing listing = {
        "/v1/cron", "cron", "id", "no repeating jobs", columns, COUNT_OF(columns), add_cron
    };
    struct options options;
    int status;

    if (!options_read(argc, argv, &options, &status))
        return status;
    if (options.values[CRON_REMOVE] && options.word_count > 0)
        return remove_crons(&options);
    if (options.values[CRON_REMOVE])
        return usage_wrong("cron", "expected the number of a repeating job");
    if (options.word_count > 0)
        return usage_wrong("cron", "'%s': expected no word", options.words[0]);
    return list(&options, &listing);
}
