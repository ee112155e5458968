/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_CLAIMS_H
#define SCHED_CLAIMS_H

/* claims - the waiting jobs of a queue whose protected start (plain.h) or deadline is near
 *
 * In each plan, a claim is urgent if the work that runs and that of the claims before it would fill
 * the cluster until its protected start. Urgent claims go before all other jobs of the queue. The
 * first of them is served first until it starts: it has a reservation by time limits, and starts
 * by served_by at the latest, which is that reservation and 1/8 of its own length. Until then,
 * jobs of at most 1/8 of its length go before it.
 *
 * Jobs that would miss their deadlines (deadlines.h) come before all other claims, by deadline. The
 * largest other job of the queue counts as work before them, as it may start first. While a job
 * that has none is served first, they go before it, as short ones do.
 *
 * If no claim is urgent, room is reserved for the job with the next deadline from its latest start
 * on; else for the first that others have passed, from its protected start on.
 *
 * doc/policies/waiting.md says what follows from it, and what not.
 */

#include "core/state/state.h"
#include "sched/ordering/pending.h"

struct brain;

enum {
    CLAIMS_SLIP = 8, /* one that is served first may be delayed by 1/8 of its own length, by jobs
                        of at most 1/8 of its length */
    /* Of urgent buckets (pending.h): the number of short ones. Others have higher numbers, those
     * that would miss a deadline while another job is served first lower ones. */
    CLAIMS_SHORT = 1U << 30,
};

#define CLAIMS_LOOK (5 * USEC_PER_MIN) /* claims are looked at so often if nothing happens */

/* Which of the queue's jobs go before its others in this plan, and from when on room is kept. */
void claims_look(struct brain *brain, uint32_t queue);
/* Keep room for the first: before other jobs of the queue start. */
void claims_keep(struct brain *brain, struct pending_queue *queue);
/* From now on room is kept for this job as soon as there is some. */
void claims_end_slip(struct brain *brain, uint64_t job);
/* If the job is served first: it has been reserved this start. */
void claims_promise(struct pending_queue *queue, const struct job *job, usec_t reserved);

#endif
