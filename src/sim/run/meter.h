/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_RUN_METER_H
#define SIM_RUN_METER_H

/* meter - integrates quantities over the time of a run
 *
 * The meter integrates held, waiting and idle resources between instants, and keeps samples that
 * are spread over the run. When there are too many, it drops every second one.
 *
 * Order of calls:  init, (advance, change*, settle)*, finish, release
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/units.h"
#include "sim/run/fragment.h"
#include "sim/trace/workload.h"

enum { METER_SAMPLES_MAX = 512 };

/* One moment. */
struct sample {
    usec_t at;
    double used_milli;
    double waiting_jobs, waiting_milli;
    double fragment_pct; /* of the capacity */
    double idle_pct;
    uint32_t largest_node; /* wholly free GPUs on one node */
    uint32_t free_whole;
};

struct meter_queue {
    int64_t used_milli, waiting_milli;
    double sum;     /* milli x us, over the whole run */
    double window;  /* the same, over the current day */
    usec_t at;      /* end of both sums */
    usec_t idle_at; /* when its last job stopped waiting, or its first began to wait */
    double lack;    /* largest deficit so far, as part of the capacity */
};

struct meter {
    int64_t capacity_milli;
    usec_t began, now;
    usec_t from, to; /* only the time in between is integrated */
    int64_t used_milli, waiting_milli;
    uint64_t waiting_jobs;
    double used, blocked, contention; /* milli x us; us; us weighted by demand over capacity */
    bool is_blocked;
    /* Waiting jobs: counts by demand, smallest first. */
    uint32_t *demand_counts;
    const int64_t *demands;
    uint32_t demand_count, demand_least;
    LIST(struct meter_queue) queues;
    usec_t window_end;
    LIST(struct sample) samples;
    usec_t sample_every, sample_next;
    struct fragment *fragment; /* NULL: not measured */
};

/* demands: the distinct demands of jobs, ascending. */
void meter_init(struct meter *meter, int64_t capacity_milli, usec_t began, usec_t span,
                const int64_t *demands, uint32_t demand_count, size_t queue_count);
void meter_release(struct meter *meter);

void meter_advance(struct meter *meter, usec_t now);
/* The time integrated so far. */
usec_t meter_time(const struct meter *meter);
void meter_wait(struct meter *meter, uint32_t queue, uint32_t demand, int sign);
void meter_use(struct meter *meter, uint32_t queue, int64_t milli);
/* The instant has ended. shares: the entitlement of each queue, as parts of the capacity. */
void meter_settle(struct meter *meter, const double *shares, bool is_last);
uint32_t meter_demand_of(const struct meter *meter, int64_t milli);

/* A histogram of durations with steps of 1/16 */
enum { LATENCY_STEPS = 64 * 16 };

struct latency {
    uint64_t counts[LATENCY_STEPS];
    uint64_t count;
    uint64_t sum, max; /* ns */
};

void latency_add(struct latency *latency, uint64_t ns);
uint64_t latency_quantile(const struct latency *latency, double part); /* ns; 0: nothing */
uint64_t latency_now(void);                                            /* ns of a monotonic clock */

#endif
