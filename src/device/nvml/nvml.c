/* SPDX-License-Identifier: Apache-2.0 */
#include "device/nvml/nvml.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/model_name.h"
#include "device/numa.h"
#include "device/nvml/nvml_inside.h"

enum { DEVICES_MAX = 256 };

/* The address of the newest name there is, as bytes of a function pointer. */
static bool find_call(void *library, const char *newest, const char *older, void *ret)
{
    void *symbol = dlsym(library, newest);

    if (!symbol && older)
        symbol = dlsym(library, older);
    memcpy(ret, &symbol, sizeof(symbol));
    return symbol != NULL;
}

/* NULL, or the name of what is needed and not there. */
static const char *find_calls(void *library, struct nvml_calls *calls)
{
#define FIND_NEEDED(member, parameters, newest, older)                                             \
    if (!find_call(library, newest, older, &calls->member))                                        \
        return newest;
#define FIND_OPTIONAL(member, parameters, newest, older)                                           \
    find_call(library, newest, older, &calls->member);
    NVML_CALLS_NEEDED(FIND_NEEDED)
    NVML_CALLS_OPTIONAL(FIND_OPTIONAL)
    return NULL;
}

static void read_memory(const struct nvml *nvml, nvml_device_t handle, struct probe_device *device,
                        int *result)
{
    struct nvml_memory_v2 memory_v2 = { .version = NVML_MEMORY_V2 };
    struct nvml_memory memory = { 0 };

    *result = NVML_FUNCTION_NOT_FOUND;
    if (nvml->call.memory_v2)
        *result = nvml->call.memory_v2(handle, &memory_v2);
    if (*result == NVML_SUCCESS) {
        device->memory_mib = (int64_t)(memory_v2.total >> 20);
        return;
    }
    if (nvml->call.memory)
        *result = nvml->call.memory(handle, &memory);
    if (*result == NVML_SUCCESS)
        device->memory_mib = (int64_t)(memory.total >> 20);
}

static void read_address(const struct nvml *nvml, nvml_device_t handle, struct probe_device *device,
                         int *result)
{
    struct nvml_pci pci = { 0 };

    *result = nvml->call.pci ? nvml->call.pci(handle, &pci) : NVML_FUNCTION_NOT_FOUND;
    if (*result != NVML_SUCCESS)
        return;
    pci.address[sizeof(pci.address) - 1] = '\0';
    pci.address_short[sizeof(pci.address_short) - 1] = '\0';
    snprintf(device->address, sizeof(device->address), "%s",
             pci.address[0] ? pci.address : pci.address_short);
}

static void read_mig(const struct nvml *nvml, nvml_device_t handle, struct probe_device *device,
                     int *result)
{
    unsigned current = 0, pending = 0;

    *result = nvml->call.mig_mode ? nvml->call.mig_mode(handle, &current, &pending)
                                  : NVML_FUNCTION_NOT_FOUND;
    if (*result == NVML_SUCCESS)
        device->mig_enabled = current == 1;
}

static void read_numa(const struct nvml *nvml, nvml_device_t handle, struct probe_device *device,
                      int *result)
{
    unsigned node = 0;

    *result = nvml->call.numa_node ? nvml->call.numa_node(handle, &node) : NVML_FUNCTION_NOT_FOUND;
    if (*result == NVML_SUCCESS && node <= INT32_MAX)
        device->numa_node = (int32_t)node;
}

static void read_name(const struct nvml *nvml, nvml_device_t handle, struct probe_device *device,
                      int *result)
{
    char uuid[NVML_UUID_SIZE + 1] = "", name[NVML_NAME_SIZE + 1] = "";

    *result = nvml->call.uuid(handle, uuid, NVML_UUID_SIZE);
    if (*result != NVML_SUCCESS)
        return;
    snprintf(device->uuid, sizeof(device->uuid), "%.*s", (int)sizeof(device->uuid) - 1, uuid);
    *result = nvml->call.name(handle, name, NVML_NAME_SIZE);
    if (*result != NVML_SUCCESS)
        return;
    snprintf(device->product, sizeof(device->product), "%.*s", (int)sizeof(device->product) - 1,
             name);
    model_shorten(name, device->model);
}

typedef void read_fn(const struct nvml *, nvml_device_t, struct probe_device *, int *);

static void read_minor(const struct nvml *nvml, nvml_device_t handle, struct probe_device *device,
                       int *result)
{
    unsigned minor = 0;

    *result = nvml->call.minor ? nvml->call.minor(handle, &minor) : NVML_FUNCTION_NOT_FOUND;
    if (*result == NVML_SUCCESS && minor <= INT32_MAX)
        device->minor = (int32_t)minor;
}

static int read_device(const struct nvml *nvml, unsigned index, struct probe_device *device,
                       nvml_device_t *ret_handle)
{
    static read_fn *const optional[] = { read_memory, read_address, read_mig, read_numa,
                                         read_minor };

    int result = nvml->call.device_at(index, ret_handle);
    if (result == NVML_SUCCESS)
        read_name(nvml, *ret_handle, device, &result);
    else
        *ret_handle = NULL;
    if (result != NVML_SUCCESS)
        return result;
    for (size_t i = 0; i < COUNT_OF(optional); i++) {
        optional[i](nvml, *ret_handle, device, &result);
        if (nvml_is_sick(result))
            return result;
    }
    return NVML_SUCCESS;
}

/* Nearness as the kernel knows it; the driver's own only where that says nothing. */
static void find_numa_nodes(struct probe_device *devices, uint32_t count)
{
    AUTO(numa) struct numa *numa = numa_create();

    for (uint32_t i = 0; i < count; i++) {
        int32_t node = PROBE_UNKNOWN;
        if (devices[i].address[0])
            node = numa_node_of(numa, devices[i].address);
        if (node != PROBE_UNKNOWN)
            devices[i].numa_node = node;
    }
}

/* As many as there are now; what was known of other numbers of devices is of others. */
static void make_room(struct nvml *nvml, uint32_t count)
{
    if (count == nvml->gpu_count)
        return;
    for (uint32_t i = 0; i < nvml->gpu_count; i++)
        nvml_gpm_release(nvml, &nvml->gpus[i]);
    nvml->gpus = mem_resize(nvml->gpus, count, sizeof(nvml->gpus[0]));
    if (count > 0)
        memset(nvml->gpus, 0, count * sizeof(nvml->gpus[0]));
    nvml->gpu_count = count;
}

static void find_device(struct nvml *nvml, uint32_t index, struct probe_device *device)
{
    struct nvml_gpu *gpu = &nvml->gpus[index];

    *device = (struct probe_device){ .vendor = "nvidia",
                                     .memory_mib = PROBE_UNKNOWN,
                                     .numa_node = PROBE_UNKNOWN,
                                     .minor = PROBE_UNKNOWN };
    int result = read_device(nvml, index, device, &gpu->handle);
    if (result == NVML_SUCCESS)
        return;
    if (gpu->known.uuid[0])
        *device = gpu->known;
    snprintf(device->sick, sizeof(device->sick), "%s", nvml_words(result));
}

static int nvml_devices(struct probe *probe, struct probe_device **ret_devices, uint32_t *ret_count,
                        struct error *err)
{
    struct nvml *nvml = nvml_of(probe);
    unsigned count = 0;

    int result = nvml->call.device_count(&count);
    if (result != NVML_SUCCESS)
        return error_set(err, -EIO, "nvidia driver: cannot count the GPUs: %s", nvml_words(result));
    if (count > DEVICES_MAX)
        return error_set(err, -EIO, "nvidia driver: %u GPUs, not 0 to %d", count, DEVICES_MAX);

    struct probe_device *devices = mem_zero(count, sizeof(devices[0]));
    make_room(nvml, count);
    for (unsigned i = 0; i < count; i++)
        find_device(nvml, i, &devices[i]);
    if (count > 0)
        find_numa_nodes(devices, count);
    for (uint32_t i = 0; i < count; i++) {
        if (!devices[i].sick[0])
            nvml->gpus[i].known = devices[i];
        atomic_store(&nvml->gpus[i].has_mig, devices[i].mig_enabled);
    }
    nvml_find_groups(nvml, devices, count);
    *ret_devices = devices;
    *ret_count = count;
    return 0;
}

static int nvml_compute_mode(struct probe *probe, uint32_t device, enum probe_compute mode,
                             struct error *err)
{
    const struct nvml_calls *call = &nvml_of(probe)->call;
    int code = 0;
    struct nvml_gpu *gpu = nvml_gpu_of(probe, device, &code, err);

    if (!gpu)
        return code;
    int result = NVML_FUNCTION_NOT_FOUND;
    if (call->set_compute_mode)
        result = call->set_compute_mode(gpu->handle, (int)mode);
    return result == NVML_SUCCESS ? 0 : nvml_fail(result, "compute mode", err);
}

static void nvml_destroy(struct probe *probe)
{
    if (!probe)
        return;

    struct nvml *nvml = nvml_of(probe);
    make_room(nvml, 0);
    if (nvml->events)
        nvml->call.event_set_free(nvml->events);
    nvml->call.shutdown();
    dlclose(nvml->library);
    mem_resize(nvml, 0, 1);
}

static const struct probe_ops nvml_ops = {
    .name = "nvml",
    .devices = nvml_devices,
    .sample = nvml_sample,
    .processes = nvml_processes,
    .wait = nvml_wait,
    .link = nvml_link,
    .mig_mode = nvml_mig_mode,
    .mig_list = nvml_mig_list,
    .mig_create = nvml_mig_create,
    .mig_remove = nvml_mig_remove,
    .compute_mode = nvml_compute_mode,
    .destroy = nvml_destroy,
};

static void *open_library(const char *library, struct error *why)
{
    static const char *const names[] = { "libnvidia-ml.so.1", "libnvidia-ml.so" };
    const char *given = library ? library : secure_getenv("TARN_NVML_LIBRARY");

    if (given && given[0]) {
        void *handle = dlopen(given, RTLD_NOW | RTLD_LOCAL);
        if (!handle) {
            const char *words = dlerror();
            error_set(why, -ENOENT, "nvidia driver: %s", words ? words : given);
        }
        return handle;
    }
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        void *handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (handle)
            return handle;
    }
    error_set(why, -ENOENT, "nvidia driver: not installed (no %s)", names[0]);
    return NULL;
}

enum nvml_answer probe_nvml_create(const char *library, struct probe **ret, struct error *why)
{
    struct nvml_calls calls = { 0 };
    void *handle = open_library(library, why);

    if (!handle)
        return NVML_NO_LIBRARY;
    const char *missing = find_calls(handle, &calls);
    if (missing) {
        dlclose(handle);
        error_set(why, -ENOSYS, "nvidia driver: its library has no %s", missing);
        return NVML_NO_USE;
    }
    int result = calls.init();
    if (result != NVML_SUCCESS) {
        dlclose(handle);
        error_set(why, -EIO, "nvidia driver: %s", nvml_words(result));
        return NVML_NO_DRIVER;
    }

    struct nvml *nvml = mem_zero(1, sizeof(*nvml));
    nvml->probe.ops = &nvml_ops;
    nvml->library = handle;
    nvml->call = calls;
    if (calls.driver_version &&
        calls.driver_version(nvml->driver, sizeof(nvml->driver)) != NVML_SUCCESS)
        nvml->driver[0] = '\0';
    *ret = &nvml->probe;
    return NVML_READY;
}

const char *probe_nvml_driver(const struct probe *probe)
{
    assert(probe->ops == &nvml_ops);
    return CONTAINER_OF(probe, const struct nvml, probe)->driver;
}
