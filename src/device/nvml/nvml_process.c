/* SPDX-License-Identifier: Apache-2.0 */
/* The processes on a device. The library counts first and fills then; processes come between the
 * two. */
#include <stdlib.h>

#include "base/mem.h"
#include "device/nvml/nvml_inside.h"

enum { SPARE = 16, TRIES = 8, PROCESSES_MAX = 65536, PERCENT = READING_RATIO_ONE / 100 };

typedef int list_fn(nvml_device_t, unsigned *, struct nvml_process *);

struct found {
    struct probe_process *items;
    uint32_t count;
};

static void add(struct found *found, const struct nvml_process *process, bool is_graphics)
{
    bool has_memory = process->memory != NVML_NOT_AVAILABLE && process->memory <= INT64_MAX;

    for (uint32_t i = 0; i < found->count; i++) {
        if (found->items[i].pid == process->pid)
            return; /* computing and drawing: one process */
    }
    found->items = mem_resize(found->items, found->count + 1, sizeof(found->items[0]));
    found->items[found->count++] = (struct probe_process){
        .pid = process->pid,
        .memory_bytes = has_memory ? (int64_t)process->memory : PROBE_UNKNOWN,
        .use = PROBE_UNKNOWN,
        .instance = process->gpu_instance == NVML_NO_INSTANCE ? INT64_C(-1)
                                                              : (int64_t)process->gpu_instance,
        .is_graphics = is_graphics,
    };
}

static int list(list_fn *fn, const struct nvml_gpu *gpu, bool is_graphics, struct found *found)
{
    unsigned count = 0;
    int result = fn(gpu->handle, &count, NULL);

    for (int i = 0; i < TRIES && result == NVML_INSUFFICIENT_SIZE && count < PROCESSES_MAX; i++) {
        unsigned room = count + SPARE;
        AUTO_FREE struct nvml_process *processes = mem_zero(room, sizeof(processes[0]));
        count = room;
        result = fn(gpu->handle, &count, processes);
        for (unsigned k = 0; result == NVML_SUCCESS && k < count && k < room; k++)
            add(found, &processes[k], is_graphics);
    }
    return result;
}

/* Drivers that have only the oldest call fill shorter records. */
static int list_v1(const struct nvml_calls *call, const struct nvml_gpu *gpu, struct found *found)
{
    unsigned count = 0;
    int result = call->compute_processes_v1(gpu->handle, &count, NULL);

    for (int i = 0; i < TRIES && result == NVML_INSUFFICIENT_SIZE && count < PROCESSES_MAX; i++) {
        unsigned room = count + SPARE;
        AUTO_FREE struct nvml_process_v1 *processes = mem_zero(room, sizeof(processes[0]));
        count = room;
        result = call->compute_processes_v1(gpu->handle, &count, processes);
        for (unsigned k = 0; result == NVML_SUCCESS && k < count && k < room; k++) {
            struct nvml_process process = { .pid = processes[k].pid,
                                            .memory = processes[k].memory,
                                            .gpu_instance = NVML_NO_INSTANCE };
            add(found, &process, false);
        }
    }
    return result;
}

/* A ring of samples: of those since the last time, the mean of each process. */
static void add_use(const struct nvml_calls *call, struct nvml_gpu *gpu, struct found *found)
{
    unsigned count = 0;

    if (!call->process_use ||
        call->process_use(gpu->handle, NULL, &count, gpu->use_seen) != NVML_INSUFFICIENT_SIZE)
        return;
    unsigned room = count + SPARE;
    AUTO_FREE struct nvml_process_use *samples = mem_zero(room, sizeof(samples[0]));
    AUTO_FREE int64_t *sums = mem_zero((size_t)found->count + 1, sizeof(sums[0]));
    AUTO_FREE int64_t *counts = mem_zero((size_t)found->count + 1, sizeof(counts[0]));
    count = room;
    if (call->process_use(gpu->handle, samples, &count, gpu->use_seen) != NVML_SUCCESS)
        return;
    for (unsigned i = 0; i < count && i < room; i++) {
        if (samples[i].at > gpu->use_seen)
            gpu->use_seen = samples[i].at;
        for (uint32_t k = 0; k < found->count && samples[i].sm <= 100; k++) {
            if (found->items[k].pid != samples[i].pid)
                continue;
            sums[k] += samples[i].sm;
            counts[k]++;
        }
    }
    for (uint32_t i = 0; i < found->count; i++)
        found->items[i].use = counts[i] > 0 ? sums[i] * PERCENT / counts[i] : 0;
}

static int list_all(const struct nvml_calls *call, struct nvml_gpu *gpu, struct found *found)
{
    int result = NVML_NOT_SUPPORTED;

    if (call->compute_processes)
        result = list(call->compute_processes, gpu, false, found);
    else if (call->compute_processes_v1)
        result = list_v1(call, gpu, found);
    if (result != NVML_SUCCESS)
        return result;
    if (call->mps_processes)
        list(call->mps_processes, gpu, false, found);
    if (call->graphics_processes)
        list(call->graphics_processes, gpu, true, found);
    if (found->count > 0 && !atomic_load(&gpu->has_mig))
        add_use(call, gpu, found);
    else
        nvml_gpm_share(gpu, found->items, found->count);
    return NVML_SUCCESS;
}

int nvml_processes(struct probe *probe, uint32_t device, struct probe_process **ret,
                   uint32_t *ret_count, struct error *err)
{
    struct found found = { 0 };
    int code = 0;
    struct nvml_gpu *gpu = nvml_gpu_of(probe, device, &code, err);

    if (!gpu)
        return code;
    int result = list_all(&nvml_of(probe)->call, gpu, &found);
    if (result != NVML_SUCCESS) {
        free(found.items);
        return nvml_fail(result, "processes", err);
    }
    *ret = found.items;
    *ret_count = found.count;
    return 0;
}
