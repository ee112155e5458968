/* SPDX-License-Identifier: Apache-2.0 */
/* Can it ever run? Asked of an empty cluster: first of the whole one, then of what is well. */
#include "sched/place.h"
#include "sched/sched.h"

static bool fits_empty(const struct state *state, const struct request *request, uint32_t queue)
{
    struct place_query query = {
        .state = state, .request = request, .queue = queue, .ignore_health = true
    };
    struct arena arena = { 0 };
    struct room room = { 0 };
    struct lease lease;
    struct why why;

    place_empty_room(state, &room);
    bool fits = place_job(&query, &room, &arena, &lease, &why);
    room_release(&room);
    arena_release(&arena);
    return fits;
}

/* The most devices of one machine that a member could have. */
static int64_t most_gpus(const struct state *state, struct request member, uint32_t queue)
{
    uint16_t most = 0;

    member.cpu_milli = member.memory_mib = 0;
    for (uint16_t count = 1; count <= REQUEST_GPUS_MAX; count++) {
        for (uint32_t i = 0; i < member.gpu_alternatives; i++)
            member.gpus[i].count = count;
        if (!fits_empty(state, &member, queue))
            break;
        most = count;
    }
    return most;
}

/* The GPUs are there: is it the CPUs or the memory beside them, and how much is there? */
static void name_what_is_beside(const struct state *state, struct request member, uint32_t queue,
                                struct why *why)
{
    const int64_t cpu_milli = member.cpu_milli, memory_mib = member.memory_mib;
    int64_t most = 0;

    member.memory_mib = 0;
    bool is_memory = fits_empty(state, &member, queue);
    for (size_t i = 0; i < state->nodes.count; i++) {
        const struct node *node = &state->nodes.items[i];
        int64_t has = is_memory ? node->memory_mib : node->cpu_milli;
        *(is_memory ? &member.memory_mib : &member.cpu_milli) = has;
        if (has > most && fits_empty(state, &member, queue))
            most = has;
    }
    *why = (struct why){ .kind = is_memory ? WHY_NEVER_MEMORY : WHY_NEVER_CPUS,
                         .wanted = is_memory ? memory_mib : cpu_milli,
                         .most = most };
}

static void name_what_is_never(const struct state *state, const struct request *request,
                               uint32_t queue, struct why *why)
{
    struct request member = *request;
    int64_t most = 0;

    if (why_is_never(why->kind))
        return;
    if (why->kind == WHY_POOL_MAX || why->kind == WHY_POOL_MIN) {
        why->kind = WHY_NEVER_POOL;
        return;
    }
    member.members = member.nodes_min = member.nodes_max = 1;
    if (fits_empty(state, &member, queue)) {
        *why = (struct why){ .kind = WHY_NEVER_GANG, .wanted = request->members };
        return;
    }
    if (request->gpu_alternatives > 0)
        most = most_gpus(state, member, queue);
    if (most >= request->gpus[0].count) {
        name_what_is_beside(state, member, queue, why);
        return;
    }
    enum why_kind none = request->pool[0] ? WHY_NEVER_POOL : WHY_NEVER_MODEL;
    *why = (struct why){ .kind = most == 0 ? none : WHY_NEVER_GPUS,
                         .wanted = request->gpus[0].count,
                         .most = most };
}

void sched_admit(const struct state *state, const struct request *request, uint32_t queue,
                 struct why *ret_why)
{
    struct place_query query = { .state = state,
                                 .request = request,
                                 .queue = queue,
                                 .quota = PLACE_QUOTA_EVER,
                                 .ignore_health = true };
    struct arena arena = { 0 };
    struct room room = { 0 };
    struct lease lease;
    struct why why;

    place_empty_room(state, &room);
    if (!place_job(&query, &room, &arena, &lease, ret_why))
        name_what_is_never(state, request, queue, ret_why);
    else {
        *ret_why = (struct why){ .kind = WHY_NONE };
        query.ignore_health = false;
        place_empty_room(state, &room);
        if (!place_job(&query, &room, &arena, &lease, &why))
            *ret_why = (struct why){ .kind = WHY_UNUSABLE, .wanted = why.wanted, .free = why.free };
    }
    room_release(&room);
    arena_release(&arena);
}
