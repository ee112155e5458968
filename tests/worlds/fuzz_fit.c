/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/job/role.h"
#include "worlds/fuzz_shadow.h"

struct fitting {
    const struct shadow *shadow;
    const struct request *request;
    const struct gpu_ask *ask; /* NULL: no GPUs */
    uint32_t queue, pool;      /* the pool that it names, or the default one */
    const struct shadow_fit *fit;
    const char *model; /* all devices are of it; NULL: any */
    bool may_share;    /* have devices that no static pool owns */
};

static bool is_asked_for(const struct gpu_ask *ask, const struct shadow_device *device)
{
    return !ask->accelerator[0] && (!ask->model[0] || strcmp(ask->model, device->model) == 0) &&
           device->memory_mib >= ask->size_mib_min &&
           (ask->size_mib_max == 0 || device->memory_mib <= ask->size_mib_max);
}

static bool may_use(const struct fitting *fitting, const struct shadow_device *device)
{
    const struct shadow *shadow = fitting->shadow;
    const struct shadow_pool *owner = &shadow->pools.items[device->owner];
    const struct shadow_pool *own = &shadow->pools.items[fitting->pool];
    const char *named = fitting->request->pool;

    if (device->is_sick && (!fitting->fit->with_sick || device->is_synthetic))
        return false;
    if (device->owner == 0)
        return fitting->may_share && !own->is_static && shadow_pool_has(shadow, own, device);
    return shadow_owns(shadow, fitting->queue, owner) &&
           (!named[0] || strcmp(named, owner->name) == 0);
}

/* What one slice takes of a device; milli 0: it has not that much. */
static void share_of(const struct gpu_ask *ask, const struct shadow_device *device,
                     int64_t *ret_milli, int64_t *ret_memory)
{
    int64_t has = device->memory_mib, milli = ask->milli, memory = ask->memory_mib;

    if (ask->kind == SHARE_WHOLE) {
        milli = GPU_MILLI;
        memory = has;
    } else if (milli == 0)
        milli = has > 0 ? (memory * GPU_MILLI + has - 1) / has : 0;
    else if (memory == 0)
        memory = has * milli / GPU_MILLI;
    *ret_milli = milli <= GPU_MILLI && memory <= has ? milli : 0;
    *ret_memory = memory;
}

static uint32_t instances_on(const struct fitting *fitting, const struct shadow_device *device)
{
    const struct shadow_board *board = device->board;
    const struct shadow_profile *profile =
        board ? shadow_find_profile(board, fitting->ask->profile) : NULL;
    bool is_empty = fitting->fit->is_empty;
    uint32_t count = 0;

    if (!profile)
        return 0;
    int64_t memory = device->memory_mib * profile->memory / board->memory;
    int64_t free = is_empty ? device->memory_mib : device->memory_free;
    uint32_t compute = is_empty ? 0 : device->compute;
    for (unsigned start = 0; start < board->memory; start++) {
        bool is_free = profile->starts >> start & 1;
        for (unsigned i = start; i < start + profile->memory + 0u && !is_empty; i++)
            is_free = is_free && device->held[i % SHADOW_SLICES] == 0;
        compute += is_free ? profile->compute : 0;
        free -= is_free ? memory : 0;
        if (!is_free || compute > board->compute || free < 0)
            continue;
        count++;
    }
    if (profile->has_media)
        count = (is_empty || device->media == 0) && count > 0 ? 1 : 0;
    return count;
}

static uint32_t slices_on(const struct fitting *fitting, const struct shadow_device *device)
{
    bool is_empty = fitting->fit->is_empty;
    int64_t milli, memory;

    if (!is_asked_for(fitting->ask, device) || !may_use(fitting, device) ||
        !shadow_where_holds(fitting->request, &fitting->shadow->nodes.items[device->node], device))
        return 0;
    if (fitting->model && strcmp(fitting->model, device->model) != 0)
        return 0;
    if (fitting->ask->kind == SHARE_MIG)
        return instances_on(fitting, device);
    share_of(fitting->ask, device, &milli, &memory);
    if (device->has_mig || milli == 0)
        return 0;
    int64_t count = (is_empty ? (int64_t)GPU_MILLI : device->milli_free) / milli;
    int64_t memory_free = is_empty ? device->memory_mib : device->memory_free;
    if (memory > 0 && memory_free / memory < count)
        count = memory_free / memory;
    return count > 0 ? (uint32_t)count : 0;
}

/* Members for which it has the devices; linked ones from one island each. */
static uint32_t members_by_devices(const struct fitting *fitting, const struct shadow_node *node)
{
    const struct shadow *shadow = fitting->shadow;
    const struct gpu_ask *ask = fitting->ask;
    uint32_t all = 0, members = 0;

    if (!ask->nvlink || ask->count < 2) {
        for (size_t i = 0; i < node->devices.count; i++)
            all += slices_on(fitting, &shadow->devices.items[node->devices.items[i]]);
        return all / ask->count;
    }
    for (size_t i = 0; i < node->devices.count; i++) {
        uint32_t island = shadow->devices.items[node->devices.items[i]].island, linked = 0;
        bool is_first = island != 0;
        for (size_t k = 0; k < node->devices.count; k++) {
            const struct shadow_device *other = &shadow->devices.items[node->devices.items[k]];
            is_first &= !(k < i && other->island == island);
            linked += other->island == island ? slices_on(fitting, other) : 0;
        }
        members += is_first ? linked / ask->count : 0;
    }
    return members;
}

/* Only the brain knows which devices are kept of those that a reservation counts. */
static bool may_lack_devices(const struct shadow *shadow, const struct shadow_job *job)
{
    for (size_t i = 0; i < shadow->times.reservations.count; i++) {
        const struct shadow_reservation *reservation = &shadow->times.reservations.items[i];
        if (reservation->gpus > 0 && shadow_is_barred(shadow, reservation, job))
            return true;
    }
    return false;
}

static bool is_kept(const struct fitting *fitting, uint32_t node)
{
    const struct shadow *shadow = fitting->shadow;

    for (size_t i = 0; fitting->fit->job && i < shadow->times.reservations.count; i++) {
        const struct shadow_reservation *reservation = &shadow->times.reservations.items[i];
        if (shadow_keeps_node(shadow, reservation, node) &&
            shadow_is_barred(shadow, reservation, fitting->fit->job))
            return true;
    }
    return false;
}

static uint32_t members_on(const struct fitting *fitting, const struct shadow_node *node)
{
    const struct request *request = fitting->request;
    bool is_empty = fitting->fit->is_empty;
    int64_t cpu = is_empty ? node->cpu_milli : node->cpu_free;
    int64_t memory = is_empty ? node->memory_mib : node->memory_free;
    int64_t most = request->members;

    if (node->state != NODE_UP && !fitting->fit->with_sick)
        return 0;
    if (!fitting->ask && !shadow_where_holds(request, node, NULL))
        return 0;
    if (cpu < request->cpu_milli || memory < request->memory_mib)
        return 0; /* also when it shrank under its jobs */
    if (request->cpu_milli > 0 && cpu / request->cpu_milli < most)
        most = cpu / request->cpu_milli;
    if (request->memory_mib > 0 && memory / request->memory_mib < most)
        most = memory / request->memory_mib;
    if (request->nodes_min > 1) {
        uint32_t each = (request->members + request->nodes_min - 1) / request->nodes_min;
        most = most < each ? most : each;
    }
    if (!fitting->ask || most == 0)
        return (uint32_t)most;
    uint32_t by_devices = members_by_devices(fitting, node);
    return by_devices < most ? by_devices : (uint32_t)most;
}

static bool fits_on_machines(const struct fitting *fitting);

/* The devices of a gang, and of a member, are of one model. */
static bool fits_with_one_model(struct fitting *fitting)
{
    const struct shadow *shadow = fitting->shadow;
    const struct gpu_ask *ask = fitting->ask;
    bool is_found = false;

    fitting->model = NULL;
    if (!ask || ask->kind == SHARE_MIG || (uint64_t)ask->count * fitting->request->members == 1)
        return fits_on_machines(fitting);
    for (size_t i = 0; i < shadow->devices.count && !is_found; i++) {
        fitting->model = shadow->devices.items[i].model;
        is_found = fits_on_machines(fitting);
    }
    return is_found;
}

static bool fits_on_machines(const struct fitting *fitting)
{
    const struct request *request = fitting->request;
    uint32_t members = 0, machines = 0;

    for (size_t i = 0; i < fitting->shadow->nodes.count; i++) {
        bool is_closed =
            !fitting->fit->is_empty && shadow_is_closed(fitting->shadow, request, (uint32_t)i);
        uint32_t here = is_closed || is_kept(fitting, (uint32_t)i)
                            ? 0
                            : members_on(fitting, &fitting->shadow->nodes.items[i]);
        members += here;
        machines += here > 0;
        if (members >= request->members && machines >= request->nodes_min)
            return true;
    }
    return false;
}

static int64_t most_of_part(const struct request *request, uint32_t alternative)
{
    if (request->gpu_alternatives == 0)
        return 0;
    const struct gpu_ask *ask = &request->gpus[alternative];
    int64_t each = ask->kind == SHARE_WHOLE || ask->kind == SHARE_MIG || ask->milli == 0
                       ? GPU_MILLI
                       : ask->milli;

    return each * ask->count * request->members;
}

int64_t shadow_most_milli(const struct request *request, uint32_t alternative)
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < request->roles_count; i++)
        sum += most_of_part(&request->roles[i].request, 0);
    return request->roles_count > 0 ? sum : most_of_part(request, alternative);
}

/* Whether no min of another pool and no max of its own can stand in the way of so much. */
static bool pools_do_not_matter(const struct shadow *shadow, uint32_t own, int64_t milli)
{
    const struct shadow_pool *pool = &shadow->pools.items[own];

    if (pool->max > 0 && pool->held + milli > pool->max)
        return false;
    for (size_t i = 0; i < shadow->pools.count; i++) {
        const struct shadow_pool *other = &shadow->pools.items[i];
        if (i != own && !other->is_static && !other->is_removed && other->held < other->min)
            return false;
    }
    return true;
}

bool shadow_fits(const struct shadow *shadow, const struct request *request, uint32_t queue,
                 const struct shadow_fit *fit)
{
    int64_t pool = request->pool[0] ? shadow_find_pool(shadow, request->pool) : 0;
    struct fitting fitting = {
        .shadow = shadow, .request = request, .queue = queue, .pool = (uint32_t)pool, .fit = fit
    };

    if (request->roles_count > 0)
        return false; /* it can't tell how members of several kinds go together */
    if (pool < 0 || request->nodes_min > shadow->nodes.count ||
        (request->nodes_max > 1 && request->nodes_max < request->members))
        return false;
    uint32_t alternatives = request->gpu_alternatives > 0 ? request->gpu_alternatives : 1;
    for (uint32_t i = 0; i < alternatives; i++) {
        struct shadow_amounts most = shadow_most_of(shadow, request, i);
        if (!fit->is_free && !shadow_quota_is_wide(shadow, queue, &most))
            continue;
        fitting.ask = request->gpu_alternatives > 0 ? &request->gpus[i] : NULL;
        fitting.may_share =
            fit->is_free || pools_do_not_matter(shadow, fitting.pool, most.of[SHADOW_GPUS]);
        fitting.may_share &= !fit->job || !may_lack_devices(shadow, fit->job);
        if (fits_with_one_model(&fitting))
            return true;
    }
    return false;
}

static const char *misfit_of_instance(const struct gpu_ask *ask, const struct shadow_device *device,
                                      const struct slice *slice)
{
    const struct shadow_profile *profile =
        device->board ? shadow_find_profile(device->board, ask->profile) : NULL;

    if (!profile)
        return "a device that has no such MIG instances";
    if (slice->kind != SHARE_MIG || slice->mig_size != profile->memory ||
        slice->mig_compute != profile->compute || (slice->mig_media != 0) != profile->has_media)
        return "an instance of another profile";
    if (slice->mig_start >= SHADOW_SLICES || !(profile->starts >> slice->mig_start & 1))
        return "an instance where none may begin";
    if (slice->milli != profile->memory * (uint32_t)GPU_MILLI / device->board->memory ||
        slice->memory_mib != device->memory_mib * profile->memory / device->board->memory)
        return "an instance of another size";
    return NULL;
}

const char *shadow_misfit(const struct gpu_ask *ask, const struct shadow_device *device,
                          const struct slice *slice)
{
    int64_t milli, memory;

    if (!is_asked_for(ask, device))
        return "a device of another model or size";
    if (ask->kind == SHARE_MIG)
        return misfit_of_instance(ask, device, slice);
    share_of(ask, device, &milli, &memory);
    if (device->has_mig)
        return "a device that is split into MIG instances";
    if (slice->kind != ask->kind || milli == 0 || slice->milli != milli ||
        slice->memory_mib != memory)
        return "another part of the device";
    return NULL;
}
