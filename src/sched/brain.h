/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_BRAIN_H
#define SCHED_BRAIN_H

/* brain - the state of the brain beside the journaled state, and its basic operations
 *
 * For this room alone. All of it follows from the state: brain_create builds it, and the hooks on
 * jobs and leases keep it up to date. The struct holds the policies' own structs by value.
 */

#include "sched/backfill/promise_search.h"
#include "sched/backfill/reserved_share.h"
#include "sched/backfill/time_rules.h"
#include "sched/capacity/keepout.h"
#include "sched/ends.h"
#include "sched/explain/estimate.h"
#include "sched/faster.h"
#include "sched/ordering/budget.h"
#include "sched/ordering/job_order.h"
#include "sched/ordering/pending.h"
#include "sched/ordering/plain.h"
#include "sched/placement/admit.h"
#include "sched/placement/place.h"
#include "sched/preemption/defrag.h"
#include "sched/preemption/evict.h"
#include "sched/preemption/preempt.h"
#include "sched/preemption/reclaim.h"
#include "sched/preemption/resize.h"
#include "sched/sched.h"

struct brain {
    struct state *state;
    struct layout layout;
    struct fleet fleet;
    struct fragmentation typical;
    struct scorer scorer;
    struct shapes shapes;
    struct cells cells;
    struct pending pending;
    struct ranker ranker;
    struct order order;
    struct keepouts keepouts;
    struct reserve reserve;
    reserved_share_list reserved_shares;
    commitment_list budgets;
    struct plain plain;
    plain_claim_list claims; /* of a queue, in this plan */
    struct admissions admissions;
    LIST(uint64_t) running_work;   /* by queue (claims.c) */
    uint64_t running_work_in;      /* the plan in which it was added up */
    usec_t running_work_at;        /* when */
    LIST(struct faster_line) busy; /* by model of the layout */
    uint64_t busy_in;              /* the plan in which it was listed */
    struct preempt preempt;
    struct reclaim reclaim;
    struct elastic elastic;
    struct defrag defrag;
    time_limit_heap time_limits;
    struct estimator estimator;
    struct ends ends;         /* expected ends of the jobs that hold resources */
    struct ends yielding;     /* of those that are being stopped for a job of their queue */
    LIST(uint64_t) attention; /* active jobs that may have to be stopped */
    job_list awaited;         /* in this plan: jobs for which others were stopped */
    LIST(uint64_t) fits;      /* by class: 2 * plan, plus one if a node has room */
    uint64_t number;          /* unique in this process */
    uint64_t plans;
    uint64_t passed;    /* edges of the agenda that were handled */
    uint64_t changes;   /* counts all changes, for followers (inquiry.h) */
    uint64_t made;      /* value of `changes` when the layout was made */
    usec_t review;      /* the next plan that the passing of time alone requires */
    struct arena arena; /* of the plan */
    bool is_dirty;      /* a plan is needed: a job may start or have to stop */
    bool is_going;      /* a node will be removed, and its preemptible jobs still run */
    bool is_sick;       /* a device may be faulty, and its jobs were not checked yet */
    bool is_moved;      /* nodes, devices or pools changed: the layout is stale */
};

/* Append a decision and fold it into the state. */
void brain_decide(struct brain *brain, const struct event *decision, struct decisions *decisions);

/* Stop the job. The job and the time of the event are filled in. */
void brain_stop(struct brain *brain, const struct job *job, struct event_stop stop,
                struct decisions *decisions);

/* A placement query for the job at this time: nodes, caches, keepouts, quotas. */
struct place_query brain_query(struct brain *brain, const struct job *job);
/* The same on a fleet that looks ahead and has no caches. */
struct place_query brain_query_ahead(struct brain *brain, const struct job *job,
                                     struct fleet *ahead, enum place_quota quota);
/* The same for another request than that of the job. */
struct place_query brain_query_for(struct brain *brain, const struct job *job,
                                   const struct request *request);

/* Bring layout, fleet, cells, keepouts and weights up to the state. Weights decide: for plans
 * alone.
 */
void brain_refresh(struct brain *brain);
/* Recompute the keepouts of reservations. */
void brain_shut_gates(struct brain *brain);
/* Rebuild the cells of the layout, with the leases that hold parts of them. */
void brain_make_cells(struct brain *brain);

/* The job may have to be stopped now or at its time limit. */
void brain_watch(struct brain *brain, struct job *job);
/* List the jobs for which others were stopped (`awaited`), by number. */
void brain_list_awaited(struct brain *brain);

/* Plan again at this time at the latest. */
static inline void brain_review(struct brain *brain, usec_t at)
{
    brain->review = at < brain->review ? at : brain->review;
}

/* The steps of a plan that are about all jobs: which must stop, and which may start
 *
 * sched.h says in which order they and those of the policies follow each other.
 */

struct brain;
struct decisions;

/* Stop jobs at their limit, cancelled ones, and those on a node or device that goes. */
void plan_stops(struct brain *brain, struct decisions *decisions);
/* Start the jobs for which others were stopped. They come before all others. */
void plan_awaited(struct brain *brain, struct decisions *decisions);
/* Start waiting jobs in their order; promise the first that find no room a start. */
void plan_grants(struct brain *brain, struct decisions *decisions);

#endif
