/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_STATE_JOB_ALERT_H
#define CORE_STATE_JOB_ALERT_H

/* alert_of - what is wrong with jobs and budgets, by the state alone
 *
 *   job-idle    its GPUs do nothing, and it was warned       job-memory  more GPU memory than given
 *   job-limit   nine tenths of its time limit have passed    job-device  it runs on a sick device
 *   budget      nine tenths of a queue's budget are spent, or all of it
 *
 * What is about a job is for its owner; about a limit of less than ALERT_LIMIT_LEAST_S nobody is
 * told.
 */

#include "core/health/alert.h"
#include "core/state/state.h"

enum { ALERT_LIMIT_LEAST_S = 600, ALERT_BUDGET_PART = 90 /* percent */ };

/* Of a job that holds something; nothing of others. */
void alert_of_job(const struct state *state, const struct job *job, usec_t now,
                  struct alert_things *ret);
void alert_of_budgets(const struct state *state, usec_t now, struct alert_things *ret);

#endif
