/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_CAPACITY_KEEPOUT_H
#define SCHED_CAPACITY_KEEPOUT_H

/* keepout - the nodes and devices that reservations keep
 *
 * A reservation of nodes closes them to all jobs but its owner's while its window is open. A
 * reservation of GPUs closes as many devices as it counts. They are chosen for each plan: devices
 * that the owner holds, then free ones, then those that will be free when the window opens, then
 * those with jobs that can be stopped, then the rest. A job is barred from what is closed at any
 * time while it might hold it:
 *
 *   [start, start + limit)                                           if it is never stopped
 *   [start, start + min(limit, grace + restart + checkpoint + 1 min))     if it may be stopped
 *
 * A job that may be stopped must have ended when the window opens (evict.h), and must have time for
 * useful work until then. A running job that is never stopped continues.
 */

#include "base/arena.h"
#include "core/job/why.h"
#include "sched/capacity/fleet.h"
#include "sched/ends.h"

struct keepout {
    uint32_t node;
    uint32_t reservation; /* its index in the agenda */
    int64_t queue;        /* its owner's number; -1: none */
    uint64_t slots;       /* bit i: slot i of the node; 0: the whole node */
};

struct keepouts {
    LIST(struct keepout) items;
    LIST(struct keepout) before; /* of the previous plan */
    uint64_t passed;             /* edges of the agenda when they were made */
};

/* The queue and user of a job, and the time in which it would hold resources. */
struct keepout_ask {
    uint32_t queue, user;
    usec_t from, until;
};

/* Compute the keepouts for the state now. True: they changed. */
bool keepouts_make(struct keepouts *keepouts, const struct state *state,
                   const struct layout *layout, const struct ends *ends, struct arena *arena);
void keepouts_release(struct keepouts *keepouts);

/* The keepout bars the job at some time in that span. */
bool keepout_bars(const struct keepout *keepout, const struct state *state,
                  const struct keepout_ask *ask);

/* When the keepout bars the job for the first time; USEC_NEVER: never. */
usec_t keepout_shuts_at(const struct keepout *keepout, const struct state *state,
                        const struct keepout_ask *ask);
/* When the first span that bars the job ends. */
usec_t keepout_opens_at(const struct keepout *keepout, const struct state *state,
                        const struct keepout_ask *ask);

/* A lease holds a part of what the keepout keeps. */
bool keepout_has(const struct keepout *keepout, const struct layout *layout,
                 const struct lease *lease);
/* No keepout bars the job from the lease. False: why is RESERVATION. */
bool keepouts_allow(const struct keepouts *keepouts, const struct state *state,
                    const struct layout *layout, const struct keepout_ask *ask,
                    const struct lease *lease, struct why *why);

#endif
