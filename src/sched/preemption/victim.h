/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PREEMPTION_VICTIM_H
#define SCHED_PREEMPTION_VICTIM_H

/* victim - which running jobs may be stopped or shrunk for jobs of other queues
 *
 * A queue's min_runtime protects its jobs after each start. When a job is still protected, the time
 * at which the protection ends is noted in reclaim.review, so that a plan follows then.
 */

#include "sched/preemption/reclaim.h"

/* Preemptible, past min_runtime and its restart cost, and not about to end. */
bool victim_may_stop(struct reclaim *reclaim, const struct state *state, const struct job *job);
/* Past min_runtime. */
bool victim_is_due(struct brain *brain, const struct job *job);

#endif
