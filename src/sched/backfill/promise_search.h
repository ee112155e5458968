/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_BACKFILL_PROMISE_SEARCH_H
#define SCHED_BACKFILL_PROMISE_SEARCH_H

/* promise_search - backfill: promises of the earliest start to jobs that must wait
 *
 * EASY backfill, exact to the device: the first job that finds no room is promised
 * a lease at the earliest time at which the running jobs, ending as expected, have made room. Up
 * to `backfill_depth` jobs hold a promise. A walk through the expected ends adds the resources of
 * each job to a fleet that looks ahead; only nodes that changed are tried.
 */

#include "sched/capacity/lease_part.h"
#include "sched/ends.h"
#include "sched/placement/place.h"

struct booking { /* resources that a promise in force takes or returns */
    usec_t at;
    const struct lease *lease;
    int sign;
};

struct reserve {
    struct promises promises;
    struct fleet ahead;
    LIST(struct booking) bookings; /* by time; at the same time, gives before takes */
    LIST(uint32_t) touched;        /* nodes that the walk changed */
    /* Where gangs with roles were last promised a start. Roles are placed one after the other, each
     * on the nodes that are cheapest then. With more free room than at the time of the promise,
     * the result may differ and leave no place for the last role: these are tried then (place.h).
     */
    kept_places role_places;
    LIST(uint32_t) counts; /* by node: members of a gang that fit */
    LIST(uint32_t) roomy;  /* nodes where some fit */
    uint64_t walked;       /* leases that walks passed since all promises were made anew */
    uint64_t ended;        /* jobs that ended since then */
};

/* Begin a plan. Promises of the last plan are renewed as long as they are requested in the same
 * order and still hold; from time to time, when that is cheap, all are made anew. */
void reserve_start(struct reserve *reserve);
void reserve_forget(struct reserve *reserve); /* drop all promises */
void reserve_finish(struct reserve *reserve); /* drop promises that were not requested */
/* A job that is expected to end at `end` holds a lease (sign 1), or no longer does (-1). */
void reserve_account(struct reserve *reserve, const struct lease *lease, usec_t end, int sign);
void reserve_release(struct reserve *reserve);

/* Promise this job its earliest start, not before `earliest`. query: as for placing it now, without
 * `end`. False: it would not fit after all jobs have ended (drained, down, faulty nodes). */
bool reserve_make(struct reserve *reserve, const struct place_query *query, const struct ends *ends,
                  usec_t duration, usec_t earliest, struct arena *arena, usec_t *ret_at);

#endif
