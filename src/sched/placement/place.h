/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PLACEMENT_PLACE_H
#define SCHED_PLACEMENT_PLACE_H

/* place - find machines and slices of devices for all members of a job, or for none
 *
 * One transaction: the fleet is afterwards as it was, whatever the answer. Pure, and the same
 * input gives the same lease. Each member goes to the machine with the least cost (score.h), of
 * equals the lowest number; a gang into the smallest domain (machine, rack, block) that holds it
 * all. Alternatives are tried in their order, each for the whole gang. Of a gang with roles one
 * role is placed after the other, wherever there is room, in several orders (cast.h).
 *
 * Costs come from the shapes' caches where the query has them, else from a look at every
 * machine: the choice is the same, which is what the tests compare.
 */

#include "base/arena.h"
#include "sched/backfill/promise.h"
#include "sched/backfill/reservation.h"
#include "sched/placement/cells.h"
#include "sched/placement/shape.h"

/* Alternatives that are more than the limits of the queues allow are passed over. */
enum place_quota {
    PLACE_QUOTA_NONE,
    PLACE_QUOTA_EVER, /* more than they will ever allow */
    PLACE_QUOTA_NOW,
};

struct place_query {
    const struct state *state;
    struct scorer *scorer;
    struct fleet *fleet;
    struct shapes *shapes; /* caches of this fleet; NULL: look at every machine */
    const struct request *request;
    uint32_t class;
    uint32_t queue;
    uint32_t user, gid; /* QUOTA_NOBODY: no limits of users */
    bool is_preemptible;
    uint64_t job;              /* for random placement */
    struct promises *promises; /* that are in the way of a job that ends at `end`; NULL: none */
    usec_t end;
    const struct gates *gates; /* that bar who is there from `from` on for `stay`; NULL: none */
    usec_t from, stay;
    const uint32_t *only; /* look at these machines alone; NULL: at all */
    uint32_t only_count;
    const struct fleet *spare; /* whole devices that are free in it are taken last; NULL: none */
    const struct lease *seats; /* machines to try when there is no place else; NULL: none */
    enum place_quota quota;
    struct cells *cells; /* whole ones that are kept for queues; NULL: none are */
    bool ignore_health;  /* also what is drained, down or sick: could it run at all? */
};

/* ret_lease lives in arena; its share is 0. When there is no room, why is GPUS, CPUS or MEMORY
 * without numbers: place_explain has them. */
bool place_job(const struct place_query *query, struct arena *arena, struct lease *ret_lease,
               struct why *ret_why);

/* What is missing now, in numbers, for a job that does not fit. */
void place_explain(const struct place_query *query, struct arena *arena, struct why *ret_why);

/* Whether any machine has room for a member, promises aside: false is certain, true is not. */
bool place_may_fit(const struct place_query *query);

#endif
