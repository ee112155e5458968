/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PLACEMENT_SHAPE_H
#define SCHED_PLACEMENT_SHAPE_H

/* shape - one way to meet a class of requests, and what each machine would cost it
 *
 * A shape is a class, or one role of it, with one of its GPU alternatives, seen from a queue
 * (static pools serve some queues only). What it would take of a device is worked out once for each
 * kind of slot. Its costs are kept for every machine, and caught up on those that changed
 * (fleet.h): a choice looks at the least cost of each block of machines, then into one block.
 * Policies 3.4.
 *
 * The most recently used SHAPES_MAX shapes are kept.
 */

#include "sched/placement/score.h"

enum { SHAPES_MAX = 512, SHAPE_BLOCK = 64 };

struct shape {
    uint64_t serial; /* of its class */
    uint32_t class;  /* its number, as long as that has this serial */
    uint32_t role, alternative, queue;
    const struct request *request;
    const struct gpu_ask *ask;   /* NULL: no GPUs */
    uint32_t pool_named;         /* that shared slices count against */
    LIST(struct shape_cut) cuts; /* by kind */
    bool is_possible;            /* some kind serves it */
    uint64_t layout;             /* version that cuts and costs stand for; 0: none */
    uint64_t scores;             /* of the scorer, the same */
    uint64_t seen;               /* how far it has come in the fleet's log */
    LIST(int32_t) costs;         /* by node; COST_NONE: does not fit */
    LIST(int32_t) least;         /* of each block */
    uint64_t used;               /* when it was asked for, as a count */
};

struct shapes {
    LIST(struct shape *) all;
    struct map by_key;
    uint64_t uses;
    size_t hand; /* of shapes_refresh */
};

/* Fill cuts (and is_possible) for the layout; costs stay unknown. */
void shape_describe(struct shape *shape, const struct state *state, const struct layout *layout,
                    const struct request *request, uint32_t alternative, uint32_t queue,
                    bool ignore_health);

struct shape *shape_claim(struct shapes *shapes, const struct state *state,
                          const struct layout *layout, uint32_t class, uint32_t role,
                          uint32_t alternative, uint32_t queue);
void shapes_release(struct shapes *shapes);

/* Catch up on what changed, some machines' worth of it; the choices stay the same. Returns whether
 * there is more. */
bool shapes_refresh(struct shapes *shapes, const struct state *state, struct scorer *scorer,
                    const struct fleet *fleet);
void shape_release(struct shape *shape);

/* Bring the costs up to what is free now. Returns how many machines were looked at. */
uint32_t shape_catch_up(struct shape *shape, struct scorer *scorer, const struct fleet *fleet);

/* After catching up: the cheapest machine, of equals the lowest number; -1: none fits. */
int64_t shape_best(const struct shape *shape);

/* Set a cost by hand (COST_NONE bars the machine) until the machine changes. Returns the old. */
int32_t shape_set_cost(struct shape *shape, uint32_t node, int32_t cost);

#endif
