/* SPDX-License-Identifier: Apache-2.0 */
#include "core/health/usage.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

static const struct field sum_fields[] = {
    RECORD_INT(struct usage_sum, 1, sum, "value x milliseconds"),
    RECORD_INT(struct usage_sum, 2, ms,
               "device-time for which it was read, in milliseconds; 0: never"),
    RECORD_INT(struct usage_sum, 3, peak, "largest value"),
};
static const struct record_type sum_record = RECORD_TYPE("usage_sum", struct usage_sum, sum_fields);

static const struct field gpu_fields[] = {
    RECORD_UINT(struct usage_gpu, 1, device, "number of the device"),
    RECORD_UINT(struct usage_gpu, 2, rank, "the member that held it"),
    RECORD_INT(struct usage_gpu, 3, watched_ms, "time that it was measured, in milliseconds"),
    RECORD_INT(struct usage_gpu, 4, use, "mean utilization, in millionths"),
    RECORD_INT(struct usage_gpu, 5, memory_mib, "peak memory in use"),
    RECORD_INT(struct usage_gpu, 6, clock_mhz, "mean clock while it was busy; 0: not known"),
};
static const struct record_type gpu_record = RECORD_TYPE("usage_gpu", struct usage_gpu, gpu_fields);

static const struct field usage_fields[] = {
    RECORD_ARRAY(
        struct usage, 1, sums,
        "one for each of GPU, SM, tensor, FP32, memory bandwidth (millionths), memory (MiB), links "
        "(MiB/s), power (mW)",
        &sum_record, sums_count),
    RECORD_INT(struct usage, 2, watched_ms, "device-time that was measured, in milliseconds"),
    RECORD_INT(struct usage, 3, low_ms, "part of that with less than 10 % utilization"),
    RECORD_INT(struct usage, 4, swings, "how often utilization rose from below 10 % to above"),
    RECORD_INT(struct usage, 5, energy_mj, "energy in millijoules"),
    RECORD_INT(struct usage, 6, idle_ms,
               "length of the last period in which all its devices were idle"),
    RECORD_INT(struct usage, 7, device_mib, "memory of its largest device in MiB"),
    RECORD_LIST(struct usage, 8, gpus, "usage of each device", &gpu_record),
};
const struct record_type usage_record = RECORD_TYPE("usage", struct usage, usage_fields);

struct usage *usage_copy(const struct usage *usage)
{
    uint32_t count = usage->gpus_count < USAGE_GPUS_MAX ? usage->gpus_count : USAGE_GPUS_MAX;
    size_t bytes = count * sizeof(usage->gpus[0]);
    struct usage *copy = mem_zero(1, sizeof(*copy) + bytes);

    *copy = *usage;
    copy->gpus = (struct usage_gpu *)(copy + 1);
    copy->gpus_count = count;
    mem_copy(copy->gpus, usage->gpus, bytes);
    return copy;
}

void usage_destroy(struct usage *usage)
{
    free(usage);
}

void usage_add(struct usage_sum *sum, int64_t value, int64_t ms)
{
    sum->sum += value * ms;
    sum->ms += ms;
    if (value > sum->peak || sum->ms == ms)
        sum->peak = value;
}

int64_t usage_mean(const struct usage *usage, enum usage_kind kind)
{
    assert(kind < USAGE_KINDS);

    const struct usage_sum *sum = &usage->sums[kind];

    return sum->ms > 0 ? sum->sum / sum->ms : -1;
}

int64_t usage_peak(const struct usage *usage, enum usage_kind kind)
{
    assert(kind < USAGE_KINDS);
    return usage->sums[kind].ms > 0 ? usage->sums[kind].peak : -1;
}
