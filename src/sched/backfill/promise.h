/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_BACKFILL_PROMISE_H
#define SCHED_BACKFILL_PROMISE_H

/* promise - machines that are kept for jobs which must wait, from some time on
 *
 * A promise names a time and, for each machine that it touches, what will be free there at that
 * time beside it. Machines that it does not touch only get emptier until then, so nobody needs to
 * look at them. A job that still runs at that time may use no more of a touched machine than is
 * free now and beside the promise; one that will have ended should use what is promised anyway.
 * Whole devices that are alike are promised by their number: which of them is left open.
 */

#include "core/job/why.h"
#include "sched/spot.h"

struct promise_spot {
    uint32_t node;
    int32_t whole; /* devices that nobody will have a part of */
    struct fleet_node rest;
    struct fleet_slot *slots; /* as many as the machine has */
};

struct promise {
    uint64_t job;
    usec_t at;  /* USEC_NEVER: when somebody without a limit ends */
    usec_t end; /* of the job, if it starts then */
    struct lease *lease;
    bool is_stale;                   /* what it counted on is no more */
    LIST(struct promise_spot) spots; /* by node */
    LIST(int64_t) pools;             /* what each pool's jobs hold then, with this one */
};

/* A stack: each was made with those before it in force, and takes its part of what they leave. */
struct promises {
    LIST(struct promise) held;
    size_t count; /* the first so many are in force */
    size_t kept;  /* of an earlier plan, all that follow are kept up for this one to use again */
    usec_t from;  /* those of an earlier time don't count: who looks ahead has them in his fleet */
};

/* Whether a job that ends at `end` still runs at a promise's time. Two without end never agree. */
static inline bool promise_is_touched(const struct promises *promises,
                                      const struct promise *promise, usec_t end)
{
    return promise->at >= promises->from && (end > promise->at || end == USEC_NEVER);
}

/* Make another one, in the place of all that are not in force: `rest` is what will be free then,
 * with the lease taken out. */
void promise_add(struct promises *promises, uint64_t job, usec_t at, usec_t end,
                 const struct fleet *rest, const struct lease *lease);
/* Forget all but the first so many. */
void promise_drop(struct promises *promises, const struct layout *layout, size_t count);
/* Whether the next one that was kept is this job's and still holds; it is in force then. */
bool promise_renew(struct promises *promises, const struct layout *layout, uint64_t job,
                   usec_t now);
/* A job that is expected to end at `end` holds a lease (sign 1), or does no more (-1). */
void promise_account(struct promises *promises, const struct layout *layout,
                     const struct lease *lease, usec_t end, int sign);
/* It is expected to end at another time. */
void promise_shift(struct promises *promises, const struct layout *layout,
                   const struct lease *lease, usec_t from, usec_t to);

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
