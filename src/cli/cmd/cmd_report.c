/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/list_view.h"
#include "cli/screen.h"
#include "cli/session.h"

enum { LAST, BY, COUNT, CSV, ESTIMATES, WIDTH = 80, KEY_WIDTH = 14, DIAGNOSES_SHOWN = 3 };

const struct option_entry options_report[] = {
    [LAST] = { "last", '\0', "TIME", "length of the period until now; default 7d" },
    [BY] = { "by", '\0', "WHAT", "one line per user, queue, job, model or stage" },
    [COUNT] = { "count", 'n', "N", "at most N lines, default 20" },
    [CSV] = { "csv", '\0', NULL, "print comma-separated values" },
    [ESTIMATES] = { "estimates", '\0', NULL,
                    "compare the start times that tarn showed with the real ones" },
    { 0 },
};

/* ---- the table ---- */

/* "412", "3.4", "0.02": three digits or so. */
static void add_amount(struct table *table, double value)
{
    table_add_format(table, "%.*f", value >= 100 ? 0 : value >= 1 || value == 0 ? 1 : 2, value);
}

static void cell_amount(struct table *table, const json_t *row, const char *key)
{
    if (field_is_null(row, key))
        table_add_absent(table);
    else
        add_amount(table, field_real(row, key));
}

static void cell_kwh(struct table *table, const json_t *row, const char *key)
{
    if (field_is_null(row, key))
        table_add_absent(table);
    else
        add_amount(table, field_real(row, key) / 3.6e6);
}

/* The peak of what was given. */
static void cell_memory(struct table *table, const json_t *row, const char *key)
{
    if (field_is_null(row, key) || field_real(row, "memory_given") <= 0)
        table_add_absent(table);
    else
        table_add_format(table, "%.0f%%",
                         field_real(row, key) / field_real(row, "memory_given") * 100);
}

/* What a line is of. */
static void cell_key(struct table *table, const json_t *row, const char *by)
{
    AUTO_RELEASE(text) struct text words = { 0 }, cut = { 0 };
    const char *name = field_text(row, strcmp(by, "job") == 0 ? "name" : by);

    if (strcmp(by, "job") == 0 && !field_is_true(row, "is_total"))
        text_printf(&words, "%s%s", field_text(row, "label"), name[0] ? " " : "");
    if (field_is_true(row, "is_total"))
        name = "total";
    text_add(&words, name[0] || words.length > 0 ? name : "none");
    text_add_cut(&cut, text_string(&words), KEY_WIDTH);
    table_add_text(table, text_string(&cut));
}

static void print_rows(const json_t *report)
{
    const char *by = field_text(report, "by");
    AUTO_RELEASE(text) struct text title = { 0 };

    upper_add(by, &title);
    const struct list_column columns[] = {
        { text_string(&title), TABLE_LEFT, 0, cell_key, by },
        { "OK", TABLE_RIGHT, 0, cell_number, "ok" },
        { "BAD", TABLE_RIGHT, 0, cell_number, "failed" },
        { "PRE", TABLE_RIGHT, 0, cell_number, "preempted" },
        { "GPU-H", TABLE_RIGHT, 0, cell_amount, "gpu_hours" },
        { "USE", TABLE_RIGHT, 0, cell_percent, "gpu_use" },
        { "MEM", TABLE_RIGHT, 0, cell_memory, "memory_used" },
        { "IDLE-H", TABLE_RIGHT, 0, cell_amount, "idle_gpu_hours" },
        { "KWH", TABLE_RIGHT, 0, cell_kwh, "energy_joules" },
        { "COST", TABLE_RIGHT, 0, cell_amount, "cost" },
    };
    AUTO(json) json_t *rows = json_copy(json_object_get(report, "rows"));
    AUTO(json) json_t *total = json_copy(json_object_get(report, "total"));
    json_object_set_new(total, "is_total", json_true());
    json_array_append(rows, total);
    list_print(columns, COUNT_OF(columns), rows);
    int64_t left = field_number(report, "row_count") + 1 - (int64_t)json_array_size(rows);
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
        text_printf(&line, ", %" PRId64 " not ended", field_number(total, "running"));
    if (capacity > 0)
        text_printf(&line, " · %.0f%% of %.3g GPU-hours allocated", hours / capacity * 100,
                    capacity);
    talk("%s", text_string(&line));
    if (hours > 0)
        talk("readings for %.0f%% of the allocated GPU-hours; USE, MEM and IDLE-H cover these",
             watched / hours * 100);
    talk("- not known, never 0 · BAD failed · PRE preemptions · MEM peak of allocation");
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
        put_cell(value_text(value));
}

/* An empty field is an unknown value. */
static void print_csv(const json_t *report)
{
    static const char *const keys[] = { "ok",
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
                                        "cost" };
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

/* ---- estimates ---- */

static void cell_share(struct table *table, const json_t *row, const char *key)
{
    if (field_is_null(row, key))
        table_add_absent(table);
    else
        table_add_format(table, "%.1f%%", field_real(row, key) * 100);
}

static void cell_error(struct table *table, const json_t *row, const char *key)
{
    char words[UNITS_TEXT_SIZE];

    if (field_is_null(row, key))
        table_add_absent(table);
    else
        table_add_text(table, units_format_duration(words, (usec_t)(field_real(row, key) * 1e6)));
}

/* The lists one below the other, each name with its kind. */
static json_t *estimate_lines(const json_t *report)
{
    static const struct {
        const char *key, *words;
    } lists[] = { { "queues", "queue " },
                  { "kinds", "wait for " },
                  { "horizons", "expected wait " },
                  { "history", "history: " } };
    json_t *lines = json_array(), *row;
    size_t k;

    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        json_array_foreach(json_object_get(report, lists[i].key), k, row)
        {
            json_t *line = json_copy(row);
            json_object_set_new(line, "name",
                                json_sprintf("%s%s", lists[i].words, field_text(row, "name")));
            json_array_append_new(lines, line);
        }
    }
    json_t *total = json_copy(json_object_get(report, "total"));
    json_object_set_new(total, "name", json_string("total"));
    json_array_append_new(lines, total);
    return lines;
}

static void print_estimates(const json_t *report)
{
    static const struct list_column columns[] = {
        { "ESTIMATES", TABLE_LEFT, 0, cell_text, "name" },
        { "RANGES", TABLE_RIGHT, 0, cell_number, "ranged" },
        { "WITHIN", TABLE_RIGHT, 0, cell_share, "coverage" },
        { "EARLIER", TABLE_RIGHT, 0, cell_share, "below" },
        { "LATER", TABLE_RIGHT, 0, cell_share, "above" },
        { "ERROR", TABLE_RIGHT, 0, cell_error, "median_error_seconds" },
        { "EXACT", TABLE_RIGHT, 0, cell_number, "exact" },
        { "RIGHT", TABLE_RIGHT, 0, cell_share, "exact_right" },
        { "SURE", TABLE_RIGHT, 0, cell_number, "guaranteed" },
        { "BROKEN", TABLE_RIGHT, 0, cell_number, "broken" },
    };
    const json_t *total = json_object_get(report, "total");
    AUTO(json) json_t *lines = estimate_lines(report);

    list_print(columns, COUNT_OF(columns), lines);
    talk("WITHIN: starts within the 80 %% range · ERROR: median distance from the expected time · "
         "EXACT: estimates without a range");
    talk("RIGHT: the share of EXACT that started so · BROKEN: guaranteed starts that came later");
    talk("SURE: guaranteed starts · %" PRId64 " jobs still wait, %" PRId64 " ended without a start",
         field_number(total, "open"), field_number(total, "dropped"));
}

static int report_estimates(const struct options *options)
{
    AUTO_RELEASE(text) struct text path = { 0 };
    AUTO(json) json_t *reply = NULL;

    if (options->values[BY] || options->values[COUNT] || options->values[CSV])
        return usage_wrong("report", "--estimates goes with --last and --json only");
    text_add(&path, "/v1/estimates");
    if (options->values[LAST])
        client_query_add(&path, "last", options->values[LAST]);
    if (session_ask("GET", text_string(&path), NULL, &reply) != 0)
        return 1;
    if (options->is_json)
        reply_print(reply);
    else
        print_estimates(reply);
    return 0;
}

int run_report(const struct options *options)
{
    static const char *const keys[] = { [LAST] = "last", [BY] = "by", [COUNT] = "shown" };
    AUTO_RELEASE(text) struct text path = { 0 };
    AUTO(json) json_t *reply = NULL;

    if (options->values[ESTIMATES])
        return report_estimates(options);
    text_add(&path, "/v1/report");
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        if (options->values[i])
            client_query_add(&path, keys[i], options->values[i]);
    }
    if (session_ask("GET", text_string(&path), NULL, &reply) != 0)
        return 1;
    print(reply, options);
    return 0;
}
