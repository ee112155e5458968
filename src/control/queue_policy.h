/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_QUEUE_POLICY_H
#define CONTROL_QUEUE_POLICY_H

/* queue_policy - applies the defaults and bounds of a queue to jobs, and checks rights of users
 *
 * The rules are in core/cluster/queue_rules.h. An administrator of tarn may submit to every queue
 * and set any priority, but the bounds of jobs apply to administrators, too. An administrator of a
 * queue has rights over the jobs in the queue and below it; the bounds still apply.
 */

#include "control/control.h"

struct job_draft;

/* Set the queue's defaults in the draft, and refuse values that the queue does not allow. */
int queue_policy_settle(const struct state *state, const struct identity *who, uint32_t queue,
                        struct job_draft *draft, struct error *err);

/* Whether an existing job may be in this queue with this time limit. */
int queue_policy_check_job(const struct state *state, const struct identity *who, uint32_t queue,
                           const struct job *job, usec_t max_duration, struct error *err);

/* Whether this user may set this priority; prefix: prefix of the message, "" or "job 7: ". */
int queue_policy_check_priority(const struct state *state, const struct identity *who,
                                uint32_t queue, int32_t priority, const char *prefix,
                                struct error *err);

/* Whether this identity may change jobs in the queue: one that is restricted to queues only in
 * those and below them. */
bool queue_policy_reaches(const struct state *state, const struct identity *who, uint32_t queue);
/* Fails with REFUSED_FORBIDDEN and names the queue. */
int queue_policy_check_reach(const struct state *state, const struct identity *who, uint32_t queue,
                             struct error *err);

/* Whether this user administers the queue or a queue above it, as far as the scope allows it. */
bool queue_policy_administers(const struct state *state, const struct identity *who,
                              uint32_t queue);

#endif
