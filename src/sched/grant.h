/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_GRANT_H
#define SCHED_GRANT_H

/* grant - the rules for starting a job, and the start
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

/* The array of the bucket may run one more task. */
bool brain_array_allows(const struct state *state, const struct pending_bucket *bucket,
                        struct why *why);

/* Hours, quotas and budgets allow the amounts. */
bool brain_rules_allow(struct brain *brain, const struct job *job, const struct quota_ask *ask,
                       struct why *why);
/* The same for the smallest amounts that the job accepts. */
bool brain_may_start(struct brain *brain, const struct job *job, struct why *why);
/* Hours and budgets allow these amounts. */
bool brain_may_take(struct brain *brain, const struct job *job, const struct amounts *amounts,
                    struct why *why);
/* Hours, quotas, budgets and reservations allow this lease. */
bool brain_may_have(struct brain *brain, const struct job *job, const struct lease *lease,
                    struct why *why);

/* A job of the bucket fits beside what runs, promises apart; it may still find no place. */
bool brain_fits_somewhere(struct brain *brain, const struct pending_bucket *bucket);

/* Of several nodes it takes most of one: none has room for two such jobs. */
bool brain_needs_node(const struct brain *brain, const struct pending_bucket *bucket);

/* The job fits an empty cluster. A job that never fits reserves no share. */
bool brain_is_possible(struct brain *brain, const struct job *job);

/* Start the job with this lease; the shares of the lease are filled in. */
void brain_grant(struct brain *brain, struct job *job, struct lease *lease, uint8_t tier,
                 struct decisions *decisions);
/* Start the job now if all rules allow it; an elastic gang with as many members as fit. */
bool brain_try_grant(struct brain *brain, struct job *job, uint8_t tier,
                     struct decisions *decisions, struct why *why);

#endif
