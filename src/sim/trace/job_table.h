/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_TRACE_JOB_TABLE_H
#define SIM_TRACE_JOB_TABLE_H

/* job_table - a file with a header line and one job per line
 *
 * A format maps columns to fields (of several names of one column, the first present one), and
 * defines the unit of times and a function that completes a row (finish). It ignores other columns.
 */

#include "sim/trace/format.h"
#include "sim/trace/trace_cells.h"

enum job_column {
    COLUMN_NAME,
    COLUMN_USER,
    COLUMN_GROUP,
    COLUMN_QUEUE,
    COLUMN_PARTITION,
    COLUMN_SUBMIT,
    COLUMN_START,
    COLUMN_END,
    COLUMN_RUN,
    COLUMN_LIMIT,
    COLUMN_IDEAL,
    COLUMN_GPUS,  /* of the whole job, unless there are members */
    COLUMN_MILLI, /* of each GPU */
    COLUMN_MODELS,
    COLUMN_CPUS,
    COLUMN_MEMORY,
    COLUMN_MEMBERS,
    COLUMN_DEADLINE,
    COLUMN_STATE,
    COLUMN_PRIORITY,
    COLUMN_EXTRA, /* two more for finish */
    COLUMN_EXTRA2,
    COLUMN_COUNT,
};

struct row {
    const struct cells *cells;
    int32_t at[COLUMN_COUNT]; /* which field it is; -1: not there */
    struct workload *workload;
    double unit;
    char separator;
};

/* What finish makes of a row. */
enum { ROW_IS_JOB = 0, ROW_IS_NONE = 1 };

struct job_table {
    const char *columns[COLUMN_COUNT]; /* "a|b"; a '!' first: it must be there */
    const char *header;                /* of files without one; NULL: there is one */
    double unit;                       /* microseconds of a plain number; 0: as 1e6 */
    double cpu_unit;                   /* milli-CPUs of a plain number; 0: as 1000 */
    char separator;                    /* 0: a comma */
    int (*finish)(const struct row *row, struct sim_job *job, struct error *err); /* or NULL */
};

int job_table_read(const struct job_table *table, const struct format_ask *ask,
                   struct workload *workload, struct error *err);

/* The field of a row; NULL when there is no such column, or nothing in it. */
const char *row_text(const struct row *row, enum job_column column);
/* A time; an absent one leaves *ret as it was. */
int row_time(const struct row *row, enum job_column column, usec_t *ret, struct error *err);
int row_fail(const struct row *row, enum job_column column, struct error *err,
             const char *expected);

#endif
