/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_QUESTIONS_H
#define SCHED_QUESTIONS_H

/* questions - what can be asked of a brain
 *
 * A question changes no decision: each takes a const brain and an inquiry, the memory of whoever
 * asks (inquiry.h). advise.h and scale.h have the longer ones.
 */

#include "core/job/why.h"
#include "core/state/state.h"

struct brain;

/* The memory that answers are worked out in, of whoever asks; for one brain. A question changes
 * nothing of the brain: what is decided later is the same with and without it. The first question
 * after something happened costs more than those that follow it. */
struct inquiry;

struct inquiry *inquiry_create(void);
void inquiry_destroy(struct inquiry *inquiry);
DEFINE_AUTO(inquiry)

/* Why this job does not run; from its state, or as the last plan found it. Sets ahead to the
 * number of jobs of its own kind in front of it; NULL: not wanted (it is counted). */
void sched_why(const struct brain *brain, struct inquiry *inquiry, const struct job *job,
               struct why *ret_why, uint32_t *ret_ahead);

/* When a job that waits will start: 8 of 10 times between low and high; times. */
struct start_estimate {
    usec_t low, median, high; /* USEC_NEVER: no end in sight */
    usec_t limits_only;       /* if all ran up to their limits, and nobody else came */
    bool is_open;             /* somebody without a time limit has what it needs */
};

/* False: it does not wait, is held or waits for others, or can never run. */
bool sched_estimate_start(const struct brain *brain, struct inquiry *inquiry, const struct job *job,
                          struct start_estimate *ret);

/* Where a queue stands, in milli-GPUs, with all below it. */
struct queue_standing {
    int64_t wanted;   /* held and waited for, within its limit */
    int64_t fair;     /* what it would get if all were dealt out now (fair.h) */
    int64_t borrowed; /* held above its guarantee */
    int64_t lent;     /* of its guarantee, neither used nor free: others have it */
    int64_t claim;    /* it could have so many more now: free, or taken back from others */
};

/* All queues by number; ret has room for as many. */
void sched_standing(const struct brain *brain, struct inquiry *inquiry, struct queue_standing *ret);

/* What other queues could give back to a waiting job, in milli-GPUs, and why they do not. */
struct give_back {
    enum stop_rule rule; /* by which; STOP_IN_QUEUE: none, all else is 0 */
    uint32_t queue;      /* that holds most of it */
    int64_t could;       /* of jobs that may be stopped */
    int64_t firm;        /* of jobs that are never stopped */
    int64_t young;       /* of jobs in their queue's least run time, or about to end */
    usec_t young_until;  /* the first of these; 0: none */
};

void sched_give_back(const struct brain *brain, struct inquiry *inquiry, const struct job *job,
                     struct give_back *ret);

/* Whether moving others would make room for a job that waits (defrag.h), and what keeps them. */
enum moves_answer {
    MOVES_NONE,      /* it would not help, or is not wanted */
    MOVES_UNDER_WAY, /* they are being moved */
    MOVES_OVER,      /* more would be lost than is left for this hour */
    MOVES_LATER,     /* nobody may be moved for it yet who could be; `at` is when the first may */
};
struct moves_ask {
    enum moves_answer answer;
    uint32_t jobs;      /* under way: so many */
    int64_t loss, left; /* over: GPU-time in microseconds */
    usec_t at;          /* over: when the next hour begins; 0: it is never enough */
};

void sched_moves(const struct brain *brain, struct inquiry *inquiry, const struct job *job,
                 struct moves_ask *ret);

#endif
