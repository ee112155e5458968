/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PLACEMENT_PROMISE_H
#define SCHED_PLACEMENT_PROMISE_H

/* promise - reservations of nodes for jobs that must wait
 *
 * A promise has a time and, for each node that it touches, the resources that will be free there
 * beside it at that time. Other nodes need no check: until then they only become emptier. A job
 * that still runs at that time may use of a touched node only what is free now and beside the
 * promise. A job that will have ended by then should use the promised resources. Identical whole
 * devices are promised by number: which of them is left open.
 */

#include "core/job/why.h"
#include "sched/capacity/fleet.h"

struct promise_spot {
    uint32_t node;
    int32_t whole; /* devices that will be entirely free */
    struct fleet_node rest;
    struct fleet_slot *slots; /* as many as the node has */
};

struct promise {
    uint64_t job;
    usec_t at;       /* USEC_NEVER: when a job without a limit ends */
    usec_t end;      /* of the job, if it starts then */
    usec_t earliest; /* no start before was wanted; 0: as soon as there is room */
    struct lease *lease;
    bool is_stale;                   /* what it relied on has changed */
    bool is_over;                    /* its job has started in this plan */
    LIST(struct promise_spot) spots; /* by node */
    LIST(int64_t) pools;             /* what the jobs of each pool hold then, this one included */
};

/* A stack: each was made while those before it were in force, and uses what they leave. */
struct promises {
    LIST(struct promise) held;
    size_t count; /* the first `count` are in force */
    size_t kept;  /* the others up to `kept` are of an earlier plan, for this one to renew */
    usec_t from;  /* promises before this time are ignored: the fleet ahead includes them */
    uint64_t own; /* as promise_set_own says; 0: none */
};

/* A job that ends at `end` still runs at the time of the promise. Two without end always clash. */
static inline bool promise_is_touched(const struct promises *promises,
                                      const struct promise *promise, usec_t end)
{
    return promise->at >= promises->from && promise->job != promises->own && !promise->is_over &&
           (end > promise->at || end == USEC_NEVER);
}

/* Add a promise, and drop all that are not in force. rest: what will be free then, without the
 * lease. */
void promise_add(struct promises *promises, uint64_t job, usec_t earliest, usec_t at, usec_t end,
                 const struct fleet *rest, const struct lease *lease);
/* Until it is set to 0, what is promised to this job is free: it may start there now. No promise is
 * added, ended or dropped meanwhile. */
void promise_set_own(struct promises *promises, const struct layout *layout, uint64_t job);
/* The job has started: what was promised to it is free, but for what it has got. */
void promise_end(struct promises *promises, const struct layout *layout, uint64_t job);
/* Forget all but the first `count`. */
void promise_drop(struct promises *promises, const struct layout *layout, size_t count);
/* True: the next kept promise is this job's and still holds; it is in force now. */
bool promise_renew(struct promises *promises, const struct layout *layout, uint64_t job,
                   usec_t earliest, usec_t now);
/* A job that is expected to end at `end` holds a lease (sign 1), or no longer does (-1). */
void promise_account(struct promises *promises, const struct layout *layout,
                     const struct lease *lease, usec_t end, int sign);
/* Its expected end has changed. */
void promise_shift(struct promises *promises, const struct layout *layout,
                   const struct lease *lease, usec_t from, usec_t to);

/* The nodes where promises restrict a job that ends at `end`. */
typedef LIST(uint32_t) promise_nodes;
void promise_list(const struct promises *promises, usec_t end, promise_nodes *ret_nodes);

/* Reduce the spot to what such a job may use. slots: room for as many as the node has.
 * by_number: it wants whole devices, and all that are free there are whole. */
void promise_limit(const struct promises *promises, usec_t end, bool by_number, struct spot *spot,
                   struct fleet_slot *slots);

/* Mark slots that a job which ends at `end` should leave to jobs that end later. False: none. */
bool promise_avoid(const struct promises *promises, const struct layout *layout, usec_t end,
                   uint32_t node, bool *avoid);

/* A member that ends at `end` was placed (sign 1), or removed again (-1). */
void promise_take(struct promises *promises, const struct layout *layout, usec_t end,
                  const struct lease *lease, uint32_t rank, int sign);

/* The pool stays within its maximum at all promises up to `end`. */
bool promise_pool_allows(const struct promises *promises, const struct state *state, usec_t end,
                         uint32_t pool);

/* The promise in force of this job; NULL: it has none. */
const struct promise *promise_of(const struct promises *promises, uint64_t job);

/* The job with a promise that restricts a job that ends at `end`; 0: none. */
uint64_t promise_holder(const struct promises *promises, usec_t end);

void promises_release(struct promises *promises);

#endif
