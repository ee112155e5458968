/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_ORDERING_PENDING_H
#define SCHED_ORDERING_PENDING_H

/* pending - the queued jobs, in buckets of interchangeable jobs
 *
 * A bucket holds the jobs of one queue, class, time limit, estimate and priority, oldest first.
 * Where run times are predicted, they are also of one user and name (digits aside); where users
 * have limits, of one user and Unix group; where an array bounds its running tasks, of one array.
 * Only the head of a bucket can be next, so a plan considers buckets and not jobs. A bucket is
 * freed with its last job.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/mem.h"
#include "core/job/why.h"
#include "core/state/state.h"
#include "sched/job_facts.h"

struct pending_bucket {
    uint32_t queue, class;
    int32_t priority;
    usec_t max_duration, estimate, deadline;
    bool is_preemptible;
    uint16_t tariff_most;
    uint32_t reserved; /* the user plus one, if the user has reservations; else 0 */
    usec_t stay;       /* of preemptible jobs, where there are windows (keepout.h); else 0 */
    uint64_t limited;  /* user and group, where these have limits; else 0 */
    uint32_t user;     /* with name: for the run-time history; 0 without prediction */
    uint64_t name;
    uint64_t array; /* 0: no array bounds it */
    struct job *first, *last;
    uint32_t count;
    uint32_t place;    /* index in its queue's list */
    bool is_timed_out; /* tariffs, windows or budgets let none of its jobs start now */
    bool is_settled;   /* preempt.h has decided on its jobs */
    struct pending_bucket *next_alike; /* with the same hash */
    struct why why;                    /* of its head, from the last plan */
    /* Predicted run time of its jobs (run_time.h); USEC_NEVER: unknown. */
    usec_t usual, most;
    uint32_t guess_version; /* of the history, plus one; 0: not guessed yet */
    uint32_t share;         /* dominant share of the cluster of one job, in parts of 2^20 */
    uint8_t kind;           /* of which resource (enum share) */
    bool has_speeds;        /* its jobs state an estimate and speeds (own_speed.h) */
    uint32_t speed;         /* then that of the model they would get now, in thousandths; 0: none */
    uint64_t speed_in, speed_after; /* the plan and the number of grants of that speed */
    uint64_t left;      /* the job that left a free GPU to others (faster.h); 0: none, */
    usec_t left_until;  /* and until when it may */
    uint64_t promised;  /* the plan in which its head got a promise */
    uint64_t urgent_in; /* the plan in which its next urgent_count jobs go before others, */
    uint32_t urgent, urgent_count; /* the lower number first */
};

struct pending_queue {
    LIST(struct pending_bucket *) buckets;
    struct job *first, *last; /* all waiting jobs, by id */
    uint64_t claim;           /* the job whose protected start comes first (plain.h); 0: none */
    int32_t claim_priority;
    usec_t claim_at;    /* room is kept for it from then on; 0: not known yet */
    uint64_t kept_in;   /* the plan in which that was done */
    usec_t looked_at;   /* when the claims were listed */
    uint64_t looked_in; /* the last plan that they were valid in; 0: none */
    uint64_t served;    /* a claim that is served first until it starts; 0: none */
    usec_t served_by;   /* it has started by then; 0: not known yet */
};

struct pending {
    LIST(struct pending_queue) queues; /* by number of the queue */
    struct map by_hash;
    uint32_t count;
};

/* Its jobs have a deadline, and meet it if they start now and run as long as usual. */
static inline bool pending_can_be_met(const struct pending_bucket *bucket, usec_t now)
{
    return bucket->deadline > 0 && bucket->usual != USEC_NEVER &&
           usec_after(now, bucket->usual) <= bucket->deadline;
}

/* Move a queued job to its bucket; remove any other job from its bucket. */
void pending_update(struct pending *pending, const struct state *state, struct job *job);
void pending_remove(struct pending *pending, struct job *job);
/* Add the first of each bucket, by priority and id. */
void pending_list_heads(const struct pending *pending, job_list *ret);
void pending_release(struct pending *pending);

#endif
