/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_ORDERING_BUDGET_H
#define SCHED_ORDERING_BUDGET_H

/* spend - what queues may still spend in their periods, in money and in GPU-time
 *
 * A job starts only when in every budget of its queue and those above
 *
 *     spent + what runs now will still cost + what it will cost <= amount
 *
 * What runs counts to its expected end, the new one to its usual end, both to the end of the period
 * at most, with the tariff's factors on the way; who has no end counts for a day where there is no
 * period either. Amounts are rounded up. What costs nothing always may.
 */

#include "core/job/why.h"
#include "core/state/state.h"

struct brain;

/* What those that run below a queue will still cost in this period. */
struct commitment {
    uint32_t queue;
    uint8_t account;
    int64_t amount;
};

struct spends {
    LIST(struct commitment) items; /* of this plan: those that were asked for */
};

/* Fills why with BUDGET when not. */
bool spend_allows(struct brain *brain, const struct job *job, const struct amounts *amounts,
                  struct why *why);
/* It was granted that. */
void spend_take(struct brain *brain, const struct job *job, const struct amounts *amounts);

/* When all of a budget will be spent, if nothing changes; USEC_NEVER: not in this hour of the
 * tariff, or there is no budget. */
usec_t spend_used_up_at(const struct state *state, uint32_t queue, enum account_kind kind);

void spends_release(struct spends *spends);

#endif
