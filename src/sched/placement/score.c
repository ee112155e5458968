/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/placement/score.h"

#include <assert.h>
#include <string.h>

#include "sched/placement/shape.h"

enum {
    COST_MOST = (1 << 22) - 1, /* of a policy: below what a shared device counts */
    COST_KEPT = 1 << 23,
    COST_SHARED = 1 << 27,
    COST_OWN = 1 << 30,  /* not a spot node, for a job that prefers spot nodes */
    COST_TIMES = 7,      /* more devices than that count as so many */
    COST_DEAR = 1 << 19, /* the node is dearer than others, above a policy's cost then */
    COST_DEAR_TIMES = 15,
};

/* 1000 * ln(k / (100 - k)), rounded, for k from 50: when floor(100 * sigmoid(x / 1000)) is k. */
static const int16_t logits[] = {
    0,    40,   80,   120,  160,  201,  241,  282,  323,  364,  405,  447,  490,
    532,  575,  619,  663,  708,  754,  800,  847,  895,  944,  995,  1046, 1099,
    1153, 1208, 1266, 1325, 1386, 1450, 1516, 1586, 1658, 1735, 1815, 1901, 1992,
    2091, 2197, 2314, 2442, 2587, 2752, 2944, 3178, 3476, 3892, 4595,
};

static void measure_largest(struct scorer *scorer, const struct state *state,
                            const struct layout *layout)
{
    scorer->cpu_most = scorer->memory_most = scorer->milli_most = 1;
    for (size_t i = 0; i < state->nodes.count; i++) {
        const struct node *node = &state->nodes.items[i];
        int64_t milli = (int64_t)layout->nodes.items[i].count * GPU_MILLI;
        if (node->cpu_milli > scorer->cpu_most)
            scorer->cpu_most = node->cpu_milli;
        if (node->memory_mib > scorer->memory_most)
            scorer->memory_most = node->memory_mib;
        if (milli > scorer->milli_most)
            scorer->milli_most = milli;
    }
}

static void forget_costs(struct scorer *scorer, size_t nodes)
{
    scorer->version++;
    list_zero(&scorer->memos, nodes);
}

void scorer_refresh(struct scorer *scorer, const struct state *state, const struct fleet *fleet)
{
    const struct layout *layout = fleet->layout;
    enum placement placement = (enum placement)state->settings.placement;
    bool is_gradient = placement == PLACEMENT_SFG || placement == PLACEMENT_FGD;

    scorer->state = state;
    scorer->layout = layout;
    if (is_gradient)
        fragmentation_refresh(scorer->typical, state, fleet);
    if (scorer->layout_version == layout->version && scorer->placement == placement &&
        scorer->epoch == scorer->typical->epoch)
        return;
    if (scorer->layout_version != layout->version)
        measure_largest(scorer, state, layout);
    scorer->placement = placement;
    scorer->layout_version = layout->version;
    scorer->epoch = scorer->typical->epoch;
    forget_costs(scorer, fleet->nodes.count);
    assert(scorer->memos.count == fleet->nodes.count);
}

void scorer_copy(struct scorer *own, const struct scorer *scorer, const struct fleet *fleet)
{
    assert(own->typical != scorer->typical);
    fragmentation_copy(own->typical, scorer->typical, fleet->layout);
    own->state = scorer->state;
    own->layout = fleet->layout;
    own->placement = scorer->placement;
    own->cpu_most = scorer->cpu_most;
    own->memory_most = scorer->memory_most;
    own->milli_most = scorer->milli_most;
    own->layout_version = fleet->layout->version;
    own->epoch = own->typical->epoch;
    forget_costs(own, fleet->nodes.count);
}

void scorer_set_kept(struct scorer *scorer, const uint8_t *kept)
{
    size_t count = kept ? scorer->layout->kinds.count : 0;

    if (count == scorer->kept.count && (count == 0 || memcmp(kept, scorer->kept.items, count) == 0))
        return;
    list_resize(&scorer->kept, count);
    mem_copy(scorer->kept.items, kept, count);
    scorer->version++;
}

void scorer_release(struct scorer *scorer)
{
    list_release(&scorer->kept);
    list_release(&scorer->memos);
}

/* A device that does not fit: NOT_FREE. */
static uint32_t rank_of(const struct scorer *scorer, const struct shape *shape,
                        const struct spot *spot, uint32_t i)
{
    uint32_t kind = scorer->layout->slots.items[spot->at->first + i].kind;
    const struct shape_cut *cut = &shape->cuts.items[kind];
    const struct fleet_slot *slot = &spot->slots[i];

    if (cut->milli == 0 || slot->milli < cut->milli || slot->memory_mib < cut->memory_mib ||
        !shape_is_open_slot(shape, spot->at->first + i))
        return NOT_FREE;
    return slot_rank(scorer, cut, kind);
}

static bool has_room_beside(const struct shape *shape, const struct spot *spot)
{
    uint8_t rule = shape->request->spot;

    if ((spot->at->is_spot ? rule == SPOT_NEVER : rule == SPOT_ONLY) ||
        !shape_is_open(shape, spot->node))
        return false;
    return spot->at->is_up && spot->free.cpu_milli >= shape->request->cpu_milli &&
           spot->free.memory_mib >= shape->request->memory_mib;
}

static bool is_whole(const struct shape *shape)
{
    return shape->ask->kind == SHARE_WHOLE;
}

static bool is_instance(const struct shape *shape)
{
    return shape->ask->kind == SHARE_MIG;
}

static uint32_t count_instances(const struct scorer *scorer, const struct shape *shape,
                                const struct spot *spot, uint32_t by_rank[RANKS + 1])
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < spot->at->count; i++) {
        uint32_t kind = scorer->layout->slots.items[spot->at->first + i].kind;
        uint32_t options = instance_options(scorer, shape, spot, i);
        by_rank[slot_rank(scorer, &shape->cuts.items[kind], kind)] += options;
        count += options;
    }
    return count;
}

/* Free slots by rank (MIG: instances that go in); all of one kind, asked for as wholes, need no
 * look at each. */
static uint32_t count_slots(const struct scorer *scorer, const struct shape *shape,
                            const struct spot *spot, uint32_t by_rank[RANKS + 1])
{
    memset(by_rank, 0, (RANKS + 1) * sizeof(by_rank[0]));
    if (spot->at->count == 0)
        return 0;
    if (spot->at->kind != LAYOUT_MIXED && is_whole(shape)) {
        const struct shape_cut *cut = &shape->cuts.items[spot->at->kind];
        uint32_t rank = slot_rank(scorer, cut, spot->at->kind);
        bool serves = cut->milli > 0 && shape_is_open(shape, spot->node);
        by_rank[rank] = serves ? spot->free.whole : 0;
        return by_rank[rank];
    }
    if (is_instance(shape))
        return count_instances(scorer, shape, spot, by_rank);
    for (uint32_t i = 0; i < spot->at->count; i++)
        by_rank[rank_of(scorer, shape, spot, i)]++;
    return spot->at->count - by_rank[NOT_FREE];
}

/* The part of a node's links that a group of devices must or should share. */
enum tie { TIE_ISLAND, TIE_BRIDGE, TIE_NUMA, TIE_COUNT };

static uint32_t tie_of(const struct scorer *scorer, const struct spot *spot, uint32_t i,
                       enum tie tie)
{
    const struct layout_slot *slot = &scorer->layout->slots.items[spot->at->first + i];

    return tie == TIE_ISLAND ? slot->island : tie == TIE_BRIDGE ? slot->bridge : slot->numa;
}

/* The island, switch or NUMA node with enough free devices as good as the best, and the fewest
 * over. 0: none. */
static uint32_t find_group(const struct scorer *scorer, const struct shape *shape,
                           const struct spot *spot, enum tie tie, uint32_t best_rank)
{
    uint32_t best = 0, best_count = UINT32_MAX;

    for (uint32_t i = 0; i < spot->at->count; i++) {
        uint32_t group = tie_of(scorer, spot, i, tie), count = 0;
        bool is_first = group != 0;
        for (uint32_t k = 0; k < i && is_first; k++)
            is_first = tie_of(scorer, spot, k, tie) != group;
        if (!is_first)
            continue;
        for (uint32_t k = i; k < spot->at->count; k++)
            count += tie_of(scorer, spot, k, tie) == group &&
                     rank_of(scorer, shape, spot, k) <= best_rank;
        if (count >= shape->ask->count && count < best_count) {
            best = group;
            best_count = count;
        }
    }
    return best;
}

static bool must_be_linked(const struct shape *shape)
{
    return shape->ask->nvlink && shape->ask->count > 1;
}

static bool fits(const struct scorer *scorer, const struct shape *shape, const struct spot *spot,
                 uint32_t by_rank[RANKS + 1])
{
    if (!has_room_beside(shape, spot))
        return false;
    if (!shape->ask)
        return true;
    if (count_slots(scorer, shape, spot, by_rank) < shape->ask->count)
        return false;
    return !must_be_linked(shape) || find_group(scorer, shape, spot, TIE_ISLAND, NOT_FREE - 1) != 0;
}

/* ---- what is wasted after ---- */

struct after {
    struct fragmentation_view view;
    uint32_t kinds[TYPICAL_SLOTS_MAX];
};

static void view_spot(const struct scorer *scorer, const struct spot *spot, struct after *after)
{
    after->view.cpu_milli = spot->free.cpu_milli;
    after->view.memory_mib = spot->free.memory_mib;
    after->view.slot_count = spot->at->count;
    after->view.kind = spot->at->kind;
    after->view.kinds = after->kinds;
    for (uint32_t i = 0; i < spot->at->count; i++)
        after->view.milli[i] = spot->slots[i].milli;
    for (uint32_t i = 0; spot->at->kind == LAYOUT_MIXED && i < spot->at->count; i++)
        after->kinds[i] = scorer->layout->slots.items[spot->at->first + i].kind;
}

/* Remembered for the node as it is; a job that may see less of it has its own. */
static int64_t waste_before(struct scorer *scorer, const struct spot *spot,
                            const struct after *after)
{
    struct score_memo *memo = &scorer->memos.items[spot->node];

    if (spot->free.change == 0)
        return fragmentation_waste(scorer->typical, &after->view);
    if (memo->change != spot->free.change || memo->epoch != scorer->epoch)
        *memo = (struct score_memo){ spot->free.change, scorer->epoch,
                                     fragmentation_waste(scorer->typical, &after->view) };
    return memo->waste;
}

/* More waste, in steps, rounded to the nearest. */
static int32_t gradient(const struct scorer *scorer, int64_t more)
{
    const int64_t step = (int64_t)SCORE_STEP << TYPICAL_ONE_BITS;

    if (scorer->placement == PLACEMENT_FGD) {
        int64_t less = -(more >> TYPICAL_ONE_BITS), size = less < 0 ? -less : less;
        int32_t k = 0;
        while (k + 1 < (int32_t)COUNT_OF(logits) && logits[k + 1] <= size)
            k++;
        /* floor: of the other half the step is passed as soon as it is touched */
        return less >= 0 ? 50 - k : logits[k] == size ? 50 + k : 51 + k;
    }
    int64_t steps = (more + step / 2) >= 0 ? (more + step / 2) / step
                                           : -((-(more + step / 2) + step - 1) / step);
    return (int32_t)(steps > COST_MOST ? COST_MOST : steps < -COST_MOST ? -COST_MOST : steps);
}

/* Where a part of a GPU goes by the gradient: the slot, and the waste after it. */
static uint32_t choose_part(struct scorer *scorer, const struct shape *shape,
                            const struct spot *spot, struct after *after, const bool *avoid,
                            int32_t *ret_cost)
{
    int64_t before = waste_before(scorer, spot, after);
    uint32_t best = UINT32_MAX, best_rank = NOT_FREE;

    *ret_cost = COST_NONE;
    after->view.cpu_milli -= shape->request->cpu_milli;
    after->view.memory_mib -= shape->request->memory_mib;
    for (uint32_t i = 0; i < spot->at->count; i++) {
        uint32_t rank = rank_of(scorer, shape, spot, i);
        bool is_seen = false;
        if (rank == NOT_FREE)
            continue;
        rank += avoid && avoid[i] ? RANK_AVOID : 0;
        if (rank > best_rank)
            continue;
        for (uint32_t k = 0; k < i && !is_seen && spot->at->kind != LAYOUT_MIXED && !avoid; k++)
            is_seen = spot->slots[k].milli == spot->slots[i].milli &&
                      spot->slots[k].memory_mib == spot->slots[i].memory_mib;
        if (is_seen)
            continue;
        int32_t milli =
            shape->cuts.items[scorer->layout->slots.items[spot->at->first + i].kind].milli;
        after->view.milli[i] -= milli;
        int32_t cost =
            gradient(scorer, fragmentation_waste(scorer->typical, &after->view) - before);
        after->view.milli[i] += milli;
        if (rank == best_rank && cost > *ret_cost)
            continue;
        if (rank == best_rank && cost == *ret_cost &&
            (scorer->placement == PLACEMENT_FGD || spot->slots[i].milli >= spot->slots[best].milli))
            continue;
        best = i;
        best_rank = rank;
        *ret_cost = cost;
    }
    return best;
}

/* Several slots, or whole ones: those of the best ranks, lowest first. */
static void remove_best(const struct scorer *scorer, const struct shape *shape,
                        const struct spot *spot, struct after *after)
{
    uint32_t left = shape->ask->count;

    for (uint32_t rank = 0; rank < RANKS && left > 0; rank++) {
        for (uint32_t i = 0; i < spot->at->count && left > 0; i++) {
            if (rank_of(scorer, shape, spot, i) != rank)
                continue;
            uint32_t kind = scorer->layout->slots.items[spot->at->first + i].kind;
            after->view.milli[i] -= shape->cuts.items[kind].milli;
            left--;
        }
    }
}

static int32_t cost_by_waste(struct scorer *scorer, const struct shape *shape,
                             const struct spot *spot)
{
    struct after after;
    int32_t cost;

    if (spot->at->count > TYPICAL_SLOTS_MAX)
        return 0;
    view_spot(scorer, spot, &after);
    if (shape->ask && shape->ask->count == 1 && !is_whole(shape)) {
        choose_part(scorer, shape, spot, &after, NULL, &cost);
        return cost;
    }
    int64_t before = waste_before(scorer, spot, &after);
    after.view.cpu_milli -= shape->request->cpu_milli;
    after.view.memory_mib -= shape->request->memory_mib;
    if (shape->ask)
        remove_best(scorer, shape, spot, &after);
    return gradient(scorer, fragmentation_waste(scorer->typical, &after.view) - before);
}

static int32_t cost_of_instances(const struct scorer *scorer, const struct shape *shape,
                                 const struct spot *spot)
{
    struct slice slices[REQUEST_GPUS_MAX];
    int64_t cost = instance_choose(scorer, shape, spot, NULL, slices);

    return (int32_t)(cost > COST_MOST ? COST_MOST : cost);
}

/* ---- the simple ones ---- */

static int64_t milli_wanted(const struct shape *shape)
{
    if (shape->ask && is_instance(shape))
        return request_milli(shape->request, shape->alternative, 0) / shape->request->members;
    return shape->ask
               ? (int64_t)(shape->ask->milli ? shape->ask->milli : GPU_MILLI) * shape->ask->count
               : 0;
}

static int32_t cost_by_size(const struct scorer *scorer, const struct shape *shape,
                            const struct spot *spot)
{
    const int64_t one = 1 << 20;
    int64_t wanted[] = { milli_wanted(shape), shape->request->cpu_milli,
                         shape->request->memory_mib };
    int64_t free[] = { spot->free.milli, spot->free.cpu_milli, spot->free.memory_mib };
    int64_t most[] = { scorer->milli_most, scorer->cpu_most, scorer->memory_most };
    int64_t sum = 0;

    for (size_t i = 0; i < COUNT_OF(most); i++) {
        if (scorer->placement == PLACEMENT_DOT_PRODUCT)
            sum += (wanted[i] * one / most[i]) * (free[i] * one / most[i]) / one;
        else
            sum += (free[i] - wanted[i]) * one / most[i];
    }
    return (int32_t)(scorer->placement == PLACEMENT_SPREAD ? -sum : sum);
}

static int32_t tier_of(const struct shape *shape, const uint32_t by_rank[RANKS + 1])
{
    uint32_t shared = 0, kept = 0, left = shape->ask->count;

    for (uint32_t rank = 0; rank < RANKS && left > 0; rank++) {
        uint32_t taken = by_rank[rank] < left ? by_rank[rank] : left;
        shared += rank & RANK_SHARED ? taken : 0;
        kept += rank & RANK_KEPT ? taken : 0;
        left -= taken;
    }
    shared = shared < COST_TIMES ? shared : COST_TIMES;
    kept = kept < COST_TIMES ? kept : COST_TIMES;
    return (int32_t)shared * COST_SHARED + (int32_t)kept * COST_KEPT;
}

/* The cheapest node comes first; of equals the policy decides. */
static int32_t cost_by_price(const struct state *state, const struct layout_node *node,
                             int32_t cost)
{
    const int32_t most = COST_DEAR / 2 - 1;
    uint32_t dearness = node->dearness < COST_DEAR_TIMES ? node->dearness : COST_DEAR_TIMES;

    if (state->settings.choice == CHOICE_PLACE)
        return cost;
    cost = cost > most ? most : cost < -most ? -most : cost;
    return cost + (int32_t)dearness * COST_DEAR;
}

int32_t score(struct scorer *scorer, const struct shape *shape, const struct spot *spot)
{
    uint32_t by_rank[RANKS + 1];
    int32_t cost = 0;

    if (!fits(scorer, shape, spot, by_rank))
        return COST_NONE;
    switch (scorer->placement) {
    case PLACEMENT_SFG:
    case PLACEMENT_FGD:
        cost = shape->ask && is_instance(shape) ? cost_of_instances(scorer, shape, spot)
                                                : cost_by_waste(scorer, shape, spot);
        break;
    case PLACEMENT_BEST_FIT:
    case PLACEMENT_DOT_PRODUCT:
    case PLACEMENT_SPREAD:
        cost = cost_by_size(scorer, shape, spot);
        break;
    default:
        break;
    }
    if (shape->ask && scorer->state->node_price_least > 0)
        cost = cost_by_price(scorer->state, spot->at, cost);
    if (shape->request->spot == SPOT_PREFER && !spot->at->is_spot)
        cost += COST_OWN;
    return cost + (shape->ask ? tier_of(shape, by_rank) : 0);
}

/* ---- the devices ---- */

/* What stays free of a slot after the shape had its part. */
static int32_t left_of(const struct scorer *scorer, const struct shape *shape,
                       const struct spot *spot, uint32_t i)
{
    uint32_t kind = scorer->layout->slots.items[spot->at->first + i].kind;

    return spot->slots[i].milli - shape->cuts.items[kind].milli;
}

/* Of slots that are equally good: the fullest, for spread the emptiest, else the first. */
static bool is_preferred(const struct scorer *scorer, const struct shape *shape,
                         const struct spot *spot, uint32_t a, uint32_t b)
{
    if (scorer->placement == PLACEMENT_FIRST_FIT || scorer->placement == PLACEMENT_RANDOM)
        return false;
    int32_t left_a = left_of(scorer, shape, spot, a), left_b = left_of(scorer, shape, spot, b);
    return scorer->placement == PLACEMENT_SPREAD ? left_a > left_b : left_a < left_b;
}

static bool choose_many(struct scorer *scorer, const struct shape *shape, const struct spot *spot,
                        const bool *avoid, enum tie tie, uint32_t group, struct slice *ret_slices)
{
    uint32_t count = shape->ask->count, found = 0;
    uint32_t chosen[REQUEST_GPUS_MAX];

    /* Insertion into a short sorted list: of equal rank and preference the lowest stays first. */
    uint32_t ranks[REQUEST_GPUS_MAX];
    for (uint32_t i = 0; i < spot->at->count; i++) {
        uint32_t rank = rank_of(scorer, shape, spot, i);
        if (rank == NOT_FREE || (group != 0 && tie_of(scorer, spot, i, tie) != group))
            continue;
        rank += avoid && avoid[i] ? RANK_AVOID : 0;
        uint32_t at = found < count ? found : count;
        while (at > 0 &&
               (rank < ranks[at - 1] ||
                (rank == ranks[at - 1] && is_preferred(scorer, shape, spot, i, chosen[at - 1]))))
            at--;
        if (at == count)
            continue;
        found += found < count;
        memmove(&chosen[at + 1], &chosen[at], (found - at - 1) * sizeof(chosen[0]));
        memmove(&ranks[at + 1], &ranks[at], (found - at - 1) * sizeof(ranks[0]));
        chosen[at] = i;
        ranks[at] = rank;
    }
    if (found < count)
        return false;
    for (uint32_t i = 0; i < count; i++)
        ret_slices[i] = slot_slice(scorer, shape, spot, chosen[i]);
    return true;
}

/* The highest rank that is as good as the best `count` need. */
static uint32_t best_ranks(const struct scorer *scorer, const struct shape *shape,
                           const struct spot *spot)
{
    uint32_t best = NOT_FREE;

    for (uint32_t i = 0; i < spot->at->count; i++) {
        uint32_t rank = rank_of(scorer, shape, spot, i);
        best = rank < best ? rank : best;
    }
    return best;
}

uint32_t score_island(const struct scorer *scorer, const struct shape *shape,
                      const struct spot *spot, const bool *avoid, const bool *held,
                      uint32_t members)
{
    uint32_t best = 0, best_count = UINT32_MAX;
    bool best_held = false;

    if (!shape->ask || is_instance(shape) || !is_whole(shape) ||
        !(shape->ask->nvlink || shape->ask->count == 1))
        return 0;
    uint32_t good = must_be_linked(shape) ? NOT_FREE - 1 : best_ranks(scorer, shape, spot);
    for (uint32_t i = 0; i < spot->at->count; i++) {
        uint32_t island = tie_of(scorer, spot, i, TIE_ISLAND), count = 0;
        bool is_held = false, is_first = island != 0;
        for (uint32_t k = 0; k < i && is_first; k++)
            is_first = tie_of(scorer, spot, k, TIE_ISLAND) != island;
        for (uint32_t k = i; k < spot->at->count && is_first; k++) {
            bool is_in = tie_of(scorer, spot, k, TIE_ISLAND) == island;
            is_held |= is_in && held[k];
            count += is_in && !(avoid && avoid[k]) && rank_of(scorer, shape, spot, k) <= good;
        }
        if (!is_first || count < members * shape->ask->count ||
            (best != 0 && (is_held == best_held ? count >= best_count : best_held)))
            continue;
        best = island;
        best_count = count;
        best_held = is_held;
    }
    return best;
}

bool score_choose(struct scorer *scorer, const struct shape *shape, const struct spot *spot,
                  const bool *avoid, uint32_t island, struct slice *ret_slices)
{
    uint32_t by_rank[RANKS + 1];

    if (!fits(scorer, shape, spot, by_rank))
        return false;
    if (!shape->ask)
        return true;
    if (is_instance(shape)) {
        instance_choose(scorer, shape, spot, avoid, ret_slices);
        return true;
    }
    if (island != 0 && choose_many(scorer, shape, spot, avoid, TIE_ISLAND, island, ret_slices))
        return true;
    bool is_gradient = scorer->placement == PLACEMENT_SFG || scorer->placement == PLACEMENT_FGD;
    if (shape->ask->count == 1 && !is_whole(shape) && is_gradient &&
        spot->at->count <= TYPICAL_SLOTS_MAX) {
        struct after after;
        int32_t cost;
        view_spot(scorer, spot, &after);
        ret_slices[0] =
            slot_slice(scorer, shape, spot, choose_part(scorer, shape, spot, &after, avoid, &cost));
        return true;
    }
    if (shape->ask->count > 1) {
        uint32_t best = must_be_linked(shape) ? NOT_FREE - 1 : best_ranks(scorer, shape, spot);
        for (int tie = TIE_ISLAND; tie < (must_be_linked(shape) ? TIE_BRIDGE : TIE_COUNT); tie++) {
            uint32_t group = find_group(scorer, shape, spot, (enum tie)tie, best);
            if (group != 0)
                return choose_many(scorer, shape, spot, avoid, (enum tie)tie, group, ret_slices);
        }
    }
    return choose_many(scorer, shape, spot, avoid, TIE_NUMA, 0, ret_slices);
}

uint32_t score_free_slots(const struct scorer *scorer, const struct shape *shape,
                          const struct spot *spot)
{
    uint32_t by_rank[RANKS + 1];

    return count_slots(scorer, shape, spot, by_rank);
}

uint32_t score_count(const struct scorer *scorer, const struct shape *shape,
                     const struct spot *spot, uint32_t most)
{
    uint32_t by_rank[RANKS + 1];
    int64_t count = most;

    if (!fits(scorer, shape, spot, by_rank))
        return 0;
    if (shape->request->cpu_milli > 0 && spot->free.cpu_milli / shape->request->cpu_milli < count)
        count = spot->free.cpu_milli / shape->request->cpu_milli;
    if (shape->request->memory_mib > 0 &&
        spot->free.memory_mib / shape->request->memory_mib < count)
        count = spot->free.memory_mib / shape->request->memory_mib;
    if (!shape->ask)
        return (uint32_t)count;
    int64_t parts = 0;
    for (uint32_t i = 0; i < spot->at->count; i++) {
        uint32_t kind = scorer->layout->slots.items[spot->at->first + i].kind;
        const struct shape_cut *cut = &shape->cuts.items[kind];
        if (is_instance(shape)) {
            parts += instance_options(scorer, shape, spot, i);
            continue;
        }
        if (rank_of(scorer, shape, spot, i) == NOT_FREE)
            continue;
        int64_t here = spot->slots[i].milli / cut->milli;
        if (cut->memory_mib > 0 && spot->slots[i].memory_mib / cut->memory_mib < here)
            here = spot->slots[i].memory_mib / cut->memory_mib;
        parts += shape->ask->count > 1 ? 1 : here;
    }
    parts /= shape->ask->count;
    return (uint32_t)(parts < count ? parts : count);
}
