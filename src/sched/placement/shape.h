/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PLACEMENT_SHAPE_H
#define SCHED_PLACEMENT_SHAPE_H

/* shape - one way to meet a class of requests, and its cost on each node
 *
 * A shape is a class, or one role of it, with one of its GPU alternatives, as seen from a queue
 * (static pools serve some queues only). What it would take of a device is computed once per kind
 * of slot. Its costs are cached for every node and updated where the fleet changed (fleet.h). A
 * choice compares the least cost of each block of nodes, then looks into one block. Policies
 * 3.4.
 *
 * The SHAPES_MAX most recently used shapes are kept.
 */

#include "sched/placement/score.h"

enum { SHAPES_MAX = 512, SHAPE_BLOCK = 64 };

struct shape {
    uint64_t serial; /* of its class */
    uint32_t class;  /* its index, valid while the class there has this serial */
    uint32_t role, alternative, queue;
    uint32_t model; /* only devices of this model (layout_kind.model); 0: any that it asks for */
    const struct request *request;
    const struct gpu_ask *ask;   /* NULL: no GPUs */
    uint32_t pool_named;         /* the pool that shared slices count against */
    LIST(struct shape_cut) cuts; /* by kind */
    bool is_possible;            /* some kind serves it */
    /* With conditions (core/job/where.h): where they hold. Else both are empty. */
    LIST(bool) open_nodes; /* by node: for it, or for a device of it */
    LIST(bool) open_slots; /* by slot */
    uint64_t layout;       /* version of the layout for cuts and costs; 0: none */
    uint64_t scores;       /* version of the scorer for costs; 0: none */
    uint64_t seen;         /* its position in the fleet's log */
    LIST(int32_t) costs;   /* by node; COST_NONE: does not fit */
    LIST(int32_t) least;   /* of each block */
    uint64_t used;         /* value of `uses` at its last use */
};

struct shapes {
    LIST(struct shape *) all;
    struct map by_key;
    uint64_t uses;
    size_t hand; /* position of shapes_refresh */
};

/* Set cuts and is_possible for the layout; costs stay unknown. */
void shape_describe(struct shape *shape, const struct state *state, const struct layout *layout,
                    const struct request *request, uint32_t alternative, uint32_t model,
                    uint32_t queue, bool ignore_health);

/* Its conditions hold for the node or one of its slots; for this slot. */
static inline bool shape_is_open(const struct shape *shape, uint32_t node)
{
    return shape->open_nodes.count == 0 || shape->open_nodes.items[node];
}
static inline bool shape_is_open_slot(const struct shape *shape, uint32_t slot)
{
    return shape->open_slots.count == 0 || shape->open_slots.items[slot];
}

/* Find or make the shape. Owner: shapes; valid until SHAPES_MAX others were claimed. */
struct shape *shape_claim(struct shapes *shapes, const struct state *state,
                          const struct layout *layout, uint32_t class, uint32_t role,
                          uint32_t alternative, uint32_t model, uint32_t queue);
void shapes_release(struct shapes *shapes);

/* Update the costs of a limited number of nodes; choices stay the same. True: there are more to
 * update. */
bool shapes_refresh(struct shapes *shapes, const struct state *state, struct scorer *scorer,
                    const struct fleet *fleet);
void shape_release(struct shape *shape);

/* Update the costs to what is free now. Returns the number of nodes that were considered. */
uint32_t shape_catch_up(struct shape *shape, struct scorer *scorer, const struct fleet *fleet);

/* The cheapest node, of equals the lowest number; -1: none fits. Catch up first. */
int64_t shape_best(const struct shape *shape);

/* Override a cost (COST_NONE bars the node) until the node changes. Returns the old. */
int32_t shape_set_cost(struct shape *shape, uint32_t node, int32_t cost);

#endif
