/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PLACEMENT_FRAGMENTATION_H
#define SCHED_PLACEMENT_FRAGMENTATION_H

/* fragmentation - what the free resources of a node are worth to future jobs
 *
 * The typical shapes are those with the highest demand (core/job/demand.h: 95 % by weight, at most
 * TYPICAL_MAX). The waste of a node:
 *
 *     F(n)   = sum over typical m of w_m * (the free GPU on n that m cannot use)
 *     Phi(n) = the free GPU on n beyond what its free CPUs and memory suffice for, by demand
 *     waste  = F(n) + Phi(n) / 2
 *
 * w_m is m's popularity f_m, over sqrt(A_m + 1) where A_m is how many more of m the whole fleet
 * could hold: a shape with few places left weighs more. FGD (ATC'23) has no Phi and w_m = f_m.
 * Integers: weights in parts of 2^20, waste in milli-GPU * 2^20. New weights are set after a
 * number of submissions, which starts an epoch.
 */

#include "core/state/state.h"
#include "sched/capacity/fleet.h"

/* The cost to other MIG profiles of taking an instance at one place of a device
 *
 *     cost = sum over profiles p of w_p * (options of p lost)
 *     w_p  = f_p * size_p / (A_p + 1)
 *
 * f_p is the demand for p (core/job/demand.h), size_p its memory slices, A_p how many more of it
 * the whole fleet could hold: a profile with few places left weighs more. FGD has no A_p. A profile
 * without demand counts a sixteenth of a job, so that an empty fleet is not filled carelessly.
 * Computed per kind of device, because a job may name a model. Integers; the most that one device
 * could lose is SCARCITY_MOST.
 */

enum { SCARCITY_MOST = 1 << 17 };

/* By kind * MIG_PROFILES_MAX + profile. */
typedef LIST(int32_t) scarcity_weights;

void scarcity_weigh(scarcity_weights *scarcity, const struct state *state,
                    const struct fleet *fleet, bool is_fgd);

/* The cost of changing what is held of a device from `before` to `after`. */
int32_t scarcity_cost(const scarcity_weights *scarcity, const struct layout *layout, uint32_t kind,
                      uint32_t before, uint32_t after);

enum {
    TYPICAL_MAX = 32,
    TYPICAL_COVER_PERCENT = 95,
    TYPICAL_ONE_BITS = 20,
    TYPICAL_SLOTS_MAX = 64
};

struct fragmentation_shape {
    int64_t cpu_milli, memory_mib;
    uint32_t count; /* number of devices; 0: none */
    uint32_t class;
    uint64_t popularity;
    int64_t weight;
};

struct fragmentation {
    struct fragmentation_shape shapes[TYPICAL_MAX];
    uint32_t count;
    int64_t weight; /* of all that count */
    LIST(uint16_t)
    needs; /* kind * TYPICAL_MAX + shape: milli of a device of that kind; 0: it cannot serve */
    LIST(uint8_t) by_need;     /* of each kind: shapes, those with equal needs beside each other */
    int64_t gpu, cpu, memory;  /* total demand: what goes with a GPU */
    scarcity_weights scarcity; /* of MIG profiles */
    bool is_fgd;
    uint64_t epoch;  /* counts up */
    uint64_t due;    /* value of demand.noted for the next update */
    uint64_t layout; /* version of the layout for needs */
};

/* What is free on one node, possibly after a placement. */
struct fragmentation_view {
    int64_t cpu_milli, memory_mib;
    uint32_t slot_count; /* at most TYPICAL_SLOTS_MAX */
    uint32_t kind;       /* LAYOUT_MIXED: in kinds */
    const uint32_t *kinds;
    int32_t milli[TYPICAL_SLOTS_MAX];
};

/* Set new weights if it is time to, or the layout changed. In plans alone. */
void fragmentation_refresh(struct fragmentation *typical, const struct state *state,
                           const struct fleet *fleet);
/* Copy the weights of another one, for an equal layout. */
void fragmentation_copy(struct fragmentation *own, const struct fragmentation *typical,
                        const struct layout *layout);
void fragmentation_release(struct fragmentation *typical);

/* The waste of the node as the view has it. */
int64_t fragmentation_waste(const struct fragmentation *typical,
                            const struct fragmentation_view *view);

#endif
