/* SPDX-License-Identifier: Apache-2.0 */
/* Which node a member goes to, and which of its devices are left to others. */
#include "sched/placement/placing.h"

#include <string.h>

#include "core/job/role.h"

static bool may_take(const struct placing *placing, uint32_t node)
{
    const struct request *request = placing->query->request;

    if (!domain_has(&placing->domain, node))
        return false;
    if (!placing->taken)
        return true;
    if (placing->spread > 0 && placing->taken[node] >= placing->spread)
        return false;
    /* Those that are left may just be enough for the nodes that are still wanted. */
    if (placing->taken[node] > 0 && placing->machines < request->nodes_min &&
        request->members - placing->lease.members_count <= request->nodes_min - placing->machines)
        return false;
    /* 1 is what a request has that says nothing of nodes. */
    return placing->taken[node] > 0 || request->nodes_max <= 1 ||
           placing->machines < request->nodes_max;
}

static void consider(const struct placing *placing, struct pick *pick, uint32_t node)
{
    struct spot spot = visible_spot(&placing->visible, placing->shape, node);
    int32_t cost = score(placing->query->scorer, placing->shape, &spot);

    if (cost != COST_NONE &&
        (pick->node < 0 || cost < pick->cost || (cost == pick->cost && node < pick->node)))
        *pick = (struct pick){ node, cost };
}

static uint64_t mix(uint64_t value)
{
    value += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

/* Each node draws a number; the least of those that fit wins. */
static void consider_random(const struct placing *placing, struct pick *pick, uint32_t node)
{
    const struct place_query *query = placing->query;
    struct pick fit = { -1, 0 };

    consider(placing, &fit, node);
    if (fit.node < 0)
        return;
    uint64_t seed = mix(query->state->settings.seed ^ mix(query->job));
    int32_t drawn = (int32_t)(mix(seed ^ mix(node + UINT64_C(1))) >> 34);
    if (pick->node < 0 || drawn < pick->cost)
        *pick = (struct pick){ node, drawn };
}

/* Of these nodes; NULL: of all. */
static struct pick pick_by_looking(const struct placing *placing, const uint32_t *only,
                                   uint32_t count)
{
    bool is_random = !only && placing->query->scorer->placement == PLACEMENT_RANDOM;
    struct pick pick = { -1, 0 };

    for (uint32_t i = 0; i < count; i++) {
        uint32_t node = only ? only[i] : i;
        if (!may_take(placing, node))
            continue;
        if (is_random)
            consider_random(placing, &pick, node);
        else
            consider(placing, &pick, node);
    }
    return pick;
}

/* From the cache; nodes that promises touch, or that are full of this gang, one by one. */
static struct pick pick_by_cache(struct placing *placing)
{
    struct shape *shape = placing->shape;
    struct pick pick = { -1, 0 };
    LIST(int32_t) old = { 0 };

    shape_catch_up(shape, placing->query->scorer, placing->query->fleet);
    for (size_t i = 0; i < placing->visible.barred.count; i++)
        list_add(&old, shape_set_cost(shape, placing->visible.barred.items[i], COST_NONE));
    pick.node = shape_best(shape);
    if (pick.node >= 0)
        pick.cost = shape->costs.items[pick.node];
    for (size_t i = placing->visible.barred.count; i-- > 0;)
        shape_set_cost(shape, placing->visible.barred.items[i], old.items[i]);
    list_release(&old);
    for (size_t i = 0; i < placing->visible.barred.count; i++)
        consider(placing, &pick, placing->visible.barred.items[i]);
    return pick;
}

static struct pick pick_among(struct placing *placing)
{
    const struct shape *shape = placing->shape;
    struct pick pick = { -1, 0 };

    shape_catch_up(placing->shape, placing->query->scorer, placing->query->fleet);
    for (uint32_t i = 0; i < placing->query->fleet->nodes.count; i++) {
        int32_t cost = shape->costs.items[i];
        if (cost == COST_NONE || !may_take(placing, i))
            continue;
        if (visible_hides(&placing->visible, i))
            consider(placing, &pick, i);
        else if (pick.node < 0 || cost < pick.cost)
            pick = (struct pick){ i, cost };
    }
    return pick;
}

struct pick placing_pick(struct placing *placing)
{
    const struct place_query *query = placing->query;

    if (placing->role_places) {
        struct pick pick = { -1, 0 };
        consider(placing, &pick, placing->role_places->members[placing->seat].node);
        return pick;
    }
    if (query->only)
        return pick_by_looking(placing, query->only, query->only_count);
    if (!query->shapes || query->scorer->placement == PLACEMENT_RANDOM)
        return pick_by_looking(placing, NULL, (uint32_t)query->fleet->nodes.count);
    if (placing->spread == 0 && !placing->domain.is_bounded && !placing->visible.keeps_cells &&
        (!placing->taken || query->request->nodes_max <= 1))
        return pick_by_cache(placing);
    return pick_among(placing);
}

/* The devices of the promise are for the members that have them there. */
static const bool *slots_of_other_seats(const struct placing *placing, const struct layout_node *at)
{
    const struct lease *role_places = placing->role_places;

    memset(placing->avoid, 1, at->count * sizeof(bool));
    for (uint32_t i = 0; i < role_places->slices_count; i++) {
        uint32_t slot =
            placing->query->fleet->layout->slot_of_device.items[role_places->slices[i].device];
        if (role_places->slices[i].rank == placing->seat && slot >= at->first &&
            slot < at->first + at->count)
            placing->avoid[slot - at->first] = false;
    }
    return placing->avoid;
}

const bool *placing_avoid(const struct placing *placing, uint32_t node)
{
    const struct place_query *query = placing->query;
    const struct layout *layout = query->fleet->layout;
    const struct layout_node *at = &layout->nodes.items[node];

    if (placing->role_places)
        return slots_of_other_seats(placing, at);
    if (query->promises && query->promises->count > 0 &&
        promise_avoid(query->promises, layout, query->end, node, placing->avoid))
        return placing->avoid;
    if (!query->spare)
        return NULL;
    for (uint32_t i = 0; i < at->count; i++)
        placing->avoid[i] = query->spare->slots.items[at->first + i].milli == GPU_MILLI;
    return placing->avoid;
}

static bool part_may_fit(const struct place_query *query, uint32_t number)
{
    const struct request *part = request_part(query->request, number);
    uint32_t alternatives = part->gpu_alternatives ? part->gpu_alternatives : 1;

    for (uint32_t i = 0; i < alternatives; i++) {
        struct shape *shape = shape_claim(query->shapes, query->state, query->fleet->layout,
                                          query->class, number, i, 0, query->queue);
        if (!shape->is_possible)
            continue;
        shape_catch_up(shape, query->scorer, query->fleet);
        if (shape_best(shape) >= 0)
            return true;
    }
    return false;
}

bool place_may_fit(const struct place_query *query)
{
    if (query->scorer->layout->has_mins)
        return true; /* the cost depends on the owner of the pool */
    for (uint32_t i = 0; i < request_parts(query->request); i++) {
        if (!part_may_fit(query, i))
            return false;
    }
    return true;
}
