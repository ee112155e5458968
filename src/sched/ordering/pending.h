/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_ORDERING_PENDING_H
#define SCHED_ORDERING_PENDING_H

/* pending - the queued jobs, in buckets of those that are interchangeable
 *
 * A bucket holds the jobs of one queue, class, time limit, estimate, priority, where run times are
 * predicted also of one user and name (digits aside), where users have limits of one user and Unix
 * group, and (where the array bounds how many run at a time) array, oldest first. Within a bucket
 * only the head can be next, so a plan looks at buckets, not at jobs. A bucket goes with its last
 * job.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/mem.h"
#include "core/job/why.h"
#include "core/state/state.h"

struct pending_bucket {
    uint32_t queue, class;
    int32_t priority;
    usec_t max_duration, estimate, deadline;
    bool is_preemptible;
    uint16_t tariff_most;
    uint32_t reserved; /* of a user who has reservations: his number, plus one */
    usec_t stay;       /* of those that may be stopped, where there are windows (gate.h); else 0 */
    uint64_t limited;  /* where users or groups have limits: whose it is; else 0 */
    uint32_t user;     /* with name: whose run times tell; 0 where none are predicted */
    uint64_t name;
    uint64_t array; /* 0: none that bounds */
    struct job *first, *last;
    uint32_t count;
    uint32_t place;                    /* in its queue's list */
    bool is_timed_out;                 /* time lets none of its jobs start now */
    bool is_settled;                   /* preempt.h has decided about its jobs */
    struct pending_bucket *next_alike; /* with the same hash */
    struct why why;                    /* of its head, from the last plan */
    /* How long its jobs are taken to run (guess.h); usual and most are USEC_NEVER when unknown. */
    usec_t usual, most;
    uint32_t guess_version; /* of what the history said, plus one; 0: not yet */
    uint32_t share;         /* dominant share of the cluster that one needs, in parts of 2^20 */
    uint8_t kind;           /* of what (enum share) */
    uint64_t possible_in;   /* brain->world plus one, as of which is_possible is */
    bool is_possible;       /* an empty cluster would hold one of its jobs */
    uint64_t promised;      /* the plan in which its head got a promise */
};

struct pending_queue {
    LIST(struct pending_bucket *) buckets;
    struct job *first, *last; /* all that wait, by id */
};

struct pending {
    LIST(struct pending_queue) queues; /* by number of the queue */
    struct map by_hash;
    uint32_t count;
};

/* Whether limits of users or groups bound what jobs of this queue hold. */
bool pending_is_limited(const struct state *state, uint32_t queue);

/* Put the job where it belongs now: into its bucket when it is queued, else out. */
void pending_update(struct pending *pending, const struct state *state, struct job *job);
void pending_remove(struct pending *pending, struct job *job);
void pending_release(struct pending *pending);

#endif
