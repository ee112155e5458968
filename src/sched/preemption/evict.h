/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PREEMPTION_EVICT_H
#define SCHED_PREEMPTION_EVICT_H

/* evict - eviction by a deadline: jobs that have to end by a known time
 *
 * The time is the beginning of a reservation that keeps the resources of the job, the edge of a
 * window at which the limit of its queue falls, or the moment when a hard budget is used up. Only
 * preemptible jobs are stopped (a budget with `kill` stops all jobs); other jobs run to their end.
 * A job in the way of a reservation, or too many at an edge, is told its grace period earlier. At
 * an edge, the jobs that lose least per GPU go first.
 */

#include "core/state/state.h"

struct brain;
struct decisions;

/* Stop the jobs that are due, and note when the next one is. decisions NULL: only note, for jobs
 * that have started since. */
void plan_evictions(struct brain *brain, struct decisions *decisions);

#endif
