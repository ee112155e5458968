/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_STATE_JOB_ALERT_H
#define CORE_STATE_JOB_ALERT_H

/* job_alert - alerts about jobs and budgets, from the state alone
 *
 *   job-idle     its GPUs are idle, and it was warned
 *   job-memory   more GPU memory than allocated
 *   job-limit    90 % of its time limit have passed
 *   job-device   it runs on a sick device
 *   budget       90 % of a budget of a queue, or of a user in it, are spent, or all of it
 *
 * The owner of a job gets its alerts, and a user those of their own budgets. A time limit of less
 * than ALERT_LIMIT_LEAST_S causes no alert.
 */

#include "core/health/alert.h"
#include "core/state/state.h"

enum { ALERT_LIMIT_LEAST_S = 600, ALERT_BUDGET_PART = 90 /* percent */ };

/* Alerts of an active job; none of others. */
void alert_of_job(const struct state *state, const struct job *job, usec_t now,
                  struct alert_things *ret);
void alert_of_budgets(const struct state *state, usec_t now, struct alert_things *ret);

#endif
