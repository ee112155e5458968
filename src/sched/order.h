/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_ORDER_H
#define SCHED_ORDER_H

/* order - whose turn it is
 *
 * Down the tree of queues, among siblings that have somebody to offer:
 *   1. a queue below its guarantee before one that is not;
 *   2. the smaller (usage + share held now * one hour) / weight;
 *   3. the lower number.
 * Inside a queue: the higher priority, then the lower job number. Usage halves every half-life
 * (core/queue.h), so a queue that was served less comes first, and who starts many at once pays
 * at once. Tree and weights as Slurm's Fair Tree has them (policies 2.1), in integers.
 *
 * Order of calls:  order_start, (order_next, then grant or order_block)*, order_release
 */

#include "sched/pending.h"

struct order {
    const struct state *state;
    struct pending *pending;
    LIST(uint32_t) offers;      /* by queue: buckets not blocked yet, with all below */
    LIST(uint32_t) children;    /* queues by parent, then number */
    LIST(uint32_t) first_child; /* by queue: where its children start; one more at the end */
};

void order_start(struct order *order, const struct state *state, struct pending *pending);
/* The bucket whose head is next; NULL when all are blocked. */
struct pending_bucket *order_next(struct order *order);
/* Nobody of this bucket can start in this plan. */
void order_block(struct order *order, struct pending_bucket *bucket);
/* A bucket went with its last job. */
void order_gone(struct order *order, uint32_t queue);
void order_release(struct order *order);

/* GPUs that the queue, or one above it, would hold over its limit with `milli` more: fills why. */
bool order_quota_allows(const struct state *state, uint32_t queue, int64_t milli, struct why *why);

/* Which of two siblings is served first. */
bool order_is_before(const struct state *state, uint32_t a, uint32_t b);

#endif
