/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_ORDERING_PLAIN_RUNNING_H
#define SCHED_ORDERING_PLAIN_RUNNING_H

/* plain_running - the jobs that run in the plain schedule of a queue (plain.h)
 *
 * They are sorted by the end of their limit; those with the same end, in the order of their starts.
 * They are kept in blocks of at most PLAIN_RUNNING_BLOCK entries, and the sum and the least times
 * of each block are known: a question looks at these and at the jobs of one block, not at all jobs.
 *
 * `now` is real time, up to which the run times of jobs that run are known; it never decreases.
 *
 * Order of calls:  a pointer to a job is valid until the next add or take
 * Owner:           the queue
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/units.h"

enum { PLAIN_RUNNING_BLOCK = 64 };

/* Between a submission and the start that follows from it some time passes: less counts as none. */
#define PLAIN_TICK (USEC_PER_SEC / 2)

/* What a job does in the real schedule. */
enum plain_real {
    REAL_NONE, /* it is not of it */
    REAL_WAITS,
    REAL_RUNS,
    REAL_ENDED,
    REAL_LEFT, /* of an arrival: it left before it came */
};

struct plain_job {
    uint64_t id;
    usec_t submitted;      /* on the queue's clock, as all times here */
    uint32_t limit, usual; /* run time, s; UINT32_MAX: without end */
    uint32_t share;        /* in parts of 2^20 */
    uint32_t estimate;     /* stated run time, s; 0: none, or it is not preemptible */
    uint32_t turn;         /* s, see plain.h */
    int32_t priority;
    bool is_preemptible;
};

struct plain_started {
    struct plain_job job;
    usec_t start, limit; /* in the plain schedule */
    usec_t protected;    /* from then on it does not change, as the next */
    usec_t due;          /* its line begins; 0: the queue had no preemptible jobs */
    usec_t run;          /* real run time; while it runs: run time so far - now */
    uint64_t number;     /* of the start, in the order of starts */
    uint8_t real;        /* enum plain_real */
};

/* Which of the times of a block an entry counts for. */
enum plain_time {
    PLAIN_ENDS,  /* its end: it has ended in the real schedule */
    PLAIN_WAITS, /* it does not end before then: it waits in the real schedule, */
    PLAIN_FIXED, /* or it runs, and has not reached its stated run time */
    PLAIN_MOVES, /* the same, less now: it runs */
    PLAIN_TIMES,
};

struct plain_entry {
    usec_t limit, time;
    uint64_t number;
    uint32_t slot, share;
    uint8_t kind; /* enum plain_time */
};

struct plain_block {
    uint32_t count;
    struct plain_entry entries[PLAIN_RUNNING_BLOCK];
};

/* Of the jobs of a block. */
struct plain_sum {
    usec_t least[PLAIN_TIMES]; /* USEC_NEVER: none */
    usec_t limit;              /* of the last */
    uint32_t share;
};

struct plain_running {
    LIST(struct plain_started) slots;  /* a job keeps its slot */
    LIST(uint32_t) unused;             /* slots */
    LIST(struct plain_block *) blocks; /* none is empty */
    LIST(struct plain_sum) sums;       /* by block */
    usec_t least[PLAIN_TIMES];         /* of all blocks, unless */
    bool is_stale[PLAIN_TIMES];        /* it has to be looked for */
    struct map slot_of;                /* by number of the job */
    uint64_t starts;
    uint32_t held; /* sum of shares */
};

/* A walk in the order of limits:
 *     for (struct plain_walk at = plain_running_first(running); at.job; plain_running_next(&at))
 */
struct plain_walk {
    const struct plain_running *running;
    size_t block;
    uint32_t entry;
    const struct plain_started *job; /* NULL: it is over */
};

/* Its real run time until now. */
static inline usec_t plain_run_until(const struct plain_started *started, usec_t now)
{
    return started->real == REAL_RUNS ? started->run + now : started->run;
}

/* Its real run time, or what it exceeds: it may end when its stated run time is over. */
usec_t plain_run_known(const struct plain_started *started, usec_t now);

/* `number` is set here. */
void plain_running_add(struct plain_running *running, struct plain_started started, usec_t now);
/* NULL: it does not run in it. */
const struct plain_started *plain_running_find(const struct plain_running *running, uint64_t job);
/* What the job does in the real schedule has changed. It must run in it. */
void plain_running_set_real(struct plain_running *running, uint64_t job, enum plain_real real,
                            usec_t run, usec_t now);
/* It ends in the real schedule, and a later start of the same number is another job. */
void plain_running_disown(struct plain_running *running, uint64_t job, usec_t now);
/* Remove one that has really ended, at `reached` at the latest. False: there is none. */
bool plain_running_take_ended(struct plain_running *running, usec_t reached,
                              struct plain_started *ret);
/* The first end of those that have really ended; USEC_NEVER: there are none. */
usec_t plain_running_next_end(struct plain_running *running);
/* Until when it is known that none of the others ends; USEC_NEVER: there are none. */
usec_t plain_running_known(struct plain_running *running, usec_t now);
/* The first time at which at most `left` is held if jobs end at their limits, and by how much less
 * then; USEC_NEVER: never. */
usec_t plain_running_shadow(const struct plain_running *running, uint32_t left,
                            uint32_t *ret_extra);
void plain_running_release(struct plain_running *running);

/* The first at or after this one, or NULL, that waits in the real schedule. */
void plain_running_skip_to_waiting(struct plain_walk *walk);

static inline struct plain_walk plain_running_at(const struct plain_running *running, size_t block,
                                                 uint32_t number)
{
    if (block == running->blocks.count)
        return (struct plain_walk){ .running = running, .block = block };
    uint32_t slot = running->blocks.items[block]->entries[number].slot;
    return (struct plain_walk){ running, block, number, &running->slots.items[slot] };
}

static inline struct plain_walk plain_running_first(const struct plain_running *running)
{
    return plain_running_at(running, 0, 0);
}

static inline void plain_running_next(struct plain_walk *walk)
{
    bool is_last = walk->entry + 1 == walk->running->blocks.items[walk->block]->count;

    *walk = plain_running_at(walk->running, walk->block + is_last, is_last ? 0 : walk->entry + 1);
}

#endif
