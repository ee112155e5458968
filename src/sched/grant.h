/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_GRANT_H
#define SCHED_GRANT_H

/* grant - what a job may have now, and giving it to the job
 *
 * All rules in one place: arrays, hours, quotas, budgets, turns, reservations and promises. A
 * policy that starts a job asks here and leaves the rest to brain_try_grant.
 *
 * On failure: why says which rule forbids it; nothing has changed
 */

#include "core/job/why.h"
#include "sched/ordering/pending.h"
#include "sched/ordering/quota_check.h"

struct brain;
struct decisions;
struct lease;

/* The array that the job is a task of lets one more run. */
bool brain_array_allows(const struct state *state, const struct pending_bucket *bucket,
                        struct why *why);

/* Hours, quotas and budgets allow what is asked for. */
bool brain_rules_allow(struct brain *brain, const struct job *job, const struct quota_ask *ask,
                       struct why *why);
/* The same for the least that it asks for. */
bool brain_may_start(struct brain *brain, const struct job *job, struct why *why);
/* Hours and budgets allow these amounts. */
bool brain_may_take(struct brain *brain, const struct job *job, const struct amounts *amounts,
                    struct why *why);
/* Hours, quotas, budgets and reservations allow this lease. */
bool brain_may_have(struct brain *brain, const struct job *job, const struct lease *lease,
                    struct why *why);

/* An empty cluster would hold it. A job that never fits has no turn. */
bool brain_is_possible(const struct brain *brain, const struct job *job);

/* Give the job this lease; its shares are filled in. */
void brain_grant(struct brain *brain, struct job *job, struct lease *lease, uint8_t tier,
                 struct decisions *decisions);
/* Start it now if all rules allow it: an elastic gang with as many members as fit. */
bool brain_try_grant(struct brain *brain, struct job *job, uint8_t tier,
                     struct decisions *decisions, struct why *why);

#endif
