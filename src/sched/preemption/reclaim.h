/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PREEMPTION_RECLAIM_H
#define SCHED_PREEMPTION_RECLAIM_H

/* reclaim - preemption between queues: a queue takes back what it may
 *
 * Tried for a job that finds no room and would wait for long. Candidates are jobs of other queues
 * that may be stopped (preemptible, past the min_runtime of their queue and not about to end) and
 * that a rule of share.h gives up. The cost of a candidate is what is lost with it:
 *
 *   GPUs x (run time since the last checkpoint + restart cost) x (1 + times it was stopped before)
 *
 * For each machine, the cheapest candidates that make room for one member are chosen; then the
 * cheapest machines, as many as the job has members; then, in reverse order, candidates that turn
 * out to be unneeded are released ("fill-back"). If no place is found machine by machine, more and
 * more of all candidates are taken in order of cost until there is one. Policies 2.6 and 3.6.
 *
 * The victims are stopped (STOP 5 with the rule). The job is `awaited` and comes before all others
 * until it has its place. While its victims stop, no other job is stopped for it.
 */

#include "sched/placement/place.h"
#include "sched/preemption/reclaim_rule.h"

struct brain;
struct decisions;

struct victim {
    struct job *job;
    struct amounts held;
    int64_t cost; /* milli-GPU x ms */
    uint8_t rule; /* enum stop_rule, once it is chosen */
    bool is_chosen;
};

/* Where a job will start for which others were stopped. */
struct made_room {
    uint64_t job;
    struct lease *lease;
};

struct reclaim {
    struct reclaim_shares_ahead shares;
    struct fleet ahead;
    LIST(struct victim) victims; /* cheapest per GPU first */
    LIST(uint32_t) by_node;      /* victims of each machine, in the order of machines */
    LIST(uint32_t) first_of;     /* by machine: index of its first; one more at the end */
    LIST(uint32_t) chosen;       /* in the order in which they were chosen */
    LIST(uint32_t) nodes;        /* machines for the members */
    LIST(struct made_room) made; /* for jobs that still wait (made.h) */
    usec_t review;               /* when the next job leaves its min_runtime; USEC_NEVER */
};

enum {
    RECLAIM_WAIT_S = 60, /* a job that would wait no longer than this is left to wait */
    RECLAIM_LEFT_S = 60, /* a job that ends within this time is left to end */
};

/* Stop jobs for this one. natural: when it would start otherwise (0: unknown). False: none. */
bool reclaim_for(struct brain *brain, struct job *job, usec_t natural, struct decisions *decisions);
void reclaim_release(struct reclaim *reclaim);

#endif
