/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_RUN_RUN_H
#define SIM_RUN_RUN_H

/* run - runs a workload on a cluster in virtual time, with the brain that decides live
 *
 * At each instant the brain gets all events in a fixed order (ends by job, then submissions), and
 * plans until it has no more decisions. A granted job starts at once, and a stopped job ends at
 * once. A preempted job keeps its work, and pays the restart cost at its next start.
 *
 * The same experiment, workload and seed give the same run.
 *
 * Order of calls:  create, run_go, (results), destroy
 */

#include "core/state/state.h"
#include "forecast/due.h"
#include "sched/sched.h"
#include "sim/run/experiment.h"
#include "sim/run/meter.h"
#include "sim/run/sim_engine.h"

/* The start that the brain estimates; times. NULL: no estimate. */
struct sim_estimate {
    usec_t low, median, high;
    usec_t limits_only; /* estimate from time limits alone; 0: not known */
};
typedef bool sim_estimate_fn(const struct brain *brain, struct inquiry *inquiry,
                             const struct job *job, struct sim_estimate *ret);

/* Services from outside the room. */
struct sim_ports {
    journal_read_fn *read_journal;
    sim_estimate_fn *estimate_start;
};

enum fate { FATE_WAITS, FATE_RUNS, FATE_DONE, FATE_TIMEOUT, FATE_DROPPED };

/* The result of a job. Times are the run's; -1: not yet. */
struct outcome {
    usec_t start, end;  /* first start */
    usec_t began;       /* of this attempt */
    usec_t done;        /* work done in earlier attempts */
    usec_t paid, owed;  /* run time lost to restarts, including the next one */
    usec_t promised;    /* the start that it was first promised; 0: none */
    usec_t held;        /* time on GPUs */
    double contention;  /* the meter's at arrival; later the difference */
    double speed;       /* of this attempt */
    int64_t used_milli; /* now */
    struct sim_estimate estimate;
    uint32_t attempt;
    uint32_t queue, demand;
    uint32_t preemptions;
    uint8_t fate; /* enum fate */
    bool is_backfill, has_estimate;
};

/* Values when the requested GPUs reach this percentage of the capacity. */
struct snapshot_at {
    uint32_t percent;
    bool is_taken;
    double allocated_pct, fragment_pct;
    int64_t arrived_milli;
};

/* A grant to be carried out: the data needed after the lease may have ended. */
struct granted {
    uint32_t job, attempt;
    int64_t milli;
    double speed;
    bool is_backfill;
};

struct stopped {
    uint32_t job, attempt, members;
    uint8_t cause;
};

struct run {
    const struct experiment *experiment;
    const struct workload *workload; /* adapted */
    const struct sim_ports *ports;
    uint64_t seed;
    struct outcome *outcomes;
    const char **queue_names;
    double *queue_shares; /* of the capacity, by weight */
    size_t queue_count;
    struct meter meter;
    struct latency latency;
    struct snapshot_at at[2 * WANTED_PERCENTS_MAX];
    size_t at_count;
    uint64_t events, plans, grants, backfills, narrowed, slack_choices;
    bool has_report;    /* sample fragmentation, too */
    uint64_t *progress; /* number of ended jobs, for other code to read; may be NULL */
    double seconds;     /* real duration of the run */
    usec_t origin;      /* time of the run at time 0 of the workload */

    /* of the run in progress */
    struct state *state;
    struct brain *brain;
    struct inquiry *inquiry; /* for questions during the run */
    struct decisions decisions;
    struct dues dues;
    struct sim_engine engine;
    LIST(struct granted) granted;
    LIST(struct stopped) stopped;
    LIST(uint32_t) ended; /* to be forgotten */
    uint64_t looked_at;   /* the number of the next job at the last look ahead */
    uint64_t events_ahead;
    struct fragment *fragment;
    int64_t *demands;
    double *speeds; /* of each device, for kinds of jobs without one of their own; NULL: all 1 */
    double speed_least;
    bool has_kind_speeds;
    uint64_t first_id;
    usec_t now;
    uint32_t submitted, over;
    int64_t arrived_milli;
    uint64_t idle_wakeups;
};

struct run *run_create(const struct experiment *experiment, const struct workload *workload,
                       const struct sim_ports *ports, uint64_t seed);
int run_go(struct run *run, struct error *err);
void run_destroy(struct run *run); /* NULL is fine */
DEFINE_AUTO(run)

/* run_setup.c: the nodes, settings, queues and pools. */
typedef int run_tell_fn(void *user, const struct event *event, struct error *err);
int run_set_up(struct run *run, run_tell_fn *tell, void *user, struct error *err);
/* The request of a job; models beyond REQUEST_ALTERNATIVES_MAX are left out, the rarest first. */
void run_request(struct run *run, const struct sim_job *job, struct request *ret);

/* ---- shared by run.c (the clock) and run_jobs.c (the jobs) ---- */

/* The job's number for the brain. */
static inline uint64_t run_id(const struct run *run, uint32_t job)
{
    return run->first_id + job;
}

/* Tell the brain an event, now. */
int run_tell(struct run *run, struct event *event, struct error *err);

/* run_jobs.c: events of jobs, told to the brain and recorded. */
int run_job_submit(struct run *run, uint32_t number, struct error *err);
int run_end_those_due(struct run *run, struct error *err);
void run_take_decisions(struct run *run); /* before any other event: leases are short-lived */
int run_job_start(struct run *run, const struct granted *granted, struct error *err);
int run_job_stop(struct run *run, const struct stopped *stopped, struct error *err);
void run_job_over(struct run *run, uint32_t number, enum fate fate);
void run_give_back(struct run *run, uint32_t number); /* it holds nothing any more */

/* run_recorded.c: the jobs start when they did, without the brain. After the set-up. */
int run_recorded(struct run *run, struct error *err);

#endif
