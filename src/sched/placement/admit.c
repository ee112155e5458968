/* SPDX-License-Identifier: Apache-2.0 */
/* Asked of the whole cluster first, then of what is well. */
#include "sched/placement/admit.h"

#include <assert.h>

#include "core/job/role.h"
#include "sched/ordering/pending.h"
#include "sched/ordering/quota_check.h"
#include "sched/placement/place.h"

/* The cluster with nothing on it. */
struct empty {
    const struct state *state;
    struct layout layout;
    struct fleet fleet;
    struct fragmentation typical;
    struct scorer scorer;
    struct arena arena;
    bool is_preemptible;
};

/* A gang that has no room on the empty cluster is told so without a look for its places. */
static bool may_hold(struct empty *empty, const struct place_query *query)
{
    const struct request *request = query->request;
    uint32_t alternatives = request->gpu_alternatives ? request->gpu_alternatives : 1;
    bool is_held = request->members == 1 || request->roles_count > 0;

    for (uint32_t i = 0; i < alternatives && !is_held; i++) {
        struct shape shape = { 0 };
        uint64_t members = 0;
        shape_describe(&shape, query->state, &empty->layout, request, i, 0, query->queue,
                       query->ignore_health);
        for (uint32_t node = 0; node < empty->fleet.nodes.count; node++) {
            struct spot spot = spot_of(&empty->fleet, node);
            struct layout_node at = *spot.at;
            at.is_up |= query->ignore_health;
            spot.at = &at;
            members += score_count(&empty->scorer, &shape, &spot, request->members);
        }
        is_held = members >= request->members;
        shape_release(&shape);
    }
    return is_held;
}

static struct place_query query_of(struct empty *empty, const struct request *request,
                                   uint32_t queue, enum place_quota quota)
{
    return (struct place_query){ .state = empty->state,
                                 .scorer = &empty->scorer,
                                 .fleet = &empty->fleet,
                                 .request = request,
                                 .queue = queue,
                                 .user = QUOTA_NOBODY,
                                 .is_preemptible = empty->is_preemptible,
                                 .quota = quota };
}

static bool fits(struct empty *empty, const struct request *request, uint32_t queue,
                 enum place_quota quota, bool ignore_health, struct why *ret_why)
{
    struct place_query query = query_of(empty, request, queue, quota);
    struct lease lease;

    query.ignore_health = ignore_health;
    empty->fleet.ignores_health = ignore_health;
    empty->fleet.pools_at = USEC_NEVER;
    assert(empty->fleet.nodes.count == empty->state->nodes.count);
    arena_clear(&empty->arena);
    if (!may_hold(empty, &query)) {
        *ret_why = (struct why){ .kind = WHY_GPUS };
        return false;
    }
    bool is_placed = place_job(&query, &empty->arena, &lease, ret_why);
    if (!is_placed && !why_is_never(ret_why->kind) && ret_why->kind < WHY_QUOTA)
        place_explain(&query, &empty->arena, ret_why);
    return is_placed;
}

static bool fits_empty(struct empty *empty, const struct request *request, uint32_t queue)
{
    struct why why;

    return fits(empty, request, queue, PLACE_QUOTA_NONE, true, &why);
}

/* The most devices of one node that a member could have. */
static int64_t most_gpus(struct empty *empty, struct request member, uint32_t queue)
{
    uint16_t most = 0;

    member.cpu_milli = member.memory_mib = 0;
    for (uint16_t count = 1; count <= REQUEST_GPUS_MAX; count++) {
        for (uint32_t i = 0; i < member.gpu_alternatives; i++)
            member.gpus[i].count = count;
        if (!fits_empty(empty, &member, queue))
            break;
        most = count;
    }
    return most;
}

/* The GPUs are there: is it the CPUs or the memory beside them, and how much is there? */
static void name_what_is_beside(struct empty *empty, struct request member, uint32_t queue,
                                struct why *why)
{
    const int64_t cpu_milli = member.cpu_milli, memory_mib = member.memory_mib;
    const struct state *state = empty->state;
    int64_t most = 0;

    member.memory_mib = 0;
    bool is_memory = fits_empty(empty, &member, queue);
    LIST_EACH (const struct node, node, &state->nodes) {
        int64_t has = is_memory ? node->memory_mib : node->cpu_milli;
        *(is_memory ? &member.memory_mib : &member.cpu_milli) = has;
        if (has > most && fits_empty(empty, &member, queue))
            most = has;
    }
    *why = (struct why){ .kind = is_memory ? WHY_NEVER_MEMORY : WHY_NEVER_CPUS,
                         .wanted = is_memory ? memory_mib : cpu_milli,
                         .most = most };
}

/* Why one member alone has no place. */
static void name_member(struct empty *empty, const struct request *member, uint32_t queue,
                        struct why *why)
{
    int64_t most = 0;

    if (member->gpu_alternatives > 0)
        most = most_gpus(empty, *member, queue);
    if (most >= member->gpus[0].count) {
        name_what_is_beside(empty, *member, queue, why);
        return;
    }
    enum why_kind none = member->pool[0] ? WHY_NEVER_POOL : WHY_NEVER_MODEL;
    *why = (struct why){ .kind = most == 0 ? none : WHY_NEVER_GPUS,
                         .wanted = member->gpus[0].count,
                         .most = most };
}

static void name_what_is_never(struct empty *empty, const struct request *request, uint32_t queue,
                               struct why *why)
{
    struct request member, anywhere = *request;

    if (why_is_never(why->kind))
        return;
    anywhere.where_count = 0;
    if (request->where_count > 0 && fits_empty(empty, &anywhere, queue)) {
        *why = (struct why){ .kind = WHY_NEVER_WHERE };
        return;
    }
    if (why->kind == WHY_POOL_MAX || why->kind == WHY_POOL_MIN) {
        why->kind = WHY_NEVER_POOL;
        return;
    }
    for (uint32_t i = 0; i < request_parts(request); i++) {
        request_take_part(request, i, &member);
        member.members = member.nodes_min = member.nodes_max = 1;
        if (fits_empty(empty, &member, queue))
            continue;
        name_member(empty, &member, queue, why);
        why->role = request->roles_count > 0 ? i + 1 : 0;
        return;
    }
    *why = (struct why){ .kind = WHY_NEVER_GANG, .wanted = request->members };
}

/* Not in the pools of their size now, but of some other hour. */
static bool waits_for_pool(struct empty *empty, const struct request *request, uint32_t queue,
                           struct why *ret_why)
{
    struct place_query query = query_of(empty, request, queue, PLACE_QUOTA_EVER);
    struct lease lease;
    struct why why;

    empty->fleet.pools_at = 0;
    arena_clear(&empty->arena);
    query.ignore_health = empty->fleet.ignores_health = true;
    if (place_job(&query, &empty->arena, &lease, &why) ||
        (why.kind != WHY_POOL_MAX && why.kind != WHY_POOL_MIN))
        return false;
    *ret_why = why;
    return true;
}

/* Does its spot rule leave out every node that it could have, were they empty? */
static bool is_left_out(struct empty *empty, const struct request *request, uint32_t queue)
{
    bool has_spot = false;
    struct why why;

    for (size_t i = 0; i < empty->state->nodes.count && !has_spot; i++)
        has_spot = empty->state->nodes.items[i].is_spot;
    bool is_bound = request->spot == SPOT_ONLY || (request->spot == SPOT_NEVER && has_spot);
    return is_bound && !fits(empty, request, queue, PLACE_QUOTA_EVER, false, &why);
}

void sched_admit(const struct state *state, const struct request *request, uint32_t queue,
                 bool is_preemptible, struct why *ret_why)
{
    /* Spot nodes and others come and go: whether there are any now says nothing of "ever". */
    struct request any = *request;
    struct empty empty = { .state = state, .is_preemptible = is_preemptible };
    struct why why;

    any.spot = SPOT_ALLOW;
    layout_make(&empty.layout, state);
    fleet_make(&empty.fleet, &empty.layout, state, true);
    empty.scorer.typical = &empty.typical;
    scorer_refresh(&empty.scorer, state, &empty.fleet);
    if (!fits(&empty, &any, queue, PLACE_QUOTA_EVER, true, ret_why))
        name_what_is_never(&empty, &any, queue, ret_why);
    else {
        *ret_why = (struct why){ .kind = WHY_NONE };
        if (!fits(&empty, &any, queue, PLACE_QUOTA_EVER, false, &why))
            *ret_why = (struct why){ .kind = WHY_UNUSABLE, .wanted = why.wanted, .free = why.free };
        else if (is_left_out(&empty, request, queue))
            *ret_why = (struct why){ .kind = WHY_SPOT, .wanted = request->spot };
        else
            waits_for_pool(&empty, &any, queue, ret_why);
    }
    scorer_release(&empty.scorer);
    fragmentation_release(&empty.typical);
    fleet_release(&empty.fleet);
    layout_release(&empty.layout);
    arena_release(&empty.arena);
}

enum { ADMISSIONS_MOST = 4096 };

const struct why *admissions_ask(struct admissions *admissions, const struct state *state,
                                 const struct job *job)
{
    const struct class *class = state->classes.classes.items[job->pending_bucket->class];
    uint64_t key = class->serial << 17 | (uint64_t)job->queue << 1 | job->is_preemptible;
    uint64_t place;
    struct why why;

    assert(job->queue < 1 << 16);
    uint64_t world = state_world(state);
    if (admissions->world != world || admissions->answers.count == ADMISSIONS_MOST) {
        admissions_release(admissions);
        admissions->world = world;
    }
    if (!map_get(&admissions->places, key, &place)) {
        sched_admit(state, &class->request, job->queue, job->is_preemptible, &why);
        place = admissions->answers.count;
        map_set(&admissions->places, key, place);
        list_add(&admissions->answers, why);
    }
    return &admissions->answers.items[place];
}

void admissions_release(struct admissions *admissions)
{
    map_release(&admissions->places);
    list_release(&admissions->answers);
}

void sched_admit_user(const struct state *state, const struct request *request, uint32_t queue,
                      uint32_t user, uint32_t gid, struct why *ret_why)
{
    struct quota_ask ask = { .queue = queue, .user = user, .gid = gid };

    *ret_why = (struct why){ .kind = WHY_NONE };
    quota_least(state, request, &ask.amounts);
    quota_user_may_ever(state, &ask, ret_why);
    if (ret_why->kind != WHY_NEVER_QUOTA)
        *ret_why = (struct why){ .kind = WHY_NONE };
}
