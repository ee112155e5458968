/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_ORDERING_FAIR_SHARE_H
#define SCHED_ORDERING_FAIR_SHARE_H

/* fair_share - the share of the GPUs that each queue would get if they were divided now
 *
 * From the root down. Each child of a queue first gets its guarantee, as far as it asks for it
 * (what it holds and what its jobs wait for, up to its limit). If there is not enough for that,
 * the children share in proportion to their guarantees. The rest goes to the children that ask for
 * more, by
 *
 *   P = max(0, W + (W - U))      W: their part of the weights, U: their part of the decayed usage
 *
 * (the weights alone if every P is 0), repeated until no child asks or nothing is left; in whole
 * GPUs, the last ones to the largest remainders, the lowest number first. This is KAI's division
 * with k = 1, in integers and in the order of numbers.
 *
 * It explains (`tarn queues`) and decides nothing: job_order.h and reclaim.h lead towards these
 * shares.
 */

#include "core/state/state.h"
#include "sched/ordering/pending.h"

struct fair_queue {
    int64_t wanted_milli; /* held and waited for, within the limit */
    int64_t fair_milli;
};

/* By number of the queue. */
typedef LIST(struct fair_queue) fair_list;

void fair_divide(fair_list *fair, const struct state *state, const struct pending *pending);

/* The GPUs that the queue is guaranteed, in milli. */
int64_t fair_owed(const struct state *state, uint32_t queue);

#endif
