/* SPDX-License-Identifier: Apache-2.0 */
/* MIG by the tables of the boards with seven compute slices. */
#include <stdio.h>
#include <string.h>

#include "stub.h"

#define BEGIN(device)                                                                              \
    int begun = stub_begin(__func__, device);                                                      \
    if (begun != NVML_SUCCESS)                                                                     \
    return begun

enum { SLICES_OF_MEMORY = 8, SLICES_OF_COMPUTE = 7 };

/* By the library's index of a profile. */
static const struct {
    unsigned index, id, compute, size, most;
    unsigned char starts[8], start_count;
} profiles[] = {
    { 0, 19, 1, 1, 7, { 0, 1, 2, 3, 4, 5, 6 }, 7 },
    { 1, 14, 2, 2, 3, { 0, 2, 4 }, 3 },
    { 2, 9, 3, 4, 2, { 0, 4 }, 2 },
    { 3, 5, 4, 4, 1, { 0 }, 1 },
    { 4, 0, 7, 8, 1, { 0 }, 1 },
    { 7, 20, 1, 1, 1, { 0, 1, 2, 3, 4, 5, 6 }, 7 },
    { 9, 15, 1, 2, 4, { 0, 2, 4, 6 }, 4 },
};
enum { PROFILES = sizeof(profiles) / sizeof(profiles[0]) };

static struct stub_mig *mig_of(nvml_device_t device)
{
    return &stub.migs[device - stub.gpus];
}

static int find_id(unsigned id)
{
    for (int i = 0; i < PROFILES; i++) {
        if (profiles[i].id == id)
            return i;
    }
    return -1;
}

/* What must never be asked for. */
static int refuse(const char *call, nvml_device_t device, int result)
{
    stub.refused++;
    snprintf(stub.refusal, sizeof(stub.refusal), "%s of %.40s: %d", call, device->uuid, result);
    return stub_done(result);
}

/* What all calls about instances need; the lock is held on success. */
static int begin_mig(const char *call, nvml_device_t device)
{
    int result = stub_begin(call, device);

    if (result == NVML_SUCCESS && !mig_of(device)->is_on)
        return stub_done(NVML_NOT_SUPPORTED);
    return result;
}

int nvmlDeviceGetMigMode(nvml_device_t device, unsigned *current, unsigned *pending);
int nvmlDeviceGetMigMode(nvml_device_t device, unsigned *current, unsigned *pending)
{
    BEGIN(device);
    if (device->values[STUB_mig] < 0)
        return stub_done(NVML_NOT_SUPPORTED);
    *current = *pending = mig_of(device)->is_on;
    return stub_done(NVML_SUCCESS);
}

int nvmlDeviceSetMigMode(nvml_device_t device, unsigned mode, int *activation);
int nvmlDeviceSetMigMode(nvml_device_t device, unsigned mode, int *activation)
{
    BEGIN(device);
    struct stub_mig *mig = mig_of(device);
    bool has_instance = false;
    for (int i = 0; i < STUB_INSTANCES; i++)
        has_instance |= mig->instances[i].is_there;
    *activation = NVML_SUCCESS;
    if (device->values[STUB_mig] < 0)
        return stub_done(NVML_NOT_SUPPORTED);
    if (device->process_count > 0 || has_instance)
        return stub_done(NVML_IN_USE);
    if (device->values[STUB_mig_reset] == 1)
        *activation = NVML_RESET_REQUIRED;
    else
        mig->is_on = mode != 0;
    return stub_done(NVML_SUCCESS);
}

int nvmlDeviceGetGpuInstanceProfileInfo(nvml_device_t device, unsigned index,
                                        struct nvml_instance_profile *ret);
int nvmlDeviceGetGpuInstanceProfileInfo(nvml_device_t device, unsigned index,
                                        struct nvml_instance_profile *ret)
{
    int begun = begin_mig(__func__, device);

    if (begun != NVML_SUCCESS)
        return begun;
    for (int i = 0; i < PROFILES; i++) {
        if (profiles[i].index != index)
            continue;
        *ret = (struct nvml_instance_profile){
            .id = profiles[i].id,
            .slices = profiles[i].compute,
            .instances = profiles[i].most,
            .multiprocessors = profiles[i].compute * 16,
            .memory_mib = (unsigned long long)device->values[STUB_memory] * profiles[i].size /
                          SLICES_OF_MEMORY,
        };
        return stub_done(NVML_SUCCESS);
    }
    return stub_done(NVML_NOT_SUPPORTED);
}

int nvmlDeviceGetGpuInstancePossiblePlacements_v2(nvml_device_t device, unsigned id,
                                                  struct nvml_placement *ret, unsigned *count);
int nvmlDeviceGetGpuInstancePossiblePlacements_v2(nvml_device_t device, unsigned id,
                                                  struct nvml_placement *ret, unsigned *count)
{
    int begun = begin_mig(__func__, device), profile = find_id(id);

    if (begun != NVML_SUCCESS)
        return begun;
    if (profile < 0)
        return stub_done(NVML_INVALID_ARGUMENT);
    *count = profiles[profile].start_count;
    for (unsigned i = 0; ret && i < *count; i++)
        ret[i] = (struct nvml_placement){ profiles[profile].starts[i], profiles[profile].size };
    return stub_done(NVML_SUCCESS);
}

/* Whether it may stand there beside those that do. */
static bool is_free(const struct stub_mig *mig, int profile, unsigned start)
{
    unsigned end = start + profiles[profile].size, compute = profiles[profile].compute, same = 0;
    bool is_place = false;

    for (unsigned i = 0; i < profiles[profile].start_count; i++)
        is_place |= profiles[profile].starts[i] == start;
    for (int i = 0; i < STUB_INSTANCES; i++) {
        const struct nvml_instance *other = &mig->instances[i];
        if (!other->is_there)
            continue;
        unsigned from = other->placement.start, until = from + other->placement.size;
        compute += profiles[other->profile].compute;
        same += (int)other->profile == profile;
        is_place &= until <= start || end <= from;
    }
    return is_place && compute <= SLICES_OF_COMPUTE && same < profiles[profile].most;
}

int nvmlDeviceCreateGpuInstanceWithPlacement(nvml_device_t device, unsigned id,
                                             const struct nvml_placement *placement,
                                             nvml_instance_t *ret);
int nvmlDeviceCreateGpuInstanceWithPlacement(nvml_device_t device, unsigned id,
                                             const struct nvml_placement *placement,
                                             nvml_instance_t *ret)
{
    int begun = begin_mig(__func__, device), profile = find_id(id);

    if (begun != NVML_SUCCESS)
        return begun;
    struct stub_mig *mig = mig_of(device);
    if (profile < 0 || placement->size != profiles[profile].size)
        return refuse(__func__, device, NVML_INVALID_ARGUMENT);
    for (unsigned i = 0; i < STUB_INSTANCES; i++) {
        struct nvml_instance *instance = &mig->instances[i];
        if (instance->is_there)
            continue;
        if (!is_free(mig, profile, placement->start))
            break;
        *instance = (struct nvml_instance){ .device = device,
                                            .id = i + 1,
                                            .profile = (unsigned)profile,
                                            .placement = *placement,
                                            .is_there = true };
        *ret = instance;
        return stub_done(NVML_SUCCESS);
    }
    return refuse(__func__, device, NVML_INSUFFICIENT_RESOURCES);
}

int nvmlDeviceGetGpuInstances(nvml_device_t device, unsigned id, nvml_instance_t *ret,
                              unsigned *count);
int nvmlDeviceGetGpuInstances(nvml_device_t device, unsigned id, nvml_instance_t *ret,
                              unsigned *count)
{
    int begun = begin_mig(__func__, device), profile = find_id(id);

    if (begun != NVML_SUCCESS)
        return begun;
    *count = 0;
    for (int i = 0; i < STUB_INSTANCES; i++) {
        struct nvml_instance *instance = &mig_of(device)->instances[i];
        if (instance->is_there && (int)instance->profile == profile)
            ret[(*count)++] = instance;
    }
    return stub_done(NVML_SUCCESS);
}

int nvmlDeviceGetGpuInstanceById(nvml_device_t device, unsigned id, nvml_instance_t *ret);
int nvmlDeviceGetGpuInstanceById(nvml_device_t device, unsigned id, nvml_instance_t *ret)
{
    int begun = begin_mig(__func__, device);

    if (begun != NVML_SUCCESS)
        return begun;
    for (int i = 0; i < STUB_INSTANCES; i++) {
        *ret = &mig_of(device)->instances[i];
        if ((*ret)->is_there && (*ret)->id == id)
            return stub_done(NVML_SUCCESS);
    }
    return stub_done(NVML_NOT_FOUND);
}

int nvmlGpuInstanceGetInfo(nvml_instance_t instance, struct nvml_instance_info *ret);
int nvmlGpuInstanceGetInfo(nvml_instance_t instance, struct nvml_instance_info *ret)
{
    BEGIN(instance->device);
    *ret = (struct nvml_instance_info){ instance->device, instance->id,
                                        profiles[instance->profile].id, instance->placement };
    return stub_done(NVML_SUCCESS);
}

static bool is_used(const struct nvml_instance *instance)
{
    const struct nvml_device *device = instance->device;

    for (unsigned i = 0; i < device->process_count; i++) {
        if (device->processes[i].instance == instance->id)
            return true;
    }
    return false;
}

int nvmlGpuInstanceDestroy(nvml_instance_t instance);
int nvmlGpuInstanceDestroy(nvml_instance_t instance)
{
    BEGIN(instance->device);
    if (instance->has_compute || is_used(instance))
        return stub_done(NVML_IN_USE);
    instance->is_there = false;
    return stub_done(NVML_SUCCESS);
}

/* ---- compute instances: one, with all of it ---- */

int nvmlGpuInstanceGetComputeInstanceProfileInfo(nvml_instance_t instance, unsigned index,
                                                 unsigned engine, struct nvml_compute_profile *ret);
int nvmlGpuInstanceGetComputeInstanceProfileInfo(nvml_instance_t instance, unsigned index,
                                                 unsigned engine, struct nvml_compute_profile *ret)
{
    static const unsigned slices[] = { 1, 2, 3, 4, 7 };

    (void)engine;
    BEGIN(instance->device);
    if (index >= 5 || slices[index] > profiles[instance->profile].compute)
        return stub_done(NVML_NOT_SUPPORTED);
    *ret = (struct nvml_compute_profile){ .id = index, .slices = slices[index], .instances = 1 };
    return stub_done(NVML_SUCCESS);
}

/* The handle that programs would use. */
static void make_device(nvml_instance_t instance)
{
    nvml_device_t parent = instance->device;
    nvml_device_t device = &mig_of(parent)->devices[instance->id - 1];

    *device = (struct nvml_device){ .parent = parent, .of = instance };
    for (int i = 0; i < STUB_VALUES; i++)
        device->values[i] = STUB_NONE;
    device->values[STUB_memory] =
        parent->values[STUB_memory] * profiles[instance->profile].size / SLICES_OF_MEMORY;
    snprintf(device->uuid, sizeof(device->uuid), "MIG-%.60s-%u", parent->uuid, instance->id);
}

int nvmlGpuInstanceCreateComputeInstance(nvml_instance_t instance, unsigned id,
                                         nvml_compute_t *ret);
int nvmlGpuInstanceCreateComputeInstance(nvml_instance_t instance, unsigned id, nvml_compute_t *ret)
{
    BEGIN(instance->device);
    if (instance->has_compute)
        return stub_done(NVML_INSUFFICIENT_RESOURCES);
    instance->has_compute = true;
    instance->compute = (struct nvml_compute){ instance, 0, id };
    make_device(instance);
    *ret = &instance->compute;
    return stub_done(NVML_SUCCESS);
}

int nvmlGpuInstanceGetComputeInstances(nvml_instance_t instance, unsigned id, nvml_compute_t *ret,
                                       unsigned *count);
int nvmlGpuInstanceGetComputeInstances(nvml_instance_t instance, unsigned id, nvml_compute_t *ret,
                                       unsigned *count)
{
    BEGIN(instance->device);
    *count = instance->has_compute && instance->compute.profile == id;
    if (*count > 0)
        ret[0] = &instance->compute;
    return stub_done(NVML_SUCCESS);
}

int nvmlComputeInstanceGetInfo_v2(nvml_compute_t compute, struct nvml_compute_info *ret);
int nvmlComputeInstanceGetInfo_v2(nvml_compute_t compute, struct nvml_compute_info *ret)
{
    BEGIN(compute->instance->device);
    *ret = (struct nvml_compute_info){ .device = compute->instance->device,
                                       .instance = compute->instance,
                                       .id = compute->id,
                                       .profile = compute->profile };
    return stub_done(NVML_SUCCESS);
}

int nvmlComputeInstanceDestroy(nvml_compute_t compute);
int nvmlComputeInstanceDestroy(nvml_compute_t compute)
{
    BEGIN(compute->instance->device);
    if (is_used(compute->instance))
        return stub_done(NVML_IN_USE);
    compute->instance->has_compute = false;
    return stub_done(NVML_SUCCESS);
}

/* ---- devices of instances ---- */

int nvmlDeviceGetMaxMigDeviceCount(nvml_device_t device, unsigned *count);
int nvmlDeviceGetMaxMigDeviceCount(nvml_device_t device, unsigned *count)
{
    BEGIN(device);
    *count = device->values[STUB_mig] >= 0 ? 7 : 0;
    return stub_done(NVML_SUCCESS);
}

int nvmlDeviceGetMigDeviceHandleByIndex(nvml_device_t device, unsigned index, nvml_device_t *ret);
int nvmlDeviceGetMigDeviceHandleByIndex(nvml_device_t device, unsigned index, nvml_device_t *ret)
{
    int begun = begin_mig(__func__, device);

    if (begun != NVML_SUCCESS)
        return begun;
    for (int i = 0; i < STUB_INSTANCES; i++) {
        struct nvml_instance *instance = &mig_of(device)->instances[i];
        if (!instance->is_there || !instance->has_compute || index-- > 0)
            continue;
        *ret = &mig_of(device)->devices[i];
        return stub_done(NVML_SUCCESS);
    }
    return stub_done(NVML_NOT_FOUND);
}

int nvmlDeviceGetGpuInstanceId(nvml_device_t device, unsigned *id);
int nvmlDeviceGetGpuInstanceId(nvml_device_t device, unsigned *id)
{
    BEGIN(device);
    if (!device->of)
        return stub_done(NVML_NOT_SUPPORTED);
    *id = device->of->id;
    return stub_done(NVML_SUCCESS);
}
