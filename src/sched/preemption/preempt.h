/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PREEMPTION_PREEMPT_H
#define SCHED_PREEMPTION_PREEMPT_H

/* preempt - preemption between jobs of one queue
 *
 * For each queue with preemptible jobs, the claimants are selected best first as long as
 * there are GPUs for them, then packed. Running jobs in their way are stopped (STOP 5,
 * which names the job they are stopped for). A selected job starts at once if its place is
 * free; else it is `awaited` until then, and comes first.
 *
 * A job makes room only for a job of its own queue, never for one of a lower priority, and not
 * before it has run for its restart cost. If jobs of other queues wait, the claimants get no more
 * than they hold and what was cleared for them; plan_grants distributes what is free. With order
 * fifo no job is preempted.
 */

#include "core/state/state.h"
#include "sched/ends.h"
#include "sched/ordering/gittins.h"
#include "sched/ordering/pending.h"
#include "sched/ordering/plain.h"
#include "sched/placement/place.h"

/* The claimants of a queue with preemptible jobs, best first
 *
 * Claimants are the queue's preemptible jobs that hold GPUs, and all of its jobs that wait for
 * GPUs. They are sorted by priority, then tier, then key, then time of submission:
 *
 *   fixed      has not run for its restart cost yet: stopping it now would be a pure loss. In a
 *              queue beside which others wait, in a cluster with cells (placement/cells.h), a
 *              restart costs FACTS_COST_S if nothing is stated: plan_grants distributes what is
 *              free there, and could start a job each time it was stopped, at one moment
 *   unsaved    runs, and never saves its work: only a higher priority is worth the loss of all
 *   awaited    others were stopped for it
 *   protected  is on its line (ordering/plain.h): only with the default order. Earlier ones first.
 *   deadline   would miss its deadline if it waited on, and can still meet it
 *   fair       the same for the time of a fair share (core/predict/pressure.h)
 *   critical   its remaining run is so long that the whole cluster will have to wait for it
 *   rest       all other jobs, also those that can no longer meet their deadline
 *   patient    was stopped for a job of another queue that is not over: takes no job's place
 *
 * The key is remaining run time x GPUs (longest first among the critical); where the remaining
 * time is unknown, the Gittins rank x GPUs, halved for running jobs.
 *
 *   deadline         deadline - now - remaining  <=  remaining / FACTS_URGENT + 2 restart costs
 *   fair             the same with 8 restart costs alone: it is softer
 *   critical         GPUs x remaining  >=  W + CLAIM_ARRIVALS x (work that came in the last
 *                    remaining / CLAIM_LOOK), W the remaining GPU-time of all claimants
 *
 * A critical job that waits counts the restart costs of all that run, too, with W: else its start
 * could make it uncritical, and the next stop would be for one of those.
 *
 * The restart that a stopped job has to pay does not count on the left of the last line: else each
 * job that is stopped might become critical, and would be stopped when it has paid.
 *
 * A job that was granted as protected stays so to its end; one without a stated run time, until it
 * has run half as long again and at least CLAIM_PIECE restart costs.
 *
 * A job that was granted for its deadline or as critical stays so while it runs (down to CLAIM_KEPT
 * / 16 of the critical bound, which also holds while others are stopped for it), so that restart
 * costs do not push it back over the edge. The constants come from simulations of the Philly,
 * Shockwave and Chronus workloads.
 */

enum {
    CLAIM_ARRIVALS = 4,
    CLAIM_LOOK = 16,
    CLAIM_MARGIN = 2, /* restart costs */
    CLAIM_FAIR_MARGIN = 8,
    CLAIM_FAIR_PARTS = 20, /* fair: up to 1 + 1 / 20 of the time of a fair share */
    CLAIM_KEPT = 14,       /* sixteenths */
    CLAIM_PIECE = 10,      /* restart costs */
    CLAIM_HYSTERESIS = 2,  /* an unknown job must be this many times better than a running one */
};

enum contender_tier {
    CLAIM_REST,
    CLAIM_CRITICAL,
    CLAIM_FAIR,
    CLAIM_DEADLINE,
    CLAIM_PROTECTED,
    CLAIM_AWAITED,
    CLAIM_UNSAVED,
    CLAIM_FIXED
};

struct contender {
    struct job *job;
    int64_t milli; /* GPUs */
    usec_t left;   /* run time, restarts included; 0: unknown */
    usec_t attained;
    usec_t due;    /* its line begins (ordering/plain.h); USEC_NEVER: it has none */
    int64_t key;   /* the lower first */
    uint8_t tier;  /* enum contender_tier */
    uint8_t cause; /* its tier if it was neither awaited nor fixed */
    bool is_patient;
    bool is_running;
    bool is_selected;
    bool is_kept;                    /* keeps its place */
    bool is_homeless;                /* finds no place beside better claims */
    struct contender *mover;         /* the claim that took its place; NULL */
    uint32_t first_node, node_count; /* where it will start */
};

struct contenders {
    LIST(struct contender) items;
    struct gittins gittins; /* made if the remaining time of a job is unknown */
    int64_t milli;          /* GPUs that the claimants may have together */
    bool is_guarded; /* a restart is not free, even if nothing is stated; set by the caller */
    usec_t review;   /* when the order may change without an event; USEC_NEVER */
};

/* Collect the claimants of a queue, without their lines. False: none of them is preemptible. */
bool contenders_collect(struct contenders *claims, const struct state *state, uint32_t queue,
                        const struct pending *pending, const struct ends *ends);
/* When a job that waits or runs has to run on at the latest, if it is due then; its restart is
 * taken into account. */
usec_t contender_line(const struct job *job, usec_t due, usec_t now);
/* Those of the queue that have lines: by number. */
void contenders_set_due(struct contenders *claims, const plain_due_list *dues);
/* Set tiers, keys and order, and the next review. `milli` must be set. */
void contenders_sort(struct contenders *claims, const struct state *state);
/* A claim was granted now: note when its tier changes without an event. */
void contenders_note_start(struct contenders *claims, const struct contender *claim,
                           const struct state *state);

/* Places for the selected claimants, and the jobs that have to make room for them
 *
 * Works on a fleet that looks ahead, without the jobs that are not selected and those that are
 * stopping. Newly selected jobs are placed widest first, each on the nodes with the fewest
 * sufficient free GPUs. If none suffices, smaller selected jobs on the node with the most free
 * GPUs are moved (largest first that is not above what is missing): they are placed again
 * afterwards and pay their restart cost. What is left goes to jobs that were not selected, in
 * order: they run on, or start.
 */

struct preempt_place {
    struct fleet ahead;
    LIST(uint32_t) nodes;   /* chosen nodes of all claims, in sequence */
    LIST(uint32_t) order;   /* claims to be placed */
    LIST(uint32_t) fitting; /* candidates of one placement */
    LIST(uint32_t) takers;  /* by node: the best claim placed there, plus one; 0: none */
    LIST(uint32_t) moved;   /* for one placement */
    LIST(uint64_t) misfits; /* by class: the last `fillings` in which it found no room */
    uint64_t fillings;
};

/* Set is_kept, first_node and node_count of the claims. pack->ahead: what is free and what is
 * becoming free, set by the caller; query: from brain_query for any job of the queue. False: some
 * selected claims found no place and are marked is_homeless; all else is undefined. */
bool preempt_place_make(struct preempt_place *pack, struct contenders *claims,
                        const struct place_query *query, struct arena *arena);
/* The best claim that gets a place on a node of this lease; NULL: none. */
const struct contender *preempt_place_taker(const struct preempt_place *pack,
                                            const struct contenders *claims,
                                            const struct lease *lease);
void preempt_place_release(struct preempt_place *pack);

/* Per queue. A queue without changes is not considered before its review. */
struct preempt_queue {
    uint32_t count; /* preemptible jobs that wait or hold something */
    usec_t review;  /* when its order may change without an event */
    bool is_due;
};

struct preempt {
    struct contenders claims;
    plain_due_list dues; /* of a queue, in this plan */
    struct preempt_place pack;
    LIST(struct preempt_queue) queues;
    uint32_t count;   /* in all queues */
    bool has_settled; /* it has settled buckets in the last plan */
    usec_t review;    /* the next plan that it needs without an event; USEC_NEVER: none */
};

/* Nodes or settings changed: consider all queues; or a queue did: it and all below it. */
void preempt_note_world(struct preempt *preempt);
void preempt_note_queue(struct preempt *preempt, const struct state *state, uint32_t queue);
/* The state of a job may have changed. */
void preempt_note(struct preempt *preempt, struct job *job, bool is_gone);
void preempt_release(struct preempt *preempt);

struct brain;
struct decisions;

/* Stop jobs for others of their queue, and start those that have a free place. */
void plan_preempt(struct brain *brain, struct decisions *decisions);

#endif
