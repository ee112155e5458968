/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_BACKFILL_TIME_RULES_H
#define SCHED_BACKFILL_TIME_RULES_H

/* time_rules - tariffs and windows: whether a job may start at this time of day
 *
 * Tariff. A job with a tariff limit waits for hours with a factor of at most that, unless no such
 * hours are known or its deadline would be missed. It starts at
 *
 *   min(next cheap hour, deadline - 9/8 of its window)     at the latest
 *
 * Window. If a queue may hold less from some edge on, a job that is never stopped starts only if
 * it ends before, or if it fits beside all other such jobs of the queue that may still run at that
 * edge. A job that may be stopped starts only if it fits, or if it can do useful work until then
 * (job_stay). At most 64 edges up to the job's limit are considered.
 */

#include "sched/ordering/quota_check.h"

struct brain;
struct pending_bucket;

/* False: why is TARIFF or WINDOW, and the time of the next plan is noted. */
bool time_rules_allow(struct brain *brain, const struct job *job, const struct amounts *wanted,
                      struct why *why);

/* The first time from `at` on at which the tariff lets the job start. */
usec_t tariff_opens_at(const struct state *state, const struct job *job, usec_t at);

/* If an open window sets the limit, turn why from QUOTA into WINDOW. */
void time_rules_name_window(const struct state *state, struct why *why);

#endif
