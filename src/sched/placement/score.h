/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PLACEMENT_SCORE_H
#define SCHED_PLACEMENT_SCORE_H

/* score - the cost of placing one member of a job on a node, and the choice of its devices
 *
 *   sfg          (waste after - waste before) / 10 milli-GPU (fragmentation.h), ties: lowest number
 *   fgd          100 - floor(100 * sigmoid(F before - F after)), the same ties
 *   best-fit     least left over: GPU, CPU and memory, each relative to the largest node's
 *   dot-product  least product of what is wanted and what is free, in the same units
 *   spread       most left over
 *   first-fit    lowest number
 *   random       any that fits (place.c)
 *
 * Spot nodes are only for jobs that allow them, and come first for jobs that prefer them. Then
 * come nodes with fewer shared devices for the job (own static pools first), then nodes with
 * fewer devices that are promised to a dynamic pool, then, unless `choice` is `place`, nodes where
 * the same model has a lower price.
 *
 * Devices: own before shared, promised last, then those that other jobs could use better (avoid). A
 * part of a GPU goes to the device that the policy prefers, of equals to the fullest; a MIG
 * instance where it costs other profiles least (mig_choice.c). Several whole devices come from one
 * NVLink island, one PCIe switch or one NUMA node: the one that they fill best.
 */

#include "core/job/why.h"
#include "sched/placement/fragmentation.h"

enum { COST_NONE = INT32_MAX, SCORE_STEP = 10 };

/* What a shape would take of a device of one kind. */
struct shape_cut {
    int64_t memory_mib;
    uint16_t milli;  /* 0: the kind does not serve it */
    uint8_t profile; /* of a MIG instance */
    bool is_own;     /* of a static pool of the job's queue */
};

struct shape;

/* How good a slot is for a shape. */
enum { RANK_SHARED = 4, RANK_KEPT = 2, RANK_AVOID = 1, RANKS = 8, NOT_FREE = RANKS };

struct score_memo {
    uint64_t change, epoch;
    int64_t waste;
};

struct scorer {
    const struct state *state;
    const struct layout *layout;
    struct fragmentation *typical;
    enum placement placement;
    int64_t cpu_most, memory_most, milli_most; /* of the largest node of each */
    LIST(uint8_t) kept;                        /* by kind: promised to a pool (budget.h) */
    LIST(struct score_memo) memos;             /* by node: present waste */
    uint64_t version;                          /* counts up when earlier costs become invalid */
    uint64_t layout_version, epoch;
};

/* Call after any change and before costs are computed. May set new weights. */
void scorer_refresh(struct scorer *scorer, const struct state *state, const struct fleet *fleet);
/* Take the weights of another scorer, for a fleet with an equal layout. */
void scorer_copy(struct scorer *own, const struct scorer *scorer, const struct fleet *fleet);
/* By kind: promised to another dynamic pool; NULL: none. */
void scorer_set_kept(struct scorer *scorer, const uint8_t *kept);
void scorer_release(struct scorer *scorer);

/* The rank of a slot of this kind among those that serve a shape; lower is better. */
static inline uint32_t slot_rank(const struct scorer *scorer, const struct shape_cut *cut,
                                 uint32_t kind)
{
    bool is_kept = kind < scorer->kept.count && scorer->kept.items[kind];

    return (cut->is_own ? 0u : RANK_SHARED) + (is_kept ? RANK_KEPT : 0u);
}

/* The part of the i-th slot of the node that the shape would get; without the member's rank. */
struct slice slot_slice(const struct scorer *scorer, const struct shape *shape,
                        const struct spot *spot, uint32_t i);

/* COST_NONE: does not fit. */
int32_t score(struct scorer *scorer, const struct shape *shape, const struct spot *spot);

/* The NVLink island there with room for so many members of a gang, for a shape of linked GPUs or of
 * one whole GPU a member: one that the gang has a part of (held, by slot of the node), else the
 * one with the fewest GPUs over. 0: none. avoid: as for score_choose. */
uint32_t score_island(const struct scorer *scorer, const struct shape *shape,
                      const struct spot *spot, const bool *avoid, const bool *held,
                      uint32_t members);

/* Choose the devices of a member there: as many slices as the ask counts, without rank. avoid: by
 * slot of the node, what it should leave to others; NULL: nothing. island: where they are taken
 * if they fit; 0: anywhere. False: does not fit. */
bool score_choose(struct scorer *scorer, const struct shape *shape, const struct spot *spot,
                  const bool *avoid, uint32_t island, struct slice *ret_slices);

/* Devices there of which the shape could get a part, CPUs and memory aside. */
uint32_t score_free_slots(const struct scorer *scorer, const struct shape *shape,
                          const struct spot *spot);

/* The number of members that fit there at once, up to `most`. */
uint32_t score_count(const struct scorer *scorer, const struct shape *shape,
                     const struct spot *spot, uint32_t most);

/* MIG instances for one member of a job on one node
 *
 * Instances are chosen one after the other. Each goes to a slot of the best rank (score.h), then
 * by the placement policy
 *
 *   sfg, fgd                least cost to other profiles (fragmentation.h), then fewest free memory
 *   slices
 *   best-fit, dot-product   fewest free memory slices; on the device, the start that leaves most
 *   spread                  most free memory slices; on the device, the start that leaves most
 *   first-fit, random       the first that fits
 *
 * then to the lowest device, then to the lowest start. Several instances may share a device.
 */

enum { INSTANCE_COST_STEP = 16 };

/* The number of the shape's instances that fit into the i-th slot. */
uint32_t instance_options(const struct scorer *scorer, const struct shape *shape,
                          const struct spot *spot, uint32_t i);

/* Choose as many instances as the ask counts; they must fit. Returns their cost, to compare
 * nodes: cost to other profiles * INSTANCE_COST_STEP + free memory slices before. */
int64_t instance_choose(const struct scorer *scorer, const struct shape *shape,
                        const struct spot *spot, const bool *avoid, struct slice *ret_slices);

#endif
