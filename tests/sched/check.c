/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cluster/label.h"
#include "core/job/gang_size.h"
#include "core/job/role.h"

#define FAIL(err, ...) (error_set(err, -EINVAL, __VA_ARGS__), false)

static bool is_below(const struct state *state, uint32_t queue, uint32_t above)
{
    for (; queue != above && queue != QUEUE_ROOT; queue = state->queues.items[queue].parent)
        ;
    return queue == above;
}

static bool check_room(const struct state *state, struct error *err)
{
    for (uint32_t i = 0; i < state->devices.count; i++) {
        int64_t milli = GPU_MILLI, memory = state->devices.items[i].memory_mib;
        for (const struct job *job = state->first_job; job; job = job->next) {
            for (uint32_t k = 0; job->run->lease && k < job->run->lease->slices_count; k++) {
                if (job->run->lease->slices[k].device == i) {
                    milli -= job->run->lease->slices[k].milli;
                    memory -= job->run->lease->slices[k].memory_mib;
                }
            }
        }
        const struct room_device *room = &state->room.devices.items[i];
        if (milli < 0 || memory < 0)
            return FAIL(err, "device %" PRIu32 " is given twice", i);
        if (room->milli != milli || room->memory_mib != memory)
            return FAIL(err, "device %" PRIu32 ": its room is miscounted", i);
    }
    for (uint32_t i = 0; i < state->nodes.count; i++) {
        int64_t cpu = state->nodes.items[i].cpu_milli, memory = state->nodes.items[i].memory_mib;
        for (const struct job *job = state->first_job; job; job = job->next) {
            for (uint32_t k = 0; job->run->lease && k < job->run->lease->members_count; k++) {
                if (job->run->lease->members[k].node == i) {
                    cpu -= lease_cpu_milli(job->run->lease, k);
                    memory -= lease_memory_mib(job->run->lease, k);
                }
            }
        }
        const struct room_node *room = &state->room.nodes.items[i];
        if (cpu < 0 || memory < 0)
            return FAIL(err, "node %" PRIu32 " has less than it gave", i);
        if (room->cpu_milli != cpu || room->memory_mib != memory)
            return FAIL(err, "node %" PRIu32 ": its room is miscounted", i);
    }
    return true;
}

static bool check_holders(const struct state *state, struct error *err)
{
    for (uint32_t i = 0; i < state->pools.count; i++) {
        int64_t milli = 0;
        for (const struct job *job = state->first_job; job; job = job->next) {
            for (uint32_t k = 0; job->run->lease && k < job->run->lease->slices_count; k++)
                milli +=
                    job->run->lease->slices[k].pool == i ? job->run->lease->slices[k].milli : 0;
        }
        if (state->room.pools.items[i] != milli)
            return FAIL(err, "pool %" PRIu32 " is miscounted", i);
    }
    for (uint32_t i = 0; i < state->queues.count; i++) {
        int64_t milli = 0, share[SHARES] = { 0 };
        for (const struct job *job = state->first_job; job; job = job->next) {
            if (job->run->lease && is_below(state, job->queue, i)) {
                milli += job->run->lease->milli;
                for (size_t k = 0; k < SHARES; k++)
                    share[k] += job->run->lease->shares[k];
            }
        }
        const struct queue *queue = &state->queues.items[i];
        if (queue->used.of[RESOURCE_GPUS] != milli ||
            memcmp(queue->share, share, sizeof(share)) != 0)
            return FAIL(err, "queue %s is miscounted", queue->name);
    }
    return true;
}

static bool is_in(const struct state *state, uint64_t group, uint64_t above)
{
    while (group != 0 && group != above) {
        const struct group *at = state_group(state, group);
        group = at ? at->parent : 0;
    }
    return group == above;
}

/* Jobs that were forgotten still count as ended. */
static bool check_groups(const struct state *state, struct error *err)
{
    for (const struct group *group = state->first_group; group; group = group->next) {
        uint32_t active = 0, ended = 0, bad = 0, others = 0;
        for (const struct job *job = state->first_job; job; job = job->next) {
            if (!is_in(state, job->group, group->id))
                continue;
            active += job_is_active(job);
            ended += job->state == JOB_ENDED;
            bad += job->state == JOB_ENDED && job->result != RESULT_OK;
            others += job->state != JOB_ENDED;
        }
        if (group->active_count != active)
            return FAIL(err, "group %" PRIu64 ": %" PRIu32 " active, not %" PRIu32, group->id,
                        active, group->active_count);
        if (group->ended_count < ended || group->bad_count < bad ||
            group->ended_count + others > group->job_count)
            return FAIL(err, "group %" PRIu64 ": ends are miscounted", group->id);
    }
    return true;
}

bool check_counts(const struct lab *lab, struct error *err)
{
    const struct state *state = lab->state;
    uint32_t counts[JOB_STATE_COUNT] = { 0 };

    for (const struct job *job = state->first_job; job; job = job->next) {
        uint32_t needs = 0, broken = 0, chained = 0;
        counts[job->state]++;
        if ((job->run->lease != NULL) != job_is_active(job))
            return FAIL(err, "job %" PRIu64 ": lease and state do not agree", job->id);
        for (size_t i = 0; i < state->needs.needs.count; i++) {
            if (state->needs.needs.items[i].job == job->id) {
                needs++;
                broken += state->needs.needs.items[i].is_broken;
            }
        }
        for (uint32_t at = need_first_of(&state->needs, job->id); at != 0;
             at = state->needs.needs.items[at - 1].next_of_job)
            chained++;
        if (needs != chained)
            return FAIL(err, "job %" PRIu64 ": %" PRIu32 " needs, %" PRIu32 " in its chain",
                        job->id, needs, chained);
        if (needs - broken != job->needs_left)
            return FAIL(err, "job %" PRIu64 ": %" PRIu32 " needs, counted %" PRIu32, job->id,
                        needs - broken, job->needs_left);
        if (broken > 0 && job->state != JOB_ENDED)
            return FAIL(err, "job %" PRIu64 ": needs that are broken, but has not ended", job->id);
    }
    if (memcmp(counts, state->job_counts, sizeof(counts)) != 0)
        return FAIL(err, "jobs are miscounted");
    return check_room(state, err) && check_holders(state, err) && check_groups(state, err);
}

static bool slice_is_of_kind(const struct gpu_ask *ask, const struct device *device)
{
    return strcmp(ask->accelerator, device->kind ? device->kind : "") == 0;
}

static bool slice_suits(const struct state *state, const struct gpu_ask *ask,
                        const struct slice *slice)
{
    const struct device *device = &state->devices.items[slice->device];
    bool is_whole = ask->kind == SHARE_WHOLE;
    int64_t by_memory = device->memory_mib > 0 ? ask->memory_mib * GPU_MILLI : 0;

    if (ask->model[0] && strcmp(ask->model, device->model) != 0)
        return false;
    if ((!ask->model[0] || ask->accelerator[0]) && !slice_is_of_kind(ask, device))
        return false;
    if (device->memory_mib < ask->size_mib_min ||
        (ask->size_mib_max > 0 && device->memory_mib > ask->size_mib_max))
        return false;
    if (is_whole)
        return slice->milli == GPU_MILLI && slice->memory_mib == device->memory_mib;
    if (ask->milli > 0 && slice->milli != ask->milli)
        return false;
    if (ask->memory_mib > 0 && slice->memory_mib != ask->memory_mib)
        return false;
    /* What was not said is in proportion, rounded up. */
    if (ask->milli == 0)
        return slice->milli ==
               (uint32_t)((by_memory + device->memory_mib - 1) / device->memory_mib);
    return ask->memory_mib > 0 || slice->memory_mib == device->memory_mib * ask->milli / GPU_MILLI;
}

/* What the member at a place must be, by its rank; NULL: something else. */
static const struct request *part_at(const struct request *request, const struct lease *lease,
                                     uint32_t place, const struct gpu_ask **ret_ask)
{
    uint32_t number, role = lease->members[place].role;
    uint32_t alternative =
        lease->roles_count > 0 ? lease->roles[role].alternative : lease->alternative;
    const struct request *part = request_part(request, role);

    if (lease->roles_count != request->roles_count ||
        request_part_of(request, lease_rank(lease, place), &number) !=
            (request->roles_count > 0 ? role : 0))
        return NULL;
    *ret_ask = part->gpu_alternatives > 0 ? &part->gpus[alternative] : NULL;
    return part;
}

/* Of each role, where its members are not told a model. */
static bool check_models(const struct state *state, const struct job *job, struct error *err)
{
    const struct lease *lease = job->run->lease;
    const char *models[REQUEST_ROLES_MAX] = { NULL };

    for (uint32_t i = 0; i < lease->slices_count; i++) {
        uint32_t role = lease->members[lease->slices[i].rank].role;
        const char *model = state->devices.items[lease->slices[i].device].model;
        const struct gpu_ask *ask;
        if (!part_at(state_request(state, job), lease, lease->slices[i].rank, &ask) ||
            ask->kind == SHARE_MIG)
            continue;
        if (models[role] && strcmp(models[role], model) != 0)
            return FAIL(err, "job %" PRIu64 " has a %s and a %s", job->id, models[role], model);
        models[role] = model;
    }
    return true;
}

static bool check_lease(const struct state *state, const struct job *job, struct error *err)
{
    const struct lease *lease = job->run->lease;
    const struct request *request = state_request(state, job);
    uint64_t nodes = 0;
    uint32_t slices = 0;
    int64_t milli = 0;

    uint32_t lost = job->run->members_lost;
    if ((lost > 0 && !job->goes_on) || lease->members_count < request->members ||
        !request_allows(request, lease->members_count + lost))
        return FAIL(err, "job %" PRIu64 " holds less or more than it asked for", job->id);
    for (uint32_t rank = 0; rank < lease->members_count; rank++) {
        const struct gpu_ask *ask;
        uint32_t count = 0;
        uint64_t devices = 0;
        if (lease_place(lease, lease_rank(lease, rank)) != rank ||
            lease_rank(lease, rank) >= lease->members_count + lost)
            return FAIL(err, "job %" PRIu64 ": ranks are mixed up", job->id);
        const struct request *part = part_at(request, lease, rank, &ask);
        if (!part || lease_cpu_milli(lease, rank) != part->cpu_milli ||
            lease_memory_mib(lease, rank) != part->memory_mib)
            return FAIL(err, "job %" PRIu64 ": rank %" PRIu32 " is not what its role is", job->id,
                        rank);
        nodes |= UINT64_C(1) << lease->members[rank].node;
        for (uint32_t i = 0; i < lease->slices_count; i++) {
            const struct slice *slice = &lease->slices[i];
            if (slice->rank != rank)
                continue;
            if (!ask || !slice_suits(state, ask, slice))
                return FAIL(err, "job %" PRIu64 ": a device that it did not ask for", job->id);
            if (state->devices.items[slice->device].node != lease->members[rank].node)
                return FAIL(err, "job %" PRIu64 ": a device of another machine", job->id);
            devices |= UINT64_C(1) << slice->device;
            milli += slice->milli;
            count++;
        }
        slices += count;
        if (ask && (count != ask->count || __builtin_popcountll(devices) != ask->count))
            return FAIL(err, "job %" PRIu64 ": rank %" PRIu32 " has %" PRIu32 " devices", job->id,
                        rank, count);
    }
    if (milli != lease->milli || slices != lease->slices_count)
        return FAIL(err, "job %" PRIu64 ": its GPUs are miscounted", job->id);
    uint32_t nodes_min = request->per_node ? lease->members_count : request->nodes_min;
    if (lost == 0 && __builtin_popcountll(nodes) < (int)nodes_min)
        return FAIL(err, "job %" PRIu64 " is on too few machines", job->id);
    return check_models(state, job, err);
}

bool check_leases(const struct lab *lab, struct error *err)
{
    for (const struct job *job = lab->state->first_job; job; job = job->next) {
        if (job->run->lease && !check_lease(lab->state, job, err))
            return false;
    }
    return true;
}

static bool owns(const struct state *state, uint32_t queue, const struct pool *pool)
{
    for (; queue != QUEUE_ROOT; queue = state->queues.items[queue].parent) {
        if (strcmp(state->queues.items[queue].name, pool->queue) == 0)
            return true;
    }
    return false;
}

static bool spot_allows(const struct request *request, const struct node *node)
{
    return node->is_spot ? request->spot != SPOT_NEVER : request->spot != SPOT_ONLY;
}

static bool has_label(const struct request *request, const char *name)
{
    bool has = false;

    for (uint32_t i = 0; i < request->label_count; i++)
        has |= strcmp(request->labels[i].name, name) == 0;
    return has;
}

static bool are_apart(const struct request *a, const struct request *b)
{
    bool are = false;

    for (uint32_t i = 0; i < a->apart_count; i++)
        are |= has_label(b, a->apart[i].name);
    for (uint32_t i = 0; i < b->apart_count; i++)
        are |= has_label(a, b->apart[i].name);
    return are;
}

/* Another job on the machine that the request keeps apart from; 0: none. */
static uint64_t apart_on(const struct state *state, const struct request *request, uint32_t node,
                         uint64_t but)
{
    for (const struct job *job = state->first_job; job; job = job->next) {
        if (job->id != but && job_is_active(job) && lease_is_on(job->run->lease, node) &&
            are_apart(request, state_request(state, job)))
            return job->id;
    }
    return 0;
}

/* Its conditions, for a member without GPUs of the machine alone. */
static bool conditions_allow(const struct state *state, const struct request *request,
                             uint32_t node, const struct device *device)
{
    return where_holds(request->where, request->where_count, &state->nodes.items[node], device);
}

static bool check_conditions_of(const struct state *state, const struct job *job, struct error *err)
{
    const struct lease *lease = job->run->lease;
    const struct request *request = state_request(state, job);

    for (uint32_t rank = 0; rank < lease->members_count; rank++) {
        const struct device *device = NULL;
        uint64_t other = apart_on(state, request, lease->members[rank].node, job->id);
        if (other != 0)
            return FAIL(err,
                        "job %" PRIu64 " shares a node with job %" PRIu64 " despite anti-affinity",
                        job->id, other);
        for (uint32_t i = 0; i < lease->slices_count; i++) {
            if (lease->slices[i].rank != rank)
                continue;
            device = &state->devices.items[lease->slices[i].device];
            if (!conditions_allow(state, request, lease->members[rank].node, device))
                return FAIL(err, "job %" PRIu64 " was given a device against its conditions",
                            job->id);
        }
        if (!device && !conditions_allow(state, request, lease->members[rank].node, NULL))
            return FAIL(err, "job %" PRIu64 " was given a machine against its conditions", job->id);
    }
    return true;
}

static bool check_devices_of(const struct state *state, const struct job *job, struct error *err)
{
    for (uint32_t i = 0; i < job->run->lease->slices_count; i++) {
        const struct device *device = &state->devices.items[job->run->lease->slices[i].device];
        const struct pool *pool = &state->pools.items[job->run->lease->slices[i].pool];
        const char *named = state_request(state, job)->pool;
        if (!device_is_usable(state, device))
            return FAIL(err, "job %" PRIu64 " was given a device that is not well", job->id);
        if (device->pool != 0 && !owns(state, job->queue, &state->pools.items[device->pool]))
            return FAIL(err, "job %" PRIu64 " was lent a device of a static pool", job->id);
        if (named[0] && strcmp(pool->name, named) != 0)
            return FAIL(err, "job %" PRIu64 " was given a device of another pool", job->id);
        if (!pool->is_static && pool->milli_max > 0 &&
            state->room.pools.items[job->run->lease->slices[i].pool] > pool->milli_max)
            return FAIL(err, "pool %s holds more than its max", pool->name);
    }
    for (uint32_t i = 0; i < job->run->lease->members_count; i++) {
        const struct node *node = &state->nodes.items[job->run->lease->members[i].node];
        if (!node_is_usable(node))
            return FAIL(err, "job %" PRIu64 " was given a machine that is not up", job->id);
        if (!spot_allows(state_request(state, job), node))
            return FAIL(err, "job %" PRIu64 " was given a machine against its spot rule", job->id);
    }
    return check_conditions_of(state, job, err);
}

/* Free GPUs, in milli, of those that the pool could use. */
static int64_t free_for(const struct state *state, const struct pool *pool)
{
    int64_t milli = 0;

    for (size_t i = 0; i < state->devices.count; i++) {
        const struct device *device = &state->devices.items[i];
        if (device->pool == 0 && device_is_usable(state, device) &&
            pool_matches(pool, device, &state->nodes.items[device->node]))
            milli += state->room.devices.items[i].milli;
    }
    return milli;
}

static bool takes_from(const struct state *state, const struct job *job, const struct pool *pool)
{
    for (uint32_t i = 0; i < job->run->lease->slices_count; i++) {
        const struct device *device = &state->devices.items[job->run->lease->slices[i].device];
        if (device->pool == 0 && pool_matches(pool, device, &state->nodes.items[device->node]) &&
            &state->pools.items[job->run->lease->slices[i].pool] != pool)
            return true;
    }
    return false;
}

static bool check_mins(const struct state *state, const struct job *job, struct error *err)
{
    for (size_t i = 0; i < state->pools.count; i++) {
        const struct pool *pool = &state->pools.items[i];
        int64_t missing = pool->milli_min - state->room.pools.items[i];
        if (!pool->is_static && !pool->is_removed && missing > 0 && takes_from(state, job, pool) &&
            free_for(state, pool) < missing)
            return FAIL(err, "job %" PRIu64 " took what pool %s must keep", job->id, pool->name);
    }
    return true;
}

bool check_grants(const struct lab *lab, struct error *err)
{
    const struct state *state = lab->state;

    for (size_t i = 0; i < lab->decisions.events.count; i++) {
        const struct event *event = &lab->decisions.events.items[i];
        const struct job *job =
            event->kind == EVENT_GRANT ? state_job(state, event->grant.job) : NULL;
        if (!job || !job->run->lease)
            continue;
        for (uint32_t at = job->queue; job->run->lease->milli > 0;
             at = state->queues.items[at].parent) {
            const struct queue *queue = &state->queues.items[at];
            if (queue->quota[RESOURCE_GPUS].limit >= 0 &&
                queue->used.of[RESOURCE_GPUS] > queue->quota[RESOURCE_GPUS].limit)
                return FAIL(err, "queue %s holds more than its limit", queue->name);
            if (at == QUEUE_ROOT)
                break;
        }
        for (const struct group *group = state_group(state, job->group); group;
             group = state_group(state, group->parent)) {
            if (group->max_running > 0) {
                if (group->active_count > group->max_running)
                    return FAIL(err, "group %" PRIu64 ": too many at a time", group->id);
                break; /* the innermost bound counts */
            }
        }
        if (!check_devices_of(state, job, err) || !check_mins(state, job, err))
            return false;
    }
    return true;
}

/* ---- could it run? Members are alike, so it is enough to count how many each machine takes. */

struct fit {
    const struct state *state;
    const struct request *request;
    uint32_t queue;
    bool is_empty;      /* on machines with nothing on them */
    bool with_sick;     /* also on those that are not well */
    bool is_shared_too; /* with shared devices, not only with its own */
};

static uint32_t pool_of_request(const struct state *state, const struct request *request)
{
    int64_t pool = request->pool[0] ? state_find_pool(state, request->pool) : 0;

    return pool < 0 ? UINT32_MAX : (uint32_t)pool;
}

static bool fit_may_use(const struct fit *fit, const struct device *device)
{
    const struct state *state = fit->state;
    uint32_t named = pool_of_request(state, fit->request);
    const struct pool *pool = &state->pools.items[device->pool ? device->pool : named];

    if (!fit->with_sick && !device_is_usable(state, device))
        return false;
    if (!conditions_allow(state, fit->request, device->node, device))
        return false;
    if (device->pool != 0)
        return owns(state, fit->queue, pool) && (named == 0 || named == device->pool);
    return fit->is_shared_too && !pool->is_static &&
           pool_matches(pool, device, &state->nodes.items[device->node]);
}

/* How many slices as asked for this device still takes. */
static uint32_t slices_of(const struct fit *fit, const struct gpu_ask *ask, uint32_t number)
{
    const struct device *device = &fit->state->devices.items[number];
    struct room_device room = fit->state->room.devices.items[number];
    struct slice slice = { .device = number, .milli = ask->milli, .memory_mib = ask->memory_mib };

    if (fit->is_empty)
        room = (struct room_device){ .memory_mib = device->memory_mib, .milli = GPU_MILLI };
    if (ask->kind == SHARE_WHOLE)
        slice.memory_mib = device->memory_mib;
    else if (ask->milli == 0)
        slice.milli =
            (uint32_t)((ask->memory_mib * GPU_MILLI + device->memory_mib - 1) / device->memory_mib);
    else if (ask->memory_mib == 0)
        slice.memory_mib = device->memory_mib * ask->milli / GPU_MILLI;
    if (!slice_suits(fit->state, ask, &slice) || !fit_may_use(fit, device))
        return 0;
    uint32_t count = 0;
    while (room.milli >= slice.milli && room.memory_mib >= slice.memory_mib) {
        room.milli -= slice.milli;
        room.memory_mib -= slice.memory_mib;
        count++;
    }
    return count;
}

static uint32_t members_on(const struct fit *fit, const struct gpu_ask *ask, uint32_t node)
{
    const struct state *state = fit->state;
    const struct request *request = fit->request;
    struct room_node room = state->room.nodes.items[node];
    uint32_t most = request->members, slices = 0;

    if (!fit->with_sick && (!node_is_usable(&state->nodes.items[node]) ||
                            !spot_allows(request, &state->nodes.items[node])))
        return 0;
    if (!ask && !conditions_allow(state, request, node, NULL))
        return 0;
    if (!fit->is_empty && apart_on(state, request, node, 0) != 0)
        return 0;
    if (fit->is_empty)
        room = (struct room_node){ state->nodes.items[node].cpu_milli,
                                   state->nodes.items[node].memory_mib };
    for (uint32_t i = 0; ask && i < state->devices.count; i++)
        slices += state->devices.items[i].node == node ? slices_of(fit, ask, i) : 0;
    if (ask && slices / ask->count < most)
        most = slices / ask->count;
    while (most > 0 && (most * request->cpu_milli > room.cpu_milli ||
                        most * request->memory_mib > room.memory_mib))
        most--;
    if (request->nodes_min > 1) {
        uint32_t each = (request->members + request->nodes_min - 1) / request->nodes_min;
        most = most < each ? most : each;
    }
    return most;
}

static bool fits(const struct fit *fit, const struct gpu_ask *ask)
{
    uint32_t members = 0;

    if (ask && (ask->kind == SHARE_MIG || (ask->nvlink && ask->count > 1) ||
                pool_of_request(fit->state, fit->request) == UINT32_MAX))
        return false;
    if (!ask && pool_of_request(fit->state, fit->request) == UINT32_MAX)
        return false;
    for (uint32_t i = 0; i < fit->state->nodes.count; i++)
        members += members_on(fit, ask, i);
    return members >= fit->request->members;
}

/* All of one model: of each in turn. */
static bool fits_alike(const struct fit *fit, const struct gpu_ask *ask)
{
    const struct state *state = fit->state;
    bool is_found = false;

    if (ask->model[0] || (uint64_t)ask->count * fit->request->members == 1)
        return fits(fit, ask);
    for (uint32_t i = 0; i < state->devices.count && !is_found; i++) {
        struct gpu_ask own = *ask;
        snprintf(own.model, sizeof(own.model), "%s", state->devices.items[i].model);
        is_found = slice_is_of_kind(ask, &state->devices.items[i]) && fits(fit, &own);
    }
    return is_found;
}

static bool fits_somehow(const struct fit *fit)
{
    const struct request *request = fit->request;

    if (request->gpu_alternatives == 0)
        return fits(fit, NULL);
    for (uint32_t i = 0; i < request->gpu_alternatives; i++) {
        if (fits_alike(fit, &request->gpus[i]))
            return true;
    }
    return false;
}

/* The most milli-GPUs that this alternative may take: an upper bound is enough. */
static int64_t most_milli(const struct request *request, const struct gpu_ask *ask)
{
    int64_t each = ask->kind == SHARE_WHOLE || ask->milli == 0 ? GPU_MILLI : ask->milli;

    return each * ask->count * request->members;
}

static int64_t quota_left(const struct state *state, uint32_t queue)
{
    int64_t left = INT64_MAX;

    for (;; queue = state->queues.items[queue].parent) {
        const struct queue *q = &state->queues.items[queue];
        if (q->quota[RESOURCE_GPUS].limit >= 0 &&
            q->quota[RESOURCE_GPUS].limit - q->used.of[RESOURCE_GPUS] < left)
            left = q->quota[RESOURCE_GPUS].limit - q->used.of[RESOURCE_GPUS];
        if (queue == QUEUE_ROOT)
            return left;
    }
}

/* Whether no min of another pool and no max of its own can stand in the way of so much. */
static bool pools_do_not_matter(const struct state *state, uint32_t own, int64_t milli)
{
    int64_t promised = 0;

    if (own == UINT32_MAX)
        return false;
    const struct pool *pool = &state->pools.items[own];
    if (pool->milli_max > 0 && state->room.pools.items[own] + milli > pool->milli_max)
        return false;
    for (size_t i = 0; i < state->pools.count; i++) {
        const struct pool *other = &state->pools.items[i];
        if (i != own && !other->is_static && !other->is_removed &&
            other->milli_min > state->room.pools.items[i])
            promised += other->milli_min - state->room.pools.items[i];
    }
    return promised == 0;
}

/* Certainly: it could be granted now, but for promises to those in front. */
static bool could_run_now(const struct state *state, const struct job *job)
{
    const struct request *request = state_request(state, job);
    struct fit fit = { .state = state, .request = request, .queue = job->queue };
    uint32_t own = pool_of_request(state, request);

    if (request->roles_count > 0)
        return false; /* its members are not alike: not worked out here */
    for (const struct group *group = state_group(state, job->group); group;
         group = state_group(state, group->parent)) {
        if (group->max_running > 0) {
            if (group->active_count >= group->max_running)
                return false;
            break;
        }
    }
    if (request->gpu_alternatives == 0)
        return fits(&fit, NULL);
    for (uint32_t i = 0; i < request->gpu_alternatives; i++) {
        const struct gpu_ask *ask = &request->gpus[i];
        int64_t milli = most_milli(request, ask);
        if (milli > quota_left(state, job->queue))
            continue;
        fit.is_shared_too = pools_do_not_matter(state, own, milli);
        if (fits_alike(&fit, ask))
            return true;
    }
    return false;
}

static bool check_never(const struct state *state, const struct job *job, const struct why *why,
                        struct error *err)
{
    const struct request *request = state_request(state, job);
    struct fit fit = { .state = state,
                       .request = request,
                       .queue = job->queue,
                       .is_empty = true,
                       .with_sick = true,
                       .is_shared_too = true };

    /* Which pools and quotas never allow is not worked out again here, nor how roles fit. */
    if (request->roles_count > 0 || why->kind == WHY_NEVER_POOL || why->kind == WHY_NEVER_QUOTA)
        return true;
    for (uint32_t i = 0; i < state->pools.count; i++) {
        if (state->pools.items[i].milli_min > 0 || state->pools.items[i].milli_max > 0)
            return true;
    }
    if (quota_left(state, job->queue) == INT64_MAX && fits_somehow(&fit))
        return FAIL(err, "job %" PRIu64 ": %s, but it would fit", job->id, why_name(why->kind));
    return true;
}

static bool check_misfit(const struct state *state, const struct job *job, const struct why *why,
                         struct error *err)
{
    struct fit fit = { .state = state,
                       .request = state_request(state, job),
                       .queue = job->queue,
                       .is_shared_too = true };

    if (fit.request->roles_count > 0)
        return true;
    /* With several alternatives, or models, one may be kept by its quota or pool, and another by
     * room. */
    const struct gpu_ask *ask = &fit.request->gpus[0];
    bool is_several = fit.request->gpu_alternatives > 1 ||
                      (!ask->model[0] && (uint64_t)ask->count * fit.request->members > 1);
    if (!is_several && fits_somehow(&fit))
        return FAIL(err, "job %" PRIu64 ": %s, but there is room", job->id, why_name(why->kind));
    fit.is_empty = true;
    if (!fits_somehow(&fit) && why->at == 0)
        return FAIL(err, "job %" PRIu64 ": %s, but no end of a job would help", job->id,
                    why_name(why->kind));
    return true;
}

static bool check_unusable(const struct state *state, const struct job *job, struct error *err)
{
    struct fit fit = { .state = state,
                       .request = state_request(state, job),
                       .queue = job->queue,
                       .is_empty = true,
                       .is_shared_too = true };
    bool has_promises = false;

    if (fit.request->roles_count > 0)
        return true;
    for (uint32_t i = 0; i < state->pools.count; i++)
        has_promises |= state->pools.items[i].milli_min > 0 || state->pools.items[i].milli_max > 0;
    if (fits_somehow(&fit) && !has_promises && quota_left(state, job->queue) == INT64_MAX)
        return FAIL(err, "job %" PRIu64 ": unusable, but what is well would do", job->id);
    fit.with_sick = true;
    if (!fits_somehow(&fit))
        return FAIL(err, "job %" PRIu64 ": unusable, but it can never run", job->id);
    return true;
}

/* No room where its rule lets it go, and machines that would do where it does not. */
static bool check_spot(const struct state *state, const struct job *job, struct error *err)
{
    struct request any = *state_request(state, job);
    struct fit fit = { .state = state,
                       .request = state_request(state, job),
                       .queue = job->queue,
                       .is_shared_too = true };

    if (any.spot != SPOT_NEVER && any.spot != SPOT_ONLY)
        return FAIL(err, "job %" PRIu64 ": spot, but it takes any machine", job->id);
    if (any.roles_count > 0)
        return true;
    if (any.gpu_alternatives < 2 && fits_somehow(&fit))
        return FAIL(err, "job %" PRIu64 ": spot, but there is room that it allows", job->id);
    any.spot = SPOT_ALLOW;
    fit.request = &any;
    fit.is_empty = true;
    if (!fits_somehow(&fit))
        return FAIL(err, "job %" PRIu64 ": spot, but no machine would do", job->id);
    return true;
}

/* No room where its conditions hold, and there are others. */
static bool check_where(const struct state *state, const struct job *job, struct error *err)
{
    struct request any = *state_request(state, job);
    struct fit fit = { .state = state,
                       .request = state_request(state, job),
                       .queue = job->queue,
                       .is_shared_too = true };

    if (any.where_count == 0)
        return FAIL(err, "job %" PRIu64 ": where, but it has no conditions", job->id);
    if (any.roles_count > 0)
        return true;
    if (any.gpu_alternatives < 2 && fits_somehow(&fit))
        return FAIL(err, "job %" PRIu64 ": where, but there is room that it allows", job->id);
    any.where_count = 0;
    fit.request = &any;
    if (!fits_somehow(&fit))
        return FAIL(err, "job %" PRIu64 ": where, but there is no room elsewhere", job->id);
    return true;
}

static bool check_reserved(const struct lab *lab, const struct job *job, const struct why *why,
                           struct error *err)
{
    const struct job *holder = state_job(lab->state, why->job);
    usec_t limit = job->max_duration;
    usec_t end = limit == USEC_NEVER ? USEC_NEVER : lab->state->now + limit;
    struct why promise;

    /* Those that were lost through no fault of theirs have a promise at any depth. */
    bool has_depth = lab->state->settings.backfill_depth > 0 ||
                     (holder && holder->is_awaited == AWAITED_FROM_OTHERS);
    if (!has_depth || !holder || holder->state != JOB_QUEUED)
        return FAIL(err, "job %" PRIu64 ": reserved by no job", job->id);
    sched_why(lab->brain, lab->inquiry, holder, &promise, NULL);
    if (promise.at == 0 || (promise.at >= end && end != USEC_NEVER))
        return FAIL(err, "job %" PRIu64 ": would end before the promise", job->id);
    return true;
}

static bool check_turn(const struct lab *lab, const struct job *job, const struct why *why,
                       struct error *err)
{
    const struct job *holder = state_job(lab->state, why->job);
    struct why quota;

    if (!holder || holder->state != JOB_QUEUED || holder == job)
        return FAIL(err, "job %" PRIu64 ": the turn of no job", job->id);
    sched_why(lab->brain, lab->inquiry, holder, &quota, NULL);
    if (quota.kind != WHY_QUOTA || quota.queue != why->queue ||
        !is_below(lab->state, job->queue, why->queue))
        return FAIL(err, "job %" PRIu64 ": behind a job that does not wait for quota", job->id);
    return true;
}

/* It waits for GPUs of a job that runs, though others are free. */
static bool check_faster(const struct state *state, const struct job *job, const struct why *why,
                         struct error *err)
{
    const struct job *holder = state_job(state, why->job);

    return (holder && job_is_active(holder) && state_request(state, job)->speeds_count > 0 &&
            job->estimate > 0 && job->deadline == 0) ||
           FAIL(err, "job %" PRIu64 ": leaves GPUs to others for job %" PRIu64, job->id, why->job);
}

static bool check_reason(const struct lab *lab, const struct job *job, const struct why *why,
                         struct error *err)
{
    const struct state *state = lab->state;

    if (why_is_never(why->kind))
        return check_never(state, job, why, err);
    switch (why->kind) {
    case WHY_GPUS:
    case WHY_CPUS:
    case WHY_MEMORY:
        return check_misfit(state, job, why, err);
    case WHY_QUOTA: {
        const struct queue *queue = &state->queues.items[why->queue];
        if (queue->quota[RESOURCE_GPUS].limit < 0 ||
            queue->used.of[RESOURCE_GPUS] + why->wanted <= queue->quota[RESOURCE_GPUS].limit ||
            !is_below(state, job->queue, why->queue))
            return FAIL(err, "job %" PRIu64 ": quota, but queue %s has some left", job->id,
                        queue->name);
        return true;
    }
    case WHY_ARRAY: {
        const struct group *group = state_group(state, why->job);
        if (!group || group->active_count < group->max_running)
            return FAIL(err, "job %" PRIu64 ": array, but it may run more", job->id);
        return true;
    }
    case WHY_POOL_MAX:
        if (state->room.pools.items[why->pool] + why->wanted <=
            state->pools.items[why->pool].milli_max)
            return FAIL(err, "job %" PRIu64 ": pool_max, but it is below", job->id);
        return true;
    case WHY_POOL_MIN:
        /* Later in the same plan the pool may have got it. */
        if (state->pools.items[why->pool].milli_min <= 0)
            return FAIL(err, "job %" PRIu64 ": pool_min, but it has none", job->id);
        return true;
    case WHY_SHAPE:
        if (state->queues.items[why->queue].cells.count == 0)
            return FAIL(err, "job %" PRIu64 ": shape, but queue %s has none", job->id,
                        state->queues.items[why->queue].name);
        return true;
    case WHY_UNUSABLE:
        return check_unusable(state, job, err);
    case WHY_SPOT:
        return check_spot(state, job, err);
    case WHY_WHERE:
        return check_where(state, job, err);
    case WHY_APART: {
        const struct job *other = state_job(state, why->job);
        if (!other || !job_is_active(other) ||
            !are_apart(state_request(state, job), state_request(state, other)))
            return FAIL(err, "job %" PRIu64 ": apart, but not from job %" PRIu64, job->id,
                        why->job);
        return true;
    }
    case WHY_RESERVED:
        return check_reserved(lab, job, why, err);
    case WHY_TURN:
        return check_turn(lab, job, why, err);
    case WHY_FASTER:
        return check_faster(state, job, why, err);
    case WHY_BEHIND:
        return state->settings.backfill_depth == 0 ||
               FAIL(err, "job %" PRIu64 ": behind, with backfill", job->id);
    default:
        return FAIL(err, "job %" PRIu64 ": queued, and why is %s", job->id, why_name(why->kind));
    }
}

bool check_waiting(const struct lab *lab, struct error *err)
{
    for (const struct job *job = lab->state->first_job; job; job = job->next) {
        struct why why;
        uint32_t ahead;

        sched_why(lab->brain, lab->inquiry, job, &why, &ahead);
        if ((job->state == JOB_HELD) != (why.kind == WHY_HELD) ||
            (job->state == JOB_WAITING) != (why.kind == WHY_NEEDS || why.kind == WHY_BEGIN))
            return FAIL(err, "job %" PRIu64 ": is %s, and why is %s", job->id,
                        job_state_name((enum job_state)job->state), why_name(why.kind));
        if (job->state != JOB_QUEUED || ahead > 0)
            continue; /* what keeps the first of its kind keeps all */
        if (!check_reason(lab, job, &why, err))
            return false;
        if (why.kind != WHY_RESERVED && why.kind != WHY_TURN && why.kind != WHY_BEHIND &&
            why.kind != WHY_FASTER && could_run_now(lab->state, job))
            return FAIL(err, "job %" PRIu64 ": could run, but why is %s", job->id,
                        why_name(why.kind));
    }
    return true;
}

bool check_wakeup(const struct lab *lab, struct error *err)
{
    const struct state *state = lab->state;
    usec_t wakeup = sched_next_wakeup(lab->brain);

    for (const struct job *job = state->first_job; job; job = job->next) {
        usec_t limit = job->max_duration, due = USEC_NEVER;

        if (job->state == JOB_WAITING && job->needs_left + job->needs_expected == 0)
            due = job->begin;
        if (job->state == JOB_GRANTED && limit != USEC_NEVER)
            due = job->run->granted + limit;
        if (job->state == JOB_RUNNING && limit != USEC_NEVER)
            due = job->run->started + limit;
        if (due <= state->now)
            return FAIL(err, "job %" PRIu64 ": %s, and overdue", job->id,
                        job_state_name((enum job_state)job->state));
        if (wakeup > due)
            return FAIL(err, "job %" PRIu64 ": the wakeup comes too late", job->id);
        if ((job->state == JOB_GRANTED || job->state == JOB_RUNNING) &&
            (job->run->is_cancel_wanted || job->run->is_requeue_wanted))
            return FAIL(err, "job %" PRIu64 ": should have been stopped", job->id);
    }
    return true;
}

static void on_job(void *user, struct job *job, bool is_gone)
{
    struct check_states *states = user;
    uint64_t last = 0;

    map_get(&states->last, job->id, &last);
    if (last > 0 && last != (uint64_t)job->state + 1 &&
        !job_may_become((enum job_state)(last - 1), (enum job_state)job->state))
        snprintf(states->problem, sizeof(states->problem), "job %" PRIu64 ": %s to %s", job->id,
                 job_state_name((enum job_state)(last - 1)),
                 job_state_name((enum job_state)job->state));
    map_set(&states->last, job->id, (uint64_t)job->state + 1);
    states->brain_on_job(states->brain_user, job, is_gone);
}

void check_states_watch(struct check_states *states, struct lab *lab)
{
    states->brain_on_job = lab->state->on_job;
    states->brain_user = lab->state->on_job_user;
    lab->state->on_job = on_job;
    lab->state->on_job_user = states;
}

void check_states_release(struct check_states *states)
{
    map_release(&states->last);
}
