/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_EXPLAIN_QUESTIONS_H
#define SCHED_EXPLAIN_QUESTIONS_H

/* questions - what can be asked of a brain
 *
 * A question changes no decision: each takes a const brain and an inquiry, the memory of the asker
 * (inquiry.h). Longer questions are in advice.h and wanted_nodes.h.
 */

#include "core/job/why.h"
#include "core/state/state.h"

struct brain;

/* The memory in which answers are computed. Owner: the asker. The first question after an event, or
 * to another brain, costs more than those that follow it. */
struct inquiry;

struct inquiry *inquiry_create(void);
/* The time of the questions that follow; without it, or before the last event, that of the event.
 * Estimates are computed again when a second has passed. */
void inquiry_set_time(struct inquiry *inquiry, usec_t now);
void inquiry_destroy(struct inquiry *inquiry);
DEFINE_AUTO(inquiry)

/* Why this job does not run: from its state, or as the last plan found. ahead: the number of
 * interchangeable jobs in front of it; NULL: not wanted (they are counted). */
void sched_why(const struct brain *brain, struct inquiry *inquiry, const struct job *job,
               struct why *ret_why, uint32_t *ret_ahead);

/* Whether it waits for room alone, as the answer of sched_why() says: it is within all limits, and
 * another node would help. */
bool sched_lacks_room(const struct brain *brain, const struct job *job, const struct why *why);

/* When a waiting job will start: an 80 % interval from low to high. Times. */
struct start_estimate {
    usec_t low, median, high; /* USEC_NEVER: unknown */
    usec_t limits_only;       /* if all jobs ran to their limits, and no other job came */
    usec_t guaranteed;        /* sched_guaranteed_start(); 0: it was not asked */
    bool is_open;             /* a job without a time limit holds what it needs */
    usec_t known_until;       /* it starts after this time, up to which windows are known; 0: no */
};

/* When a job or a group will have ended: the same for its end. */
struct end_estimate {
    usec_t low, median, high; /* USEC_NEVER: unknown */
    usec_t limits_only;
};

/* The latest start that follows from time limits, whatever jobs with limits users submit
 * (guarantee.c). USEC_NEVER: there is none. */
usec_t sched_guaranteed_start(const struct brain *brain, const struct job *job);

/* The waiting job of a queue that is served first (claims.h), and when it starts at the latest.
 * NULL: there is none. */
const struct job *sched_served_first(const struct brain *brain, uint32_t queue, usec_t *ret_by);

/* The devices that the plan keeps for a waiting job; NULL: none. Of identical whole devices, others
 * may be taken in the end. */
const struct lease *sched_planned_lease(const struct brain *brain, const struct job *job);

/* The start that the default order keeps for a waiting job (ordering/plain.h): where jobs are
 * stopped for others of the queue, the latest time at which it runs on. */
struct protected_start {
    usec_t at, plain; /* plain: in the plain schedule */
    bool is_preemptive;
};

/* False: it has none yet, or its order knows none. */
bool sched_protected_start(const struct brain *brain, const struct job *job,
                           struct protected_start *ret);

/* Whether it could ever start on the nodes and within the limits of now: it is not above a limit of
 * its queues or of its user, and there is a spot node if it may only run on those. */
bool job_can_start(const struct state *state, const struct job *job);

/* False: it does not wait, is held, waits for other jobs, or can never run. */
bool sched_estimate_start(const struct brain *brain, struct inquiry *inquiry, const struct job *job,
                          struct start_estimate *ret);

/* The position of a queue, in milli-GPUs, with all below it. */
struct queue_standing {
    int64_t wanted;   /* held and requested, within its limit */
    int64_t fair;     /* its share if all GPUs were divided now (fair_share.h) */
    int64_t borrowed; /* held above its guarantee */
    int64_t lent;     /* of its guarantee, neither used nor free: others hold it */
    int64_t claim;    /* what it could still get now: free, or taken back from others */
};

/* Of all queues by number; ret has room for them. */
void sched_standing(const struct brain *brain, struct inquiry *inquiry, struct queue_standing *ret);

/* What other queues could give back to a waiting job, in milli-GPUs, and why they do not. */
struct give_back {
    enum stop_rule rule; /* the rule; STOP_IN_QUEUE: none, all else is 0 */
    uint32_t queue;      /* the queue that holds most of it */
    int64_t could;       /* held by jobs that may be stopped */
    int64_t firm;        /* held by jobs that are never stopped */
    int64_t young;       /* held by jobs within the min_runtime of their queue, or about to end */
    usec_t young_until;  /* when the first of these may be stopped; 0: none */
};

void sched_give_back(const struct brain *brain, struct inquiry *inquiry, const struct job *job,
                     struct give_back *ret);

/* Whether moving other jobs would make room for a waiting one (defrag.h), and what prevents it. */
enum moves_answer {
    MOVES_NONE,      /* it would not help, or is disabled */
    MOVES_UNDER_WAY, /* jobs are being moved for it */
    MOVES_OVER,      /* the loss is beyond the budget of this hour */
    MOVES_LATER,     /* jobs that could be moved may not be yet; `at` is when the first may */
};
struct moves_ask {
    enum moves_answer answer;
    uint32_t jobs;      /* under way: the number of jobs */
    int64_t loss, left; /* over: GPU-time in microseconds */
    usec_t at;          /* over: when the next hour begins; 0: the budget is never enough */
};

void sched_moves(const struct brain *brain, struct inquiry *inquiry, const struct job *job,
                 struct moves_ask *ret);

#endif
