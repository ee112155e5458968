/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/outlook_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/list_view.h"
#include "cli/screen.h"
#include "wire/json.h"

enum { ROWS_MIN = 5, ROWS_ELSEWHERE = 20, LINES_AROUND = 10, CELL_SIZE = 32 };

enum cell_kind { CELL_WAIT, CELL_HOURS, CELL_COUNT_OF, CELL_CLOCK, CELL_MONEY };

static const struct {
    const char *title, *key;
    enum cell_kind kind;
    const char *only_with; /* a member of the total that is above 0; NULL: always */
} both_columns[] = {
    { "JOBS", "jobs", CELL_COUNT_OF, NULL },
    { "WAIT MEAN", "wait_mean", CELL_WAIT, NULL },
    { "WAIT P50", "wait_p50", CELL_WAIT, NULL },
    { "WAIT P95", "wait_p95", CELL_WAIT, NULL },
    { "LAST STARTS", "drained", CELL_CLOCK, NULL },
    { "OPEN", "never", CELL_COUNT_OF, "never" },
    { "NOT REACHED", "beyond", CELL_COUNT_OF, "beyond" },
    { "PREEMPTED", "preemptions", CELL_COUNT_OF, "preemptions" },
    { "GPU-H LOST TO IT", "lost_gpu_hours", CELL_HOURS, "preemptions" },
    { "COST", "cost", CELL_MONEY, "cost" },
};

static void format_cell(char cell[CELL_SIZE], const json_t *row, const char *key, const char *side,
                        enum cell_kind kind)
{
    const json_t *both = json_object_get(row, key);
    char buffer[UNITS_TEXT_SIZE + CLOCK_SIZE];

    if (field_is_null(both, side)) {
        bool is_open = kind == CELL_WAIT && field_number(json_object_get(row, "jobs"), side) > 0;
        snprintf(cell, CELL_SIZE, is_open ? "open" : "-");
        return;
    }
    switch (kind) {
    case CELL_WAIT:
        snprintf(cell, CELL_SIZE, "%s", field_duration(both, side, buffer));
        break;
    case CELL_HOURS:
    case CELL_MONEY:
        snprintf(cell, CELL_SIZE, kind == CELL_MONEY ? "%.2f" : "%.1f", field_real(both, side));
        break;
    case CELL_COUNT_OF:
        snprintf(cell, CELL_SIZE, "%" PRId64, field_number(both, side));
        break;
    case CELL_CLOCK:
        snprintf(cell, CELL_SIZE, "%s", clock_format(buffer, field_time(both, side)));
        break;
    }
}

/* "14m -> 6m"; once when both are the same; "open" where no start is in sight. */
static void cell_both(struct table *table, const json_t *row, const char *key)
{
    char now[CELL_SIZE], change[CELL_SIZE];
    size_t i = 0;

    while (strcmp(both_columns[i].key, key) != 0)
        i++;
    format_cell(now, row, key, "now", both_columns[i].kind);
    format_cell(change, row, key, "change", both_columns[i].kind);
    if (strcmp(now, change) == 0)
        table_add_text(table, now);
    else
        table_add_format(table, "%s -> %s", now, change);
}

static void cell_queue(struct table *table, const json_t *row, const char *key)
{
    table_add_text(table, field_is_null(row, key) ? "all" : field_text(row, key));
}

static bool has_any(const json_t *outlook, const char *key)
{
    const json_t *both = json_object_get(json_object_get(outlook, "total"), key);

    return field_real(both, "now") > 0 || field_real(both, "change") > 0;
}

void outlook_print_queues(const json_t *outlook)
{
    struct list_column columns[COUNT_OF(both_columns) + 1] = {
        { "QUEUE", TABLE_LEFT, 0, cell_queue, "queue" },
    };
    AUTO(json) json_t *queues = json_copy(json_object_get(outlook, "queues"));
    size_t count = 1;

    for (size_t i = 0; i < COUNT_OF(both_columns); i++) {
        if (!both_columns[i].only_with || has_any(outlook, both_columns[i].only_with))
            columns[count++] = (struct list_column){ both_columns[i].title, TABLE_LEFT, 0,
                                                     cell_both, both_columns[i].key };
    }
    if (json_array_size(queues) > 1)
        json_array_append(queues, json_object_get(outlook, "total"));
    list_print(columns, count, queues);
    if (!field_is_null(outlook, "horizon")) {
        char until[CLOCK_SIZE];
        talk("simulated up to %s; the time limit of the simulation was reached",
             clock_format(until, field_time(outlook, "horizon")));
    }
}

static void add_start(struct table *table, const json_t *side, const char *key)
{
    char buffer[UNITS_TEXT_SIZE];

    if (!json_is_object(side))
        table_add_absent(table);
    else if (field_is_true(side, "cancelled"))
        table_add_text(table, "cancelled");
    else if (field_is_null(side, key))
        table_add_text(table, "open");
    else if (field_seconds(side, key) < USEC_PER_SEC)
        table_add_text(table, "at once");
    else
        table_add_format(table, "%s", field_duration(side, key, buffer));
}

static void cell_difference(struct table *table, const json_t *job, const char *key)
{
    const json_t *now = json_object_get(job, "now"), *change = json_object_get(job, "change");
    double later = field_real(job, key);
    char buffer[UNITS_TEXT_SIZE];
    bool starts_now = !field_is_null(now, "in_seconds"),
         starts_then = !field_is_null(change, "in_seconds");

    if (!json_is_object(now) || !json_is_object(change) || field_is_true(now, "cancelled") ||
        field_is_true(change, "cancelled") || (!starts_now && !starts_then)) {
        table_add_text(table, "");
        return;
    }
    usec_t apart = (usec_t)((later < 0 ? -later : later) * (double)USEC_PER_SEC);
    if (starts_now != starts_then)
        table_add_text(table, starts_then ? "now starts" : "no longer starts");
    else if (apart < USEC_PER_SEC)
        table_add_text(table, "the same");
    else
        table_add_format(table, "%s %s", units_format_duration(buffer, apart),
                         later < 0 ? "sooner" : "later");
    bool is_better = starts_now && starts_then ? later < 0 : starts_then;
    if (apart >= USEC_PER_SEC || starts_now != starts_then)
        table_style(table, is_better ? TABLE_GOOD : TABLE_WAITS);
}

size_t outlook_rows(const json_t *outlook)
{
    size_t queues = json_array_size(json_object_get(outlook, "queues"));
    struct screen screen;

    screen_look(stdout, &screen);
    if (screen.height == 0)
        return ROWS_ELSEWHERE;
    return screen.height > queues + LINES_AROUND + ROWS_MIN ? screen.height - queues - LINES_AROUND
                                                            : ROWS_MIN;
}

static void cell_start(struct table *table, const json_t *job, const char *key)
{
    add_start(table, json_object_get(job, key), "in_seconds");
}

static void cell_waited(struct table *table, const json_t *job, const char *key)
{
    add_start(table, json_object_get(job, key), "wait_seconds");
}

size_t outlook_print_jobs(const json_t *outlook, size_t most, bool is_past)
{
    void (*add)(struct table *, const json_t *, const char *) = is_past ? cell_waited : cell_start;
    const struct list_column columns[] = {
        { "JOB", TABLE_RIGHT, 0, cell_text, "label" },
        { "NAME", TABLE_LEFT, 0, cell_text, "name" },
        { "USER", TABLE_LEFT, 0, cell_text, "user" },
        { "QUEUE", TABLE_LEFT, 0, cell_text, "queue" },
        { is_past ? "WAITED" : "STARTS IN", TABLE_RIGHT, 0, add, "now" },
        { "WITH IT", TABLE_RIGHT, 0, add, "change" },
        { "", TABLE_LEFT, 0, cell_difference, "later_seconds" },
    };
    AUTO(json) json_t *jobs = json_copy(json_object_get(outlook, "jobs"));

    while (json_array_size(jobs) > most)
        json_array_remove(jobs, json_array_size(jobs) - 1);
    if (json_array_size(jobs) > 0)
        list_print(columns, COUNT_OF(columns), jobs);
    return json_array_size(jobs);
}
