/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/explain/inquiry.h"

#include <assert.h>
#include <stdlib.h>

#include "sched/placement/admit.h"
#include "sched/preemption/reclaim.h"

/* Of no brain. */
static void start_afresh(struct inquiry *inquiry)
{
    *inquiry = (struct inquiry){ 0 };
    inquiry->own.estimator.is_asked = true;
    inquiry->own.scorer.typical = &inquiry->own.typical;
    inquiry->own.fleet.is_now = true;
}

static void release(struct inquiry *inquiry)
{
    struct brain *own = &inquiry->own;

    fleet_release(&own->fleet);
    fleet_release(&inquiry->empty);
    fragmentation_release(&own->typical);
    scorer_release(&own->scorer);
    shapes_release(&own->shapes);
    cells_release(&own->cells);
    list_release(&own->budgets);
    reclaim_release(&own->reclaim);
    defrag_release(&own->defrag);
    estimator_release(&own->estimator);
    arena_release(&own->arena);
    layout_release(&inquiry->layout);
    keepouts_release(&inquiry->keepouts);
    class_table_release(&inquiry->classes);
    admissions_release(&own->admissions);
}

struct inquiry *inquiry_create(void)
{
    struct inquiry *inquiry = mem_zero(1, sizeof(*inquiry));

    start_afresh(inquiry);
    return inquiry;
}

void inquiry_destroy(struct inquiry *inquiry)
{
    if (!inquiry)
        return;
    release(inquiry);
    free(inquiry);
}

void inquiry_set_time(struct inquiry *inquiry, usec_t now)
{
    struct estimator *estimator = &inquiry->own.estimator;

    if (now - estimator->now < USEC_PER_SEC && now >= estimator->now)
        return;
    estimator->now = now;
    estimator_forget(estimator);
}

/* All that the brain has, except for what answers write to. */
static void share(struct brain *own, const struct brain *brain)
{
    struct brain mine = *own;

    *own = *brain;
    own->fleet = mine.fleet;
    own->typical = mine.typical;
    own->scorer = mine.scorer;
    own->shapes = mine.shapes;
    own->cells = mine.cells;
    own->budgets = mine.budgets;
    own->admissions = mine.admissions;
    own->reclaim = mine.reclaim;
    own->defrag = mine.defrag;
    own->estimator = mine.estimator;
    own->arena = mine.arena;
    own->budgets.count = 0;
    own->defrag.kept = brain->defrag.kept;
}

/* Update the keepouts as brain_refresh does: when they change, promises are void. */
static void share_gates(struct inquiry *inquiry, const struct brain *brain)
{
    struct brain *own = &inquiry->own;

    if (brain->keepouts.passed == brain->state->agenda.passed)
        return;
    list_copy(&inquiry->keepouts.items, &brain->keepouts.items);
    if (keepouts_make(&inquiry->keepouts, brain->state, &own->layout, &brain->ends, &own->arena))
        own->reserve.promises.count = 0;
    own->keepouts = inquiry->keepouts;
}

static void share_weights(struct inquiry *inquiry, const struct brain *brain, bool is_other)
{
    struct brain *own = &inquiry->own;

    if (inquiry->is_ahead) {
        scorer_refresh(&own->scorer, brain->state, &own->fleet);
    } else if (is_other || inquiry->epoch != brain->typical.epoch) {
        scorer_copy(&own->scorer, &brain->scorer, &own->fleet);
        inquiry->epoch = brain->typical.epoch;
    }
}

/* Nodes, devices or pools are others, and there was no plan since. */
static void go_ahead(struct inquiry *inquiry, const struct brain *brain)
{
    struct brain *own = &inquiry->own;

    layout_make(&inquiry->layout, brain->state);
    own->layout = inquiry->layout;
    own->layout.version = ++inquiry->layouts;
    own->is_moved = false;
    own->reserve.promises.count = 0;
    fleet_make(&own->fleet, &own->layout, brain->state, false);
}

struct brain *inquiry_follow(struct inquiry *inquiry, const struct brain *brain)
{
    struct brain *own = &inquiry->own;

    assert(brain != own && brain->state);
    if (own->number != brain->number) {
        usec_t now = own->estimator.now; /* the asker's time is not the brain's */
        release(inquiry);
        start_afresh(inquiry);
        own->estimator.now = now;
    }
    arena_clear(&own->arena);
    if (inquiry->seen != brain->state->now)
        estimator_forget(&own->estimator);
    inquiry->seen = brain->state->now;
    if (own->number == brain->number && inquiry->changes == brain->changes)
        return own;
    bool is_other = inquiry->is_ahead || inquiry->made != brain->made;
    share(own, brain);
    inquiry->changes = brain->changes;
    inquiry->made = brain->made;
    inquiry->is_ahead = brain->is_moved;
    if (inquiry->is_ahead) {
        go_ahead(inquiry, brain);
    } else {
        inquiry->layouts += is_other;
        own->layout.version = inquiry->layouts;
        own->fleet.layout = &own->layout;
        fleet_mirror(&own->fleet, &brain->fleet, is_other);
    }
    room_made_share(&own->reclaim, &brain->reclaim, brain->state, inquiry->is_ahead);
    brain_make_cells(own);
    share_gates(inquiry, brain);
    share_weights(inquiry, brain, is_other);
    estimator_forget(&own->estimator);
    own->estimator.layout = 0; /* what each queue holds is counted again */
    assert(!own->is_moved && own->layout.version != 0);
    return own;
}
