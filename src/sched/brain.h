/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_BRAIN_H
#define SCHED_BRAIN_H

/* brain - what the brain keeps beside the state; for this room alone
 *
 * All of it follows from the state: brain_create builds it, on_job and on_lease keep it up.
 */

#include "sched/backfill/ends.h"
#include "sched/backfill/promise_search.h"
#include "sched/backfill/reservation.h"
#include "sched/backfill/reserved_share.h"
#include "sched/backfill/time_rules.h"
#include "sched/decisions.h"
#include "sched/explain/estimate.h"
#include "sched/ordering/budget.h"
#include "sched/ordering/job_order.h"
#include "sched/ordering/patience.h"
#include "sched/ordering/pending.h"
#include "sched/placement/place.h"
#include "sched/preemption/defrag.h"
#include "sched/preemption/evict.h"
#include "sched/preemption/preempt.h"
#include "sched/preemption/reclaim.h"
#include "sched/preemption/resize.h"
#include "sched/preemption/time_limit.h"

struct brain {
    struct state *state;
    struct layout layout;
    struct fleet fleet;
    struct typical typical;
    struct scorer scorer;
    struct shapes shapes;
    struct cells cells;
    struct pending pending;
    struct ranker ranker;
    struct order order;
    struct gates gates;
    struct reserve reserve;
    struct turns turns;
    struct spends spends;
    struct patience patience;
    struct preempt preempt;
    struct reclaim reclaim;
    struct elastic elastic;
    struct defrag defrag;
    struct deadlines deadlines;
    struct estimator estimator;
    struct ends ends;           /* of those that hold resources: when they are expected to */
    LIST(uint64_t) attention;   /* active jobs that may have to be stopped */
    LIST(struct job *) awaited; /* in this plan: for whom other queues made room */
    LIST(uint64_t) fits;        /* by class: 2 * plan, plus one when there is room somewhere */
    uint64_t plans;
    uint64_t passed;    /* of the agenda, as it was seen last */
    uint64_t world;     /* counts up when machines, pools or limits may be others */
    uint64_t changes;   /* counts up with all that happens; of the same count nothing differs */
    uint64_t made;      /* the change for which the layout was made */
    usec_t review;      /* when time alone changes something that edges do not tell */
    struct arena arena; /* of the plan */
    bool is_dirty;      /* something happened that may let a job start or stop */
    bool is_going;      /* a machine is taken away: who may be stopped there is not yet */
    bool is_sick;       /* a device may be: who holds it is not looked at yet */
    bool is_moved;      /* machines, devices or pools are others */
};

/* Add a decision, and fold it in. */
void brain_decide(struct brain *brain, const struct event *decision, struct decisions *decisions);

/* A query for the job as it is now: machines, caches, gates, quotas. */
void brain_query(struct brain *brain, const struct job *job, struct place_query *query);
/* The same for a request that is not the job's own. */
void brain_query_for(struct brain *brain, const struct job *job, const struct request *request,
                     struct place_query *query);

/* Bring layout, fleet, cells, gates and weights up to the state. Weights decide: for plans alone.
 */
void brain_refresh(struct brain *brain);
/* What reservations keep now. */
void brain_shut_gates(struct brain *brain);
/* The cells of the layout, with what is held of them. */
void brain_make_cells(struct brain *brain);

/* The job may have to be stopped: now, or when its limit comes. */
void brain_watch(struct brain *brain, struct job *job);
/* List those for whom other queues made room (`awaited`), by number. */
void brain_list_awaited(struct brain *brain);

/* Plan again at this time at the latest. */
static inline void brain_review(struct brain *brain, usec_t at)
{
    brain->review = at < brain->review ? at : brain->review;
}

#endif
