/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PREEMPTION_RECLAIM_H
#define SCHED_PREEMPTION_RECLAIM_H

/* reclaim - preemption between queues: a queue takes back what it may
 *
 * Tried for a job that finds no room and would wait for long. Candidates are jobs of other queues
 * that may be stopped (preemptible, past the min_runtime of their queue and not about to end) and
 * that one of the rules below gives up. Those of a lower priority come first: a stopped job would
 * preempt those of its queue in its turn. The cost of a candidate is what is lost with it:
 *
 *   GPUs x (run time since the last checkpoint + restart cost) x (1 + times it was stopped before)
 *
 * For each node, the first and cheapest candidates that make room for one member are chosen; then
 * the nodes whose candidates have the lowest priorities and the least cost, as many as the job has
 * members; then, in reverse order, candidates that turn out to be unneeded are released
 * ("fill-back"). If no place is found node by node, more and more of all candidates are taken in
 * order of cost until there is one.
 *
 * The victims are stopped (STOP 5 with the rule). The job is `awaited` and comes before all others
 * until it has its place. While its victims stop, no other job is stopped for it.
 */

#include "core/job/job.h"
#include "core/state/state.h"
#include "sched/capacity/lease_part.h"
#include "sched/placement/place.h"

/* Borrowing, and when a queue may take back from another
 *
 * Two queues meet at the lowest queue above both; their branches are the queues just below it that
 * lead to them. What is contested is the model that the job names, if branch a has a guarantee of
 * it, else GPUs of any kind. A branch borrows what it holds of that above its guarantee; its share
 * is borrowed / (capacity x weight), in parts of 2^30.
 *
 * A job of branch a may have jobs of branch b stopped, one after the other, as long as one of
 * these rules holds (after Kueue):
 *
 *   guarantee   with the job, a is within its guarantee, and b is above its own
 *   less        with the job, a's share is not above b's share after the stop
 *   fair        with the job, a's share is below b's share before the stop; once per branch
 *
 * The last two apply only if a comes before b in the order of job_order.h: a queue that was served
 * more lately waits for jobs that end by themselves. So nothing oscillates: the guarantee rule
 * never takes from a branch within its guarantee, and the others reduce the largest share. Only
 * GPUs are taken back, and never of a model of which b is within its guarantee.
 */

/* Held amounts after each of a sequence of stops. */
struct reclaim_shares_ahead {
    LIST(struct amounts) used; /* by queue */
    LIST(bool) was_fair;       /* by queue: the fair rule was used for it */
};

void reclaim_shares_start(struct reclaim_shares_ahead *shares, const struct state *state);
void reclaim_shares_release(struct reclaim_shares_ahead *shares);

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

struct brain;
struct decisions;

struct victim {
    struct job *job;
    struct amounts held;
    int64_t cost; /* milli-GPU x ms */
    uint8_t rule; /* enum stop_rule, once it is chosen */
    bool is_chosen;
};

/* What a member needs of a node, by one alternative of its request. */
struct member_need {
    int32_t milli;
    uint32_t whole;
    int64_t cpu_milli, memory_mib;
};

struct member_need member_need_of(const struct request *request, uint32_t alternative);
/* So many members find room there. */
bool member_need_fits(const struct member_need *need, const struct fleet_node *node,
                      uint32_t members);

struct reclaim {
    struct reclaim_shares_ahead shares;
    struct fleet ahead;
    LIST(struct victim) victims; /* cheapest per GPU first */
    LIST(uint32_t) by_node;      /* victims of each node, in the order of nodes */
    LIST(uint32_t) first_of;     /* by node: index of its first; one more at the end */
    LIST(uint32_t) chosen;       /* in the order in which they were chosen */
    LIST(uint32_t) nodes;        /* nodes for the members */
    kept_places made;            /* where jobs will start for which others were stopped */
    usec_t review;               /* when the next job leaves its min_runtime; USEC_NEVER */
};

enum {
    RECLAIM_WAIT_S = 60, /* a job that would wait no longer than this is left to wait */
    RECLAIM_LEFT_S = 60, /* a job that ends within this time is left to end */
};

/* Stop jobs for this one. natural: when it would start otherwise (0: unknown). False: none. */
bool reclaim_for(struct brain *brain, struct job *job, usec_t natural, struct decisions *decisions);
void reclaim_release(struct reclaim *reclaim);

/* Room that was made for jobs, and the cluster once all that stops is gone
 *
 * When jobs are stopped, moved or shrunk for another one, its future lease is kept (reclaim.made)
 * until it starts. Searches for more room use `ahead` and `shares` of reclaim.h: what is free and
 * held after the stopping jobs have gone and the jobs that they stop for have started.
 */

/* Forget jobs that no longer wait. */
void room_made_tidy(struct reclaim *reclaim, const struct state *state);
/* Nodes or devices changed: jobs that come back find a new place. */
void room_made_forget_back(struct reclaim *reclaim, const struct state *state);
/* Keep what another one keeps; is_forgotten: but not for jobs that come back. */
void room_made_share(struct reclaim *own, const struct reclaim *reclaim, const struct state *state,
                     bool is_forgotten);

/* Set `shares` for a search for this job (0: for none). */
void room_made_count_shares(struct brain *brain, uint64_t job);
/* Set `ahead` and `shares` for a search for this job. */
void room_made_look_ahead(struct brain *brain, uint64_t job);
/* Count the kept places as held in the cells (sign 1), or no longer (-1). */
void room_made_take(struct brain *brain, uint64_t job, int sign);

/* Jobs are being stopped for this one. */
bool room_made_is_under_way(const struct brain *brain, const struct job *job);
/* More room is needed: the job would wait for long, and no job stops for it yet. natural: when it
 * would start otherwise (0: unknown). */
bool room_made_is_needed(const struct brain *brain, const struct job *job, usec_t natural,
                         const struct amounts *wanted);

/* Which running jobs may be stopped or shrunk for jobs of other queues
 *
 * A queue's min_runtime protects its jobs after each start. When a job is still protected, the time
 * at which the protection ends is noted in `review`, if it is earlier.
 */

/* Preemptible, past min_runtime and its restart cost, and not about to end. */
bool victim_may_stop(const struct state *state, const struct job *job, usec_t *review);
/* Past min_runtime. */
bool victim_is_due(const struct state *state, const struct job *job, usec_t *review);

#endif
