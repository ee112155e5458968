/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/fields.h"
#include "cli/screen.h"
#include "cli/session.h"

enum { LAST, BY, COUNT, CSV, WIDTH = 80, KEY_WIDTH = 14, DIAGNOSES_SHOWN = 3 };

const struct option_entry options_report[] = {
    [LAST] = { "last", '\0', "TIME", "length of the period until now; default 7d" },
    [BY] = { "by", '\0', "WHAT", "one line per user, queue, job or model" },
    [COUNT] = { "count", 'n', "N", "at most N lines, default 20" },
    [CSV] = { "csv", '\0', NULL, "print comma-separated values" },
    { 0 },
};

/* ---- the table ---- */

/* "412", "3.4", "0.02": three digits or so. */
static void add_amount(struct table *table, double value)
{
    table_add_format(table, "%.*f", value >= 100 ? 0 : value >= 1 || value == 0 ? 1 : 2, value);
}

static void add_known(struct table *table, const json_t *row, const char *key, double factor)
{
    if (field_is_null(row, key))
        table_add_absent(table);
    else
        add_amount(table, field_real(row, key) * factor);
}

static void add_percent(struct table *table, const json_t *row, const char *key)
{
    if (field_is_null(row, key))
        table_add_absent(table);
    else
        table_add_format(table, "%.0f%%", field_real(row, key) * 100);
}

/* The peak of what was given. */
static void add_memory(struct table *table, const json_t *row)
{
    if (field_is_null(row, "memory_used") || field_real(row, "memory_given") <= 0)
        table_add_absent(table);
    else
        table_add_format(table, "%.0f%%",
                         field_real(row, "memory_used") / field_real(row, "memory_given") * 100);
}

static void add_key(const json_t *row, const char *by, struct text *text)
{
    const char *name = field_text(row, strcmp(by, "job") == 0 ? "name" : by);

    if (strcmp(by, "job") == 0)
        text_printf(text, "%s%s", field_text(row, "label"), name[0] ? " " : "");
    text_add(text, name[0] || text->length > 0 ? name : "none");
}

static void add_row(struct table *table, const json_t *row, const char *key)
{
    AUTO_RELEASE(text) struct text cut = { 0 };

    text_add_cut(&cut, key, KEY_WIDTH);
    table_start_row(table);
    table_add_text(table, text_string(&cut));
    table_add_number(table, field_number(row, "ok"));
    table_add_number(table, field_number(row, "failed"));
    table_add_number(table, field_number(row, "preempted"));
    add_amount(table, field_real(row, "gpu_hours"));
    add_percent(table, row, "gpu_use");
    add_memory(table, row);
    add_known(table, row, "idle_gpu_hours", 1);
    add_known(table, row, "energy_joules", 1 / 3.6e6);
    add_known(table, row, "cost", 1);
}

static void print_rows(const json_t *report)
{
    const char *by = field_text(report, "by");
    char title[16];
    snprintf(title, sizeof(title), "%c%s", by[0] - 'a' + 'A', by + 1);
    for (char *at = title; *at; at++)
        *at = *at >= 'a' && *at <= 'z' ? (char)(*at - 'a' + 'A') : *at;
    const struct table_column columns[] = {
        { title, TABLE_LEFT, 0 },   { "OK", TABLE_RIGHT, 0 },     { "BAD", TABLE_RIGHT, 0 },
        { "PRE", TABLE_RIGHT, 0 },  { "GPU-H", TABLE_RIGHT, 0 },  { "USE", TABLE_RIGHT, 0 },
        { "MEM", TABLE_RIGHT, 0 },  { "IDLE-H", TABLE_RIGHT, 0 }, { "KWH", TABLE_RIGHT, 0 },
        { "COST", TABLE_RIGHT, 0 },
    };
    AUTO(table) struct table *table = table_create(columns, COUNT_OF(columns));
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(report, "rows"), i, row)
    {
        AUTO_RELEASE(text) struct text key = { 0 };
        add_key(row, by, &key);
        add_row(table, row, text_string(&key));
    }
    add_row(table, json_object_get(report, "total"), "total");
    screen_table(table);
    int64_t left = field_number(report, "row_count") - (int64_t)i;
    if (left > 0)
        printf("and %" PRId64 " more: -n N shows them\n", left);
}

/* ---- findings ---- */

static void print_cut(const struct text *line)
{
    AUTO_RELEASE(text) struct text cut = { 0 };

    text_add_cut(&cut, text_string(line), WIDTH);
    text_add(&cut, "\n");
    screen_put(stdout, text_string(&cut));
}

static void print_diagnoses(const json_t *report)
{
    const json_t *diagnosis;
    size_t i;

    json_array_foreach(json_object_get(report, "diagnoses"), i, diagnosis)
    {
        AUTO_RELEASE(text) struct text line = { 0 };
        if (i == DIAGNOSES_SHOWN)
            return;
        if (i == 0)
            putchar('\n');
        text_printf(&line, "%s, %.3g GPU-hours: %s", field_text(diagnosis, "name"),
                    field_real(diagnosis, "gpu_hours"), field_text(diagnosis, "seen"));
        print_cut(&line);
    }
}

static void print_worst(const json_t *report)
{
    const json_t *job;
    size_t i;

    json_array_foreach(json_object_get(report, "worst"), i, job)
    {
        AUTO_RELEASE(text) struct text line = { 0 };
        const char *advice = field_text(job, "advice");
        text_printf(&line, "job %s", field_text(job, "label"));
        if (field_text(job, "user")[0])
            text_printf(&line, " (%s)", field_text(job, "user"));
        text_printf(&line, ": %.3g of %.3g GPU-hours idle", field_real(job, "idle_gpu_hours"),
                    field_real(job, "watched_gpu_hours"));
        if (advice[0])
            text_printf(&line, "; %s", advice);
        if (i == 0)
            putchar('\n');
        print_cut(&line);
    }
}

static void print_footer(const json_t *report)
{
    const json_t *total = json_object_get(report, "total");
    char from[CLOCK_SIZE], until[CLOCK_SIZE];
    double hours = field_real(total, "gpu_hours"),
           capacity = field_real(report, "capacity_gpu_hours"),
           watched = field_real(total, "watched_gpu_hours");
    AUTO_RELEASE(text) struct text line = { 0 };
    int64_t count = field_number(report, "jobs");

    text_printf(&line, "%s to %s · %" PRId64 " job%s",
                clock_format(from, field_time(report, "from")),
                clock_format(until, field_time(report, "until")), count, count == 1 ? "" : "s");
    if (field_number(total, "running") > 0)
        text_printf(&line, ", %" PRId64 " not over", field_number(total, "running"));
    if (capacity > 0)
        text_printf(&line, " · %.0f%% of %.3g GPU-hours given", hours / capacity * 100, capacity);
    talk("%s", text_string(&line));
    if (hours > 0)
        talk("readings for %.0f%% of the given GPU-hours; USE, MEM, IDLE-H speak of these",
             watched / hours * 100);
    talk("- not known, never 0 · BAD failed · PRE stopped for others · MEM peak of given");
}

/* ---- comma-separated values ---- */

static void put_cell(const char *words)
{
    bool is_quoted = strpbrk(words, ",\"\n\r") != NULL;

    if (is_quoted)
        putchar('"');
    for (; *words; words++) {
        if (*words == '"')
            putchar('"');
        putchar(*words);
    }
    if (is_quoted)
        putchar('"');
}

static void put_value(const json_t *value)
{
    putchar(',');
    if (json_is_integer(value))
        printf("%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_number(value))
        printf("%.9g", json_number_value(value));
    else if (json_is_string(value))
        put_cell(json_string_value(value));
}

/* An empty field is an unknown value. */
static void print_csv(const json_t *report)
{
    static const char *const keys[] = {
        "ok",
        "failed",
        "cancelled",
        "running",
        "preempted",
        "gpu_hours",
        "watched_gpu_hours",
        "gpu_use",
        "memory_used",
        "memory_given",
        "idle_gpu_hours",
        "energy_joules",
        "energy_gpu_hours",
        "cost",
    };
    static const char *const job_keys[] = { "name", "user", "queue", "model" };
    const char *by = field_text(report, "by");
    bool is_job = strcmp(by, "job") == 0;
    const json_t *row;
    size_t i;

    printf("%s", by);
    for (size_t k = 0; is_job && k < COUNT_OF(job_keys); k++)
        printf(",%s", job_keys[k]);
    for (size_t k = 0; k < COUNT_OF(keys); k++)
        printf(",%s", keys[k]);
    putchar('\n');
    json_array_foreach(json_object_get(report, "rows"), i, row)
    {
        put_cell(field_text(row, is_job ? "label" : by));
        for (size_t k = 0; is_job && k < COUNT_OF(job_keys); k++)
            put_value(json_object_get(row, job_keys[k]));
        for (size_t k = 0; k < COUNT_OF(keys); k++)
            put_value(json_object_get(row, keys[k]));
        putchar('\n');
    }
}

static void print(const json_t *report, const struct options *options)
{
    if (options->is_json) {
        reply_print(report);
        return;
    }
    if (options->values[CSV]) {
        print_csv(report);
        return;
    }
    if (json_array_size(json_object_get(report, "rows")) == 0)
        talk("no job ran or ended in this period");
    else
        print_rows(report);
    print_diagnoses(report);
    print_worst(report);
    print_footer(report);
}

int run_report(int argc, char **argv)
{
    AUTO_RELEASE(text) struct text path = { 0 };
    static const char *const keys[] = { [LAST] = "last", [BY] = "by", [COUNT] = "shown" };
    struct options options;
    AUTO(json) json_t *reply = NULL;
    int status;

    if (!options_read_only(argc, argv, &options, &status))
        return status;
    text_add(&path, "/v1/report");
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        if (options.values[i])
            client_query_add(&path, keys[i], options.values[i]);
    }
    if (session_ask("GET", text_string(&path), NULL, &reply) != 0)
        return 1;
    print(reply, &options);
    return 0;
}
