/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PREEMPTION_PREEMPT_H
#define SCHED_PREEMPTION_PREEMPT_H

/* preempt - preemption between jobs of one queue
 *
 * For each queue with preemptible jobs, the claimants (claim.h) are selected best first as long as
 * there are GPUs for them, then packed (pack.h). Running jobs in their way are stopped (STOP 5,
 * which names the job they are stopped for). Selected jobs whose place is free start at once; the
 * others are `awaited` until it is, and come first.
 *
 * A job makes room only for a job of its own queue, never for one of a lower priority, and not
 * before it has run for its restart cost. If jobs of other queues wait, the claimants get no more
 * than they hold and what was cleared for them; plan_grants distributes what is free. With order
 * fifo no job is preempted.
 */

#include "sched/preemption/preempt_place.h"

/* Per queue. A queue without changes is not considered before its review. */
struct preempt_queue {
    uint32_t count; /* preemptible jobs that wait or hold something */
    usec_t review;  /* when its order may change without an event */
    bool is_due;
};

struct preempt {
    struct contenders claims;
    struct preempt_place pack;
    LIST(struct preempt_queue) queues;
    uint32_t count;   /* in all queues */
    bool has_settled; /* it has settled buckets in the last plan */
    usec_t review;    /* the next plan that it needs without an event; USEC_NEVER: none */
};

/* Machines or settings changed: consider all queues; or a queue did: it and all below it. */
void preempt_note_world(struct preempt *preempt);
void preempt_note_queue(struct preempt *preempt, const struct state *state, uint32_t queue);
/* The state of a job may have changed. */
void preempt_note(struct preempt *preempt, struct job *job, bool is_gone);
void preempt_release(struct preempt *preempt);

struct brain;
struct decisions;

/* Stop jobs for others of their queue, and start those whose place is free. */
void plan_preempt(struct brain *brain, struct decisions *decisions);

#endif
