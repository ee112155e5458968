/* SPDX-License-Identifier: Apache-2.0 */
/* ls, nodes, pools, queues, scale: a listing each */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cli/command.h"
#include "cli/fields.h"
#include "cli/job_view.h"
#include "cli/screen.h"
#include "cli/session.h"

/* ---- ls ---- */

enum { ALL, STATE, QUEUE, USER, NAME, GROUP, COUNT, AFTER, TASKS, SINCE, UNTIL };

const struct option_entry options_ls[] = {
    [ALL] = { "all", 'a', NULL, "include ended jobs" },
    [STATE] = { "state", 's', "STATES",
                "held, waiting, queued, granted, running, stopping, ended, failed ..." },
    [QUEUE] = { "queue", 0, "NAME", "only jobs of this queue" },
    [USER] = { "user", 'u', "NAME", "only jobs of this user" },
    [NAME] = { "name", 0, "NAME", "only jobs with this name" },
    [GROUP] = { "group", 'g', "ID", "only jobs of this array, stage or pipeline" },
    [COUNT] = { "count", 'n', "N", "at most N jobs, default 1000" },
    [AFTER] = { "after", 0, "ID", "only jobs after this one" },
    [TASKS] = { "tasks", 0, NULL, "a row for each task of an array" },
    [SINCE] = { "since", 0, "DURATION",
                "jobs that existed in the last 2h or 7d, including ended ones" },
    [UNTIL] = { "until", 0, "DURATION", "exclude jobs submitted in the last 1h" },
    { 0 },
};

static int add_ago(const struct options *options, size_t option, const char *key, struct text *path,
                   struct error *err)
{
    char seconds[24];
    usec_t ago;

    if (!options->values[option])
        return 0;
    if (units_parse_duration(options->values[option], &ago, err) < 0)
        return error_prefix(err, -EINVAL, "--%s", key);
    snprintf(seconds, sizeof(seconds), "%" PRId64, ago / USEC_PER_SEC);
    client_query_add(path, key, seconds);
    return 0;
}

static int build_path(const struct options *options, struct text *path, struct error *err)
{
    static const char *const keys[] = {
        [STATE] = "state", [QUEUE] = "queue", [USER] = "user",  [NAME] = "name",
        [GROUP] = "group", [COUNT] = "limit", [AFTER] = "after"
    };

    bool is_all = options->values[ALL] || options->values[SINCE] || options->values[UNTIL];

    text_add(path, "/v1/jobs");
    if (is_all)
        client_query_add(path, "all", "1");
    if (is_all && !options->values[AFTER] && !options->values[GROUP])
        client_query_add(path, "newest", "1");
    if (!options->values[TASKS] && !options->is_json && !options->is_quiet)
        client_query_add(path, "rows", "1");
    for (size_t i = STATE; i < COUNT_OF(keys); i++) {
        if (options->values[i])
            client_query_add(path, keys[i], options->values[i]);
    }
    int code = add_ago(options, SINCE, "since", path, err);
    return code < 0 ? code : add_ago(options, UNTIL, "until", path, err);
}

/* The rows that have come. */
struct rows {
    struct list_table list;
    int64_t count; /* of jobs: a row may be several tasks of an array */
    bool is_quiet, any_is_synthetic;
};

static void take_row(void *user, const json_t *row)
{
    struct rows *rows = user;

    rows->count += field_is_null(row, "tasks") ? 1 : field_number(row, "tasks");
    rows->any_is_synthetic = rows->any_is_synthetic || field_is_true(row, "synthetic");
    if (rows->is_quiet)
        list_put_id(json_object_get(row, "label"));
    else
        list_table_add(&rows->list, row);
}

static void print_footer(const json_t *reply, const struct rows *rows, bool is_all)
{
    const json_t *gpus = json_object_get(reply, "gpus");
    char given[UNITS_TEXT_SIZE], total[UNITS_TEXT_SIZE];

    talk("%" PRId64 " job%s · %s of %s gpus allocated%s · tarn why ID explains", rows->count,
         rows->count == 1 ? "" : "s", units_format_milli(given, field_milli(gpus, "given")),
         units_format_milli(total, field_milli(gpus, "total")),
         rows->any_is_synthetic ? " · synthetic: no real devices" : "");
    if (field_is_true(reply, "older"))
        talk("older jobs exist: tarn ls -a -n N shows more");
    if (!field_is_null(reply, "next"))
        talk("more jobs exist: tarn ls%s --after %" PRId64 " continues, -n N shows more at once",
             is_all ? " -a" : "", field_number(reply, "next"));
}

/* Says that nothing was found. The exit status. */
static int say_none(const struct options *options)
{
    bool is_all = options->values[ALL];

    if (options->values[NAME] || options->values[USER] || options->values[QUEUE]) {
        talk("no job has that name, user or queue%s",
             is_all ? "" : "; tarn ls -a also searches those that have ended");
        return 1;
    }
    if (!options->is_json && !options->is_quiet)
        talk("%s", is_all ? "no jobs" : "no jobs; tarn ls -a also shows those that have ended");
    return 0;
}

static int list_json(const char *path, const struct options *options)
{
    AUTO(json) json_t *reply = NULL;

    if (session_ask("GET", path, NULL, &reply) != 0)
        return 1;
    reply_print(reply);
    return json_array_size(json_object_get(reply, "jobs")) == 0 ? say_none(options) : 0;
}

static int list_rows(const char *path, const struct options *options)
{
    AUTO(json) json_t *reply = NULL;
    struct rows rows = { .is_quiet = options->is_quiet };
    struct session_list list = { "jobs", take_row, &rows };

    list_table_init(&rows.list, jobs_columns, JOBS_COLUMNS);
    int code = session_ask_list(path, &list, &reply);
    if (code == 0 && rows.count == 0)
        code = say_none(options);
    else if (code == 0 && !rows.is_quiet) {
        list_table_print(&rows.list);
        print_footer(reply, &rows, options->values[ALL]);
    }
    list_table_release(&rows.list);
    return code;
}

int run_ls(const struct options *options)
{
    AUTO_RELEASE(text) struct text path = { 0 };
    struct error err;

    if (options->word_count > 0)
        return usage_wrong("ls", "'%s': unexpected argument; tarn show ID shows one job",
                           options->words[0]);
    if (build_path(options, &path, &err) < 0)
        return usage_wrong("ls", "%s", err.text);
    return options->is_json ? list_json(path.bytes, options) : list_rows(path.bytes, options);
}

/* ---- nodes ---- */

/* "6 of 8" */
static void add_part(struct table *table, const json_t *item, const char *given, const char *of)
{
    char part[UNITS_TEXT_SIZE], whole[UNITS_TEXT_SIZE];

    table_add_format(table, "%s of %s", units_format_milli(part, field_milli(item, given)),
                     units_format_milli(whole, field_milli(item, of)));
}

static void cell_state(struct table *table, const json_t *node, const char *key)
{
    const char *state = field_text(node, key);

    table_add_text(table, state);
    table_style(table, strcmp(state, "up") == 0 ? TABLE_GOOD : TABLE_WAITS);
}

static void cell_gpus(struct table *table, const json_t *node, const char *key)
{
    add_part(table, node, "gpus_given", key);
}

static void cell_cpus(struct table *table, const json_t *node, const char *key)
{
    add_part(table, node, "cpus_given", key);
}

static void cell_memory(struct table *table, const json_t *node, const char *key)
{
    char part[UNITS_TEXT_SIZE], whole[UNITS_TEXT_SIZE];
    int64_t given = field_number(node, "memory_given");

    if (field_is_null(node, key))
        table_add_absent(table);
    else
        table_add_format(table, "%s of %s", given > 0 ? units_format_mib(part, given) : "0",
                         units_format_mib(whole, field_number(node, key)));
}

/* Why it is not up, or when it will no longer be. */
static void cell_fate(struct table *table, const json_t *node, const char *key)
{
    char clock[CLOCK_SIZE];

    if (field_time(node, "going_at") > 0) {
        table_add_format(table, "taken away at %s",
                         clock_format(clock, field_time(node, "going_at")));
        table_style(table, TABLE_BAD);
    } else {
        const char *drained = field_text(node, "drained"); /* of a node that is down */
        const char *reason = field_text(node, key), *occupied = field_text(node, "occupied");

        table_add_format(table, "%s%s%s%s%s%s", field_is_true(node, "spot") ? "spot " : "", reason,
                         drained[0] ? "; then drained: " : "", drained,
                         occupied[0] && (reason[0] || drained[0]) ? "; " : "", occupied);
    }
}

/* "h100x8 rack=r7 zone=a" */
static void cell_labels(struct table *table, const json_t *node, const char *key)
{
    static const char *const places[] = { "rack", "block" };
    AUTO_RELEASE(text) struct text words = { 0 };
    const json_t *labels = json_object_get(node, key);

    text_add(&words, field_text(node, "type"));
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        const char *name = field_text(node, places[i]);
        if (name[0])
            text_printf(&words, "%s%s=%s", words.length > 0 ? " " : "", places[i], name);
    }
    for (size_t i = 0; i < json_array_size(labels); i++)
        text_printf(&words, "%s%s", words.length > 0 ? " " : "",
                    value_text(json_array_get(labels, i)));
    if (words.length > 0)
        table_add_text(table, words.bytes);
    else
        table_add_absent(table);
}

int run_nodes(const struct options *options)
{
    static const struct list_column columns[] = {
        { "NODE", TABLE_LEFT, 8, cell_text, "name" },
        { "STATE", TABLE_LEFT, 0, cell_state, "state" },
        { "GPUS", TABLE_LEFT, 0, cell_gpus, "gpus" },
        { "CPUS", TABLE_LEFT, 0, cell_cpus, "cpus" },
        { "MEMORY", TABLE_LEFT, 0, cell_memory, "memory" },
        { "LABELS", TABLE_LEFT, 8, cell_labels, "labels" },
        { "REASON", TABLE_LEFT, 8, cell_fate, "reason" },
    };
    static const struct list_view view = { "/v1/nodes", "nodes", "name",
                                           "no nodes",  columns, COUNT_OF(columns) };

    return list_ask(&view, options);
}

/* ---- pools ---- */

static void cell_or_any(struct table *table, const json_t *pool, const char *key)
{
    const char *name = field_text(pool, key);

    table_add_text(table, name[0] ? name : "any");
}

static void cell_given(struct table *table, const json_t *pool, const char *key)
{
    add_part(table, pool, key, "gpus");
}

static void cell_devices(struct table *table, const json_t *pool, const char *key)
{
    AUTO_RELEASE(text) struct text devices = { 0 };

    numbers_format(json_object_get(pool, key), &devices);
    table_add_text(table, text_string(&devices));
}

int run_pools(const struct options *options)
{
    static const struct list_column columns[] = {
        { "POOL", TABLE_LEFT, 8, cell_text, "name" },
        { "TYPE", TABLE_LEFT, 0, cell_text, "type" },
        { "QUEUE", TABLE_LEFT, 0, cell_or_any, "queue" },
        { "MODEL", TABLE_LEFT, 0, cell_or_any, "model" },
        { "ALLOC", TABLE_LEFT, 0, cell_given, "given" },
        { "MIN", TABLE_RIGHT, 0, cell_milli, "min" },
        { "MAX", TABLE_RIGHT, 0, cell_milli, "max" },
        { "DEVICES", TABLE_LEFT, 8, cell_devices, "devices" },
    };
    static const struct list_view view = { "/v1/pools", "pools", "name",
                                           "no pools",  columns, COUNT_OF(columns) };

    return list_ask(&view, options);
}

/* ---- queues ---- */

static void cell_indented(struct table *table, const json_t *queue, const char *key)
{
    table_add_format(table, "%*s%s", (int)field_number(queue, "depth") * 2, "",
                     field_text(queue, key));
}

/* Zero is shown as "-". */
static void cell_some(struct table *table, const json_t *queue, const char *key)
{
    if (field_milli(queue, key) == 0)
        table_add_absent(table);
    else
        cell_milli(table, queue, key);
}

int run_queues(const struct options *options)
{
    static const struct list_column columns[] = {
        { "QUEUE", TABLE_LEFT, 10, cell_indented, "name" },
        { "GUARANTEE", TABLE_RIGHT, 0, cell_milli, "guarantee" },
        { "LIMIT", TABLE_RIGHT, 0, cell_milli, "limit" },
        { "ALLOC", TABLE_RIGHT, 0, cell_milli, "given" },
        { "RUNNING", TABLE_RIGHT, 0, cell_number, "running" },
        { "QUEUED", TABLE_RIGHT, 0, cell_number, "queued" },
        { "FAIR", TABLE_RIGHT, 0, cell_milli, "fair" },
        { "BORROWED", TABLE_RIGHT, 0, cell_some, "borrowed" },
        { "LENT", TABLE_RIGHT, 0, cell_some, "lent" },
        { "CLAIM", TABLE_RIGHT, 0, cell_milli, "claim" },
        { "WEIGHT", TABLE_RIGHT, 0, cell_number, "weight" },
        { "USED", TABLE_RIGHT, 0, cell_percent, "used_share" },
    };
    static const struct list_view view = { "/v1/queues", "queues", "name",
                                           "no queues",  columns,  COUNT_OF(columns) };

    return list_ask(&view, options);
}

/* ---- scale ---- */

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
                              ? "open-ended"
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
        { "TYPE", TABLE_LEFT, 0 },  { "AS", TABLE_LEFT, 0 },        { "NODES", TABLE_RIGHT, 0 },
        { "JOBS", TABLE_RIGHT, 0 }, { "PER HOUR", TABLE_RIGHT, 0 }, { "WAIT SAVED", TABLE_LEFT, 8 },
    };
    const json_t *wanted = json_object_get(reply, "wanted");
    const json_t *may_go = json_object_get(reply, "may_go"), *item;
    size_t i;

    if (field_number(reply, "types") == 0) {
        say("no node_types are configured; tarn apply -f FILE sets them");
        return;
    }
    if (json_array_size(wanted) + json_array_size(may_go) == 0) {
        say("no node needs to be added, and none can be released");
        return;
    }
    AUTO(table) struct table *table = table_create(columns, COUNT_OF(columns));
    json_array_foreach(wanted, i, item) add_wanted(table, item);
    json_array_foreach(may_go, i, item) add_going(table, item);
    screen_table(table);
}

int run_scale(const struct options *options)
{
    AUTO(json) json_t *reply = NULL;

    if (session_ask("GET", "/v1/scale", NULL, &reply) != 0)
        return 1;
    if (options->is_json)
        reply_print(reply);
    else
        print_scale(reply);
    return 0;
}
