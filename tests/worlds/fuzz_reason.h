/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WORLDS_FUZZ_REASON_H
#define WORLDS_FUZZ_REASON_H

/* fuzz_reason - checks the reasons that the brain gives for waiting jobs
 *
 * Each reason has a small check that asks the shadow whether the start would be allowed now.
 */

#include "worlds/fuzz_run.h"

/* A reason, and the job that it is given for. */
struct reason {
    struct fuzz_run *run;
    const struct shadow *shadow;
    const struct shadow_job *job;
    const struct request *request;
    struct why why;
};

struct reason fuzz_reason_of(struct fuzz_run *run, const struct shadow_job *job);

/* is_fitting: there is room for it, so the reason must be another one. What is known to be wrong
 * (fuzz_known.h) holds. */
bool fuzz_reason_holds(const struct reason *reason, bool is_fitting, struct error *found);
/* The reasons that can be there for ever. */
bool fuzz_is_for_ever(const struct why *why);

/* fuzz_check_reasons_times.c: those of time and money */
bool fuzz_reservation_is_true(const struct reason *reason, struct error *found);
bool fuzz_window_is_true(const struct reason *reason, struct error *found);
bool fuzz_tariff_is_true(const struct reason *reason, struct error *found);
bool fuzz_budget_is_true(const struct reason *reason, struct error *found);

/* The queue that is named is its own, or above; NULL: it is not. */
const struct shadow_queue *fuzz_queue_of(const struct reason *reason, struct error *found);

#define UNTRUE(reason, found, words, ...)                                                          \
    NOT_HELD(found, "job %" PRIu64 ": why is %s, but " words, (reason)->job->id,                   \
             why_name((reason)->why.kind), __VA_ARGS__)

#endif
