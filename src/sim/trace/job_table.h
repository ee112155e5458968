/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_TRACE_JOB_TABLE_H
#define SIM_TRACE_JOB_TABLE_H

/* job_table - a file with a header line and one job per line
 *
 * A format maps columns of the file to fields; if a field has several names, the first one that is
 * present counts. It defines the unit of times and a function that completes a row (finish). Other
 * columns are ignored.
 */

#include "sim/trace/format.h"
#include "sim/trace/trace_cells.h"

enum job_column {
    COLUMN_ID, /* no two rows have the same one */
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
    COLUMN_EXTRA, /* three more for finish */
    COLUMN_EXTRA2,
    COLUMN_EXTRA3,
    COLUMN_COUNT,
};

struct row {
    const struct cells *cells;
    int32_t at[COLUMN_COUNT];     /* index in cells; -1: absent */
    uint32_t column_count;        /* of the header */
    const char *names[CELLS_MAX]; /* of the header, in the workload's arena, lower case */
    struct workload *workload;
    double unit;
    char separator;
};

/* Results of finish. */
enum { ROW_IS_JOB = 0, ROW_IS_NONE = 1 };

struct job_table {
    /* "a|b"; with a leading '!': required, with '?': only its column is, not a value in each row */
    const char *columns[COLUMN_COUNT];
    const char *header; /* for files without a header; NULL: they have one */
    double unit;        /* microseconds per unit of a plain number; 0: 1e6 */
    double cpu_unit;    /* milli-CPUs per unit of a plain number; 0: 1000 */
    char separator;     /* 0: comma */
    int (*finish)(const struct row *row, struct sim_job *job, struct error *err); /* or NULL */
};

int job_table_read(const struct job_table *table, const struct format_ask *ask,
                   struct workload *workload, struct error *err);

/* The field of a row; NULL: the column is absent or the field is empty. */
const char *row_text(const struct row *row, enum job_column column);
/* A time; if it is absent, *ret is unchanged. */
int row_time(const struct row *row, enum job_column column, usec_t *ret, struct error *err);
int row_fail(const struct row *row, enum job_column column, struct error *err,
             const char *expected);

#endif
