/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PREEMPTION_CONTENDER_H
#define SCHED_PREEMPTION_CONTENDER_H

/* claim - the claimants of a queue with preemptible jobs, best first
 *
 * Claimants are the queue's preemptible jobs that hold GPUs, and all of its jobs that wait for
 * GPUs. They are sorted by priority, then tier, then key, then time of submission:
 *
 *   fixed      has not run for its restart cost yet: stopping it now would be a pure loss
 *   awaited    others were stopped for it
 *   deadline   would miss its deadline if it waited on, and can still meet it
 *   fair       the same for the time that a fair share would have given it
 * (core/predict/pressure.h) critical   its remaining run is so long that the whole cluster will
 * have to wait for it rest       all other jobs, also those that can no longer meet their deadline
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
 * A job that was granted as urgent or critical stays so while it runs (down to CLAIM_KEPT / 16 of
 * the critical bound), so that its restart cost does not push it back over the edge. The constants
 * come from simulations of the Philly, Shockwave and Chronus workloads.
 */

#include "core/state/state.h"
#include "sched/ends.h"
#include "sched/ordering/gittins.h"
#include "sched/ordering/pending.h"

enum {
    CLAIM_ARRIVALS = 4,
    CLAIM_LOOK = 16,
    CLAIM_MARGIN = 2, /* restart costs */
    CLAIM_FAIR_MARGIN = 8,
    CLAIM_FAIR_PARTS = 20, /* fair: up to 1 + 1 / 20 of the time of a fair share */
    CLAIM_KEPT = 14,       /* sixteenths */
    CLAIM_HYSTERESIS = 2,  /* an unknown job must be this many times better than a running one */
};

enum contender_tier {
    CLAIM_REST,
    CLAIM_CRITICAL,
    CLAIM_FAIR,
    CLAIM_DEADLINE,
    CLAIM_AWAITED,
    CLAIM_FIXED
};

struct contender {
    struct job *job;
    int64_t milli; /* GPUs */
    usec_t left;   /* run time, restarts included; 0: unknown */
    usec_t attained;
    int64_t key;  /* the lower first */
    uint8_t tier; /* enum contender_tier */
    bool is_patient;
    bool is_running;
    bool is_selected;
    bool is_kept;                    /* keeps its place */
    bool is_homeless;                /* finds no place beside better claims */
    struct contender *mover;         /* the claim that took its place; NULL */
    uint32_t first_node, node_count; /* where it will start (pack.h) */
};

struct contenders {
    LIST(struct contender) items;
    struct gittins gittins; /* made if the remaining time of a job is unknown */
    int64_t milli;          /* GPUs that the claimants may have together */
    usec_t review;          /* when the order may change without an event; USEC_NEVER */
};

/* Collect the claimants of a queue. False: none of them is preemptible. */
bool contenders_collect(struct contenders *claims, const struct state *state, uint32_t queue,
                        const struct pending *pending, const struct ends *ends);
/* Set tiers, keys and order, and the next review. `milli` must be set. */
void contenders_sort(struct contenders *claims, const struct state *state);
/* A claim was granted now: note when its tier changes without an event. */
void contenders_note_start(struct contenders *claims, const struct contender *claim,
                           const struct state *state);
void contenders_release(struct contenders *claims);

#endif
