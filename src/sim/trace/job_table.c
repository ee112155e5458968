/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/trace/job_table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/job/request.h"
#include "sim/trace/lines.h"

static const double memory_mib_max = 1e12;

const char *row_text(const struct row *row, enum job_column column)
{
    if (row->at[column] < 0 || (uint32_t)row->at[column] >= row->cells->count)
        return NULL;
    const char *text = row->cells->items[row->at[column]].text;
    return text[0] ? text : NULL;
}

int row_fail(const struct row *row, enum job_column column, struct error *err, const char *expected)
{
    return cells_fail(row->cells, row->at[column] >= 0 ? (uint32_t)row->at[column] : CELLS_MAX, err,
                      expected);
}

/* Where one of the names "a|b" stands in the header; -1: nowhere. */
static int32_t find_column(const struct cells *header, const char *names)
{
    for (const char *at = names; *at;) {
        size_t length = strcspn(at, "|");
        for (uint32_t i = 0; i < header->count; i++) {
            const char *text = header->items[i].text;
            if (strlen(text) == length && strncasecmp(text, at, length) == 0)
                return (int32_t)i;
        }
        at += length + (at[length] == '|');
    }
    return -1;
}

static int find_columns(const struct job_table *table, const struct cells *header, struct row *row,
                        struct error *err)
{
    row->column_count = header->count;
    for (uint32_t i = 0; i < header->count; i++)
        row->names[i] = workload_lower(row->workload, header->items[i].text);
    for (int i = 0; i < COLUMN_COUNT; i++) {
        const char *names = table->columns[i];
        bool is_needed = names && strchr("!?", names[0]);

        row->at[i] = names ? find_column(header, names + is_needed) : -1;
        if (is_needed && row->at[i] < 0)
            return error_set(err, -EINVAL, "%s:%u: no column '%s'; expected a header line with it",
                             header->path, header->line, names + 1);
    }
    return 0;
}

static bool looks_like_header(const struct job_table *table, const struct cells *cells)
{
    for (int i = 0; i < COLUMN_COUNT; i++) {
        const char *names = table->columns[i];
        if (names && find_column(cells, names + (strchr("!?", names[0]) != NULL)) >= 0)
            return true;
    }
    return false;
}

static int read_duration(const struct row *row, enum job_column column, usec_t *ret,
                         struct error *err)
{
    if (!row_text(row, column))
        return 0;
    return cells_duration(row->cells, (uint32_t)row->at[column], row->unit, ret, err);
}

int row_time(const struct row *row, enum job_column column, usec_t *ret, struct error *err)
{
    if (!row_text(row, column))
        return 0;
    return cells_time(row->cells, (uint32_t)row->at[column], row->unit, ret, err);
}

/* Formats have words like "Unknown" there. */
static void read_wait(const struct row *row, struct sim_job *job)
{
    usec_t start;

    if (row_text(row, COLUMN_SUBMIT) && row_text(row, COLUMN_START) &&
        row_time(row, COLUMN_START, &start, NULL) == 0 && start >= job->submit)
        job->waited = start - job->submit;
}

static int read_times(const struct row *row, struct sim_job *job, struct error *err)
{
    usec_t start = 0, end = 0;

    int code = row_time(row, COLUMN_SUBMIT, &job->submit, err);
    if (code == 0)
        code = read_duration(row, COLUMN_RUN, &job->run, err);
    if (code == 0)
        code = read_duration(row, COLUMN_LIMIT, &job->limit, err);
    if (code == 0)
        code = read_duration(row, COLUMN_IDEAL, &job->ideal, err);
    if (code == 0)
        code = row_time(row, COLUMN_DEADLINE, &job->deadline, err);
    bool has_both = row_text(row, COLUMN_START) && row_text(row, COLUMN_END);
    if (code == 0 && has_both && !row_text(row, COLUMN_RUN)) {
        code = row_time(row, COLUMN_START, &start, err);
        if (code == 0)
            code = row_time(row, COLUMN_END, &end, err);
        if (code == 0 && end < start)
            code = row_fail(row, COLUMN_END, err, "an end that is not before the start");
        job->run = end - start;
    }
    if (code == 0)
        read_wait(row, job);
    return code;
}

static int read_sizes(const struct job_table *table, const struct row *row, struct sim_job *job,
                      struct error *err)
{
    double gpus = 0, milli = GPU_MILLI, cpus = 0, memory = 0, members = 1, priority = 0;
    const struct {
        enum job_column column;
        double max, *ret;
    } fields[] = {
        { COLUMN_GPUS, WORKLOAD_GPUS_MAX, &gpus },
        { COLUMN_MILLI, GPU_MILLI, &milli },
        { COLUMN_CPUS, 1e9, &cpus },
        { COLUMN_MEMORY, memory_mib_max, &memory },
        { COLUMN_MEMBERS, WORKLOAD_GPUS_MAX, &members },
        { COLUMN_PRIORITY, 1e9, &priority },
    };

    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        if (!row_text(row, fields[i].column))
            continue;
        int code = cells_number(row->cells, (uint32_t)row->at[fields[i].column], 0, fields[i].max,
                                fields[i].ret, err);
        if (code < 0)
            return code;
    }
    job->gpus = (uint32_t)gpus;
    job->milli = milli >= 1 ? (uint32_t)milli : GPU_MILLI;
    if (gpus > 0 && gpus < 1) { /* "0.5" */
        job->gpus = 1;
        job->milli = (uint32_t)lrint(gpus * GPU_MILLI) > 0 ? (uint32_t)lrint(gpus * GPU_MILLI) : 1;
    } else if (gpus != floor(gpus))
        return row_fail(row, COLUMN_GPUS, err, "a whole number of GPUs, or less than one");
    job->cpu_milli = llrint(cpus * (table->cpu_unit > 0 ? table->cpu_unit : 1000));
    job->memory_mib = llrint(memory);
    job->members = members >= 1 ? (uint32_t)members : 1;
    job->priority = (int32_t)priority;
    return 0;
}

/* With another number, every value would be that of the column beside it. */
static int check_count(const struct row *row, struct error *err)
{
    if (row->cells->count == row->column_count)
        return 0;
    char expected[80];
    snprintf(expected, sizeof(expected), "%u as in the header", (unsigned)row->column_count);
    return cells_fail(row->cells, CELLS_MAX, err, expected);
}

static int read_row(const struct job_table *table, const struct row *row, struct sim_job *job,
                    struct error *err)
{
    struct workload *workload = row->workload;
    int code = check_count(row, err);

    if (code < 0)
        return code;

    *job = sim_job_default();
    job->name = workload_string(workload, row_text(row, COLUMN_NAME));
    job->user = workload_string(workload, row_text(row, COLUMN_USER));
    job->group = workload_string(workload, row_text(row, COLUMN_GROUP));
    job->queue = workload_string(workload, row_text(row, COLUMN_QUEUE));
    job->partition = workload_string(workload, row_text(row, COLUMN_PARTITION));
    const char *models = row_text(row, COLUMN_MODELS);
    job->models = models ? workload_lower(workload, models) : "";
    for (int i = 0; i < COLUMN_COUNT; i++) {
        const char *names = table->columns[i];
        if (names && names[0] == '!' && !row_text(row, (enum job_column)i))
            return row_fail(row, (enum job_column)i, err, "a value");
    }
    code = table->finish == NULL ? 0 : table->finish(row, NULL, err);
    if (code != 0)
        return code;
    code = read_times(row, job, err);
    if (code == 0)
        code = read_sizes(table, row, job, err);
    if (code == 0 && table->finish)
        code = table->finish(row, job, err);
    return code;
}

static int check_unique(const struct row *row, struct map *known, struct error *err)
{
    const char *id = row_text(row, COLUMN_ID);
    uint64_t line, key = id ? map_hash(id, strlen(id)) : 0;

    if (!id)
        return 0;
    if (map_get(known, key, &line)) {
        char expected[80];
        snprintf(expected, sizeof(expected), "each job once, and line %u has it", (unsigned)line);
        return row_fail(row, COLUMN_ID, err, expected);
    }
    map_set(known, key, row->cells->line);
    return 0;
}

static int read_header(const struct job_table *table, struct lines *lines, struct cells *cells,
                       struct row *row, bool *ret_is_row, struct error *err)
{
    char *line;

    *ret_is_row = false;
    int code = lines_next(lines, &line, err);
    if (code == 0)
        return error_set(err, -EBADMSG, "%s: empty, expected a header line", lines->path);
    if (code < 0)
        return code;
    cells->line = lines->number;
    AUTO_FREE char *copy = mem_string(line);
    code = cells_split(cells, line, row->separator, err);
    if (code < 0)
        return code;
    if (!table->header || looks_like_header(table, cells))
        return find_columns(table, cells, row, err);

    /* No header: the columns are as documented, and this is the first row. */
    AUTO_FREE char *header = mem_string(table->header);
    code = cells_split(cells, header, row->separator, err);
    if (code == 0)
        code = find_columns(table, cells, row, err);
    strcpy(line, copy); /* as long as before */
    *ret_is_row = true;
    if (code == 0)
        code = cells_split(cells, line, row->separator, err);
    return code;
}

int job_table_read(const struct job_table *table, const struct format_ask *ask,
                   struct workload *workload, struct error *err)
{
    struct cells cells = { .path = ask->path };
    struct row row = { .cells = &cells,
                       .workload = workload,
                       .unit = table->unit > 0 ? table->unit : 1e6,
                       .separator = table->separator ? table->separator : ',' };
    struct map known = { 0 };
    struct sim_job job;
    struct lines lines;
    bool is_row;
    char *line;

    int code = lines_open(&lines, ask->path, err);
    if (code == 0)
        code = read_header(table, &lines, &cells, &row, &is_row, err);
    while (code == 0) {
        int got = is_row ? 1 : lines_next(&lines, &line, err);
        if (got <= 0) {
            code = got;
            break;
        }
        cells.line = lines.number;
        if (!is_row && line[strspn(line, " \t")] == '\0')
            continue;
        if (!is_row)
            code = cells_split(&cells, line, row.separator, err);
        is_row = false;
        if (code == 0)
            code = read_row(table, &row, &job, err);
        if (code == ROW_IS_NONE) {
            workload->left_out++;
            code = 0;
            continue;
        }
        if (code == 0)
            code = check_unique(&row, &known, err);
        if (code == 0)
            code = workload_add(workload, &job, err);
        else
            code = workload_pass_over(workload, ask->skip_bad, code);
    }
    map_release(&known);
    lines_close(&lines);
    return code;
}
