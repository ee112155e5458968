/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PROMISE_H
#define SCHED_PROMISE_H

/* promise - machines that are kept for jobs which must wait, from some time on
 *
 * A promise names a time and, for each machine that it touches, what will be free there at that
 * time beside it. Machines that it does not touch only get emptier until then, so nobody needs to
 * look at them. A job that still runs at that time may use no more of a touched machine than is
 * free now and beside the promise; one that will have ended should use what is promised anyway.
 * Whole devices that are alike are promised by their number: which of them is left open.
 */

#include "core/why.h"
#include "sched/score.h"

struct promise_spot {
    uint32_t node;
    int32_t whole; /* devices that nobody will have a part of */
    struct fleet_node rest;
    struct fleet_slot *slots; /* as many as the machine has */
};

struct promise {
    uint64_t job;
    usec_t at;                       /* USEC_NEVER: when somebody without a limit ends */
    LIST(struct promise_spot) spots; /* by node */
    LIST(int64_t) pools;             /* what each pool's jobs hold then, with this one */
};

struct promises {
    LIST(struct promise) held; /* the first `count` are in force */
    size_t count;
    usec_t from; /* those of an earlier time don't count: who looks ahead has them in his fleet */
};

/* Whether a job that ends at `end` still runs at a promise's time. Two without end never agree. */
static inline bool promise_is_touched(const struct promises *promises,
                                      const struct promise *promise, usec_t end)
{
    return promise->at >= promises->from && (end > promise->at || end == USEC_NEVER);
}

/* Make another one: `rest` is what will be free then, with the lease taken out. */
void promise_add(struct promises *promises, uint64_t job, usec_t at, const struct fleet *rest,
                 const struct lease *lease);

/* Machines that a job which ends at `end` may not see as they are. */
typedef LIST(uint32_t) promise_nodes;
void promise_list(const struct promises *promises, usec_t end, promise_nodes *ret_nodes);

/* What such a job may see of this machine; slots: room for as many as it has. by_number: it wants
 * whole devices, and those that are free there are. */
void promise_limit(const struct promises *promises, usec_t end, bool by_number, struct spot *spot,
                   struct fleet_slot *slots);

/* Slots of the machine that a job which ends at `end` should leave to those that end later.
 * False: no matter which. */
bool promise_avoid(const struct promises *promises, const struct layout *layout, usec_t end,
                   uint32_t node, bool *avoid);

/* A member that ends at `end` was put there (sign 1), or taken away again (-1). */
void promise_take(struct promises *promises, const struct layout *layout, usec_t end,
                  const struct lease *lease, uint32_t rank, int sign);

/* Whether the pool is within its max at all promises, after what was put there until `end`. */
bool promise_pool_allows(const struct promises *promises, const struct state *state, usec_t end,
                         uint32_t pool);

/* The job whose promise is in the way of one that ends at `end`; 0: none. */
uint64_t promise_holder(const struct promises *promises, usec_t end);

void promises_release(struct promises *promises);

#endif
