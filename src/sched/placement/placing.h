/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PLACEMENT_PLACING_H
#define SCHED_PLACEMENT_PLACING_H

/* placing - one placement in progress: visible resources, domains and progress
 *
 * For place.c and the files of its parts.
 */

#include "sched/placement/place.h"
#include "sched/placement/role_order.h"

/* Keeping a gang close together: in a rack, in a block, or anywhere
 *
 * The smallest level at which one domain can hold all members is used, and of its domains the one
 * with the least room to spare. If none can, the domains with most room are used
 * one after the other, so that the gang touches few. Without racks and blocks, or for a single
 * member: anywhere.
 */

enum domain_level { DOMAIN_RACK, DOMAIN_BLOCK, DOMAIN_LEVELS };

struct domain {
    bool is_bounded;
    enum domain_level level;
    uint32_t number;
    const struct layout *layout;
    bool *tried;      /* by number: it was tried */
    uint32_t *counts; /* by number: members that fit */
};

void domain_start(struct domain *domain, const struct place_query *query, struct shape *shape,
                  struct arena *arena);
/* The present domain is full: go on to the next. False: there is none. */
bool domain_next(struct domain *domain);

static inline bool domain_has(const struct domain *domain, uint32_t node)
{
    if (!domain->is_bounded)
        return true;
    const struct layout_node *at = &domain->layout->nodes.items[node];
    return (domain->level == DOMAIN_RACK ? at->rack : at->block) == domain->number;
}

/* The part of a node that a placement may use
 *
 * It is the free part without devices that reservations close, resources that promises keep for
 * other jobs, and cells that are kept for other queues.
 *
 * Order of calls:  query, arena and cell_kind set; start, visible_spot*, release
 */

struct visible {
    const struct place_query *query;
    struct arena *arena;
    promise_nodes barred;    /* nodes that promises touch, or that keepouts close */
    promise_nodes shut;      /* indices of keepouts that bar the job */
    promise_nodes apart;     /* nodes of jobs from which it keeps apart, also to come */
    struct fleet_slot *seen; /* slots of a node that is not seen as it is */
    struct cells_guest guest;
    int64_t *slacks;    /* of the cells now, by kind; NULL: no cells are kept */
    bool keeps_cells;   /* hide what is kept for other queues */
    uint32_t cell_kind; /* show only a whole cell of this kind; CELLS_NONE: anything */
};

void visible_start(struct visible *visible);
void visible_release(struct visible *visible);

/* Something of the node may be hidden. */
bool visible_hides(const struct visible *visible, uint32_t node);
/* The node as this job sees it; valid until the next call. */
struct spot visible_spot(const struct visible *visible, const struct shape *shape, uint32_t node);

/* The placement and its progress. */
struct placing {
    const struct place_query *query;
    struct arena *arena;
    struct shape *shape; /* of the role that is being placed, or of all */
    uint32_t role;
    struct shape *shapes[REQUEST_ROLES_MAX]; /* by role */
    struct shape *own;                       /* the same, where there are no caches */
    struct request *parts;                   /* of a gang with roles, then */
    struct role_order cast;
    struct role_choices choices[REQUEST_ROLES_MAX]; /* by role (model_choice.c) */
    uint32_t failed; /* the role that found no place, or CAST_ALL_PLACED */
    const struct lease
        *role_places; /* members go to the nodes that they have there; NULL: to any */
    uint32_t seat;    /* of the next: its place there */
    struct lease lease;
    struct lease_role *roles;
    struct lease_member *members;
    struct slice *slices;
    struct visible visible;
    bool *avoid;
    bool *held;        /* by slot of a node: the gang has it; NULL: it is no plain gang */
    uint32_t *taken;   /* members on each node; NULL: one member */
    uint32_t spread;   /* no more on one node; 0: no bound */
    uint32_t machines; /* different ones so far */
    struct domain domain;
    int64_t *slacks; /* of the cells, by kind: before it is placed */
    bool is_strict;  /* no cell that is not its own */
};

/* A node for a member, and its cost. */
struct pick {
    int64_t node; /* -1: none */
    int32_t cost;
};

/* The models that may serve a role, in order; none if models cannot mix. */
struct role_choices model_choices(const struct placing *placing, uint32_t role);
/* So far the lease mixes models within a role that any model may serve. */
bool models_are_mixed(const struct placing *placing);

/* The node where the next member costs least. */
struct pick placing_pick(struct placing *placing);
/* Slots of the node to leave to other jobs if possible; NULL: none. */
const bool *placing_avoid(const struct placing *placing, uint32_t node);

#endif
