/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/listing.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { QUEUES_LISTED_MAX = 12 };

/* Where a number stands in a result, and what it is called. */
struct line {
    const char *metric, *member; /* member NULL: the metric is a number */
    const char *title;
    enum { UNIT_SECONDS, UNIT_PERCENT, UNIT_PLAIN, UNIT_NS } unit;
};

static const struct line lines[] = {
    { "wait", "mean", "wait, mean", UNIT_SECONDS },
    { "wait", "p50", "wait, median", UNIT_SECONDS },
    { "wait", "p95", "wait, p95", UNIT_SECONDS },
    { "wait", "p99", "wait, p99", UNIT_SECONDS },
    { "wait", "max", "wait, largest", UNIT_SECONDS },
    { "bounded_slowdown", "mean", "bounded slowdown, mean", UNIT_PLAIN },
    { "bounded_slowdown", "geometric_mean", "bounded slowdown, geometric", UNIT_PLAIN },
    { "bounded_slowdown", "p95", "bounded slowdown, p95", UNIT_PLAIN },
    { "per_processor_slowdown", "mean", "per-processor slowdown", UNIT_PLAIN },
    { "jct", "mean", "JCT, mean", UNIT_SECONDS },
    { "jct", "p50", "JCT, median", UNIT_SECONDS },
    { "jct", "p99", "JCT, p99", UNIT_SECONDS },
    { "makespan", NULL, "makespan", UNIT_SECONDS },
    { "utilization", NULL, "utilization", UNIT_PERCENT },
    { "blocked_idle", NULL, "blocked idle", UNIT_PERCENT },
    { "fragmentation", "of_capacity", "fragmentation, % of all GPUs", UNIT_PERCENT },
    { "fragmentation", "of_idle", "fragmentation, % of idle GPUs", UNIT_PERCENT },
    { "largest_gang", "node", "free whole GPUs, one node", UNIT_PLAIN },
    { "largest_gang", "cluster", "free whole GPUs, all", UNIT_PLAIN },
    { "finish_time_fairness", "mean", "finish-time fairness, mean", UNIT_PLAIN },
    { "finish_time_fairness", "worst", "finish-time fairness, worst", UNIT_PLAIN },
    { "finish_time_fairness", "unfair_percent", "unfair jobs", UNIT_PERCENT },
    { "jain", NULL, "Jain's index", UNIT_PLAIN },
    { "share_error", NULL, "share error", UNIT_PERCENT },
    { "preemptions", "count", "preemptions", UNIT_PLAIN },
    { "preemption_waste", NULL, "lost to restarts", UNIT_PERCENT },
    { "backfill", "percent", "started by backfill", UNIT_PERCENT },
    { "deadlines", "met", "deadlines met", UNIT_PLAIN },
    { "deadlines", "met_percent", "deadlines met", UNIT_PERCENT },
    { "start_estimates", "coverage", "starts within the range", UNIT_PERCENT },
    { "start_estimates", "median_error", "start estimates, median error", UNIT_SECONDS },
    { "start_estimates", "limits_median_error", "limits alone, median error", UNIT_SECONDS },
    { "energy", "kwh_per_gpu_hour", "kWh a GPU-hour", UNIT_PLAIN },
    { "decision_latency", "p50", "decision, median", UNIT_NS },
    { "decision_latency", "p99", "decision, p99", UNIT_NS },
    { "jobs", "submitted", "jobs", UNIT_PLAIN },
    { "jobs", "finished", "finished", UNIT_PLAIN },
    { "jobs", "timed_out", "timed out", UNIT_PLAIN },
    { "jobs", "dropped", "dropped", UNIT_PLAIN },
    { "events_per_second", NULL, "events per second", UNIT_PLAIN },
};

static void add_value(struct table *table, const json_t *value, int unit)
{
    double number = json_number_value(value);

    if (!json_is_number(value)) {
        table_add_absent(table);
        return;
    }
    if (unit == UNIT_PERCENT)
        table_add_format(table, "%.2f %%", number);
    else if (unit == UNIT_SECONDS)
        table_add_format(table, "%.*f s", number < 1000 ? 2 : 0, number);
    else if (unit == UNIT_NS)
        table_add_format(table, "%.1f us", number / 1000);
    else
        table_add_format(table, "%.*f", number < 1000 && number != floor(number) ? 2 : 0, number);
}

/* The keys to a number in the means of a result; NULL ends them. */
enum { PATH_SIZE = 5 };

static const json_t *value_of(const json_t *reports, size_t i, const char *const *path)
{
    const json_t *value = json_object_get(json_array_get(reports, i), "mean");

    for (; *path; path++)
        value = json_object_get(value, *path);
    return value;
}

static bool any_has(const json_t *reports, const char *const *path)
{
    for (size_t i = 0; i < json_array_size(reports); i++) {
        const json_t *value = value_of(reports, i, path);
        if (json_is_number(value) && (strcmp(path[0], "jobs") != 0 || json_number_value(value) > 0))
            return true;
    }
    return false;
}

static void add_row(struct table *table, const json_t *reports, const char *title,
                    const char *const *path, int unit)
{
    if (!any_has(reports, path))
        return;
    table_start_row(table);
    table_add_text(table, title);
    for (size_t i = 0; i < json_array_size(reports) && i + 1 < TABLE_COLUMNS_MAX; i++)
        add_value(table, value_of(reports, i, path), unit);
}

/* "allocation at 100 %": whatever percentages there are. */
static void add_percent_rows(struct table *table, const json_t *reports, const char *metric,
                             const char *words)
{
    const json_t *first = json_object_get(json_array_get(reports, 0), "mean");
    const char *key;
    json_t *value;
    char title[64];

    json_object_foreach(json_object_get(first, metric), key, value)
    {
        snprintf(title, sizeof(title), "%s at %s %%", words, key);
        add_row(table, reports, title, (const char *[PATH_SIZE]){ metric, key }, UNIT_PERCENT);
    }
    (void)value;
}

/* Mean and p95 of each queue, where there are few. */
static void add_queue_rows(struct table *table, const json_t *reports)
{
    static const char *const ways[] = { "mean", "p95" };
    const json_t *first = json_object_get(json_array_get(reports, 0), "mean");
    json_t *queues = json_object_get(json_object_get(first, "wait"), "by_queue");
    const char *queue;
    json_t *of_first;

    if (json_object_size(queues) > QUEUES_LISTED_MAX)
        return;
    json_object_foreach(queues, queue, of_first)
    {
        (void)of_first;
        for (size_t way = 0; way < COUNT_OF(ways); way++) {
            char title[128];
            snprintf(title, sizeof(title), "wait of %s, %s", queue, ways[way]);
            add_row(table, reports, title,
                    (const char *[PATH_SIZE]){ "wait", "by_queue", queue, ways[way] },
                    UNIT_SECONDS);
        }
    }
}

/* A job that no node can hold waits for ever: said, as the means do not have it. */
static void say_waiting(const json_t *report, struct text *text)
{
    const json_t *run = json_array_get(json_object_get(report, "runs"), 0);
    const char *first = json_string_value(json_object_get(run, "first_waiting"));
    const char *variant = json_string_value(json_object_get(report, "variant"));

    if (first)
        text_printf(text, "%s: %" JSON_INTEGER_FORMAT " jobs never started, the first is %s\n",
                    variant ? variant : json_string_value(json_object_get(report, "experiment")),
                    json_integer_value(json_object_get(json_object_get(run, "jobs"), "waiting")),
                    first);
}

/* "NAME: bad lines, skipped: 9"; variants of an experiment read the same lines. */
static void say_lines(const json_t *report, const json_t *before, const char *member,
                      const char *words, struct text *text)
{
    const json_t *name = json_object_get(report, "experiment");
    const json_t *count = json_object_get(json_object_get(report, "workload"), member);
    const json_t *last = json_object_get(json_object_get(before, "workload"), member);
    bool is_same = json_equal(name, json_object_get(before, "experiment"));

    if (json_integer_value(count) > 0 && !(is_same && json_equal(count, last)))
        text_printf(text, "%s: %s: %" JSON_INTEGER_FORMAT "\n", json_string_value(name), words,
                    json_integer_value(count));
}

void listing_format(const json_t *reports, const struct table_view *view, struct text *text)
{
    struct table_column columns[TABLE_COLUMNS_MAX] = { { .title = "METRIC" } };
    size_t count = 1;

    for (size_t i = 0; i < json_array_size(reports) && count < TABLE_COLUMNS_MAX; i++) {
        const json_t *report = json_array_get(reports, i);
        const char *variant = json_string_value(json_object_get(report, "variant"));
        const char *name = json_string_value(json_object_get(report, "experiment"));
        columns[count++] =
            (struct table_column){ .title = variant ? variant : name, .align = TABLE_RIGHT };
    }
    AUTO(table) struct table *table = table_create(columns, count);
    add_percent_rows(table, reports, "allocation_at", "allocated");
    add_percent_rows(table, reports, "fragmentation_at", "fragmentation");
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        add_row(table, reports, lines[i].title,
                (const char *[PATH_SIZE]){ lines[i].metric, lines[i].member }, (int)lines[i].unit);
    add_queue_rows(table, reports);
    table_format(table, view, text);
    for (size_t i = 0; i < json_array_size(reports); i++) {
        const json_t *report = json_array_get(reports, i);
        const json_t *before = i > 0 ? json_array_get(reports, i - 1) : NULL;

        say_lines(report, before, "bad_lines", "bad lines, skipped", text);
        say_lines(report, before, "left_out", "lines without a job that ran, left out", text);
        say_waiting(report, text);
    }
}
