/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_REPEAT_H
#define CONTROL_REPEAT_H

/* repeat - jobs that are submitted on a schedule (cron), with the identity of their submitter */

#include "control/control.h"

/* Enqueue a change that submits the job, if it is due. */
void cron_fire(const struct control *control, uint64_t id);

/* Submit the job if it is due, and set its next time. Inside a change. */
void cron_submit(const struct control *control, uint64_t id);

/* Recompute the next time after the wall clock was set forward by `step` (tend.h). Inside a change.
 */
void cron_renew(const struct control *control, const struct event_cron *entry, usec_t step);

/* Allowed for the owner and administrators. Inside a change. */
int cron_remove(const struct control *control, const struct identity *who, uint64_t id,
                struct error *err);

#endif
