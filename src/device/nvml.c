/* SPDX-License-Identifier: Apache-2.0 */
#include "device/nvml.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "device/model.h"
#include "device/numa.h"
#include "device/nvml_abi.h"

enum { DEVICES_MAX = 256 };

#define AS_MEMBER(member, parameters, newest, older) int(*member) parameters;

struct calls {
    NVML_CALLS_NEEDED(AS_MEMBER)
    NVML_CALLS_OPTIONAL(AS_MEMBER)
};

struct nvml {
    struct probe probe;
    void *library;
    struct calls call;
    char driver[NVML_DRIVER_SIZE];
    struct probe_device *known; /* how each was when last it worked, by index */
    uint32_t known_count;
};

static const char *result_words(int result)
{
    static const struct {
        int number;
        const char *words;
    } results[] = {
#define AS_ROW(number, name, words) { number, words },
        NVML_RESULTS(AS_ROW)
    };

    for (size_t i = 0; i < COUNT_OF(results); i++) {
        if (results[i].number == result)
            return results[i].words;
    }
    return "unknown error of the driver";
}

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
static const char *find_calls(void *library, struct calls *calls)
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

/* A reading that this driver or device does not have is absent; these mean more than that. */
static bool is_sick(int result)
{
    switch (result) {
    case NVML_INSUFFICIENT_POWER:
    case NVML_DRIVER_NOT_LOADED:
    case NVML_TIMEOUT:
    case NVML_IRQ_ISSUE:
    case NVML_GPU_IS_LOST:
    case NVML_RESET_REQUIRED:
    case NVML_UNKNOWN:
        return true;
    default:
        return false;
    }
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

static int read_device(const struct nvml *nvml, unsigned index, struct probe_device *device)
{
    static read_fn *const optional[] = { read_memory, read_address, read_mig, read_numa };
    nvml_device_t handle = NULL;

    int result = nvml->call.device_at(index, &handle);
    if (result == NVML_SUCCESS)
        read_name(nvml, handle, device, &result);
    if (result != NVML_SUCCESS)
        return result;
    for (size_t i = 0; i < COUNT_OF(optional); i++) {
        optional[i](nvml, handle, device, &result);
        if (is_sick(result))
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

static void remember(struct nvml *nvml, const struct probe_device *devices, uint32_t count)
{
    if (count != nvml->known_count) {
        nvml->known = mem_resize(nvml->known, count, sizeof(devices[0]));
        if (count > 0)
            memset(nvml->known, 0, count * sizeof(devices[0]));
        nvml->known_count = count;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!devices[i].sick[0])
            nvml->known[i] = devices[i];
    }
}

static int nvml_devices(struct probe *probe, struct probe_device **ret_devices, uint32_t *ret_count,
                        struct error *err)
{
    struct nvml *nvml = CONTAINER_OF(probe, struct nvml, probe);
    unsigned count = 0;

    int result = nvml->call.device_count(&count);
    if (result != NVML_SUCCESS)
        return error_set(err, -EIO, "nvidia driver: can't count the GPUs: %s",
                         result_words(result));
    if (count > DEVICES_MAX)
        return error_set(err, -EIO, "nvidia driver: %u GPUs, not 0 to %d", count, DEVICES_MAX);

    struct probe_device *devices = mem_zero(count, sizeof(devices[0]));
    for (unsigned i = 0; i < count; i++) {
        bool is_known = count == nvml->known_count && nvml->known[i].uuid[0];

        devices[i] = (struct probe_device){ .vendor = "nvidia",
                                            .memory_mib = PROBE_UNKNOWN,
                                            .numa_node = PROBE_UNKNOWN };
        result = read_device(nvml, i, &devices[i]);
        if (result == NVML_SUCCESS)
            continue;
        if (is_known)
            devices[i] = nvml->known[i];
        snprintf(devices[i].sick, sizeof(devices[i].sick), "%s", result_words(result));
    }
    if (count > 0)
        find_numa_nodes(devices, count);
    remember(nvml, devices, count);
    *ret_devices = devices;
    *ret_count = count;
    return 0;
}

static void nvml_destroy(struct probe *probe)
{
    if (!probe)
        return;

    struct nvml *nvml = CONTAINER_OF(probe, struct nvml, probe);
    nvml->call.shutdown();
    dlclose(nvml->library);
    mem_resize(nvml->known, 0, 1);
    mem_resize(nvml, 0, 1);
}

static const struct probe_ops nvml_ops = {
    .name = "nvml",
    .devices = nvml_devices,
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
    struct calls calls = { 0 };
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
        error_set(why, -EIO, "nvidia driver: %s", result_words(result));
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
