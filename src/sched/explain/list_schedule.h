/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_EXPLAIN_LIST_SCHEDULE_H
#define SCHED_EXPLAIN_LIST_SCHEDULE_H

/* list_schedule - the list schedule of estimate.h in progress: what is free when, and the next job
 *
 * Only list_schedule_supply.c, list_schedule_order.c and estimate.c use this.
 */

#include "sched/brain.h"

enum {
    LANE_CPU = PROFILE_GPU_LANES,
    LANE_MEMORY,
    LANE_QUEUE, /* limited queues, four */
    LANE_ARRAY = PROFILE_LANES - 1,
    NO_LANE = UINT8_MAX,
    RUNNING_WHOLE = 2048, /* running jobs that a complete schedule considers */
};

struct estimate_entry {
    struct rank_entry rank;
    const struct job *next;
    uint8_t kind;  /* the resource that it needs most of (enum share) */
    uint32_t need; /* index in needs, plus one; 0: none yet */
};

struct estimate_line {
    LIST(struct estimate_entry) heap;
};

/* Which run times are assumed. */
enum schedule_mode {
    SCHEDULE_EXPECTED, /* the median */
    SCHEDULE_LIMITS,   /* the time limit */
    SCHEDULE_SOON,     /* one of ten is shorter */
    SCHEDULE_LATE,     /* one of ten is longer; of little history: the time limit */
    SCHEDULE_MODES,
};

_Static_assert((int)SCHEDULE_MODES == ESTIMATE_SCHEDULES, "one cache a mode");

struct schedule {
    struct brain *brain;
    struct estimator *estimator;
    const struct job *wanted;      /* NULL: all jobs */
    const struct request *request; /* a hypothetical request of `wanted`; NULL: its own */
    uint64_t array;                /* the array that bounds it; 0: none */
    usec_t from;                   /* no job that waits for room starts before */
    usec_t behind;                 /* when all placed jobs have started */
    uint32_t placed;
    uint32_t line_count; /* that are not empty */
    uint32_t last_line;
    enum schedule_mode mode;
};

/* The time that estimates start from: not before the last event. */
static inline usec_t schedule_now(const struct schedule *walk)
{
    usec_t asked = walk->estimator->now, told = walk->brain->state->now;

    return asked > told ? asked : told;
}

/* list_schedule_supply.c: the lanes, the running jobs, and predicted run times. */
void schedule_refresh(struct brain *brain);
void schedule_start_profile(struct schedule *walk);
usec_t schedule_run_of(const struct schedule *walk, const struct job *job, usec_t elapsed);
/* Count the work of a job, GPU-milli by minutes, as known well or little. */
void schedule_weigh(const struct schedule *walk, int64_t milli, usec_t run, bool is_thin);
void schedule_add_queues(const struct schedule *walk, uint32_t queue, int64_t milli,
                         int64_t *amounts);
const struct request *schedule_request(const struct schedule *walk, const struct job *job);
bool schedule_is_in_array(const struct state *state, const struct job *job, uint64_t array);

/* list_schedule_order.c: the waiting jobs, in the order in which the brain offers them. */
void schedule_start_lines(struct schedule *walk, struct pending_bucket *candidate);
uint32_t schedule_next_line(const struct schedule *walk);
/* The first job of this queue was placed: go on to the next. */
void schedule_advance(struct schedule *walk, uint32_t queue);

#endif
