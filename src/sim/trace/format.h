/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_TRACE_FORMAT_H
#define SIM_TRACE_FORMAT_H

/* format - the readers of workloads, by name
 *
 * A reader adds the jobs of a file to a workload. At a bad line it fails with -EBADMSG and
 * "FILE:LINE:COLUMN: ..., expected ..."; with skip_bad it counts the line instead. It also fails if
 * the file has no job.
 */

#include <jansson.h>
#include <stdbool.h>

#include "core/journal_port.h"
#include "sim/trace/generate.h"
#include "sim/trace/workload.h"

struct format_ask {
    const char *path; /* the path to open, also used in errors */
    bool skip_bad;
    journal_read_fn *read_journal; /* NULL: journals are not supported */
    const struct generator *generator;
};

struct job_table;

struct format {
    const char *name;
    const struct job_table *table; /* for job_table_read(); NULL: read() reads the file */
    int (*read)(const struct format_ask *ask, struct workload *workload, struct error *err);
    bool has_file; /* it reads a file */
};

extern const struct format formats[]; /* ends with one without a name */
const struct format *format_find(const char *name);

int format_read(const struct format *format, const struct format_ask *ask,
                struct workload *workload, struct error *err);

/* The readers of formats that are not tables. */
int read_swf(const struct format_ask *ask, struct workload *workload, struct error *err);
/* As RLScheduler (SC'20) reads such a file: a run time below 0 counts as 10 s, jobs with 0 are left
 * out, and lines of parts of jobs are jobs. */
int read_rlscheduler(const struct format_ask *ask, struct workload *workload, struct error *err);
int read_batsim(const struct format_ask *ask, struct workload *workload, struct error *err);
int read_journal(const struct format_ask *ask, struct workload *workload, struct error *err);

#endif
