/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_DEADLINES_H
#define SCHED_DEADLINES_H

/* deadlines - the waiting jobs of a queue that can still meet their deadlines
 *
 * They are listed by deadline, each with its latest start:
 *
 *   latest = deadline - run time - 1/8 of it - 5 minutes
 *
 * The run time is what it may take at most (its limit or estimate) or, if that is too long by now,
 * what it takes usually. The rest is what may delay a job that is served first (claims.h). If there
 * is more work than the cluster can do until one of the deadlines, the job with the most work
 * before it is left out, so that as many as possible are met.
 *
 * Source: Moore 1968 (the order with the fewest late jobs on a machine); here the cluster is one
 *         machine of that speed.
 */

#include "sched/ordering/pending.h"
#include "sched/ordering/plain.h"

enum { DEADLINES_MOST = 300 }; /* jobs of a queue that are looked at: those with the earliest */

/* Appends one claim for each job; `start` is 0, as they need not be passed by others to be late.
 * Returns the work of the largest other job of the queue: it may start before them. */
uint64_t deadlines_list(const struct pending_queue *queue, usec_t now, plain_claim_list *ret);

#endif
