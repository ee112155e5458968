/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_STATE_JOB_ALERT_H
#define CORE_STATE_JOB_ALERT_H

/* job_alert - alerts about jobs and budgets, by the state alone
 *
 *   job-idle     its GPUs are idle, and it was warned
 *   job-memory   more GPU memory than allocated
 *   job-limit    nine tenths of its time limit have passed
 *   job-device   it runs on a sick device
 *   budget       nine tenths of a budget of a queue, or of a user in it, are spent, or all of it
 *
 * The owner of a job gets its alerts, and a user those of the own budgets; there is none for a
 * limit of less than ALERT_LIMIT_LEAST_S.
 */

#include "core/health/alert.h"
#include "core/state/state.h"

enum { ALERT_LIMIT_LEAST_S = 600, ALERT_BUDGET_PART = 90 /* percent */ };

/* Alerts of an active job; none of others. */
void alert_of_job(const struct state *state, const struct job *job, usec_t now,
                  struct alert_things *ret);
void alert_of_budgets(const struct state *state, usec_t now, struct alert_things *ret);

#endif
