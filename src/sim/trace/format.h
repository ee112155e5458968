/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_TRACE_FORMAT_H
#define SIM_TRACE_FORMAT_H

/* format - the readers of workloads, by name
 *
 * A reader adds the jobs of a file to a workload. A bad line fails with -EBADMSG and
 * "FILE:LINE:COLUMN: ..., expected ..."; with skip_bad it is counted instead. A file without a job
 * fails, too.
 */

#include <jansson.h>
#include <stdbool.h>

#include "core/journal_port.h"
#include "sim/trace/generate.h"
#include "sim/trace/workload.h"

struct format_ask {
    const char *path; /* the path to open, also used in errors */
    bool skip_bad;
    journal_read_fn *read_journal; /* NULL: there is no journal to read */
    const struct generator *generator;
};

struct format {
    const char *name;
    bool has_file;    /* it reads one */
    const char *what; /* for the documents */
    int (*read)(const struct format_ask *ask, struct workload *workload, struct error *err);
};

extern const struct format formats[]; /* ends with one without a name */
const struct format *format_find(const char *name);

int format_read(const struct format *format, const struct format_ask *ask,
                struct workload *workload, struct error *err);

/* The readers. */
int read_swf(const struct format_ask *ask, struct workload *workload, struct error *err);
int read_batsim(const struct format_ask *ask, struct workload *workload, struct error *err);
int read_journal(const struct format_ask *ask, struct workload *workload, struct error *err);

#define JOB_TABLE(name, what)                                                                      \
    int read_##name(const struct format_ask *ask, struct workload *workload, struct error *err);
#include "sim/trace/job_tables.def"
#undef JOB_TABLE

#endif
