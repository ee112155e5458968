/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PLACEMENT_ROLE_ORDER_H
#define SCHED_PLACEMENT_ROLE_ORDER_H

/* role_order - the order in which the roles of a gang are placed, and the alternatives they use
 *
 * Each role takes the cheapest nodes for its members, and so may take what only another role
 * could have used. The role with the largest members comes first: GPUs, then CPUs, then memory. A
 * role that finds no place after others is tried before them; a role that finds none as the first
 * has none with this alternative. Then other alternatives are tried, those of the last role first.
 *
 * Order of calls:  start, (use it, next)* until next returns false
 *
 * Limits:          CAST_TRIES tries, CAST_TRIES_MODELS where models are told apart: not all
 *                  combinations of many roles with many alternatives
 */

#include <stdbool.h>
#include <stdint.h>

#include "core/job/role.h"

enum { CAST_TRIES = 48, CAST_TRIES_MODELS = 512 };

#define CAST_ALL_PLACED UINT32_MAX

/* One way to serve a role: an alternative, of one model only (layout_kind.model) or 0. */
struct role_choice {
    uint32_t alternative, model;
    uint32_t runs; /* of the class of the job on the model */
    uint8_t rule;  /* enum model_rule: why the model is tried */
};

struct role_choices {
    const struct role_choice *items; /* NULL: each alternative, of any model */
    uint32_t count;
};

struct role_order {
    const struct request *request;
    uint32_t roles[REQUEST_ROLES_MAX];        /* in placement order */
    uint32_t alternatives[REQUEST_ROLES_MAX]; /* by role */
    uint32_t models[REQUEST_ROLES_MAX];       /* by role; 0: any */
    struct role_choices choices[REQUEST_ROLES_MAX];
    uint32_t picks[REQUEST_ROLES_MAX]; /* by role: which of its choices */
    bool has_models;
    uint32_t moves, tries; /* so far: with these alternatives, and in total */
};

void role_order_start(struct role_order *cast, const struct request *request);
/* After the start: these, in their order, instead of the alternatives of the role. */
void role_order_choose(struct role_order *cast, uint32_t role, struct role_choices choices);
/* failed: the role that found no place; CAST_ALL_PLACED: another rule failed. False: no more
 * combinations. */
bool role_order_next(struct role_order *cast, uint32_t failed);

#endif
