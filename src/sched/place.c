/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/place.h"

#include <assert.h>
#include <string.h>

#include "sched/order.h"

/* What is being placed, and where it has come to. */
struct placing {
    const struct place_query *query;
    const struct gpu_ask *ask; /* NULL: no GPUs */
    struct room *room;
    struct lease_member *members;
    struct slice *slices;
    uint32_t member_count, slice_count;
    uint32_t *taken_by_node; /* members on each machine; only when they must be spread */
    uint32_t pool_named;     /* number of the dynamic pool that shared slices count against */
};

static bool queue_is_below(const struct state *state, uint32_t queue, const char *name)
{
    for (uint32_t at = queue; at != QUEUE_ROOT; at = state->queues.items[at].parent) {
        if (strcmp(state->queues.items[at].name, name) == 0)
            return true;
    }
    return false;
}

/* May this job have devices like this one, were they free? */
static bool may_have(const struct placing *placing, const struct device *device)
{
    const struct state *state = placing->query->state;
    const char *named = placing->query->request->pool;

    if (!placing->query->ignore_health && !device_is_usable(state, device))
        return false;
    if (device->is_synthetic && device->sick)
        return false; /* made up, and not any more */
    if (device->pool == 0) {
        const struct pool *pool = &state->pools.items[placing->pool_named];
        return !pool->is_static && pool_matches(pool, device, &state->nodes.items[device->node]);
    }
    const struct pool *owner = &state->pools.items[device->pool];
    return queue_is_below(state, placing->query->queue, owner->queue) &&
           (!named[0] || strcmp(named, owner->name) == 0);
}

static bool is_asked_for(const struct gpu_ask *ask, const struct device *device)
{
    if (ask->model[0] && strcmp(ask->model, device->model) != 0)
        return false;
    if (ask->size_mib_min > 0 && device->memory_mib < ask->size_mib_min)
        return false;
    return ask->size_mib_max == 0 || device->memory_mib <= ask->size_mib_max;
}

/* The slice of this device that would be handed out; milli 0 when it is too small for it. */
static struct slice slice_of(const struct gpu_ask *ask, const struct device *device,
                             uint32_t number)
{
    int64_t milli = ask->milli, memory_mib = ask->memory_mib;

    if (ask->kind == SHARE_WHOLE) {
        milli = GPU_MILLI;
        memory_mib = device->memory_mib;
    } else if (milli == 0) {
        milli = device->memory_mib > 0
                    ? (memory_mib * GPU_MILLI + device->memory_mib - 1) / device->memory_mib
                    : GPU_MILLI + 1;
    } else if (memory_mib == 0) {
        memory_mib = (device->memory_mib * milli + GPU_MILLI - 1) / GPU_MILLI;
    }
    bool fits = milli <= GPU_MILLI && memory_mib <= device->memory_mib;
    return (struct slice){
        .device = number,
        .milli = fits ? (uint32_t)milli : 0,
        .memory_mib = memory_mib,
        .kind = ask->kind,
    };
}

static bool has_room(const struct room *room, const struct slice *slice)
{
    const struct room_device *device = &room->devices.items[slice->device];

    return slice->milli > 0 && device->milli >= slice->milli &&
           device->memory_mib >= slice->memory_mib;
}

struct candidate {
    struct slice slice;
    uint32_t numa; /* node of memory, plus one */
    bool is_own;   /* of a static pool of the job's queue */
    bool is_kept;  /* another dynamic pool is promised some like it */
    bool is_spare; /* one that somebody else could use better */
    int64_t left;  /* milli that stay free */
};

/* Whether a comes before b. */
static bool is_better(const struct candidate *a, const struct candidate *b,
                      enum placement placement)
{
    if (a->is_own != b->is_own)
        return a->is_own;
    if (a->is_kept != b->is_kept)
        return b->is_kept;
    if (a->is_spare != b->is_spare)
        return b->is_spare;
    if (placement == PLACEMENT_BEST_FIT && a->left != b->left)
        return a->left < b->left;
    return a->slice.device < b->slice.device;
}

static void sort_candidates(struct candidate *items, uint32_t count, enum placement placement)
{
    for (uint32_t i = 1; i < count; i++) { /* they are few, and nearly sorted */
        struct candidate item = items[i];
        uint32_t at = i;
        for (; at > 0 && is_better(&item, &items[at - 1], placement); at--)
            items[at] = items[at - 1];
        items[at] = item;
    }
}

static bool is_as_good(const struct candidate *a, const struct candidate *b)
{
    return a->is_own == b->is_own && a->is_kept == b->is_kept;
}

/* Several whole devices: those of the one NUMA node that has enough and the fewest over. */
static void prefer_one_numa_node(struct candidate *items, uint32_t count, uint32_t wanted)
{
    uint32_t best = 0, best_count = UINT32_MAX;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t alike = 0;
        for (uint32_t k = 0; k < count; k++)
            alike += items[k].numa == items[i].numa && is_as_good(&items[k], &items[0]);
        if (items[i].numa != 0 && alike >= wanted && alike < best_count) {
            best = items[i].numa;
            best_count = alike;
        }
    }
    if (best == 0)
        return;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (items[i].numa == best && is_as_good(&items[i], &items[0])) {
            struct candidate item = items[i];
            memmove(&items[kept + 1], &items[kept], (i - kept) * sizeof(items[0]));
            items[kept++] = item;
        }
    }
}

/* What this dynamic pool, unless it is the job's own, is promised and does not use. */
static int64_t promised_to(const struct placing *placing, const struct room *room, size_t number)
{
    const struct pool *pool = &placing->query->state->pools.items[number];
    int64_t held = room->pools.items[number];

    if (number == placing->pool_named || pool->is_static || pool->is_removed ||
        held >= pool->milli_min)
        return 0;
    return pool->milli_min - held;
}

static bool is_kept(const struct placing *placing, const struct device *device)
{
    const struct state *state = placing->query->state;

    for (size_t i = 0; device->pool == 0 && i < state->pools.count; i++) {
        if (promised_to(placing, placing->room, i) > 0 &&
            pool_matches(&state->pools.items[i], device, &state->nodes.items[device->node]))
            return true;
    }
    return false;
}

enum { CANDIDATES_MAX = 256 }; /* devices of one machine that are looked at */

static uint32_t find_candidates(const struct placing *placing, uint32_t node,
                                struct candidate *items)
{
    const struct state *state = placing->query->state;
    const struct room *spare = placing->query->spare;
    uint32_t count = 0;

    for (size_t i = 0; i < state->devices.count && count < CANDIDATES_MAX; i++) {
        const struct device *device = &state->devices.items[i];
        if (device->node != node || !is_asked_for(placing->ask, device) ||
            !may_have(placing, device))
            continue;
        struct slice slice = slice_of(placing->ask, device, (uint32_t)i);
        if (!has_room(placing->room, &slice))
            continue;
        slice.pool = device->pool ? device->pool : placing->pool_named;
        items[count++] = (struct candidate){
            .slice = slice,
            .numa = (uint32_t)(device->numa_node > 0 ? device->numa_node : 0),
            .is_own = device->pool != 0,
            .is_kept = is_kept(placing, device),
            .is_spare = spare && placing->ask->kind == SHARE_WHOLE &&
                        spare->devices.items[i].milli == GPU_MILLI,
            .left = placing->room->devices.items[i].milli - slice.milli,
        };
    }
    enum placement placement = (enum placement)state->settings.placement;
    sort_candidates(items, count, placement);
    if (placing->ask->kind == SHARE_WHOLE && placing->ask->count > 1)
        prefer_one_numa_node(items, count, placing->ask->count);
    return count;
}

static bool node_has_room(const struct placing *placing, uint32_t number)
{
    const struct place_query *query = placing->query;
    const struct room_node *room = &placing->room->nodes.items[number];
    const struct request *request = query->request;

    if (!query->ignore_health && query->state->nodes.items[number].state != NODE_UP)
        return false;
    if (request->nodes_min > 1 &&
        placing->taken_by_node[number] >=
            (request->members + request->nodes_min - 1) / request->nodes_min)
        return false;
    return room->cpu_milli >= request->cpu_milli && room->memory_mib >= request->memory_mib;
}

/* Shared devices that would be taken, those that are kept for others, then GPUs, then CPUs that
 * would stay free: fewer is better. */
struct score {
    int64_t shared, kept, milli, cpu_milli;
};

static bool score_is_less(const struct score *a, const struct score *b, enum placement placement)
{
    if (a->shared != b->shared)
        return a->shared < b->shared;
    if (a->kept != b->kept || placement == PLACEMENT_FIRST_FIT)
        return a->kept < b->kept;
    return a->milli != b->milli ? a->milli < b->milli : a->cpu_milli < b->cpu_milli;
}

static bool place_member(struct placing *placing)
{
    const struct place_query *query = placing->query;
    const struct state *state = query->state;
    struct candidate found[CANDIDATES_MAX], best[CANDIDATES_MAX];
    uint32_t wanted = placing->ask ? placing->ask->count : 0;
    int64_t best_node = -1;
    struct score best_score = { 0 };

    for (uint32_t i = 0; i < state->nodes.count; i++) {
        if (!node_has_room(placing, i))
            continue;
        uint32_t count = placing->ask ? find_candidates(placing, i, found) : 0;
        if (count < wanted)
            continue;
        struct score score = { .cpu_milli = placing->room->nodes.items[i].cpu_milli };
        for (uint32_t k = 0; k < count; k++)
            score.milli += found[k].left + (k >= wanted ? found[k].slice.milli : 0);
        for (uint32_t k = 0; k < wanted; k++) {
            score.shared += !found[k].is_own;
            score.kept += found[k].is_kept;
        }
        enum placement placement = (enum placement)state->settings.placement;
        if (best_node >= 0 && !score_is_less(&score, &best_score, placement))
            continue;
        best_node = i;
        best_score = score;
        memcpy(best, found, wanted * sizeof(found[0]));
        if (placement == PLACEMENT_FIRST_FIT && score.shared == 0 && score.kept == 0)
            break;
    }
    if (best_node < 0)
        return false;

    uint32_t rank = placing->member_count++;
    placing->members[rank].node = (uint32_t)best_node;
    placing->taken_by_node[best_node]++;
    struct room_node *room = &placing->room->nodes.items[best_node];
    room->cpu_milli -= query->request->cpu_milli;
    room->memory_mib -= query->request->memory_mib;
    for (uint32_t i = 0; i < wanted; i++) {
        struct slice *slice = &placing->slices[placing->slice_count++];
        *slice = best[i].slice;
        slice->rank = rank;
        placing->room->devices.items[slice->device].milli -= slice->milli;
        placing->room->devices.items[slice->device].memory_mib -= slice->memory_mib;
        placing->room->pools.items[slice->pool] += slice->milli;
    }
    return true;
}

static bool is_shared_and_well(const struct placing *placing, const struct device *device)
{
    return device->pool == 0 &&
           (placing->query->ignore_health || device_is_usable(placing->query->state, device));
}

/* Whether every shared device of `inner` is one that `outer` may use, too. */
static bool pool_is_within(const struct placing *placing, const struct pool *inner,
                           const struct pool *outer)
{
    const struct state *state = placing->query->state;

    for (size_t i = 0; inner != outer && i < state->devices.count; i++) {
        const struct device *device = &state->devices.items[i];
        const struct node *node = &state->nodes.items[device->node];
        if (is_shared_and_well(placing, device) && pool_matches(inner, device, node) &&
            !pool_matches(outer, device, node))
            return false;
    }
    return true;
}

static bool pool_may_use(const struct placing *placing, const struct pool *pool, uint32_t number)
{
    const struct state *state = placing->query->state;
    const struct device *device = &state->devices.items[number];

    return is_shared_and_well(placing, device) &&
           pool_matches(pool, device, &state->nodes.items[device->node]);
}

/* What is free of the devices that this pool may use, less what it and the pools within it are
 * promised. */
static int64_t free_beside_promises(const struct placing *placing, const struct room *room,
                                    const struct pool *pool)
{
    const struct state *state = placing->query->state;
    int64_t milli = 0;

    for (uint32_t i = 0; i < state->devices.count; i++) {
        if (pool_may_use(placing, pool, i))
            milli += room->devices.items[i].milli;
    }
    for (size_t i = 0; i < state->pools.count; i++) {
        int64_t promised = promised_to(placing, room, i);
        if (promised > 0 && pool_is_within(placing, &state->pools.items[i], pool))
            milli -= promised;
    }
    return milli;
}

/* What this placement takes of the devices that the pool may use, where room does not know yet. */
static int64_t taken_from(const struct placing *placing, const struct room *room,
                          const struct pool *pool)
{
    int64_t milli = 0;

    for (uint32_t i = 0; room != placing->room && i < placing->slice_count; i++)
        milli +=
            pool_may_use(placing, pool, placing->slices[i].device) ? placing->slices[i].milli : 0;
    return milli;
}

/* Every other dynamic pool is left with what its min promises. */
static bool mins_allow(const struct placing *placing, const struct room *room, int64_t wanted,
                       struct why *why)
{
    const struct state *state = placing->query->state;

    for (uint32_t i = 0; i < state->pools.count; i++) {
        if (promised_to(placing, room, i) == 0)
            continue;
        const struct pool *pool = &state->pools.items[i];
        int64_t left = free_beside_promises(placing, room, pool) - taken_from(placing, room, pool);
        if (left < 0) {
            *why = (struct why){ .kind = WHY_POOL_MIN,
                                 .pool = i,
                                 .wanted = wanted,
                                 .free = wanted + left > 0 ? wanted + left : 0 };
            return false;
        }
    }
    return true;
}

/* No dynamic pool over its max, and every other one left with what its min promises. */
static bool pools_allow(const struct placing *placing, struct why *why)
{
    const struct state *state = placing->query->state;
    const struct pool *own = &state->pools.items[placing->pool_named];
    int64_t held = placing->room->pools.items[placing->pool_named], shared_used = 0;

    for (uint32_t i = 0; i < placing->slice_count && !own->is_static; i++)
        shared_used +=
            placing->slices[i].pool == placing->pool_named ? placing->slices[i].milli : 0;
    if (shared_used == 0)
        return true;
    if (own->milli_max > 0 && held > own->milli_max) {
        *why = (struct why){ .kind = WHY_POOL_MAX,
                             .pool = placing->pool_named,
                             .wanted = shared_used,
                             .most = own->milli_max,
                             .free = own->milli_max - (held - shared_used) };
        return false;
    }
    return mins_allow(placing, placing->room, shared_used, why) &&
           (!placing->query->now || mins_allow(placing, placing->query->now, shared_used, why));
}

static bool quota_allows(const struct placing *placing, struct why *ret_why)
{
    const struct place_query *query = placing->query;
    int64_t milli = 0;
    struct why why;

    for (uint32_t i = 0; i < placing->slice_count; i++)
        milli += placing->slices[i].milli;
    if (query->quota == PLACE_QUOTA_NONE ||
        order_quota_allows(query->state, query->queue, milli, &why) ||
        (query->quota == PLACE_QUOTA_EVER && !why_is_never(why.kind)))
        return true;
    *ret_why = why;
    return false;
}

static int64_t give_back(struct placing *placing)
{
    const struct request *request = placing->query->request;
    const struct lease lease = {
        .members = placing->members,
        .slices = placing->slices,
        .members_count = placing->member_count,
        .slices_count = placing->slice_count,
        .cpu_milli = request->cpu_milli,
        .memory_mib = request->memory_mib,
    };

    room_add(placing->room, &lease, 1);
    placing->slice_count = placing->member_count = 0;
    return lease.members_count;
}

/* What the next member lacks, now that `placed` have been placed and given back: looked at for
 * one member alone, so that "2 free" means what a person would count. */
static void explain(const struct placing *placing, int64_t placed, struct why *why)
{
    const struct state *state = placing->query->state;
    const struct request *request = placing->query->request;
    struct why best = { .kind = WHY_GPUS, .wanted = placing->ask ? placing->ask->count : 0 };
    struct candidate found[CANDIDATES_MAX];
    bool any_node = false;

    for (uint32_t i = 0; i < state->nodes.count; i++) {
        const struct room_node *room = &placing->room->nodes.items[i];
        if (!placing->query->ignore_health && state->nodes.items[i].state != NODE_UP)
            continue;
        uint32_t count = placing->ask ? find_candidates(placing, i, found) : 0;
        if (placing->ask && count < placing->ask->count) {
            best.free = count > best.free ? count : best.free;
            continue;
        }
        any_node = true;
        if (room->cpu_milli < request->cpu_milli)
            *why = (struct why){ .kind = WHY_CPUS,
                                 .wanted = request->cpu_milli,
                                 .free = room->cpu_milli };
        else if (room->memory_mib < request->memory_mib)
            *why = (struct why){ .kind = WHY_MEMORY,
                                 .wanted = request->memory_mib,
                                 .free = room->memory_mib };
        else {
            enum why_kind kind = placing->ask ? WHY_GPUS : WHY_CPUS;
            int64_t unit = placing->ask ? placing->ask->count : request->cpu_milli;
            *why = (struct why){ .kind = kind,
                                 .wanted = unit * request->members,
                                 .free = unit * placed };
            return;
        }
    }
    if (!any_node)
        *why = best;
}

static bool place_alternative(struct placing *placing, struct why *why)
{
    const struct request *request = placing->query->request;

    placing->member_count = placing->slice_count = 0;
    for (uint32_t i = 0; i < request->members; i++) {
        if (!place_member(placing)) {
            explain(placing, give_back(placing), why);
            return false;
        }
    }
    if (pools_allow(placing, why) && quota_allows(placing, why))
        return true;
    give_back(placing);
    return false;
}

static bool can_be_met(const struct gpu_ask *ask, struct why *why)
{
    if (ask->kind == SHARE_MIG)
        *why = (struct why){ .kind = WHY_NEVER_MIG };
    else if (ask->nvlink && ask->count > 1)
        *why = (struct why){ .kind = WHY_NEVER_LINK };
    else
        return true;
    return false;
}

bool place_job(const struct place_query *query, struct room *room, struct arena *arena,
               struct lease *ret_lease, struct why *ret_why)
{
    const struct request *request = query->request;
    uint32_t slices_max = 0;

    *ret_why = (struct why){ .kind = WHY_NONE };
    if (request->nodes_min > query->state->nodes.count) {
        *ret_why = (struct why){ .kind = WHY_NEVER_NODES,
                                 .wanted = request->nodes_min,
                                 .most = (int64_t)query->state->nodes.count };
        return false;
    }
    for (uint32_t i = 0; i < request->gpu_alternatives; i++) {
        if (request->gpus[i].count > slices_max)
            slices_max = request->gpus[i].count;
    }
    int64_t pool = request->pool[0] ? state_find_pool(query->state, request->pool) : 0;
    struct placing placing = {
        .query = query,
        .room = room,
        .members = arena_take(arena, request->members, sizeof(struct lease_member)),
        .slices = arena_take(arena, (size_t)request->members * slices_max, sizeof(struct slice)),
        .taken_by_node = arena_take(arena, query->state->nodes.count, sizeof(uint32_t)),
        .pool_named = pool > 0 ? (uint32_t)pool : 0,
    };
    if (pool < 0) {
        *ret_why = (struct why){ .kind = WHY_NEVER_POOL };
        return false;
    }

    uint32_t alternatives = request->gpu_alternatives ? request->gpu_alternatives : 1;
    for (uint32_t i = 0; i < alternatives; i++) {
        struct why why = { .kind = WHY_NONE };
        placing.ask = request->gpu_alternatives ? &request->gpus[i] : NULL;
        memset(placing.taken_by_node, 0, query->state->nodes.count * sizeof(uint32_t));
        if ((!placing.ask || can_be_met(placing.ask, &why)) && place_alternative(&placing, &why)) {
            *ret_lease = (struct lease){
                .members = placing.members,
                .slices = placing.slices,
                .members_count = placing.member_count,
                .slices_count = placing.slice_count,
                .alternative = i,
                .cpu_milli = request->cpu_milli,
                .memory_mib = request->memory_mib,
            };
            for (uint32_t k = 0; k < placing.slice_count; k++)
                ret_lease->milli += placing.slices[k].milli;
            return true;
        }
        if (i == 0 || why_is_never(ret_why->kind))
            *ret_why = why;
    }
    return false;
}

void place_empty_room(const struct state *state, struct room *room)
{
    room_copy(room, &state->room);
    for (size_t i = 0; i < state->nodes.count; i++)
        room->nodes.items[i] =
            (struct room_node){ state->nodes.items[i].cpu_milli, state->nodes.items[i].memory_mib };
    for (size_t i = 0; i < state->devices.count; i++)
        room->devices.items[i] =
            (struct room_device){ state->devices.items[i].memory_mib, GPU_MILLI };
    for (size_t i = 0; i < state->pools.count; i++)
        room->pools.items[i] = 0;
}
