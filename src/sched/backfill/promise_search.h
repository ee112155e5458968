/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_BACKFILL_PROMISE_SEARCH_H
#define SCHED_BACKFILL_PROMISE_SEARCH_H

/* reserve - promises to jobs that must wait: the earliest time at which there will be room
 *
 * EASY backfill (policies 2.2), exact to the device: the first job that finds no room gets a
 * lease for the earliest time at which the jobs that run now, ending when they are expected to,
 * will have made room. Up to `backfill_depth` jobs hold one. A walk through the expected ends
 * puts what each gives back into a fleet that looks ahead; only machines that changed are tried.
 */

#include "sched/backfill/ends.h"
#include "sched/backfill/role_places.h"
#include "sched/placement/place.h"

struct booking { /* a promise in force, as what it takes and gives back */
    usec_t at;
    const struct lease *lease;
    int sign;
};

struct reserve {
    struct promises promises;
    struct fleet ahead;
    LIST(struct booking) bookings; /* by time; what is given back before what is taken */
    LIST(uint32_t) touched;        /* machines, in the walk */
    struct seats seats;            /* of the gangs with roles */
    LIST(uint32_t) counts;         /* by machine: members of a gang that fit */
    LIST(uint32_t) roomy;          /* machines where that is any */
    uint64_t walked;               /* leases that walks went through since all were made anew */
    uint64_t ended;                /* jobs that ended since */
};

/* A new plan. The promises of the last one may be used again, as long as they are asked for in the
 * same order and hold; now and then, as often as it costs little, all are made anew. */
void reserve_start(struct reserve *reserve);
void reserve_forget(struct reserve *reserve); /* all of them */
void reserve_finish(struct reserve *reserve); /* those that were not asked for */
/* A job that is expected to end at `end` holds a lease (sign 1), or does no more (-1). */
void reserve_account(struct reserve *reserve, const struct lease *lease, usec_t end, int sign);
void reserve_release(struct reserve *reserve);

/* Promise this job its earliest start; query: as for placing it now, its end aside. False: it
 * would not fit even when all have ended (drained, down, sick). */
bool reserve_make(struct reserve *reserve, const struct place_query *query, const struct ends *ends,
                  usec_t duration, struct arena *arena, usec_t *ret_at);

/* Promise this job a place that is free now, from `at` on. */
void reserve_keep(struct reserve *reserve, const struct place_query *query,
                  const struct lease *lease, usec_t at, usec_t end);

#endif
