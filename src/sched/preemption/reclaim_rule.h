/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PREEMPTION_RECLAIM_RULE_H
#define SCHED_PREEMPTION_RECLAIM_RULE_H

/* share - borrowing, and when a queue may take back from another
 *
 * Two queues meet at the lowest queue above both; their branches are the queues just below it that
 * lead to them. What is contested is the model that the job names, if branch a has a guarantee of
 * it, else GPUs of any kind. A branch borrows what it holds of that above its guarantee; its share
 * is borrowed / (capacity x weight), in parts of 2^30.
 *
 * A job of branch a may have jobs of branch b stopped, one after the other, as long as one of
 * these rules holds (policies 2.6, after Kueue):
 *
 *   guarantee   with the job, a is within its guarantee, and b is above its own
 *   less        with the job, a's share is not above b's share after the stop
 *   fair        with the job, a's share is below b's share before the stop; once per branch
 *
 * The last two apply only if a comes before b in the order of order.h: a queue that was served
 * more lately waits for jobs that end by themselves. So nothing oscillates: the guarantee rule
 * never takes from a branch within its guarantee, and the others reduce the largest share. Only
 * GPUs are taken back, and never of a model of which b is within its guarantee.
 */

#include "core/job/job.h"
#include "core/state/state.h"

/* Held amounts after each of a sequence of stops. */
struct reclaim_shares_ahead {
    LIST(struct amounts) used; /* by queue */
    LIST(bool) was_fair;       /* by queue: the fair rule was used for it */
};

void reclaim_shares_start(struct reclaim_shares_ahead *shares, const struct state *state);
void reclaim_shares_release(struct reclaim_shares_ahead *shares);

/* The branches of two queues; false: one is above the other, or they are the same. */
bool reclaim_share_branches(const struct state *state, uint32_t queue, uint32_t other,
                            uint32_t *ret_a, uint32_t *ret_b);

/* The rule by which a job of `queue` with these amounts may have a job of `other` stopped that
 * holds `held`. STOP_IN_QUEUE: none. */
enum stop_rule reclaim_rule_of(const struct reclaim_shares_ahead *shares, const struct state *state,
                               uint32_t queue, const struct amounts *wanted, uint32_t other,
                               const struct amounts *held);

/* That job is stopped by the rule (sign -1), or not after all (1). */
void reclaim_shares_take(struct reclaim_shares_ahead *shares, const struct state *state,
                         uint32_t queue, uint32_t other, const struct amounts *held,
                         enum stop_rule rule, int sign);

/* What a queue that holds `used` borrows of a resource, and its share. */
int64_t reclaim_share_borrowed(const struct queue *queue, const struct amounts *used,
                               uint32_t resource);
uint64_t reclaim_share_measure(const struct state *state, uint32_t queue,
                               const struct amounts *used, uint32_t resource);
/* Some queue borrows. Else nothing can be taken back, as in most plans. */
bool reclaim_share_is_borrowed(const struct state *state);
/* The resource that a job contests at this branch. */
uint32_t reclaim_share_contested(const struct state *state, uint32_t branch,
                                 const struct amounts *wanted);
/* The branch would be within its guarantee with `wanted` added. */
bool reclaim_share_is_within(const struct state *state, uint32_t branch, const struct amounts *used,
                             const struct amounts *wanted);

#endif
