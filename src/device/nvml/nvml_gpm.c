/* SPDX-License-Identifier: Apache-2.0 */
/* Profiling counters, of Hopper and later: what happened between two samples of one meter. A device
 * has one meter; one that is cut into MIG instances, of which the driver tells nothing else, has
 * one for each of them, and its own readings are put together from theirs. */
#include <math.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "device/nvml/nvml_inside.h"

enum { PERCENT = READING_RATIO_ONE / 100, SLICES = 7 };

static const struct gpm {
    enum reading_id id;
    unsigned metric;
    double scale;
    bool is_rate; /* of several: their sum, not their mean */
} gpms[] = {
    { READING_ENGINE_ACTIVE, NVML_GPM_ENGINE, PERCENT, false },
    { READING_SM_ACTIVE, NVML_GPM_SM, PERCENT, false },
    { READING_SM_OCCUPANCY, NVML_GPM_OCCUPANCY, PERCENT, false },
    { READING_TENSOR_ACTIVE, NVML_GPM_TENSOR, PERCENT, false },
    { READING_DRAM_ACTIVE, NVML_GPM_DRAM, PERCENT, false },
    { READING_FP64_ACTIVE, NVML_GPM_FP64, PERCENT, false },
    { READING_FP32_ACTIVE, NVML_GPM_FP32, PERCENT, false },
    { READING_FP16_ACTIVE, NVML_GPM_FP16, PERCENT, false },
    { READING_PCIE_TX, NVML_GPM_PCIE_TX, 1 << 20, true },
    { READING_PCIE_RX, NVML_GPM_PCIE_RX, 1 << 20, true },
    { READING_NVLINK_TX, NVML_GPM_NVLINK_TX, 1 << 20, true },
    { READING_NVLINK_RX, NVML_GPM_NVLINK_RX, 1 << 20, true },
};

/* ---- the meters of a device ---- */

static void meter_release(const struct nvml_calls *call, struct nvml_meter *meter)
{
    if (meter->before)
        call->gpm_free(meter->before);
    if (meter->after)
        call->gpm_free(meter->after);
    *meter = (struct nvml_meter){ 0 };
}

static bool meter_make(const struct nvml_calls *call, struct nvml_meter *meter)
{
    if (call->gpm_alloc(&meter->before) == NVML_SUCCESS &&
        call->gpm_alloc(&meter->after) == NVML_SUCCESS)
        return true;
    meter_release(call, meter);
    return false;
}

static bool is_supported(const struct nvml_calls *call, struct nvml_gpu *gpu)
{
    struct nvml_gpm_support support = { .version = 1 };

    if (!gpu->is_gpm_known)
        gpu->has_gpm = call->gpm_support && call->gpm_alloc && call->gpm_free && call->gpm_sample &&
                       call->gpm_metrics &&
                       call->gpm_support(gpu->handle, &support) == NVML_SUCCESS &&
                       support.is_supported;
    gpu->is_gpm_known = true;
    return gpu->has_gpm;
}

/* Those that are there now; one that was there before goes on. */
static void settle_meters(const struct nvml *nvml, struct nvml_gpu *gpu)
{
    struct nvml_meter old[NVML_METERS], now[NVML_METERS] = { { .instance = NVML_NO_INSTANCE } };
    uint32_t count = 1, kept = 0;

    if (atomic_load(&gpu->has_mig))
        count = nvml->call.gpm_sample_mig ? nvml_mig_meters(nvml, gpu, now) : 0;
    memcpy(old, gpu->meters, sizeof(old));
    for (uint32_t i = 0; i < count; i++) {
        bool is_made = false;
        for (uint32_t k = 0; k < gpu->meter_count && !is_made; k++) {
            if (!old[k].before || old[k].instance != now[i].instance)
                continue;
            old[k].slices = now[i].slices;
            now[i] = old[k];
            old[k].before = old[k].after = NULL;
            is_made = true;
        }
        if (is_made || meter_make(&nvml->call, &now[i]))
            now[kept++] = now[i];
    }
    for (uint32_t k = 0; k < gpu->meter_count; k++)
        meter_release(&nvml->call, &old[k]);
    memcpy(gpu->meters, now, sizeof(now));
    gpu->meter_count = kept;
}

void nvml_gpm_release(const struct nvml *nvml, struct nvml_gpu *gpu)
{
    for (uint32_t i = 0; i < gpu->meter_count; i++)
        meter_release(&nvml->call, &gpu->meters[i]);
    gpu->meter_count = 0;
}

/* ---- reading them ---- */

/* What one says since the last time; false: nothing yet. */
static bool ask(const struct nvml_calls *call, const struct nvml_gpu *gpu, struct nvml_meter *meter,
                struct nvml_gpm_get *get)
{
    int result = meter->instance == NVML_NO_INSTANCE
                     ? call->gpm_sample(gpu->handle, meter->after)
                     : call->gpm_sample_mig(gpu->handle, meter->instance, meter->after);

    *get = (struct nvml_gpm_get){
        .version = 1, .count = COUNT_OF(gpms), .before = meter->before, .after = meter->after
    };
    for (size_t i = 0; i < COUNT_OF(gpms); i++)
        get->metrics[i] = (struct nvml_gpm_metric){ .metric = gpms[i].metric, .result = -1 };
    if (result != NVML_SUCCESS)
        return false;
    result = meter->has_before ? call->gpm_metrics(get) : NVML_NO_DATA;
    nvml_sample_t spare = meter->before;
    meter->before = meter->after;
    meter->after = spare;
    meter->has_before = true;
    return result == NVML_SUCCESS;
}

/* Of a part of a device: as much of the whole. */
static double part_of(const struct nvml_meter *meter, const struct gpm *gpm, double value)
{
    bool is_part = meter->instance != NVML_NO_INSTANCE && !gpm->is_rate;

    return value * gpm->scale * (is_part ? (double)meter->slices / SLICES : 1);
}

/* A sum that lacks a part is none. */
void nvml_gpm_read(const struct nvml *nvml, struct nvml_gpu *gpu, struct reading *ret)
{
    AUTO_FREE struct nvml_gpm_get *get = NULL;
    double sums[COUNT_OF(gpms)] = { 0 };
    uint32_t counts[COUNT_OF(gpms)] = { 0 };

    if (!is_supported(&nvml->call, gpu))
        return;
    settle_meters(nvml, gpu);
    get = mem_zero(1, sizeof(*get));
    for (uint32_t k = 0; k < gpu->meter_count; k++) {
        struct nvml_meter *meter = &gpu->meters[k];
        bool has_said = ask(&nvml->call, gpu, meter, get);
        meter->use = -1;
        for (size_t i = 0; has_said && i < COUNT_OF(gpms); i++) {
            double value = part_of(meter, &gpms[i], get->metrics[i].value);
            if (get->metrics[i].result != NVML_SUCCESS || !(value >= 0 && value < 0x1p62))
                continue;
            sums[i] += value;
            counts[i]++;
            if (gpms[i].id == READING_ENGINE_ACTIVE)
                meter->use = llround(value);
        }
    }
    for (size_t i = 0; i < COUNT_OF(gpms); i++) {
        if (counts[i] > 0 && counts[i] == gpu->meter_count)
            reading_set(ret, gpms[i].id, llround(sums[i]));
    }
    if (atomic_load(&gpu->has_mig) && reading_has(ret, READING_ENGINE_ACTIVE) &&
        !reading_has(ret, READING_GPU_USE))
        reading_set(ret, READING_GPU_USE, ret->values[READING_ENGINE_ACTIVE]);
}

void nvml_gpm_share(const struct nvml_gpu *gpu, struct probe_process *processes, uint32_t count)
{
    for (uint32_t k = 0; k < gpu->meter_count; k++) {
        const struct nvml_meter *meter = &gpu->meters[k];
        int64_t users = 0;
        for (uint32_t i = 0; i < count; i++)
            users += processes[i].instance == meter->instance;
        for (uint32_t i = 0; i < count && meter->use >= 0; i++) {
            if (processes[i].instance == meter->instance)
                processes[i].use = meter->use / users;
        }
    }
}
