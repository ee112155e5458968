/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PREEMPTION_PREEMPT_H
#define SCHED_PREEMPTION_PREEMPT_H

/* preempt - who is stopped for others, inside a queue
 *
 * For each queue that has preemptible jobs: the claimants (claim.h) are gone through best first and
 * selected as long as there are GPUs for them, then packed (pack.h). Those that run and are in the
 * way are stopped (STOP 5, which says for whom); those whose place is free start at once, the
 * others when it is: until then they are `awaited`, and come first.
 *
 * A job only ever makes room for one of its own queue, never for one of a lower priority, and not
 * before it has run for its restart cost. Where other queues have jobs waiting, these claimants
 * have no more than they hold and were cleared for; what is free is dealt out by plan_grants.
 * With order fifo nobody is stopped.
 */

#include "sched/preemption/preempt_place.h"

/* What is kept of a queue. One of which nothing has changed is not looked at before its review. */
struct preempt_queue {
    uint32_t count; /* preemptible jobs that wait or hold something */
    usec_t review;  /* when its order may change by itself */
    bool is_due;
};

struct preempt {
    struct claims claims;
    struct pack pack;
    LIST(struct preempt_queue) queues;
    uint32_t count;   /* in all queues */
    bool has_settled; /* buckets of the last plan */
    usec_t review;    /* when it wants a plan without an event; USEC_NEVER */
};

/* Machines or settings are others: all queues are looked at; or one queue is, with all below it. */
void preempt_note_world(struct preempt *preempt);
void preempt_note_queue(struct preempt *preempt, const struct state *state, uint32_t queue);
/* A job's standing may have changed. */
void preempt_note(struct preempt *preempt, struct job *job, bool is_gone);
void preempt_release(struct preempt *preempt);

struct brain;
struct decisions;

/* Stop jobs for others of their queue, and start those whose place is free. */
void plan_preempt(struct brain *brain, struct decisions *decisions);

#endif
