/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_RESERVE_H
#define SCHED_RESERVE_H

/* reserve - promises to jobs that must wait, and what may start without breaking them
 *
 * EASY backfill (policies 2.2), exact to the device: the first job that finds no room gets a
 * lease for the earliest time at which the jobs that run now, ending at their limits, will have
 * made room. Another job may start now when it ends before that time, or when what it takes is
 * not part of the promise. Up to `backfill_depth` jobs hold one. A job without a limit ends
 * "never": who waits for it has a promise of the place, not of the time.
 */

#include "core/state.h"
#include "core/why.h"
#include "sched/place.h"

struct reservation {
    uint64_t job;
    usec_t at;        /* USEC_NEVER: when somebody without a limit ends */
    struct room rest; /* what is free at that time beside the promise */
};

struct reserve {
    struct job *const *active; /* who holds resources now, in any order; the caller's */
    size_t active_count;
    LIST(struct reservation) held; /* the first `count` are in force; by time */
    size_t count;
    struct room future; /* scratch */
};

void reserve_start(struct reserve *reserve, struct job *const *active, size_t active_count);
/* The same promises; others hold resources now. */
void reserve_follow(struct reserve *reserve, struct job *const *active, size_t active_count);
void reserve_release(struct reserve *reserve);

/* Promise this job its earliest start. False: it would not fit even then (drained, down, sick). */
bool reserve_make(struct reserve *reserve, const struct state *state, const struct job *job,
                  struct arena *arena, usec_t *ret_at);

/* What a job that would end at `end` may use now. It is `now` itself when no promise is touched,
 * else the smaller of both, in `scratch`. */
const struct room *reserve_room(const struct reserve *reserve, const struct room *now, usec_t end,
                                struct room *scratch);

/* What a job that ends at `end` should leave to those that end later: what is free beside the
 * first promise that it does not touch. NULL: none. */
const struct room *reserve_spare(const struct reserve *reserve, usec_t end);

/* A job was started that ends at `end`: what it holds is no longer free at later promises. */
void reserve_take(struct reserve *reserve, const struct lease *lease, usec_t end);

/* The job whose promise keeps one that would end at `end` waiting; 0: none. */
uint64_t reserve_holder(const struct reserve *reserve, usec_t end);

/* When a job that holds resources will have ended at the latest. */
usec_t reserve_end_of(const struct state *state, const struct job *job);

#endif
