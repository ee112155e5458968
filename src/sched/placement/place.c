/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/placement/place.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/job/role.h"
#include "sched/capacity/pool_limit.h"
#include "sched/ordering/quota_check.h"
#include "sched/placement/placing.h"

static void look_at_cells(struct placing *placing)
{
    cells_slacks(placing->query->cells, placing->visible.slacks);
    for (size_t i = 0; placing->is_strict && i < placing->query->cells->kinds.count; i++)
        placing->visible.slacks[i] =
            placing->visible.slacks[i] < 0 ? placing->visible.slacks[i] : 0;
}

/* The island where a gang's members on this node stay together; 0: none. */
static uint32_t island_of_gang(struct placing *placing, const struct spot *spot, const bool *avoid)
{
    const struct place_query *query = placing->query;
    const struct request *request = query->request;
    const struct layout *layout = query->fleet->layout;
    const struct lease *lease = &placing->lease;
    uint32_t left = request->members - lease->members_count;

    if (!placing->held || spot->at->count == 0)
        return 0;
    if (placing->spread > 0 && placing->spread - placing->taken[spot->node] < left)
        left = placing->spread - placing->taken[spot->node];
    memset(placing->held, 0, spot->at->count * sizeof(bool));
    for (uint32_t i = 0; i < lease->slices_count; i++) {
        uint32_t slot = layout->slot_of_device.items[lease->slices[i].device];
        if (slot >= spot->at->first && slot < spot->at->first + spot->at->count)
            placing->held[slot - spot->at->first] = true;
    }
    left = score_count(query->scorer, placing->shape, spot, left);
    return score_island(query->scorer, placing->shape, spot, avoid, placing->held, left);
}

static bool place_member(struct placing *placing)
{
    const struct place_query *query = placing->query;
    struct shape *shape = placing->shape;
    struct pick pick = placing_pick(placing);

    while (pick.node < 0 && domain_next(&placing->domain))
        pick = placing_pick(placing);
    if (pick.node < 0)
        return false;

    struct lease *lease = &placing->lease;
    uint32_t node = (uint32_t)pick.node;
    uint32_t wanted = shape->ask ? shape->ask->count : 0;
    struct slice *slices = &placing->slices[lease->slices_count];
    struct spot spot = visible_spot(&placing->visible, placing->shape, node);
    const bool *avoid = placing_avoid(placing, node);
    uint32_t island = island_of_gang(placing, &spot, avoid), rank = lease->members_count++;
    bool is_placed = score_choose(query->scorer, shape, &spot, avoid, island, slices);
    assert(is_placed); /* it has a cost */
    (void)is_placed;
    for (uint32_t i = 0; i < wanted; i++) {
        slices[i].rank = rank;
        lease->milli += slices[i].milli;
    }
    placing->members[rank] = (struct lease_member){ .node = node, .role = placing->role };
    lease->slices_count += wanted;
    if (placing->taken) {
        placing->machines += placing->taken[node]++ == 0;
        fleet_take_member(query->fleet, lease, rank, 1);
    }
    if (query->promises)
        promise_take(query->promises, query->fleet->layout, query->end, lease, rank, 1);
    if (placing->slacks) {
        cells_take_member(query->cells, query->fleet->layout, lease, rank, placing->visible.guest,
                          1);
        look_at_cells(placing);
    }
    return true;
}

static void give_back(struct placing *placing)
{
    const struct place_query *query = placing->query;

    for (uint32_t rank = placing->lease.members_count; rank-- > 0;) {
        if (placing->taken)
            fleet_take_member(query->fleet, &placing->lease, rank, -1);
        if (query->promises)
            promise_take(query->promises, query->fleet->layout, query->end, &placing->lease, rank,
                         -1);
        if (placing->slacks)
            cells_take_member(query->cells, query->fleet->layout, &placing->lease, rank,
                              placing->visible.guest, -1);
    }
}

static bool within_quota(const struct placing *placing, struct why *ret_why)
{
    const struct place_query *query = placing->query;
    struct quota_ask ask = { .queue = query->queue,
                             .user = query->user,
                             .gid = query->gid,
                             .is_preemptible = query->is_preemptible };
    struct why why;

    if (query->quota == PLACE_QUOTA_NONE)
        return true;
    amounts_of_lease(query->state, &placing->lease, &ask.amounts);
    if (quota_allows(query->state, &ask, &why) ||
        (query->quota == PLACE_QUOTA_EVER && !why_is_never(why.kind)))
        return true;
    *ret_why = why;
    return false;
}

static bool pools_allow(const struct placing *placing, struct why *why)
{
    const struct place_query *query = placing->query;
    uint32_t own = placing->shape->pool_named;
    const struct lease *lease = &placing->lease;

    if (!pool_limit_allows(query->state, query->fleet, own, lease->slices, lease->slices_count,
                           placing->taken != NULL, why))
        return false;
    if (!query->promises || lease->slices_count == 0 ||
        promise_pool_allows(query->promises, query->state, query->end, own))
        return true;
    *why = (struct why){ .kind = WHY_POOL_MAX, .pool = own, .wanted = lease->milli };
    return false;
}

/* After it was put there: is whatever is owed to queues still to be had? */
static bool cells_allow(const struct placing *placing, struct why *why)
{
    if (!placing->slacks || !placing->visible.guest.is_firm)
        return true;
    int broken = cells_broken(placing->query->cells, placing->slacks);
    if (broken >= 0)
        cells_explain(placing->query->cells, (size_t)broken, placing->visible.guest, why);
    return broken < 0;
}

static uint32_t first_rank(const struct request *request, uint32_t role)
{
    uint32_t rank = 0;

    for (uint32_t i = 0; i < role; i++)
        rank += request_part(request, i)->members;
    return rank;
}

/* Role after role; where one finds no place, it is the one at hand. */
static bool place_members(struct placing *placing)
{
    const struct request *request = placing->query->request;

    for (uint32_t i = 0; i < request_parts(request); i++) {
        placing->role = placing->cast.roles[i];
        placing->shape = placing->shapes[placing->role];
        placing->seat = first_rank(request, placing->role);
        for (uint32_t k = 0; k < request_part(request, placing->role)->members; k++) {
            if (!place_member(placing))
                return false;
            placing->seat++;
        }
    }
    return true;
}

static bool place_as_it_is(struct placing *placing, struct why *why)
{
    const struct place_query *query = placing->query;

    placing->lease.members_count = placing->lease.slices_count = 0;
    placing->lease.milli = 0;
    placing->machines = 0;
    if (placing->taken)
        memset(placing->taken, 0, query->fleet->nodes.count * sizeof(uint32_t));
    domain_start(&placing->domain, query, placing->shape, placing->arena);
    bool is_placed = place_members(placing);
    placing->failed = is_placed ? CAST_ALL_PLACED : placing->role;
    if (!is_placed)
        *why = (struct why){ .kind = placing->shape->ask ? WHY_GPUS : WHY_CPUS };
    bool is_allowed = is_placed && cells_allow(placing, why) && pools_allow(placing, why) &&
                      within_quota(placing, why);
    give_back(placing);
    return is_allowed;
}

enum cell_way { CELLS_OWN, CELLS_BESIDE, CELLS_STRICT, CELLS_ANY };

static bool place_in_way(struct placing *placing, enum cell_way way, struct why *why)
{
    const struct cells *cells = placing->query->cells;

    placing->visible.keeps_cells = way != CELLS_ANY;
    placing->is_strict = way == CELLS_STRICT;
    placing->visible.cell_kind = CELLS_NONE;
    if (way == CELLS_OWN)
        placing->visible.cell_kind =
            cells_own_kind(cells, placing->visible.guest.owner, placing->query->request);
    /* A part of one goes where it fits best. */
    if (placing->visible.cell_kind != CELLS_NONE &&
        cells->kinds.items[placing->visible.cell_kind].of.gpus > placing->shape->ask->count)
        placing->visible.cell_kind = CELLS_NONE;
    if (way == CELLS_OWN && placing->visible.cell_kind == CELLS_NONE)
        return false;
    look_at_cells(placing);
    return place_as_it_is(placing, why);
}

/* Place beside the cells that are kept for queues: in a whole one that its queue is owed; where it
 * breaks none that is needed; where it breaks none. A job that may be stopped at once also takes
 * from these when there is nothing else. For other jobs, the last way only finds the reason. */
static bool place_alternative(struct placing *placing, struct why *why)
{
    if (!placing->slacks)
        return place_as_it_is(placing, why);
    cells_slacks(placing->query->cells, placing->slacks);
    if (placing->visible.guest.is_firm)
        return place_in_way(placing, CELLS_OWN, why) || place_in_way(placing, CELLS_BESIDE, why) ||
               place_in_way(placing, CELLS_STRICT, why) || place_in_way(placing, CELLS_ANY, why);
    return (placing->query->fleet->is_now && place_in_way(placing, CELLS_BESIDE, why)) ||
           place_in_way(placing, CELLS_ANY, why);
}

static bool has_profile(const struct gpu_ask *ask, const struct layout *layout)
{
    for (size_t i = 0; i < layout->kinds.count; i++) {
        const struct mig_board *board = layout->kinds.items[i].board;
        if (board && mig_find_profile(board, ask->profile) >= 0)
            return true;
    }
    return false;
}

static bool can_be_met(const struct gpu_ask *ask, const struct layout *layout, struct why *why)
{
    if (ask->kind == SHARE_MIG && !has_profile(ask, layout)) {
        *why = (struct why){ .kind = WHY_NEVER_MIG };
        return false;
    }
    bool has_links = !ask->nvlink || ask->count <= 1;
    for (size_t i = 0; !has_links && i < layout->slots.count; i++)
        has_links = layout->slots.items[i].island != 0;
    if (!has_links)
        *why = (struct why){ .kind = WHY_NEVER_LINK };
    return has_links;
}

/* As the cast has it. The roles' own requests know nothing of the pool and the spot rule. */
static void choose_shapes(struct placing *placing)
{
    const struct place_query *query = placing->query;
    const struct layout *layout = query->fleet->layout;

    for (uint32_t i = 0; i < request_parts(query->request); i++) {
        uint32_t alternative = placing->cast.alternatives[i];
        if (query->shapes) {
            placing->shapes[i] = shape_claim(query->shapes, query->state, layout, query->class, i,
                                             alternative, placing->cast.models[i], query->queue);
            continue;
        }
        shape_describe(&placing->own[i], query->state, layout,
                       placing->parts ? &placing->parts[i] : query->request, alternative,
                       placing->cast.models[i], query->queue, query->ignore_health);
        placing->shapes[i] = &placing->own[i];
    }
    placing->role = placing->cast.roles[0];
    placing->shape = placing->shapes[placing->role];
}

static void mark_kept(const struct place_query *query, uint32_t own, struct arena *arena)
{
    const struct layout *layout = query->fleet->layout;

    if (!layout->has_mins) {
        scorer_set_kept(query->scorer, NULL);
        return;
    }
    uint8_t *kept = arena_take(arena, layout->kinds.count + 1, 1);
    bool is_any = pool_limit_mark_kept(query->state, query->fleet, own, kept);
    scorer_set_kept(query->scorer, is_any ? kept : NULL);
}

static size_t slices_most(const struct request *request)
{
    size_t sum = 0;

    for (uint32_t i = 0; i < request_parts(request); i++) {
        const struct request *part = request_part(request, i);
        uint32_t most = 0;
        for (uint32_t k = 0; k < part->gpu_alternatives; k++)
            most = part->gpus[k].count > most ? part->gpus[k].count : most;
        sum += (size_t)part->members * most;
    }
    return sum;
}

static void prepare_roles(struct placing *placing)
{
    const struct place_query *query = placing->query;
    const struct request *request = query->request;
    uint32_t count = request_parts(request);

    if (!query->shapes) {
        placing->own = arena_take(placing->arena, count, sizeof(struct shape));
        memset(placing->own, 0, count * sizeof(struct shape));
    }
    if (request->roles_count == 0)
        return;
    if (!query->shapes) {
        placing->parts = arena_take(placing->arena, count, sizeof(struct request));
        for (uint32_t i = 0; i < count; i++)
            request_take_part(request, i, &placing->parts[i]);
    }
    placing->roles = arena_take(placing->arena, count, sizeof(struct lease_role));
    for (uint32_t i = 0; i < count; i++) {
        const struct request *part = request_part(request, i);
        placing->roles[i] =
            (struct lease_role){ .cpu_milli = part->cpu_milli, .memory_mib = part->memory_mib };
    }
    placing->lease.roles = placing->roles;
    placing->lease.roles_count = count;
}

static void prepare(struct placing *placing)
{
    const struct place_query *query = placing->query;
    const struct layout *layout = query->fleet->layout;
    const struct request *request = query->request;

    placing->members = arena_take(placing->arena, request->members, sizeof(struct lease_member));
    placing->slices = arena_take(placing->arena, slices_most(request), sizeof(struct slice));
    placing->avoid = arena_take(placing->arena, layout->slots_most + 1, sizeof(bool));
    if (request->members > 1 || layout->has_mins)
        placing->taken = arena_take(placing->arena, layout->nodes.count, sizeof(uint32_t));
    if (request->members > 1 && request->roles_count == 0)
        placing->held = arena_take(placing->arena, layout->slots_most + 1, sizeof(bool));
    if (request->nodes_min > 1)
        placing->spread = (request->members + request->nodes_min - 1) / request->nodes_min;
    visible_start(&placing->visible);
    if (placing->visible.slacks)
        placing->slacks = arena_take(placing->arena, CELLS_KINDS_MAX, sizeof(int64_t));
    bool is_alike = request->roles_count == 0;
    placing->lease = (struct lease){ .members = placing->members,
                                     .slices = placing->slices,
                                     .cpu_milli = is_alike ? request->cpu_milli : 0,
                                     .memory_mib = is_alike ? request->memory_mib : 0 };
    prepare_roles(placing);
}

static void finish(struct placing *placing)
{
    visible_release(&placing->visible);
    for (uint32_t i = 0; placing->own && i < request_parts(placing->query->request); i++)
        shape_release(&placing->own[i]);
}

/* Members stood in the order in which they were placed: ranks go from role to role. */
static void sort_members(struct placing *placing, struct lease *lease)
{
    const struct lease *from = &placing->lease;
    struct lease_member *members =
        arena_take(placing->arena, from->members_count, sizeof(struct lease_member));
    struct slice *slices = arena_take(placing->arena, from->slices_count + 1, sizeof(struct slice));
    uint32_t rank = 0, slice = 0;

    for (uint32_t role = 0; role < from->roles_count; role++) {
        for (uint32_t i = 0, at = 0; i < from->members_count; i++) {
            bool is_of_role = from->members[i].role == role;
            if (is_of_role)
                members[rank] = from->members[i];
            for (; at < from->slices_count && from->slices[at].rank == i; at++) {
                if (!is_of_role)
                    continue;
                slices[slice] = from->slices[at];
                slices[slice++].rank = rank;
            }
            rank += is_of_role;
        }
        placing->roles[role].alternative = placing->cast.alternatives[role];
    }
    lease->members = members;
    lease->slices = slices;
}

static bool has_never(const struct place_query *query, struct why *ret_why)
{
    const struct request *request = query->request;

    if (request->nodes_min > query->state->nodes.count)
        *ret_why = (struct why){ .kind = WHY_NEVER_NODES,
                                 .wanted = request->nodes_min,
                                 .most = (int64_t)query->state->nodes.count };
    else if (request->pool[0] && state_find_pool(query->state, request->pool) < 0)
        *ret_why = (struct why){ .kind = WHY_NEVER_POOL };
    else
        return false;
    return true;
}

static bool can_all_be_met(const struct placing *placing, struct why *why)
{
    const struct place_query *query = placing->query;

    for (uint32_t i = 0; i < request_parts(query->request); i++) {
        const struct gpu_ask *ask = placing->shapes[i]->ask;
        if (ask && !can_be_met(ask, query->fleet->layout, why))
            return false;
    }
    return true;
}

static bool try_cast(struct placing *placing, struct why *why)
{
    *why = (struct why){ .kind = WHY_NONE };
    placing->failed = CAST_ALL_PLACED;
    choose_shapes(placing);
    mark_kept(placing->query, placing->shape->pool_named, placing->arena);
    if (!can_all_be_met(placing, why) || !place_alternative(placing, why))
        return false;
    if (!models_are_mixed(placing))
        return true;
    *why = (struct why){ .kind = WHY_GPUS };
    return false;
}

static void start_cast(struct placing *placing)
{
    role_order_start(&placing->cast, placing->query->request);
    for (uint32_t i = 0; i < request_parts(placing->query->request); i++) {
        placing->choices[i] = model_choices(placing, i);
        role_order_choose(&placing->cast, i, placing->choices[i]);
    }
}

/* As it was promised; a node that is not to be looked at now is none. */
static bool try_seats(struct placing *placing)
{
    const struct place_query *query = placing->query;
    const struct lease *role_places = query->role_places;
    struct why why;

    if (!role_places || query->only || role_places->members_count != query->request->members ||
        role_places->roles_count != query->request->roles_count)
        return false;
    role_order_start(&placing->cast, query->request);
    for (uint32_t i = 0; i < role_places->roles_count; i++)
        placing->cast.alternatives[i] = role_places->roles[i].alternative;
    placing->role_places = role_places;
    return try_cast(placing, &why);
}

bool place_job(const struct place_query *query, struct arena *arena, struct lease *ret_lease,
               struct why *ret_why)
{
    struct placing placing = { .query = query,
                               .arena = arena,
                               .visible = { query, arena, .cell_kind = CELLS_NONE } };
    bool is_placed = false, is_first = true;
    struct why unused;

    ret_why = ret_why ? ret_why : &unused;
    *ret_why = (struct why){ .kind = WHY_NONE };
    if (has_never(query, ret_why))
        return false;
    prepare(&placing);
    start_cast(&placing);
    do {
        struct why why;
        is_placed = try_cast(&placing, &why);
        if (!is_placed && (is_first || why_is_never(ret_why->kind)))
            *ret_why = why;
        is_first = false;
    } while (!is_placed && role_order_next(&placing.cast, placing.failed));
    if (is_placed || try_seats(&placing)) {
        is_placed = true;
        *ret_lease = placing.lease;
        ret_lease->labels = query->labels;
        ret_lease->apart = query->apart;
        const struct role_choices *choices = &placing.cast.choices[0];
        if (choices->items) {
            const struct role_choice *choice = &choices->items[placing.cast.picks[0]];
            ret_lease->model_rule = choice->rule;
            ret_lease->model_runs = choice->runs;
        }
        ret_lease->alternative = query->request->roles_count > 0 ? 0 : placing.cast.alternatives[0];
        if (placing.roles)
            sort_members(&placing, ret_lease);
    }
    finish(&placing);
    return is_placed;
}

/* Looked at for one member alone, so that "2 free" means what a person would count. */
static void explain_member(struct placing *placing, int64_t placed, struct why *why)
{
    const struct place_query *query = placing->query;
    const struct request *request = placing->shape->request;
    const struct gpu_ask *ask = placing->shape->ask;
    struct why best = { .kind = WHY_GPUS, .wanted = ask ? ask->count : 0 };
    bool any_node = false;

    for (uint32_t i = 0; i < query->fleet->nodes.count; i++) {
        struct spot spot = visible_spot(&placing->visible, placing->shape, i);
        if (!spot.at->is_up)
            continue;
        uint32_t count = ask ? score_free_slots(query->scorer, placing->shape, &spot) : 0;
        if (ask && count < ask->count) {
            best.free = count > best.free ? count : best.free;
            continue;
        }
        any_node = true;
        if (spot.free.cpu_milli < request->cpu_milli)
            *why = (struct why){ .kind = WHY_CPUS,
                                 .wanted = request->cpu_milli,
                                 .free = spot.free.cpu_milli };
        else if (spot.free.memory_mib < request->memory_mib)
            *why = (struct why){ .kind = WHY_MEMORY,
                                 .wanted = request->memory_mib,
                                 .free = spot.free.memory_mib };
        else {
            int64_t unit = ask ? ask->count : request->cpu_milli;
            *why = (struct why){ .kind = ask ? WHY_GPUS : WHY_CPUS,
                                 .wanted = unit * request->members,
                                 .free = unit * placed };
            return;
        }
    }
    if (!any_node)
        *why = best;
}

static void explain_cast(struct placing *placing, struct why *why)
{
    int64_t placed = 0;

    placing->lease.members_count = placing->lease.slices_count = 0;
    placing->machines = 0;
    if (placing->taken)
        memset(placing->taken, 0, placing->query->fleet->nodes.count * sizeof(uint32_t));
    choose_shapes(placing);
    mark_kept(placing->query, placing->shape->pool_named, placing->arena);
    domain_start(&placing->domain, placing->query, placing->shape, placing->arena);
    place_members(placing);
    for (uint32_t i = 0; i < placing->lease.members_count; i++)
        placed += placing->members[i].role == placing->role;
    give_back(placing);
    explain_member(placing, placed, why);
    why->role = placing->roles ? placing->role + 1 : 0;
}

/* Of the models that would serve the first alternative: the one that lacks least. */
void place_explain(const struct place_query *query, struct arena *arena, struct why *ret_why)
{
    struct placing placing = { .query = query,
                               .arena = arena,
                               .visible = { query, arena, .cell_kind = CELLS_NONE } };
    bool is_first = true;
    struct why why;

    if (has_never(query, ret_why))
        return;
    prepare(&placing);
    start_cast(&placing);
    struct role_choices choices = placing.choices[0];
    explain_cast(&placing, ret_why);
    for (uint32_t i = 0; i < choices.count && choices.items && !placing.roles; i++) {
        if (choices.items[i].alternative != 0 || choices.items[i].model == 0)
            continue;
        placing.cast.models[0] = choices.items[i].model;
        explain_cast(&placing, &why);
        if (is_first || why.free > ret_why->free)
            *ret_why = why;
        is_first = false;
    }
    finish(&placing);
}
