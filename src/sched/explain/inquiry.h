/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_EXPLAIN_INQUIRY_H
#define SCHED_EXPLAIN_INQUIRY_H

/* inquiry - the memory in which the answers to questions are computed, beside the brain
 *
 * `own` is a brain of the asker. It shares queues, expected ends and promises with the brain that
 * it follows. All that an answer writes to is its own: fleet, caches, cells, weights, candidates,
 * arena. So a placement, a move or an estimate is tried with the same code that a plan uses, and
 * the brain is not changed.
 *
 * What is out of date since the last plan (layout, cells, keepouts, weights) is updated here as the
 * next plan will update it. Else the weights are those of the last plan.
 *
 * Owner:    the asker; when it is used with another brain, it forgets the one before
 *
 * Limits:   what is shared is read only: jobs, buckets, promises
 */

#include "base/map.h"
#include "core/job/class.h"
#include "sched/brain.h"

struct inquiry {
    struct brain own;
    uint64_t changes;           /* the change of that brain that it has seen */
    uint64_t made;              /* the layout of that brain that it has seen */
    usec_t seen;                /* the time of its state then */
    uint64_t epoch;             /* the weights of that brain that it has a copy of */
    uint64_t layouts;           /* counts up: the version of the layout of `own` */
    bool is_ahead;              /* its layout is made from the state, not the brain's */
    struct layout layout;       /* made from the state */
    struct keepouts keepouts;   /* made from the state, if the brain's are out of date */
    struct class_table classes; /* of hypothetical requests */
    struct fleet empty;         /* the nodes with nothing on them */
    uint64_t empty_for;         /* the layout that it is for; 0: none */
};

/* The asker's brain, updated to the other one. Its arena is cleared. */
struct brain *inquiry_follow(struct inquiry *inquiry, const struct brain *brain);

#endif
