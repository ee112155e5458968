/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_QUEUE_POLICY_H
#define CONTROL_QUEUE_POLICY_H

/* queue_policy - what a queue allows: its defaults and bounds for jobs, and the rights of people
 *
 * The rules themselves are in core/cluster/queue_rules.h. An administrator of tarn may submit
 * everywhere and give any priority; bounds of jobs apply to administrators, too. An administrator
 * of a queue has rights over the jobs in it and below it, but the bounds stay.
 */

#include "control/control.h"

struct job_draft;

/* Give the draft what the queue says of jobs that leave it out, and refuse what the queue does not
 * allow. */
int queue_policy_settle(const struct state *state, const struct identity *who, uint32_t queue,
                        struct job_draft *draft, struct error *err);

/* Whether a job that is there may be in this queue, with this time limit. */
int queue_policy_check_job(const struct state *state, const struct identity *who, uint32_t queue,
                           const struct job *job, usec_t max_duration, struct error *err);

/* Whether this user may set this priority; prefix: of the message, "" or "job 7: ". */
int queue_policy_check_priority(const struct state *state, const struct identity *who,
                                uint32_t queue, int32_t priority, const char *prefix,
                                struct error *err);

/* Whether this user administers the queue or one above it. */
bool queue_policy_administers(const struct state *state, const struct identity *who,
                              uint32_t queue);

#endif
