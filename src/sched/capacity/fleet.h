/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_CAPACITY_FLEET_H
#define SCHED_CAPACITY_FLEET_H

/* fleet - the free resources of each node, in the layout's order, and a log of changes
 *
 * The brain's fleet has the free resources now. Code that caches derived data (the costs of a
 * shape, a second fleet that looks ahead) stores a position in the log and later updates only the
 * nodes that changed since. If the log does not reach back that far, it updates all nodes.
 */

#include "sched/capacity/layout.h"

enum { FLEET_LOG_SIZE = 1 << 15 }; /* a power of two */

struct fleet_node {
    int64_t cpu_milli, memory_mib;
    int32_t milli;   /* of all its slots */
    uint32_t whole;  /* slots that are entirely free */
    uint64_t change; /* its position in the log when it last changed; 0: not cacheable */
};

struct fleet_slot {
    int32_t milli;
    uint32_t mig; /* occupied by MIG instances (core/cluster/mig.h) */
    int64_t memory_mib;
};

/* Members on a node of jobs with these labels and these anti-affinity labels. */
struct fleet_company {
    uint32_t node, count;
    uint64_t labels, apart;
};

struct fleet {
    const struct layout *layout;
    bool is_now;         /* data computed for this fleet may be cached */
    bool ignores_health; /* drained, down and faulty devices count as if they were usable */
    LIST(struct fleet_node) nodes;
    LIST(struct fleet_slot) slots;
    LIST(int64_t) pools; /* milli-GPUs that each pool's jobs hold */
    usec_t pools_at;     /* their sizes are those of this time (state_pool_at()); 0: in force */
    LIST(struct fleet_company) company; /* of jobs with labels or anti-affinity alone */
    uint32_t *log;                      /* the last FLEET_LOG_SIZE nodes that changed */
    uint64_t changes;                   /* changes so far: the position of the next one */
    uint64_t followed;                  /* a second fleet: its position in the log of the first */
};

/* Set to the free resources of the state, or (is_empty) of an idle cluster. */
void fleet_make(struct fleet *fleet, const struct layout *layout, const struct state *state,
                bool is_empty);
void fleet_release(struct fleet *fleet);

/* Take a lease (sign 1), or give it back (-1). */
void fleet_take(struct fleet *fleet, const struct lease *lease, int sign);
void fleet_take_member(struct fleet *fleet, const struct lease *lease, uint32_t rank, int sign);

/* A job with these labels and these anti-affinity labels may be on the node. */
bool fleet_is_apart(const struct fleet *fleet, uint32_t node, uint64_t labels, uint64_t apart);

/* All of a lease is free, and no anti-affinity forbids it. */
bool fleet_has(const struct fleet *fleet, const struct lease *lease);

/* Make `ahead` equal to `now` again; copies only nodes that changed in either. */
void fleet_follow(struct fleet *ahead, const struct fleet *now);

/* Make `own` equal to `now` and note the changes in its own log, so that what is computed for it
 * may be cached. is_other: `now` was rebuilt since. own->layout equals the layout of `now`. */
void fleet_mirror(struct fleet *own, const struct fleet *now, bool is_other);

/* The log still has all changes since `since`. False: every node may have changed. */
static inline bool fleet_can_catch_up(const struct fleet *fleet, uint64_t since)
{
    return fleet->changes - since <= FLEET_LOG_SIZE;
}

/* The free resources of one node as one job sees them; valid until the fleet changes. */
struct spot {
    uint32_t node;
    const struct layout_node *at;
    struct fleet_node free;
    const struct fleet_slot *slots; /* at->count */
};

struct spot spot_of(const struct fleet *fleet, uint32_t node);

static inline uint32_t fleet_log_at(const struct fleet *fleet, uint64_t place)
{
    return fleet->log[place & (FLEET_LOG_SIZE - 1)];
}

#endif
