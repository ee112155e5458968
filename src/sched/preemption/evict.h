/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PREEMPTION_EVICT_H
#define SCHED_PREEMPTION_EVICT_H

/* leave - jobs that have to be gone by a time
 *
 * When a reservation shuts what a job holds, when its queue may hold less from a window's edge on,
 * or when a hard budget is used up. Only jobs that may be stopped are (and, for a budget that says
 * kill, all); the others run to their end. Who is in a reservation's way is told its grace period
 * before it begins, so that it is gone by then; so is who is too much at an edge, where those that
 * lose least per GPU go first.
 */

#include "core/state/state.h"

struct brain;
struct decisions;

/* Stop whose time has come, and note when that of the next one will. Without a list of decisions
 * only that: of those that were started since. */
void plan_leaves(struct brain *brain, struct decisions *decisions);

/* What stopping it now would do again: run time since its work was safe, and the restart. */
usec_t leave_lost(const struct job *job, usec_t now);

#endif
