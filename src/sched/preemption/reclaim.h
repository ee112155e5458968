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
/* The same as far as elastic gangs can give enough up: nobody else is stopped. */
bool reclaim_shrink_for(struct brain *brain, struct job *job, usec_t natural,
                        struct decisions *decisions);
/* For the search of a place for this job: `ahead` and `shares` as they will be when all that stops
 * is gone and those for whom it stops are there. */
void reclaim_prepare(struct brain *brain, uint64_t job);
/* Past the least run time of its queue. Notes when it will be. */
bool reclaim_is_due(struct brain *brain, const struct job *job);
/* Preemptible, past the least run time of its queue and its restart cost, and not about to end.
 * Notes when it will be. */
bool reclaim_may_stop(struct reclaim *reclaim, const struct state *state, const struct job *job);
/* Cells of those for whom others were stopped already are theirs (sign 1), or not (-1). */
void reclaim_take_made(struct brain *brain, uint64_t job, int sign);
/* Where the job shall start when those that stop for it are gone. */
void reclaim_keep(struct reclaim *reclaim, uint64_t job, const struct lease *lease);
/* Machines or devices are others: who comes back finds a new place. */
void reclaim_forget_back(struct reclaim *reclaim, const struct state *state);
/* What was kept by another one is kept here, too; is_forgotten: but for who comes back. */
void reclaim_share(struct reclaim *own, const struct reclaim *reclaim, const struct state *state,
                   bool is_forgotten);
/* Whether jobs that were stopped for this one still hold their places. */
bool reclaim_is_under_way(const struct brain *brain, const struct job *job);
/* GPUs in milli that jobs of this queue could take back from others now, one after the other. */
int64_t reclaim_claimable(struct brain *brain, uint32_t queue, int64_t most);
/* Where it shall start; NULL: nobody was stopped for it by this brain. */
const struct lease *reclaim_place(const struct reclaim *reclaim, uint64_t job);
/* Forget those that no longer wait. */
void reclaim_tidy(struct reclaim *reclaim, const struct state *state);
void reclaim_release(struct reclaim *reclaim);

#endif
