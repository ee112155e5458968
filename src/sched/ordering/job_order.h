/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_ORDERING_JOB_ORDER_H
#define SCHED_ORDERING_JOB_ORDER_H

/* order - whose turn it is
 *
 * Down the tree of queues, among siblings that have somebody to offer:
 *   1. a queue below its guarantee before one that is not;
 *   2. the smaller (usage + share held now * one hour) / weight, both counted in the resource that
 *      its next job wants most of;
 *   3. the lower number.
 * So a queue is measured by what it had of what it now asks for: one whose children want different
 * things is not charged for the one when it asks for the other, and what a child that is blocked
 * holds does not count against its sisters. Those are the two known mistakes of a dominant share
 * that is summed up a tree (policies 2.3).
 * Inside a queue: the higher priority, then as rank.h says, then the lower job number. Usage
 * halves every half-life (core/cluster/queue.h), so a queue that was served less comes first, and
 * who starts many at once pays at once. Tree and weights as Slurm's Fair Tree has them
 * (policies 2.1), in integers.
 *
 * Buckets whose jobs find no room anywhere are `stuck`: they are offered only to those who ask,
 * for a promise; so a plan costs little however many wait.
 *
 * Order of calls:  order_start, (order_next, then order_block or order_served)*, order_release
 */

#include "sched/ordering/pending.h"
#include "sched/ordering/rank.h"

/* Decayed usage, worked out once for an instant. */
struct order_usage {
    LIST(uint64_t) of; /* by queue and share; ORDER_UNKNOWN: not yet */
};

#define ORDER_UNKNOWN UINT64_MAX

void order_usage_start(struct order_usage *usage, size_t queues);

struct order_line {                /* of a queue */
    LIST(struct rank_entry) ready; /* a heap */
    LIST(struct rank_entry) stuck; /* a heap */
};

struct order {
    const struct state *state;
    const struct ranker *ranker;
    LIST(struct order_line) lines; /* by queue */
    LIST(uint32_t) children;       /* queues by parent, then number */
    LIST(uint32_t) first_child;    /* by queue: where its children start; one more at the end */
    LIST(uint32_t) next;           /* by queue: the one below it (or itself) that is next; NOBODY */
    LIST(uint8_t) kinds;           /* by queue: what its next job wants most of (enum share) */
    struct order_usage usage;
    bool with_stuck; /* next was found with them */
    uint32_t queue;  /* of what order_next gave */
    bool was_stuck;
};

/* Is there room for the head of this bucket somewhere, promises aside? */
typedef bool order_fits(void *user, const struct pending_bucket *bucket);

void order_start(struct order *order, const struct state *state, const struct ranker *ranker,
                 const struct pending *pending, order_fits *fits, void *user);
/* The bucket whose head is next; NULL when all are blocked. */
struct pending_bucket *order_next(struct order *order, bool with_stuck);
/* Nobody of the bucket that order_next gave can start in this plan. */
void order_block(struct order *order);
/* Its head was started; is_gone: it was the last, and the bucket is no more. */
void order_served(struct order *order, bool is_gone);
void order_release(struct order *order);

/* What a queue would be served for: the kind of resource that its next job wants most of, and what
 * it is taken to hold beside what it does. */
struct order_claim {
    uint32_t queue;
    enum share kind;
    int64_t more_share, more_milli;
    struct order_usage *usage; /* to look it up in, of this instant; NULL: none */
};

/* Which of two siblings is served first. */
bool order_is_before(const struct state *state, const struct order_claim *a,
                     const struct order_claim *b);

#endif
