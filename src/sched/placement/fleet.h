/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PLACEMENT_FLEET_H
#define SCHED_PLACEMENT_FLEET_H

/* fleet - what is free on each machine, packed as the layout has them, and a log of changes
 *
 * The brain's fleet says what is free now. Who keeps something that follows from it (the costs of
 * a shape, a second fleet that looks ahead) has a place in the log and catches up on the machines
 * that changed since; one that is too far behind looks at all of them.
 */

#include "sched/placement/layout.h"

enum { FLEET_LOG_SIZE = 1 << 15 }; /* a power of two */

struct fleet_node {
    int64_t cpu_milli, memory_mib;
    int32_t milli;   /* of all its slots */
    uint32_t whole;  /* slots that nobody has a part of */
    uint64_t change; /* its place in the log when it last changed; 0: nobody may remember it */
};

struct fleet_slot {
    int32_t milli;
    uint32_t mig; /* what its MIG instances hold (core/cluster/mig.h) */
    int64_t memory_mib;
};

struct fleet {
    const struct layout *layout;
    bool is_now; /* the brain's own: what is worked out for it may be kept */
    LIST(struct fleet_node) nodes;
    LIST(struct fleet_slot) slots;
    LIST(int64_t) pools; /* milli-GPUs that each pool's jobs hold */
    uint32_t *log;       /* the last FLEET_LOG_SIZE machines that changed */
    uint64_t changes;    /* how many ever did: the place of the next one */
    uint64_t followed;   /* a second fleet: how far it has come in the log of the first */
};

/* What is free in the state now, or (is_empty) would be if nobody had anything. */
void fleet_make(struct fleet *fleet, const struct layout *layout, const struct state *state,
                bool is_empty);
void fleet_release(struct fleet *fleet);

/* Less by a lease (sign 1), or more again (-1). */
void fleet_take(struct fleet *fleet, const struct lease *lease, int sign);
void fleet_take_member(struct fleet *fleet, const struct lease *lease, uint32_t rank, int sign);

/* Whether all of a lease is free. */
bool fleet_has(const struct fleet *fleet, const struct lease *lease);

/* Make `ahead` equal to `now` again: only machines that changed in either are copied. */
void fleet_follow(struct fleet *ahead, const struct fleet *now);

/* Make `own` equal to `now`, noted in its own log, so that what is worked out for it may be kept.
 * is_other: `now` was made anew since; own->layout says the same as the layout of `now`. */
void fleet_mirror(struct fleet *own, const struct fleet *now, bool is_other);

/* Machines that changed since `since`: calls one for each, the latest change of each once.
 * False: too long ago, look at all. */
static inline bool fleet_can_catch_up(const struct fleet *fleet, uint64_t since)
{
    return fleet->changes - since <= FLEET_LOG_SIZE;
}

static inline uint32_t fleet_log_at(const struct fleet *fleet, uint64_t place)
{
    return fleet->log[place & (FLEET_LOG_SIZE - 1)];
}

#endif
