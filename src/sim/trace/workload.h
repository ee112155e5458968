/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_TRACE_WORKLOAD_H
#define SIM_TRACE_WORKLOAD_H

/* workload - the jobs of an experiment, as described by a trace
 *
 * Times are microseconds from a zero of the file's own. A missing value is 0 or "", never NULL.
 * Strings live in the workload's arena, equal ones of a column are stored once.
 *
 * Limits: WORKLOAD_JOBS_MAX jobs, times and durations up to WORKLOAD_TIME_MAX
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/units.h"

enum {
    WORKLOAD_JOBS_MAX = 20000000,
    WORKLOAD_GPUS_MAX = 1000000, /* of one job */
    WORKLOAD_TEXT_MAX = 256,     /* bytes of a name, user ... that are kept */
};
#define WORKLOAD_TIME_MAX (200 * 365 * USEC_PER_DAY)

struct sim_job {
    const char *name, *user, *group, *queue, *partition;
    const char *models; /* lower case; "t4|p100": any of these; "": any at all */
    usec_t submit;
    usec_t run;      /* work, on the model of speed 1; USEC_NEVER: it never ends */
    usec_t limit;    /* what its user asked for; 0: nothing */
    usec_t deadline; /* a time; 0: none */
    usec_t ideal;    /* how long it runs when it has the machines for itself; 0: as run */
    int64_t cpu_milli, memory_mib; /* a member */
    uint32_t gpus;                 /* a member; 0: none */
    uint32_t milli;                /* of each */
    uint32_t members;
    int32_t priority;
};

struct workload {
    LIST(struct sim_job) jobs;
    struct arena strings;
    struct map known;  /* hash of a string -> where it is */
    uint64_t skipped;  /* bad lines that --skip-bad passed over */
    uint64_t left_out; /* lines without a job to run, such as jobs cancelled before their start */
};

void workload_release(struct workload *workload);

/* One member, all else at its default. */
struct sim_job sim_job_default(void);

/* Fails with -E2BIG above WORKLOAD_JOBS_MAX. */
int workload_add(struct workload *workload, const struct sim_job *job, struct error *err);

/* A string that lives as long as the workload; cut to WORKLOAD_TEXT_MAX, "" for NULL. */
const char *workload_string(struct workload *workload, const char *string);
const char *workload_lower(struct workload *workload, const char *string);

/* By submission time; stable. */
void workload_sort(struct workload *workload);

/* All its GPUs in milli; in double where products follow. */
static inline int64_t sim_job_milli(const struct sim_job *job)
{
    return (int64_t)job->gpus * job->milli * job->members;
}

/* After a bad line (-EBADMSG): 0 to go on with the next one, which is counted as skipped. */
int workload_pass_over(struct workload *workload, bool skip_bad, int code);

#endif
