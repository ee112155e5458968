/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_ORDERING_JOB_ORDER_H
#define SCHED_ORDERING_JOB_ORDER_H

/* job_order - the order in which waiting jobs are served
 *
 * Down the tree of queues; among siblings with a job to offer:
 *
 *   1. a queue below its guarantee before one that is not;
 *   2. the smaller (usage + share held now * one hour) / weight, both measured in the resource that
 *      its next job needs most of;
 *   3. the lower number.
 *
 * So a queue is measured by its use of what it asks for now. A queue with children that want
 * different resources is not charged for one of them when it asks for the other, and what a blocked
 * child holds does not count against its siblings. These are the two known flaws of a dominant
 * share that is summed up a tree.
 *
 * Inside a queue: the higher priority, then the rank, then the lower job number. Usage
 * halves every half-life (core/cluster/queue.h), so a queue that was served less comes first, and
 * starting many jobs at once counts immediately. Tree and weights follow Slurm's Fair Tree,
 * in integers.
 *
 * A bucket is `stuck` if its jobs find no room anywhere. Stuck buckets are offered only for
 * promises, so a plan stays cheap for any number of waiting jobs.
 *
 * Order of calls:  order_start, (order_next, then order_block or order_served)*, order_release
 */

#include "sched/ordering/pending.h"
#include "sched/ordering/run_time.h"

/* The order of jobs inside a queue
 *
 *   default          those that can still meet a deadline first, the least work first; then
 *                    log2(usual run time) + log2(limit) - 2 log2(age + 12 h)
 *   fifo             the job number
 *   shortest         the limit
 *   least-attained   the run time so far, times its share
 *   deadline         the deadline; jobs without one last
 *
 * Prediction and limit are both informative: their mean in the log domain beats either alone. Age
 * makes it an expansion factor, (wait + run time) / run time, in which ages far below 12 h count
 * alike. plain.h bounds how long other jobs may pass a job.
 */

struct rank_entry {
    struct pending_bucket *bucket;
    int32_t priority;
    uint32_t urgent; /* the lower first: would miss their protected start or deadline otherwise */
    bool is_undated; /* no deadline that can still be met: after those that have one */
    int64_t key;     /* then the lower */
    uint64_t id;     /* then the lower */
};

struct ranker {
    const struct state *state;
    uint64_t turn; /* the number of the plan; with many buckets, a plan guesses only some again: */
    uint32_t stride; /* those where it divides id plus turn; 0: all */
    /* The speed of the head of a bucket on the model that it would get now (place.h). */
    uint32_t (*speed_now)(void *user, const struct pending_bucket *bucket);
    void *user;
    uint64_t grants; /* so far: until the next one, that speed stays within a plan */
};

/* Predict its run time if it is due in this plan or has no prediction. */
void rank_guess(const struct ranker *ranker, struct pending_bucket *bucket);
struct rank_entry rank_of_bucket(const struct ranker *ranker, struct pending_bucket *bucket);
/* The same with the present prediction. */
struct rank_entry rank_as_guessed(const struct ranker *ranker, struct pending_bucket *bucket);
bool rank_is_before(const struct rank_entry *a, const struct rank_entry *b);

/* Decayed usage, computed once per instant, by queue and share; ORDER_UNKNOWN: not computed yet. */
typedef LIST(uint64_t) order_usage;

#define ORDER_UNKNOWN UINT64_MAX

void order_usage_start(order_usage *usage, size_t queues);

typedef LIST(struct rank_entry) order_heap;

struct order_line { /* of a queue */
    order_heap ready, stuck;
};

struct order {
    const struct state *state;
    const struct ranker *ranker;
    LIST(struct order_line) lines; /* by queue */
    LIST(uint32_t) children;       /* queues by parent, then number */
    LIST(uint32_t) first_child;    /* by queue: index of its first child; one more at the end */
    LIST(uint32_t) next;           /* by queue: the queue at or below it that is next; NO_QUEUE */
    LIST(uint8_t) kinds;           /* by queue: what its next job needs most of (enum share) */
    order_usage usage;
    bool with_stuck; /* `next` considers stuck buckets */
    uint32_t queue;  /* of the bucket that order_next returned */
    bool was_stuck;
};

/* Some node has room for the head of this bucket if promises are ignored. */
typedef bool order_fits(void *user, const struct pending_bucket *bucket);

void order_start(struct order *order, const struct state *state, const struct ranker *ranker,
                 const struct pending *pending, order_fits *fits, void *user);
/* The bucket with the next head; NULL when all are blocked. */
struct pending_bucket *order_next(struct order *order, bool with_stuck);
/* No job of the bucket that order_next returned can start in this plan. */
void order_block(struct order *order);
/* Its head was started; is_gone: that was the last job, and the bucket is freed. */
void order_served(struct order *order, bool is_gone);
void order_release(struct order *order);

/* The measure of a queue: the resource that its next job needs most of, and amounts that are added
 * to the allocated ones. */
struct order_claim {
    uint32_t queue;
    enum share kind;
    int64_t more_share, more_milli;
    order_usage *usage; /* cache of this instant; NULL: none */
};

/* Sibling a is served before b. */
bool order_is_before(const struct state *state, const struct order_claim *a,
                     const struct order_claim *b);

#endif
