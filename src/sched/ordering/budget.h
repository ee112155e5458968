/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_ORDERING_BUDGET_H
#define SCHED_ORDERING_BUDGET_H

/* budget - the remaining budgets of queues and users in their periods, in money and in GPU-time
 *
 * A job starts only if in every budget of its payers (core/cluster/payer.h): of its queue, of its
 * user in it, and the same of the queues above
 *
 *     spent + what running jobs will still cost + what the job will cost <= amount
 *
 * Running jobs count to their expected end, the new job to its usual end, both at most to the end
 * of the period, with the factors of the tariff on the way. A job without an end counts a day if
 * there is no period either. Amounts are rounded up. A job that costs nothing may always start.
 */

#include "core/job/why.h"
#include "core/state/state.h"

struct brain;

/* The cost in this period that running jobs of a payer have not incurred yet. */
struct commitment {
    uint32_t payer;
    uint8_t account;
    int64_t amount;
};

/* of this plan: the budgets that were consulted */
typedef LIST(struct commitment) commitment_list;

/* False: why is BUDGET. */
bool budget_allows(struct brain *brain, const struct job *job, const struct amounts *amounts,
                   struct why *why);
/* The job was granted these amounts. */
void budget_take(struct brain *brain, const struct job *job, const struct amounts *amounts);

/* The first time at which what was spent allows the job, if running jobs cost no more; at most the
 * next period. For a job that a period never allows: now. */
usec_t budget_opens_at(const struct state *state, const struct job *job,
                       const struct amounts *amounts);

/* When a budget will be used up if nothing changes; USEC_NEVER: not in this hour of the tariff, or
 * there is no budget. */
usec_t budget_used_up_at(const struct state *state, uint32_t payer, enum account_kind kind);

#endif
