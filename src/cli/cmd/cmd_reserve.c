/* SPDX-License-Identifier: Apache-2.0 */
/* reserve, reservations, cron: what happens at times that come again */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/command.h"
#include "cli/fields.h"
#include "cli/list_view.h"
#include "cli/screen.h"
#include "cli/session.h"

enum { RESERVE_FOR, RESERVE_WHEN, RESERVE_GPUS, RESERVE_MODEL, RESERVE_NODES, RESERVE_REMOVE };
enum { CRON_REMOVE };

const struct option_entry options_reserve[] = {
    [RESERVE_FOR] = { "for", 0, "OWNER", "queue:NAME, user:NAME or maintenance" },
    [RESERVE_WHEN] = { "when", 'w', "TIMES",
                       "times: 'mon 14:00-16:00', '2030-01-31 08:00-12:00', or a window" },
    [RESERVE_GPUS] = { "gpus", 0, "N", "number of GPUs, of one model or any" },
    [RESERVE_MODEL] = { "model", 0, "MODEL", "only GPUs of this model" },
    [RESERVE_NODES] = { "nodes", 0, "NAMES", "these nodes, separated by commas" },
    [RESERVE_REMOVE] = { "remove", 0, NULL, "end the reservation" },
    { 0 },
};
const struct option_entry options_cron[] = {
    [CRON_REMOVE] = { "remove", 0, NULL, "remove these jobs" },
    { 0 },
};

/* ---- reserve ---- */

/* "queue:research", "user:ana", "maintenance". False: it is neither. */
static bool add_owner(json_t *body, const char *owner)
{
    const char *colon = strchr(owner, ':');
    size_t length = colon ? (size_t)(colon - owner) : 0;

    if (strcmp(owner, "maintenance") == 0) {
        json_object_set_new(body, "for", json_string(owner));
        return true;
    }
    if (!colon || !colon[1] ||
        (strncmp(owner, "queue:", 6) != 0 && strncmp(owner, "user:", 5) != 0))
        return false;
    AUTO_FREE char *kind = mem_string_of(owner, length);
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
    if (!add_owner(body, values[RESERVE_FOR]))
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

/* body NULL: remove it. */
static int send_reservation(const struct options *options, const json_t *body)
{
    const char *name = options->words[0];
    AUTO_FREE char *path =
        mem_printf("/v1/reservations%s%s", body ? "" : "?name=", body ? "" : name);
    AUTO_RELEASE(text) struct text next = { 0 };
    AUTO(json) json_t *reply = NULL;

    if (session_ask(body ? "POST" : "DELETE", path, body, &reply) != 0)
        return 1;
    if (reply_is_shown(reply, name, options))
        return 0;
    if (body) {
        add_next(reply, &next);
        printf("reservation %s · %s\n", name, text_string(&next));
    } else
        printf("removed %s\n", name);
    return 0;
}

int run_reserve(const struct options *options)
{
    AUTO(json) json_t *body = NULL;

    if (options->word_count != 1 || !string_is_name(options->words[0], 63))
        return usage_wrong("reserve", "expected one name for the reservation");
    if (!options->values[RESERVE_REMOVE]) {
        body = json_object();
        int status = build(options, body);
        if (status != 0)
            return status;
    }
    return send_reservation(options, body);
}

/* ---- listings ---- */

static void cell_whom(struct table *table, const json_t *item, const char *key)
{
    const json_t *owner = json_object_get(item, key);
    const char *queue = field_text(owner, "queue"), *user = field_text(owner, "user");

    if (json_is_string(owner))
        table_add_text(table, value_text(owner));
    else
        table_add_format(table, "%s %s", queue[0] ? "queue" : "user", queue[0] ? queue : user);
}

static void cell_what(struct table *table, const json_t *item, const char *key)
{
    const char *model = field_text(item, "model");
    const json_t *nodes = json_object_get(item, "nodes"), *node;
    AUTO_RELEASE(text) struct text text = { 0 };
    int64_t gpus = field_number(item, key);
    size_t i;

    if (gpus > 0)
        text_printf(&text, "%" PRId64 " %s", gpus, model[0] ? model : gpus == 1 ? "gpu" : "gpus");
    json_array_foreach(nodes, i, node)
    {
        text_add(&text, i > 0 ? "," : gpus > 0 ? " of " : "");
        text_add(&text, value_text(node));
    }
    table_add_text(table, text_string(&text));
}

static void cell_next(struct table *table, const json_t *item, const char *key)
{
    AUTO_RELEASE(text) struct text next = { 0 };

    (void)key;
    add_next(item, &next);
    table_add_text(table, text_string(&next));
}

static void cell_by(struct table *table, const json_t *item, const char *key)
{
    table_add_text(table, field_is_null(item, key) ? "configuration" : field_text(item, key));
}

int run_reservations(const struct options *options)
{
    static const struct list_column columns[] = {
        { "NAME", TABLE_LEFT, 0, cell_text, "name" }, { "FOR", TABLE_LEFT, 0, cell_whom, "for" },
        { "WHAT", TABLE_LEFT, 0, cell_what, "gpus" }, { "NEXT", TABLE_LEFT, 0, cell_next, NULL },
        { "WHEN", TABLE_LEFT, 8, cell_text, "when" }, { "BY", TABLE_LEFT, 0, cell_by, "by" },
    };
    static const struct list_view view = { "/v1/reservations", "reservations", "name",
                                           "no reservations",  columns,        COUNT_OF(columns) };

    return list_ask(&view, options);
}

static void cell_job(struct table *table, const json_t *item, const char *key)
{
    if (field_is_null(item, "trouble")) {
        cell_number(table, item, key);
        return;
    }
    table_add_format(table, "refused: %s", field_text(item, "trouble"));
    table_style(table, TABLE_BAD);
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
        if (!id[0] || strspn(id, "0123456789") != strlen(id))
            return usage_wrong("cron", "'%s': expected the number of a repeating job", id);
        if (session_send(&session, "DELETE", path, NULL, NULL, &err) < 0)
            status = complain(&err);
        else
            printf(options->is_quiet ? "%s\n" : "removed %s\n", id);
    }
    return status;
}

int run_cron(const struct options *options)
{
    static const struct list_column columns[] = {
        { "ID", TABLE_RIGHT, 0, cell_number, "id" },
        { "NAME", TABLE_LEFT, 0, cell_text, "name" },
        { "USER", TABLE_LEFT, 0, cell_text, "user" },
        { "AT", TABLE_LEFT, 0, cell_text, "schedule" },
        { "NEXT", TABLE_LEFT, 0, cell_clock, "next" },
        { "LAST", TABLE_LEFT, 0, cell_clock, "fired" },
        { "RUNS", TABLE_RIGHT, 0, cell_number, "count" },
        { "JOB", TABLE_LEFT, 8, cell_job, "job" },
    };
    static const struct list_view view = { "/v1/cron",          "cron",  "id",
                                           "no repeating jobs", columns, COUNT_OF(columns) };

    if (options->values[CRON_REMOVE] && options->word_count > 0)
        return remove_crons(options);
    if (options->values[CRON_REMOVE])
        return usage_wrong("cron", "expected the number of a repeating job");
    if (options->word_count > 0)
        return usage_wrong("cron", "'%s': unexpected argument", options->words[0]);
    return list_ask(&view, options);
}
