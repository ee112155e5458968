/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PREEMPTION_RECLAIM_H
#define SCHED_PREEMPTION_RECLAIM_H

/* reclaim - whom other queues have to stop, so that a job gets what its queue may take back
 *
 * Asked for a job that finds no room and would have to wait for long. Jobs of other queues that
 * may be stopped (preemptible, past their queue's min_runtime and not about to end) and that a
 * rule of share.h lets go are candidates. Their cost is what is lost with them:
 *
 *   GPUs x (run time since the last checkpoint + restart cost) x (1 + times it was stopped before)
 *
 * For each machine the cheapest candidates that make room for one member; the cheapest machines,
 * as many as the job has members; then, in reverse, whoever need not go after all stays
 * ("fill-back"). When machine by machine leads to no place, all candidates are taken in order of
 * cost, more and more of them, until there is one. Policies 2.6 and 3.6.
 *
 * They are stopped (STOP 5 with the rule); the job is `awaited` and comes before all others until
 * it has its place. While they still stop, nobody else is stopped for it.
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

/* Where a job shall start for which others were stopped. */
struct made_room {
    uint64_t job;
    struct lease *lease;
};

struct reclaim {
    struct shares_ahead shares;
    struct fleet ahead;
    LIST(struct victim) victims; /* cheapest per GPU first */
    LIST(uint32_t) by_node;      /* victims of each machine, machine after machine */
    LIST(uint32_t) first_of;     /* by machine: where its own start; one more at the end */
    LIST(uint32_t) chosen;       /* in the order of their choice */
    LIST(uint32_t) nodes;        /* machines for the members */
    LIST(struct made_room) made; /* for jobs that still wait for it */
    usec_t review;               /* when somebody comes out of his min_runtime; USEC_NEVER */
};

enum {
    RECLAIM_WAIT_S = 60, /* who would wait no longer waits */
    RECLAIM_LEFT_S = 60, /* who ends within this time is left to end */
};

/* False: nothing is to be stopped for it. natural: when it would start otherwise (0: unknown). */
bool reclaim_for(struct brain *brain, struct job *job, usec_t natural, struct decisions *decisions);
void reclaim_release(struct reclaim *reclaim);

#endif
