/* SPDX-License-Identifier: Apache-2.0 */
/* MIG: its mode, and instances made and removed one at a time, without touching their neighbours.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "device/nvml/nvml_inside.h"

enum { INSTANCES_MAX = 16, PLACEMENTS_MAX = 32, COMPUTE_PROFILES_MAX = 9 };

static bool has_calls(const struct nvml_calls *call)
{
    return call->mig_profile && call->mig_placements && call->mig_create && call->mig_instances &&
           call->mig_info && call->mig_destroy && call->mig_compute_profile &&
           call->mig_compute_create && call->mig_computes && call->mig_compute_destroy &&
           call->mig_instance_by_id;
}

static struct nvml_gpu *find(struct probe *probe, uint32_t device, int *ret_code, struct error *err)
{
    struct nvml_gpu *gpu = nvml_gpu_of(probe, device, ret_code, err);

    if (gpu && !has_calls(&nvml_of(probe)->call)) {
        *ret_code = error_set(err, -ENOTSUP, "mig: this driver cannot be asked for instances");
        return NULL;
    }
    return gpu;
}

int nvml_mig_mode(struct probe *probe, uint32_t device, bool is_on, struct error *err)
{
    const struct nvml_calls *call = &nvml_of(probe)->call;
    int code = 0, activation = NVML_SUCCESS;
    struct nvml_gpu *gpu = nvml_gpu_of(probe, device, &code, err);

    if (!gpu)
        return code;
    if (!call->mig_set_mode)
        return error_set(err, -ENOTSUP, "mig mode: this driver has none");
    int result = call->mig_set_mode(gpu->handle, is_on, &activation);
    if (result != NVML_SUCCESS)
        return nvml_fail(result, "mig mode", err);
    if (activation == NVML_IN_USE)
        return error_set(err, -EBUSY, "mig mode: a process uses the device");
    if (activation != NVML_SUCCESS)
        return error_set(err, -EAGAIN, "mig mode: %s", nvml_words(activation));
    atomic_store(&gpu->has_mig, is_on);
    return 0;
}

/* ---- what there is ---- */

/* The handle that carries the instance's UUID. */
static void find_uuid(const struct nvml *nvml, const struct nvml_gpu *gpu,
                      struct probe_instance *instance)
{
    const struct nvml_calls *call = &nvml->call;
    unsigned most = 0;

    if (!call->mig_device_most || !call->mig_device_at || !call->mig_gpu_instance ||
        call->mig_device_most(gpu->handle, &most) != NVML_SUCCESS)
        return;
    for (unsigned i = 0; i < most && i < INSTANCES_MAX; i++) {
        nvml_device_t handle = NULL;
        unsigned id = 0;
        char uuid[NVML_UUID_SIZE + 1] = "";
        if (call->mig_device_at(gpu->handle, i, &handle) != NVML_SUCCESS ||
            call->mig_gpu_instance(handle, &id) != NVML_SUCCESS || id != instance->gpu_instance ||
            call->uuid(handle, uuid, NVML_UUID_SIZE) != NVML_SUCCESS)
            continue;
        snprintf(instance->uuid, sizeof(instance->uuid), "%.*s", (int)sizeof(instance->uuid) - 1,
                 uuid);
        return;
    }
}

/* A profile with the media engines beside one of the same slices without is "+me". */
static bool has_media(const struct nvml_instance_profile *profile, unsigned index)
{
    return (index == 7 || index == 8) && profile->slices > 0;
}

static void describe(const struct nvml *nvml, const struct nvml_gpu *gpu,
                     const struct nvml_instance_info *info, struct probe_instance *ret)
{
    *ret = (struct probe_instance){ .gpu_instance = info->id,
                                    .start = (uint8_t)info->placement.start,
                                    .size = (uint8_t)info->placement.size };
    for (unsigned i = 0; i < NVML_PROFILES_MAX; i++) {
        struct nvml_instance_profile profile = { 0 };
        if (nvml->call.mig_profile(gpu->handle, i, &profile) != NVML_SUCCESS ||
            profile.id != info->profile)
            continue;
        ret->compute = (uint8_t)profile.slices;
        ret->memory_mib = (int64_t)profile.memory_mib;
        ret->media = has_media(&profile, i);
        break;
    }
    find_uuid(nvml, gpu, ret);
}

static uint32_t list_profile(const struct nvml *nvml, const struct nvml_gpu *gpu, unsigned id,
                             struct probe_instance *ret, uint32_t room)
{
    nvml_instance_t instances[INSTANCES_MAX] = { 0 };
    unsigned count = INSTANCES_MAX;
    uint32_t found = 0;

    if (nvml->call.mig_instances(gpu->handle, id, instances, &count) != NVML_SUCCESS)
        return 0;
    for (unsigned i = 0; i < count && i < INSTANCES_MAX && found < room; i++) {
        struct nvml_instance_info info = { 0 };
        if (nvml->call.mig_info(instances[i], &info) == NVML_SUCCESS)
            describe(nvml, gpu, &info, &ret[found++]);
    }
    return found;
}

uint32_t nvml_mig_meters(const struct nvml *nvml, const struct nvml_gpu *gpu,
                         struct nvml_meter *ret)
{
    uint32_t found = 0;

    for (unsigned i = 0; i < NVML_PROFILES_MAX && nvml->call.mig_instances; i++) {
        struct nvml_instance_profile profile = { 0 };
        nvml_instance_t instances[INSTANCES_MAX] = { 0 };
        unsigned count = INSTANCES_MAX;
        if (nvml->call.mig_profile(gpu->handle, i, &profile) != NVML_SUCCESS ||
            nvml->call.mig_instances(gpu->handle, profile.id, instances, &count) != NVML_SUCCESS)
            continue;
        for (unsigned k = 0; k < count && k < INSTANCES_MAX && found < NVML_METERS; k++) {
            struct nvml_instance_info info = { 0 };
            if (nvml->call.mig_info(instances[k], &info) == NVML_SUCCESS)
                ret[found++] = (struct nvml_meter){ .instance = info.id, .slices = profile.slices };
        }
    }
    return found;
}

int nvml_mig_list(struct probe *probe, uint32_t device, struct probe_instance **ret,
                  uint32_t *ret_count, struct error *err)
{
    const struct nvml *nvml = nvml_of(probe);
    struct probe_instance *found = NULL;
    uint32_t count = 0;
    int code = 0;
    struct nvml_gpu *gpu = find(probe, device, &code, err);

    if (!gpu)
        return code;
    found = mem_zero(INSTANCES_MAX, sizeof(found[0]));
    for (unsigned i = 0; i < NVML_PROFILES_MAX; i++) {
        struct nvml_instance_profile profile = { 0 };
        int result = nvml->call.mig_profile(gpu->handle, i, &profile);
        if (nvml_is_sick(result)) {
            free(found);
            return nvml_fail(result, "mig", err);
        }
        if (result == NVML_SUCCESS)
            count += list_profile(nvml, gpu, profile.id, found + count, INSTANCES_MAX - count);
    }
    *ret = found;
    *ret_count = count;
    return 0;
}

/* ---- making and removing ---- */

/* The profile that can stand there. */
static bool find_profile(const struct nvml *nvml, const struct nvml_gpu *gpu,
                         const struct probe_instance *wanted, struct nvml_instance_profile *ret)
{
    for (unsigned i = 0; i < NVML_PROFILES_MAX; i++) {
        struct nvml_placement places[PLACEMENTS_MAX] = { 0 };
        unsigned count = PLACEMENTS_MAX;
        if (nvml->call.mig_profile(gpu->handle, i, ret) != NVML_SUCCESS ||
            ret->slices != wanted->compute || has_media(ret, i) != wanted->media ||
            nvml->call.mig_placements(gpu->handle, ret->id, places, &count) != NVML_SUCCESS)
            continue;
        for (unsigned k = 0; k < count && k < PLACEMENTS_MAX; k++) {
            if (places[k].start == wanted->start && places[k].size == wanted->size)
                return true;
        }
    }
    return false;
}

/* One compute instance with all that the GPU instance has. */
static int fill(const struct nvml *nvml, nvml_instance_t instance, unsigned slices)
{
    for (unsigned i = 0; i < COMPUTE_PROFILES_MAX; i++) {
        struct nvml_compute_profile profile = { 0 };
        nvml_compute_t compute = NULL;
        if (nvml->call.mig_compute_profile(instance, i, 0, &profile) == NVML_SUCCESS &&
            profile.slices == slices)
            return nvml->call.mig_compute_create(instance, profile.id, &compute);
    }
    return NVML_NOT_FOUND;
}

int nvml_mig_create(struct probe *probe, uint32_t device, struct probe_instance *ret,
                    struct error *err)
{
    const struct nvml *nvml = nvml_of(probe);
    struct nvml_instance_profile profile = { 0 };
    struct nvml_placement place = { ret->start, ret->size };
    struct nvml_instance_info info = { 0 };
    nvml_instance_t instance = NULL;
    int code = 0;
    struct nvml_gpu *gpu = find(probe, device, &code, err);

    if (!gpu)
        return code;
    if (!find_profile(nvml, gpu, ret, &profile))
        return error_set(err, -EINVAL,
                         "mig: no profile of %d slices fits at %d of %d memory slices",
                         ret->compute, ret->start, ret->size);
    int result = nvml->call.mig_create(gpu->handle, profile.id, &place, &instance);
    if (result != NVML_SUCCESS)
        return nvml_fail(result, "mig: gpu instance", err);
    result = fill(nvml, instance, profile.slices);
    if (result == NVML_SUCCESS)
        result = nvml->call.mig_info(instance, &info);
    if (result != NVML_SUCCESS) {
        nvml->call.mig_destroy(instance);
        return nvml_fail(result, "mig: compute instance", err);
    }
    describe(nvml, gpu, &info, ret);
    return 0;
}

static int empty(const struct nvml *nvml, nvml_instance_t instance)
{
    int result = NVML_SUCCESS;

    for (unsigned i = 0; i < COMPUTE_PROFILES_MAX; i++) {
        struct nvml_compute_profile profile = { 0 };
        nvml_compute_t computes[INSTANCES_MAX] = { 0 };
        unsigned count = INSTANCES_MAX;
        if (nvml->call.mig_compute_profile(instance, i, 0, &profile) != NVML_SUCCESS ||
            nvml->call.mig_computes(instance, profile.id, computes, &count) != NVML_SUCCESS)
            continue;
        for (unsigned k = 0; k < count && k < INSTANCES_MAX && result == NVML_SUCCESS; k++)
            result = nvml->call.mig_compute_destroy(computes[k]);
    }
    return result;
}

int nvml_mig_remove(struct probe *probe, uint32_t device, uint32_t gpu_instance, struct error *err)
{
    const struct nvml *nvml = nvml_of(probe);
    nvml_instance_t instance = NULL;
    int code = 0;
    struct nvml_gpu *gpu = find(probe, device, &code, err);

    if (!gpu)
        return code;
    int result = nvml->call.mig_instance_by_id(gpu->handle, gpu_instance, &instance);
    if (result == NVML_SUCCESS)
        result = empty(nvml, instance);
    if (result == NVML_SUCCESS)
        result = nvml->call.mig_destroy(instance);
    if (result == NVML_NOT_FOUND)
        return 0; /* it is gone already */
    return result == NVML_SUCCESS ? 0 : nvml_fail(result, "mig: remove", err);
}
