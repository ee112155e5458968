/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PREEMPTION_EVICT_H
#define SCHED_PREEMPTION_EVICT_H

/* evict - eviction by a deadline: jobs that have to end by a known time
 *
 * That is when a reservation begins that keeps what a job holds, when the limit of its queue falls
 * at the edge of a window, or when a hard budget is used up. Only preemptible jobs are stopped (a
 * budget with `kill` stops all jobs); the others run to their end. A job in the way of a
 * reservation, or too many at an edge, is told its grace period earlier. At an edge, the jobs that
 * lose least per GPU go first.
 */

#include "core/state/state.h"

struct brain;
struct decisions;

/* Stop the jobs that are due, and note when the next one is. decisions NULL: only note, for jobs
 * that have started since. */
void plan_evictions(struct brain *brain, struct decisions *decisions);

#endif
