/* SPDX-License-Identifier: Apache-2.0 */
/* How long each call of NVIDIA's library takes that tarn makes while it watches. Calls that change
 * something, and those that wait for an event, are left out. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "hardware/check_driver.h"

enum { SAMPLES_LEAST = 5, SAMPLES_MOST = 1000, PROCESSES = 256, PLACES_MAX = 16 };

struct timed {
    const char *name;
    double us[SAMPLES_MOST];
    size_t count;
    int result; /* of the last */
};

struct latency {
    FILE *file;
    double seconds;
    unsigned calls;
    char slowest[64];
    double slowest_us;
};

static double now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int compare_times(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

static void finish(struct latency *latency, struct timed *timed)
{
    qsort(timed->us, timed->count, sizeof(timed->us[0]), compare_times);
    double p99 = timed->us[(timed->count * 99 + 99) / 100 - 1];
    fprintf(latency->file, "| %s | %zu | %.0f | %.0f | %.0f | %s |\n", timed->name, timed->count,
            timed->us[timed->count / 2], p99, timed->us[timed->count - 1],
            nvml_words(timed->result));
    latency->calls++;
    if (p99 > latency->slowest_us) {
        latency->slowest_us = p99;
        snprintf(latency->slowest, sizeof(latency->slowest), "%s", timed->name);
    }
}

/* Make the call until its time is up. A call that the library lacks is not made. */
#define TIME(member, title, ...)                                                                   \
    if (call->member) {                                                                            \
        static struct timed timed;                                                                 \
        timed = (struct timed){ .name = title };                                                   \
        for (double end = now_us() + latency->seconds * 1e6;                                       \
             timed.count < SAMPLES_MOST && (timed.count < SAMPLES_LEAST || now_us() < end);) {     \
            double begin = now_us();                                                               \
            timed.result = call->member(__VA_ARGS__);                                              \
            timed.us[timed.count++] = now_us() - begin;                                            \
        }                                                                                          \
        finish(latency, &timed);                                                                   \
    }

static void time_facts(const struct nvml_calls *call, nvml_device_t device, struct latency *latency)
{
    char words[128];
    unsigned number = 0, other = 0;
    struct nvml_pci pci;

    TIME(device_count, "nvmlDeviceGetCount", &number)
    TIME(device_at, "nvmlDeviceGetHandleByIndex", 0, &device)
    TIME(name, "nvmlDeviceGetName", device, words, NVML_NAME_SIZE)
    TIME(uuid, "nvmlDeviceGetUUID", device, words, NVML_UUID_SIZE)
    TIME(driver_version, "nvmlSystemGetDriverVersion", words, NVML_DRIVER_SIZE)
    TIME(minor, "nvmlDeviceGetMinorNumber", device, &number)
    TIME(pci, "nvmlDeviceGetPciInfo", device, &pci)
    TIME(numa_node, "nvmlDeviceGetNumaNodeId", device, &number)
    TIME(mig_mode, "nvmlDeviceGetMigMode", device, &number, &other)
}

static void time_readings(const struct nvml_calls *call, nvml_device_t device,
                          struct latency *latency)
{
    struct nvml_memory_v2 memory_v2 = { .version = NVML_MEMORY_V2 };
    struct nvml_memory memory;
    struct nvml_utilization utilization;
    unsigned number = 0, other = 0;
    unsigned long long large = 0;
    int value = 0;

    TIME(memory_v2, "nvmlDeviceGetMemoryInfo_v2", device, &memory_v2)
    TIME(memory, "nvmlDeviceGetMemoryInfo", device, &memory)
    TIME(utilization, "nvmlDeviceGetUtilizationRates", device, &utilization)
    TIME(encoder, "nvmlDeviceGetEncoderUtilization", device, &number, &other)
    TIME(decoder, "nvmlDeviceGetDecoderUtilization", device, &number, &other)
    TIME(temperature, "nvmlDeviceGetTemperature", device, 0, &number)
    TIME(threshold, "nvmlDeviceGetTemperatureThreshold", device, NVML_THRESHOLD_SLOWDOWN, &number)
    TIME(fan, "nvmlDeviceGetFanSpeed", device, &number)
    TIME(power, "nvmlDeviceGetPowerUsage", device, &number)
    TIME(power_limit, "nvmlDeviceGetEnforcedPowerLimit", device, &number)
    TIME(energy, "nvmlDeviceGetTotalEnergyConsumption", device, &large)
    TIME(clock, "nvmlDeviceGetClockInfo", device, NVML_CLOCK_SM, &number)
    TIME(clock_max, "nvmlDeviceGetMaxClockInfo", device, NVML_CLOCK_SM, &number)
    TIME(pstate, "nvmlDeviceGetPerformanceState", device, &value)
    TIME(clock_reasons, "nvmlDeviceGetCurrentClocksEventReasons", device, &large)
    TIME(compute_mode, "nvmlDeviceGetComputeMode", device, &value)
}

static void time_errors(const struct nvml_calls *call, nvml_device_t device,
                        struct latency *latency)
{
    struct nvml_sram_ecc sram = { .version = NVML_SRAM_ECC_V1 };
    struct nvml_field fields[] = { { .field = NVML_FIELD_POWER },
                                   { .field = NVML_FIELD_MEMORY_TEMPERATURE },
                                   { .field = NVML_FIELD_RECOVERY_ACTION } };
    unsigned a = 0, b = 0, c = 0, d = 0;
    unsigned long long large = 0;
    int value = 0;

    TIME(ecc, "nvmlDeviceGetTotalEccErrors", device, NVML_ERRORS_UNCORRECTED, NVML_COUNT_VOLATILE,
         &large)
    TIME(sram_ecc, "nvmlDeviceGetSramEccErrorStatus", device, &sram)
    TIME(remapped, "nvmlDeviceGetRemappedRows", device, &a, &b, &c, &d)
    TIME(retired, "nvmlDeviceGetRetiredPages_v2", device, NVML_RETIRED_DBE, (a = 0, &a), NULL, NULL)
    TIME(retired_pending, "nvmlDeviceGetRetiredPagesPendingStatus", device, &value)
    TIME(fields, "nvmlDeviceGetFieldValues", device, (int)COUNT_OF(fields), fields)
}

static void time_links(const struct nvml_calls *call, nvml_device_t device, nvml_device_t other,
                       struct latency *latency)
{
    struct nvml_pci pci;
    unsigned number = 0;
    int value = 0;

    TIME(pcie, "nvmlDeviceGetPcieThroughput", device, NVML_PCIE_TX, &number)
    TIME(pcie_replays, "nvmlDeviceGetPcieReplayCounter", device, &number)
    TIME(pcie_generation, "nvmlDeviceGetCurrPcieLinkGeneration", device, &number)
    TIME(pcie_width, "nvmlDeviceGetCurrPcieLinkWidth", device, &number)
    TIME(nvlink_state, "nvmlDeviceGetNvLinkState", device, 0, &value)
    TIME(nvlink_remote, "nvmlDeviceGetNvLinkRemotePciInfo_v2", device, 0, &pci)
    TIME(nvlink_remote_type, "nvmlDeviceGetNvLinkRemoteDeviceType", device, 0, &value)
    if (other)
        TIME(common_ancestor, "nvmlDeviceGetTopologyCommonAncestor", device, other, &value)
}

/* The count says how much room there is, and is written to. */
#define PROCESSES_OF(member, title)                                                                \
    TIME(member, title, device, (count = PROCESSES, &count), processes)

static void time_processes(const struct nvml_calls *call, nvml_device_t device,
                           struct latency *latency)
{
    static struct nvml_process_use uses[PROCESSES];
    static struct nvml_process processes[PROCESSES];
    unsigned count;

    PROCESSES_OF(compute_processes, "nvmlDeviceGetComputeRunningProcesses")
    PROCESSES_OF(graphics_processes, "nvmlDeviceGetGraphicsRunningProcesses")
    PROCESSES_OF(mps_processes, "nvmlDeviceGetMPSComputeRunningProcesses")
    TIME(process_use, "nvmlDeviceGetProcessUtilization", device, uses, (count = PROCESSES, &count),
         0)
}

static void time_counters(const struct nvml_calls *call, nvml_device_t device,
                          struct latency *latency)
{
    struct nvml_gpm_support support = { .version = 1 };
    static struct nvml_gpm_get get;
    nvml_sample_t before = NULL, after = NULL;

    TIME(gpm_support, "nvmlGpmQueryDeviceSupport", device, &support)
    if (!support.is_supported || !call->gpm_alloc || !call->gpm_free || !call->gpm_sample ||
        call->gpm_alloc(&before) != NVML_SUCCESS)
        return;
    if (call->gpm_alloc(&after) == NVML_SUCCESS &&
        call->gpm_sample(device, before) == NVML_SUCCESS) {
        check_wait_ms(200); /* the driver wants 100 ms between two */
        TIME(gpm_sample, "nvmlGpmSampleGet", device, after)
        get = (struct nvml_gpm_get){ .version = 1, .count = 1, .before = before, .after = after };
        get.metrics[0].metric = NVML_GPM_SM;
        TIME(gpm_metrics, "nvmlGpmMetricsGet", &get)
        call->gpm_free(after);
    }
    call->gpm_free(before);
}

/* Everything that tarn reads of a device each second. */
static double time_whole(struct check *check, uint32_t device, struct latency *latency)
{
    static struct timed timed;
    char name[64];

    snprintf(name, sizeof(name), "all readings of GPU %" PRIu32, device);
    timed = (struct timed){ .name = name };
    for (double end = now_us() + latency->seconds * 4e6;
         timed.count < SAMPLES_MOST && (timed.count < SAMPLES_LEAST || now_us() < end);) {
        struct reading reading = { 0 };
        struct error err;
        double begin = now_us();
        timed.result = check->probe->ops->sample(check->probe, device, &reading, &err) < 0
                           ? NVML_UNKNOWN
                           : NVML_SUCCESS;
        timed.us[timed.count++] = now_us() - begin;
    }
    finish(latency, &timed);
    return timed.us[timed.count / 2];
}

int check_latency(double seconds, const char *path)
{
    struct check check = check_begin();
    struct nvml *nvml = (struct nvml *)(void *)((char *)check.probe - offsetof(struct nvml, probe));
    struct latency latency = { .file = fopen(path, "we"), .seconds = seconds };
    double whole_us = 0;

    if (!latency.file)
        return answer(ANSWER_FAILED, "%s: %s", path, strerror(errno));
    nvml_device_t other = check.count > 1 ? nvml->gpus[1].handle : NULL;
    time_facts(&nvml->call, nvml->gpus[0].handle, &latency);
    time_readings(&nvml->call, nvml->gpus[0].handle, &latency);
    time_errors(&nvml->call, nvml->gpus[0].handle, &latency);
    time_links(&nvml->call, nvml->gpus[0].handle, other, &latency);
    time_processes(&nvml->call, nvml->gpus[0].handle, &latency);
    time_counters(&nvml->call, nvml->gpus[0].handle, &latency);
    char slowest[64];
    snprintf(slowest, sizeof(slowest), "%s", latency.slowest);
    double slowest_us = latency.slowest_us;
    for (uint32_t i = 0; i < check.count; i++) {
        double us = time_whole(&check, i, &latency);
        whole_us = us > whole_us ? us : whole_us;
    }
    fclose(latency.file);
    bool is_fast = whole_us < 1e6; /* tarn reads each device once a second */
    return answer(
        is_fast ? ANSWER_OK : ANSWER_FAILED,
        "%u calls; slowest 99th percentile %.0f us (%s); all readings of a GPU in %.1f ms "
        "(median)%s",
        latency.calls, slowest_us, slowest, whole_us / 1000, is_fast ? "" : ", expected below 1 s");
}
