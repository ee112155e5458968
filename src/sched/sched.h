/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_SCHED_H
#define SCHED_SCHED_H

/* sched - the brain: events in, decisions out
 *
 * A brain sits on a state and decides. It reads no clock, does no I/O, has no floats and no
 * threads. What it knows beside the state follows from the events since the last BOOT: on a BOOT
 * it starts afresh from the state, so a brain that is put on a state and told a BOOT decides as
 * one that was there all along. Daemon, simulator and replay run this code.
 *
 *   sched_step(event)      the event is folded in; on a PLAN event the brain then decides, and
 *                          each decision (GRANT, STOP) is folded in and handed out
 *   sched_fold(event)      the same without deciding: for decisions that were made before
 *   sched_next_wakeup()    when it wants the next PLAN at the latest
 *
 * Order of a plan: jobs to be stopped; those that come back, and those for whom others were
 * stopped; gangs that are shrunk for others (elastic.h); then, in the order of
 * order.h, each head that is within quota and finds a place gets it; for one that finds none, jobs
 * of queues that borrow may be stopped (reclaim.h); the first of them get a promise (reserve.h);
 * the first that a queue's limit keeps waiting has its turn (turn.h). Gangs grow into what is left.
 *
 * Owner:    the brain borrows the state, which must outlive it and have no other brain
 * Version:  SCHED_VERSION changes when the same events may give other decisions
 */

#include "base/arena.h"
#include "core/job/why.h"
#include "core/state/state.h"

enum { SCHED_VERSION = 7 };

struct brain;

/* The memory that answers are worked out in, of whoever asks; for one brain. A question changes
 * nothing of the brain: what is decided later is the same with and without it. The first question
 * after something happened costs more than those that follow it. */
struct inquiry;

struct inquiry *inquiry_create(void);
void inquiry_destroy(struct inquiry *inquiry);
DEFINE_AUTO(inquiry)

struct decisions {
    LIST(struct event) events; /* leases live in the brain until the next step */
};

struct brain *brain_create(struct state *state);
void brain_destroy(struct brain *brain);
DEFINE_AUTO(brain)

/* Decisions are added to; the caller clears and releases the list. */
int sched_step(struct brain *brain, const struct event *event, struct decisions *decisions,
               struct error *err);
int sched_fold(struct brain *brain, const struct event *event, struct error *err);

/* For idle time: catch up a little of what the next plan would have to. Nothing that is decided
 * hangs on it. Returns whether there is more; a call takes some milliseconds at most. */
bool sched_refresh(struct brain *brain);

/* state->now or earlier: now. USEC_NEVER: not before another event. */
usec_t sched_next_wakeup(const struct brain *brain);

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

/* Could a job like this ever run here? WHY_NONE, WHY_UNUSABLE, WHY_SPOT, or a `never`. */
void sched_admit(const struct state *state, const struct request *request, uint32_t queue,
                 bool is_preemptible, struct why *ret_why);

#endif
