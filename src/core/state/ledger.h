/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_STATE_LEDGER_H
#define CORE_STATE_LEDGER_H

/* ledger - allocated and used GPU-time of jobs in an interval
 *
 * Kept beside a state while events are folded into it. Allocated GPU-time is exact: each lease from
 * its grant to its end, clipped to the interval. Used GPU-time comes from USAGE events; for an
 * attempt that began before the interval it is scaled by the part of its GPU-time within. `watched`
 * is the GPU-time for which usage is known. Idle is GPU-time in which less than a tenth of a GPU
 * was used. For a share, use is relative to what was allocated.
 *
 * Order of calls:  begin, (pass, state_apply, note)*, finish, note* (usage so far of jobs that
 * still run), release Limits:          from begin to finish, the ledger sets the state's on_lease
 */

#include "base/arena.h"
#include "core/health/diagnosis.h"
#include "core/journal/event.h"
#include "core/state/state.h"

/* GPU-time in GPU-milliseconds. */
struct ledger_sum {
    int64_t gpu_ms;
    int64_t watched_ms;                /* the part of it whose use is known */
    int64_t busy_ms;                   /* use x watched */
    int64_t idle_ms;                   /* of what was watched */
    int64_t memory_ms;                 /* the part for which memory use is known */
    int64_t memory_used, memory_given; /* MiB x memory_ms: peak use, and available memory */
    int64_t energy_mj, energy_ms;      /* energy_ms: the part for which energy is known */
    int64_t cost_micro;
    uint32_t ok, failed, cancelled; /* jobs that ended in the interval */
    uint32_t running;               /* that have not */
    uint32_t preempted;             /* number of times a job was stopped for others */
};

/* An attempt: its part in the interval, and all of it, as far as known. */
struct ledger_attempt {
    uint32_t number;
    usec_t since;       /* when it was granted, or the interval began; 0: it has ended */
    usec_t from, until; /* its part in the interval; until: 0 while it runs */
    int64_t milli, slices, memory_mib;
    int64_t inside_ms, whole_ms; /* GPU-time */
    bool is_told;                /* its usage has been counted, which is done only once */
    bool is_seen;                /* it was reported while the attempt ran */
};

struct ledger_job {
    uint64_t id, group;
    uint32_t index; /* in its array */
    uint32_t user, queue;
    char *name;
    const char *model; /* of its GPUs; "": it has no GPU */
    struct ledger_attempt now, last;
    struct ledger_sum sum;
    int64_t cost_before;
    usec_t cost_at; /* its cost is counted up to here */
    bool has_diagnosis, is_ended;
    struct diagnosis diagnosis; /* the worst one of the attempt that was counted last */
};

/* A part of the interval, up to the next one. Allocated GPU-time and the queue are exact. The use
 * and the cost of an attempt are spread evenly over its time. */
struct ledger_period {
    usec_t from;
    int64_t capacity_ms, gpu_ms;
    int64_t waiting_ms;       /* time that jobs waited for resources, of all jobs */
    uint32_t starts;          /* of attempts */
    int64_t starts_waited_ms; /* how long these had waited */
    double watched_ms, busy_ms, idle_ms, cost_micro;
    LIST(int64_t) queues_ms; /* GPU-time of each queue and of those below it, if counts_queues */
};

struct ledger {
    struct state *state;
    usec_t from, now;
    LIST(struct ledger_job) jobs;
    struct map by_id; /* -> place plus one */
    struct arena names;
    /* Added by the caller after ledger_begin(), the first from the begin on; none: not wanted. */
    LIST(struct ledger_period) periods;
    size_t period;       /* the present one */
    bool counts_queues;  /* set by the caller: in periods, GPU-time by queue */
    int64_t capacity_ms; /* GPU-time available */
    struct {
        uint32_t jobs;
        int64_t gpu_ms;
    } diagnoses[DIAGNOSES];
};

/* The state is as of `from`, or earlier with no event in between. */
void ledger_begin(struct ledger *ledger, struct state *state, usec_t from);
void ledger_pass(struct ledger *ledger, usec_t now);                /* before an event */
void ledger_note(struct ledger *ledger, const struct event *event); /* after it */
void ledger_finish(struct ledger *ledger, usec_t until);
void ledger_release(struct ledger *ledger);

void ledger_add(struct ledger_sum *to, const struct ledger_sum *sum);

#endif
