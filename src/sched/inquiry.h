/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_INQUIRY_H
#define SCHED_INQUIRY_H

/* inquiry - the memory in which answers are worked out, beside the brain that is asked
 *
 * `own` is a brain in the hands of the asker. It reads the queues, the ends and the promises of the
 * brain that it follows. Whatever an answer writes to is its own: fleet, caches, cells, weights,
 * candidates, arena. A placement, a move or an estimate is tried on it with the same code that a
 * plan uses, and the brain never learns of it.
 *
 * What has fallen behind the state since the last plan (layout, cells, gates, weights) is brought
 * up to it here, as the next plan will. Else the weights are those of the last plan.
 *
 * Owner:    who asks; one inquiry follows one brain, which outlives it or is asked no more
 * Limits:   what is shared is read only: jobs, buckets, promises
 */

#include "core/job/class.h"
#include "sched/brain.h"

struct inquiry {
    struct brain own;
    const struct brain *of;     /* what it follows; NULL: nothing yet */
    uint64_t changes;           /* how far it has followed */
    uint64_t made;              /* the layout that it follows */
    uint64_t epoch;             /* the weights that it has a copy of */
    uint64_t layouts;           /* counts up: the version of the layout of `own` */
    bool is_ahead;              /* its layout is made from the state, and not the brain's */
    struct layout layout;       /* that one */
    struct gates gates;         /* made anew, where the brain's are out of date */
    struct class_table classes; /* of requests that nobody submitted */
};

/* The asker's brain, as the other one is now. Its arena is empty. */
struct brain *inquiry_follow(struct inquiry *inquiry, const struct brain *brain);

#endif
