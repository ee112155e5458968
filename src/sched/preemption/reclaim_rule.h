/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PREEMPTION_RECLAIM_RULE_H
#define SCHED_PREEMPTION_RECLAIM_RULE_H

/* share - what is borrowed, and whether one queue may take back from another
 *
 * Two queues meet at the lowest queue above both; their branches are the queues just below it that
 * lead to them. What is contested is the model that the job names, where branch a has a guarantee
 * of it, else GPUs of any kind. A branch borrows what it holds of that above its guarantee; its
 * share is borrowed / (capacity x weight), in parts of 2^30.
 *
 * A job of branch a may have jobs of branch b stopped, one after the other, as long as one of
 * these holds (policies 2.6, after Kueue):
 *
 *   guarantee   with the job, a is within its guarantee, and b is above its own
 *   less        with the job, a's share is not above what b's is after the stop
 *   fair        with the job, a's share is below what b's was before it; once a branch
 *
 * The last two only where a comes before b in the order of order.h: who had more lately waits for
 * what ends by itself. So nothing oscillates: the guarantee's rule never takes from who is within
 * his own, and the others make the largest share smaller. GPUs alone are taken back, and never one
 * of a model that b is within its guarantee of.
 */

#include "core/job/job.h"
#include "core/state/state.h"

/* Held amounts, as they would be while jobs are stopped one after the other. */
struct shares_ahead {
    LIST(struct amounts) used; /* by queue */
    LIST(bool) was_fair;       /* by queue: the rule that holds once was used for it */
};

void shares_start(struct shares_ahead *shares, const struct state *state);
void shares_release(struct shares_ahead *shares);

/* The branches of two queues; false: one is above the other, or they are the same. */
bool share_branches(const struct state *state, uint32_t queue, uint32_t other, uint32_t *ret_a,
                    uint32_t *ret_b);

/* May a job with these amounts, of `queue`, have one of `other` stopped that holds `held`?
 * STOP_IN_QUEUE: no rule allows it. */
enum stop_rule share_rule(const struct shares_ahead *shares, const struct state *state,
                          uint32_t queue, const struct amounts *wanted, uint32_t other,
                          const struct amounts *held);

/* It is stopped by that rule (sign -1), or is not after all (1). */
void shares_take(struct shares_ahead *shares, const struct state *state, uint32_t queue,
                 uint32_t other, const struct amounts *held, enum stop_rule rule, int sign);

/* What a queue that holds `used` borrows of a resource, and its share of it. */
int64_t share_borrowed(const struct queue *queue, const struct amounts *used, uint32_t resource);
uint64_t share_measure(const struct state *state, uint32_t queue, const struct amounts *used,
                       uint32_t resource);
/* Some queue borrows: nothing could be taken back else. Most plans end here. */
bool share_is_borrowed(const struct state *state);
/* What a job of the queue contests at this branch. */
uint32_t share_contested(const struct state *state, uint32_t branch, const struct amounts *wanted);
/* Would the branch be within its guarantee with so much more? */
bool share_is_within(const struct state *state, uint32_t branch, const struct amounts *used,
                     const struct amounts *wanted);

#endif
