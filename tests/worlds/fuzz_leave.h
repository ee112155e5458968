/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WORLDS_FUZZ_LEAVE_H
#define WORLDS_FUZZ_LEAVE_H

/* fuzz_leave - the jobs that must stop by a time, for a reservation, a window's limit or a budget
 *
 * Computed from the shadow by the rules of doc/policies/time.md and money.md. Of the brain it uses
 * only the expected ends of jobs with an estimate or a history.
 */

#include "worlds/fuzz_run.h"

/* How a device is held, as far as a reservation goes that opens at some time. */
enum fuzz_hold {
    FUZZ_HELD_NOT, /* or by its owner, or until then */
    FUZZ_HELD_STOPPABLE,
    FUZZ_HELD_FIRM,
};

enum fuzz_hold fuzz_hold_of(const struct shadow *shadow,
                            const struct shadow_reservation *reservation, uint32_t device,
                            usec_t opens);

/* What jobs below a queue may still hold then; is_firm: those that are never stopped. */
int64_t fuzz_held_at(const struct shadow *shadow, uint32_t queue, uint32_t resource, usec_t at,
                     bool is_firm);
/* The first edge after `at` of the windows that a queue's bounds hang on; USEC_NEVER: none. */
usec_t fuzz_edge_of_queue(const struct shadow *shadow, uint32_t queue, usec_t at);

usec_t fuzz_expected_end(const struct fuzz_run *run, const struct shadow_job *job);
/* What a payer will have spent when all that run have ended, at the least: those that are being
 * stopped cost nothing more, and it is unknown what was expected of `started`. */
int64_t fuzz_spent_at_least(const struct fuzz_run *run, const struct shadow_payer *payer,
                            enum account_kind kind, const struct shadow_job *started);
/* At the most: all run until their limit. */
int64_t fuzz_spent_at_most(const struct fuzz_run *run, const struct shadow_payer *payer,
                           enum account_kind kind);

/* Whether there is such a reason to stop it: a STOP with a rule of time. */
bool fuzz_is_to_leave(const struct fuzz_run *run, const struct shadow_job *job, uint8_t rule);

/* All jobs that had to be told by now were told; the brain wakes up when the next has to be. */
bool fuzz_machines_left(const struct fuzz_run *run, usec_t wakeup, struct error *found);
bool fuzz_devices_left(const struct fuzz_run *run, struct error *found);
bool fuzz_queues_left(const struct fuzz_run *run, struct error *found);
bool fuzz_budgets_left(const struct fuzz_run *run, usec_t wakeup, struct error *found);

#endif
