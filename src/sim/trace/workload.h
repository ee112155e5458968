/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_TRACE_WORKLOAD_H
#define SIM_TRACE_WORKLOAD_H

/* workload - the jobs of an experiment, as described by a trace
 *
 * Times are in microseconds from the file's own time 0. A missing value is 0 or "", never NULL.
 * Strings are in the workload's arena; equal strings are stored once.
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

/* The speed of one job on a model. */
struct model_speed {
    const char *model; /* lower case */
    double factor;
};

struct sim_job {
    const char *name, *user, *group, *queue, *partition;
    const char *models; /* lower case; "t4|p100": one of these; "": any model */
    usec_t submit;
    usec_t run;      /* run time on a model with speed 1; USEC_NEVER: it never ends */
    usec_t limit;    /* requested time limit; 0: none */
    usec_t deadline; /* a time; 0: none */
    usec_t ideal;    /* run time when it has its nodes to itself; 0: the same as run */
    usec_t waited;   /* time from submission to start, as it happened; -1: not known */
    int64_t cpu_milli, memory_mib; /* per member */
    uint32_t gpus;                 /* per member; 0: none */
    uint32_t milli;                /* of each GPU */
    uint32_t members;
    int32_t priority;
    uint32_t speed_count;
    const struct model_speed *speeds; /* in the arena; they replace those of all jobs */
};

struct workload {
    LIST(struct sim_job) jobs;
    struct arena strings;
    struct map known;  /* hash of a string -> its place */
    uint64_t skipped;  /* bad lines, skipped with --skip-bad */
    bool is_in_steps;  /* `run` counts a second for each step: each model has to have a speed */
    uint64_t left_out; /* lines without a job to run, such as jobs cancelled before their start */
};

void workload_release(struct workload *workload);

/* A job with one member and default values. */
struct sim_job sim_job_default(void);

/* Fails with -E2BIG above WORKLOAD_JOBS_MAX. */
int workload_add(struct workload *workload, const struct sim_job *job, struct error *err);

/* A copy that lives as long as the workload; cut to WORKLOAD_TEXT_MAX; "" for NULL. */
const char *workload_string(struct workload *workload, const char *string);
const char *workload_lower(struct workload *workload, const char *string);

/* Sort by submission time; stable. */
void workload_sort(struct workload *workload);

/* The GPUs of all its members, in thousandths. */
static inline int64_t sim_job_milli(const struct sim_job *job)
{
    return (int64_t)job->gpus * job->milli * job->members;
}

/* After a bad line (-EBADMSG): returns 0 to continue with the next one; the line is counted. */
int workload_pass_over(struct workload *workload, bool skip_bad, int code);

#endif
