/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_ORDERING_FAIR_SHARE_H
#define SCHED_ORDERING_FAIR_SHARE_H

/* fair - what each queue would get of the GPUs if they were dealt out now
 *
 * From the root down. Of what a queue gets, each child first gets its guarantee, as far as it asks
 * for it (what it holds and what its jobs wait for, up to its limit); where there is less than
 * that, in proportion to the guarantees. What is left goes to those that ask for more, by
 *
 *   P = max(0, W + (W - U))      W: part of the weights, U: part of the decayed usage, of those
 *
 * (their weights alone where nobody has any P), again and again until nobody asks or nothing is
 * left; in whole GPUs, the rest one by one to the largest remainders, the lowest number first. This
 * is KAI's division with k = 1 (policies 2.4), in integers and in the order of numbers.
 *
 * It explains (`tarn queues`), it does not decide: the order of order.h and the rules of share.h
 * lead there.
 */

#include "core/state/state.h"
#include "sched/ordering/pending.h"

struct fair_queue {
    int64_t wanted_milli; /* held and waited for, within the limit */
    int64_t fair_milli;
};

struct fair {
    LIST(struct fair_queue) queues; /* by number */
};

void fair_divide(struct fair *fair, const struct state *state, const struct pending *pending);
void fair_release(struct fair *fair);

/* The GPUs that the queue is guaranteed, in milli. */
int64_t fair_owed(const struct state *state, uint32_t queue);

#endif
