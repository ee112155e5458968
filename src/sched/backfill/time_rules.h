/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_BACKFILL_TIME_RULES_H
#define SCHED_BACKFILL_TIME_RULES_H

/* hours - what the time of day says to a job that could start
 *
 * Tariff. A job that says so waits for hours whose factor is at most its own, unless none are
 * known, or its deadline would be missed: it starts at
 *
 *     min(next cheap hour, deadline - 9/8 of its window)     at the latest
 *
 * Window. When a queue may hold less from some edge on, a job that is never stopped starts only if
 * it ends before, or if it and all others of the queue that are never stopped and may still run at
 * that edge fit; one that may be stopped only if it fits or can do something useful until then
 * (job_stay). 64 edges are looked at, up to the job's limit.
 */

#include "sched/ordering/quota_check.h"

struct brain;
struct pending_bucket;

/* Fills why with TARIFF or WINDOW when not; notes when to look again. */
bool hours_allow(struct brain *brain, const struct job *job, const struct amounts *wanted,
                 struct why *why);

/* A limit that only an open window sets: then why, a QUOTA, becomes a WINDOW. */
void hours_name_window(const struct state *state, struct why *why);

#endif
