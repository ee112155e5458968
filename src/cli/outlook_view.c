/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/outlook_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/fields.h"
#include "cli/screen.h"

enum { ROWS_MIN = 5, ROWS_ELSEWHERE = 20, LINES_AROUND = 10, CELL_SIZE = 32 };

enum cell_kind { CELL_WAIT, CELL_HOURS, CELL_COUNT_OF, CELL_CLOCK, CELL_MONEY };

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
static void add_both(struct table *table, const json_t *row, const char *key, enum cell_kind kind)
{
    char now[CELL_SIZE], change[CELL_SIZE];

    format_cell(now, row, key, "now", kind);
    format_cell(change, row, key, "change", kind);
    if (strcmp(now, change) == 0)
        table_add_text(table, now);
    else
        table_add_format(table, "%s -> %s", now, change);
}

static bool has_any(const json_t *outlook, const char *key)
{
    const json_t *both = json_object_get(json_object_get(outlook, "total"), key);

    return field_real(both, "now") > 0 || field_real(both, "change") > 0;
}

static void add_row(struct table *table, const json_t *outlook, const json_t *row,
                    const char *queue)
{
    table_start_row(table);
    table_add_text(table, queue);
    add_both(table, row, "jobs", CELL_COUNT_OF);
    add_both(table, row, "wait_mean", CELL_WAIT);
    add_both(table, row, "wait_p50", CELL_WAIT);
    add_both(table, row, "wait_p95", CELL_WAIT);
    add_both(table, row, "drained", CELL_CLOCK);
    if (has_any(outlook, "never"))
        add_both(table, row, "never", CELL_COUNT_OF);
    if (has_any(outlook, "beyond"))
        add_both(table, row, "beyond", CELL_COUNT_OF);
    if (has_any(outlook, "preemptions")) {
        add_both(table, row, "preemptions", CELL_COUNT_OF);
        add_both(table, row, "lost_gpu_hours", CELL_HOURS);
    }
    if (has_any(outlook, "cost"))
        add_both(table, row, "cost", CELL_MONEY);
}

void outlook_print_queues(const json_t *outlook)
{
    struct table_column columns[16] = {
        { "QUEUE", TABLE_LEFT, 0 },     { "JOBS", TABLE_LEFT, 0 },
        { "WAIT MEAN", TABLE_LEFT, 0 }, { "WAIT P50", TABLE_LEFT, 0 },
        { "WAIT P95", TABLE_LEFT, 0 },  { "LAST STARTS", TABLE_LEFT, 0 },
    };
    const json_t *queues = json_object_get(outlook, "queues"), *row;
    size_t count = 6, i;

    if (has_any(outlook, "never"))
        columns[count++] = (struct table_column){ "OPEN", TABLE_LEFT, 0 };
    if (has_any(outlook, "beyond"))
        columns[count++] = (struct table_column){ "NOT WORKED OUT", TABLE_LEFT, 0 };
    if (has_any(outlook, "preemptions")) {
        columns[count++] = (struct table_column){ "PREEMPTED", TABLE_LEFT, 0 };
        columns[count++] = (struct table_column){ "GPU-H LOST TO IT", TABLE_LEFT, 0 };
    }
    if (has_any(outlook, "cost"))
        columns[count++] = (struct table_column){ "COST", TABLE_LEFT, 0 };
    AUTO(table) struct table *table = table_create(columns, count);
    json_array_foreach(queues, i, row) add_row(table, outlook, row, field_text(row, "queue"));
    if (json_array_size(queues) > 1)
        add_row(table, outlook, json_object_get(outlook, "total"), "all");
    screen_table(table);
    if (!field_is_null(outlook, "horizon")) {
        char until[CLOCK_SIZE];
        talk("it was worked out up to %s; more would have taken too long",
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

static void add_difference(struct table *table, const json_t *job)
{
    const json_t *now = json_object_get(job, "now"), *change = json_object_get(job, "change");
    double later = field_real(job, "later_seconds");
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
        table_add_text(table, starts_then ? "starts at all" : "not any more");
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

size_t outlook_print_jobs(const json_t *outlook, size_t most, bool is_past)
{
    const struct table_column columns[] = {
        { "JOB", TABLE_RIGHT, 0 },
        { "NAME", TABLE_LEFT, 0 },
        { "USER", TABLE_LEFT, 0 },
        { "QUEUE", TABLE_LEFT, 0 },
        { is_past ? "WAITED" : "STARTS IN", TABLE_RIGHT, 0 },
        { "WITH IT", TABLE_RIGHT, 0 },
        { "", TABLE_LEFT, 0 },
    };
    const char *key = is_past ? "wait_seconds" : "in_seconds";
    const json_t *job;
    size_t i;

    AUTO(table) struct table *table = table_create(columns, COUNT_OF(columns));
    json_array_foreach(json_object_get(outlook, "jobs"), i, job)
    {
        if (i == most)
            break;
        table_start_row(table);
        table_add_text(table, field_text(job, "label"));
        table_add_text(table, field_text(job, "name"));
        table_add_text(table, field_text(job, "user"));
        table_add_text(table, field_text(job, "queue"));
        add_start(table, json_object_get(job, "now"), key);
        add_start(table, json_object_get(job, "change"), key);
        add_difference(table, job);
    }
    if (table_row_count(table) > 0)
        screen_table(table);
    return table_row_count(table);
}
