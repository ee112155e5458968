/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PLACEMENT_PLACE_H
#define SCHED_PLACEMENT_PLACE_H

/* place - find nodes and slices of devices for all members of a job, or for none
 *
 * One transaction: the fleet is unchanged afterwards, whatever the answer. Pure: the same input
 * gives the same lease. Each member goes to the node with the least cost (score.h), of equals
 * to the lowest number; a gang goes to the smallest domain (node, rack, block) that holds all
 * of it. Alternatives are tried in their order, each for the whole gang. The roles of a gang are
 * placed one after the other, wherever there is room, in several orders (role_order.h).
 *
 * Costs come from the caches of the shapes if the query has them, else from every node: the
 * choice is the same, which the tests verify.
 */

#include "base/arena.h"
#include "sched/capacity/keepout.h"
#include "sched/placement/cells.h"
#include "sched/placement/model_score.h"
#include "sched/placement/promise.h"
#include "sched/placement/shape.h"

/* Which alternatives are skipped because of the limits of queues and users. */
enum place_quota {
    PLACE_QUOTA_NONE,
    PLACE_QUOTA_EVER, /* those that will never be allowed */
    PLACE_QUOTA_NOW,  /* those that are not allowed now */
};

struct place_query {
    const struct state *state;
    struct scorer *scorer;
    struct fleet *fleet;
    struct shapes *shapes; /* caches of this fleet; NULL: look at every node */
    const struct request *request;
    uint32_t class;
    uint32_t queue;
    uint32_t user, gid; /* QUOTA_NOBODY: no limits of users */
    bool is_preemptible;
    uint64_t job;              /* for random placement */
    struct promises *promises; /* that bind a job that ends at `end`; NULL: none */
    usec_t end;
    const struct keepouts
        *keepouts; /* that bar a job that stays from `from` on for `stay`; NULL: none */
    usec_t from, stay;
    const uint32_t *only; /* only these nodes; NULL: all */
    uint32_t only_count;
    const struct fleet *spare; /* devices that are free in it are taken last; NULL: no such fleet */
    const struct lease *role_places; /* nodes to try if there is no other place; NULL: none */
    enum place_quota quota;
    struct cells *cells;    /* cells that are kept for queues; NULL: none */
    uint64_t labels, apart; /* of the job, as bits (core/job/class.h): for anti-affinity */
    bool ignore_health;     /* use drained, down and faulty nodes: can it run at all? */
};

/* ret_lease is in the arena; its share is 0. False: if there is no room, why is GPUS, CPUS or
 * MEMORY without numbers (place_explain); ret_why may be NULL. */
bool place_job(const struct place_query *query, struct arena *arena, struct lease *ret_lease,
               struct why *ret_why);

/* The amounts that a job lacks if it does not fit. */
void place_explain(const struct place_query *query, struct arena *arena, struct why *ret_why);

/* Some node may have room for a member if promises are ignored. False is certain, true is not. */
bool place_may_fit(const struct place_query *query);

/* How fast the job is, in thousandths, on the model that it would get now; where nothing is free,
 * on the one that it prefers. 0: not known. Only for queries with caches. */
uint32_t place_speed_now(const struct place_query *query);

/* The models that an alternative may have, best first, and the first of them with room for a member
 * now. Returns how many; 0: the place decides, and not the model. */
uint32_t place_models_now(const struct place_query *query, uint32_t alternative,
                          struct model_score *ret, uint32_t *ret_free);

#endif
