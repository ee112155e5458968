/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_RUN_RUN_INSIDE_H
#define SIM_RUN_RUN_INSIDE_H

/* run_inside - shared by run.c (the clock) and run_jobs.c (the jobs) */

#include "forecast/due.h"
#include "sim/run/run.h"

/* A grant to be carried out: the data needed after the lease may have ended. */
struct granted {
    uint32_t job, attempt, members;
    int64_t milli;
    double speed;
    bool is_backfill;
};

struct stopped {
    uint32_t job, attempt, members;
    uint8_t cause;
};

struct run_inside {
    struct state *state;
    struct brain *brain;
    struct inquiry *inquiry; /* of what is asked on the way */
    struct decisions decisions;
    struct dues dues;
    LIST(struct granted) granted;
    LIST(struct stopped) stopped;
    LIST(uint32_t) ended; /* to be forgotten */
    struct fragment *fragment;
    int64_t *demands;
    double *speeds; /* of each device; NULL: all 1 */
    double speed_least;
    uint64_t first_id;
    usec_t now;
    uint32_t submitted, over;
    int64_t arrived_milli;
    uint32_t waiting;
    uint64_t idle_wakeups;
};

/* The job's number for the brain. */
static inline uint64_t run_id(const struct run *run, uint32_t job)
{
    return run->inside->first_id + job;
}

/* Tell the brain, now. */
int run_tell(struct run *run, struct event *event, struct error *err);

/* run_times.c: windows, before queues name them; then their dependents. */
int run_tell_windows(const struct run *run, run_tell_fn *tell, void *user, struct error *err);
int run_tell_times(const struct run *run, run_tell_fn *tell, void *user, struct error *err);

/* run_jobs.c: events of jobs, told to the brain and recorded. */
int run_job_submit(struct run *run, uint32_t number, struct error *err);
int run_end_those_due(struct run *run, struct error *err);
void run_take_decisions(struct run *run); /* before any other event: leases are short-lived */
int run_job_start(struct run *run, const struct granted *granted, struct error *err);
int run_job_stop(struct run *run, const struct stopped *stopped, struct error *err);
void run_job_over(struct run *run, uint32_t number, enum fate fate);

#endif
