/* SPDX-License-Identifier: Apache-2.0 */
/* The library's functions, but those of MIG (mig.c). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stub.h"

/* The library's names, as whoever loads it calls them. */
#define BEGIN(device)                                                                              \
    int begun = stub_begin(__func__, device);                                                      \
    if (begun != NVML_SUCCESS)                                                                     \
    return begun

static nvml_device_t whole_of(nvml_device_t device)
{
    return device->parent ? device->parent : device;
}

static bool has(nvml_device_t device, enum stub_value value)
{
    return device->values[value] >= 0;
}

static int give(const char *value, char *ret, unsigned size)
{
    if (value[0] == '\0')
        return NVML_NOT_SUPPORTED;
    if (strlen(value) >= size)
        return NVML_INSUFFICIENT_SIZE;
    strcpy(ret, value);
    return NVML_SUCCESS;
}

static int give_number(nvml_device_t device, enum stub_value value, unsigned *ret)
{
    if (!has(device, value))
        return NVML_NOT_SUPPORTED;
    *ret = (unsigned)device->values[value];
    return NVML_SUCCESS;
}

static int give_long(nvml_device_t device, enum stub_value value, unsigned long long *ret)
{
    if (!has(device, value))
        return NVML_NOT_SUPPORTED;
    *ret = (unsigned long long)device->values[value];
    return NVML_SUCCESS;
}

/* ---- the library and its devices ---- */

int nvmlInit_v2(void);
int nvmlInit_v2(void)
{
    pthread_mutex_lock(&stub.lock);
    bool is_good = stub.is_shared || script_read();
    for (unsigned i = 0; i < stub.gpu_count && !stub.is_shared; i++)
        stub.migs[i].is_on = stub.gpus[i].values[STUB_mig] == 1;
    return stub_done(is_good ? stub.init_error : NVML_UNKNOWN);
}

int nvmlShutdown(void);
int nvmlShutdown(void)
{
    return NVML_SUCCESS;
}

int nvmlSystemGetDriverVersion(char *version, unsigned size);
int nvmlSystemGetDriverVersion(char *version, unsigned size)
{
    BEGIN(NULL);
    return stub_done(give(stub.driver, version, size));
}

int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetCount_v2(unsigned *count)
{
    BEGIN(NULL);
    *count = stub.gpu_count;
    return stub_done(NVML_SUCCESS);
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_device_t *device);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_device_t *device)
{
    if (index >= STUB_GPUS)
        return NVML_INVALID_ARGUMENT;
    BEGIN(&stub.gpus[index]);
    *device = &stub.gpus[index];
    return stub_done(index < stub.gpu_count ? NVML_SUCCESS : NVML_INVALID_ARGUMENT);
}

int nvmlDeviceGetName(nvml_device_t device, char *name, unsigned size);
int nvmlDeviceGetName(nvml_device_t device, char *name, unsigned size)
{
    BEGIN(device);
    return stub_done(give(whole_of(device)->name, name, size));
}

int nvmlDeviceGetUUID(nvml_device_t device, char *uuid, unsigned size);
int nvmlDeviceGetUUID(nvml_device_t device, char *uuid, unsigned size)
{
    BEGIN(device);
    return stub_done(give(device->uuid, uuid, size));
}

int nvmlDeviceGetPciInfo_v3(nvml_device_t device, struct nvml_pci *pci);
int nvmlDeviceGetPciInfo_v3(nvml_device_t device, struct nvml_pci *pci)
{
    BEGIN(device);
    *pci = (struct nvml_pci){ 0 };
    if (device->pci[0] == '\0')
        return stub_done(NVML_NOT_SUPPORTED);
    snprintf(pci->address, sizeof(pci->address), "%s", device->pci);
    sscanf(device->pci, "%x:%x:%x", &pci->domain, &pci->bus, &pci->device);
    return stub_done(NVML_SUCCESS);
}

/* ---- numbers ---- */

#define PLAIN(call, value)                                                                         \
    int call(nvml_device_t device, unsigned *ret);                                                 \
    int call(nvml_device_t device, unsigned *ret)                                                  \
    {                                                                                              \
        BEGIN(device);                                                                             \
        return stub_done(give_number(device, STUB_##value, ret));                                  \
    }

PLAIN(nvmlDeviceGetMinorNumber, minor)
PLAIN(nvmlDeviceGetNumaNodeId, numa)
PLAIN(nvmlDeviceGetFanSpeed, fan)
PLAIN(nvmlDeviceGetPowerUsage, power)
PLAIN(nvmlDeviceGetEnforcedPowerLimit, power_limit)
PLAIN(nvmlDeviceGetPcieReplayCounter, pcie_replays)
PLAIN(nvmlDeviceGetCurrPcieLinkGeneration, pcie_generation)
PLAIN(nvmlDeviceGetMaxPcieLinkGeneration, pcie_generation_max)
PLAIN(nvmlDeviceGetCurrPcieLinkWidth, pcie_width)
PLAIN(nvmlDeviceGetMaxPcieLinkWidth, pcie_width_max)

#define OF_KIND(call, first, second)                                                               \
    int call(nvml_device_t device, int kind, unsigned *ret);                                       \
    int call(nvml_device_t device, int kind, unsigned *ret)                                        \
    {                                                                                              \
        BEGIN(device);                                                                             \
        return stub_done(give_number(device, kind == 0 ? STUB_##first : STUB_##second, ret));      \
    }

OF_KIND(nvmlDeviceGetTemperature, temp, temp)
OF_KIND(nvmlDeviceGetTemperatureThreshold, shutdown, slowdown)
OF_KIND(nvmlDeviceGetPcieThroughput, pcie_tx, pcie_rx)

int nvmlDeviceGetClockInfo(nvml_device_t device, int kind, unsigned *ret);
int nvmlDeviceGetClockInfo(nvml_device_t device, int kind, unsigned *ret)
{
    BEGIN(device);
    return stub_done(
        give_number(device, kind == NVML_CLOCK_MEMORY ? STUB_memory_clock : STUB_sm_clock, ret));
}

int nvmlDeviceGetMaxClockInfo(nvml_device_t device, int kind, unsigned *ret);
int nvmlDeviceGetMaxClockInfo(nvml_device_t device, int kind, unsigned *ret)
{
    BEGIN(device);
    return stub_done(kind == NVML_CLOCK_SM ? give_number(device, STUB_sm_clock_max, ret)
                                           : NVML_NOT_SUPPORTED);
}

int nvmlDeviceGetUtilizationRates(nvml_device_t device, struct nvml_utilization *ret);
int nvmlDeviceGetUtilizationRates(nvml_device_t device, struct nvml_utilization *ret)
{
    BEGIN(device);
    if (!has(device, STUB_use) || stub.migs[whole_of(device) - stub.gpus].is_on)
        return stub_done(NVML_NOT_SUPPORTED);
    ret->gpu = (unsigned)device->values[STUB_use];
    ret->memory = has(device, STUB_memory_use) ? (unsigned)device->values[STUB_memory_use] : 0;
    return stub_done(NVML_SUCCESS);
}

int nvmlDeviceGetEncoderUtilization(nvml_device_t device, unsigned *ret, unsigned *period);
int nvmlDeviceGetEncoderUtilization(nvml_device_t device, unsigned *ret, unsigned *period)
{
    BEGIN(device);
    *period = 167000;
    return stub_done(give_number(device, STUB_encoder, ret));
}

int nvmlDeviceGetDecoderUtilization(nvml_device_t device, unsigned *ret, unsigned *period);
int nvmlDeviceGetDecoderUtilization(nvml_device_t device, unsigned *ret, unsigned *period)
{
    BEGIN(device);
    *period = 167000;
    return stub_done(give_number(device, STUB_decoder, ret));
}

int nvmlDeviceGetPerformanceState(nvml_device_t device, int *ret);
int nvmlDeviceGetPerformanceState(nvml_device_t device, int *ret)
{
    unsigned number = 0;

    BEGIN(device);
    int result = give_number(device, STUB_pstate, &number);
    *ret = (int)number;
    return stub_done(result);
}

int nvmlDeviceGetCurrentClocksEventReasons(nvml_device_t device, unsigned long long *ret);
int nvmlDeviceGetCurrentClocksEventReasons(nvml_device_t device, unsigned long long *ret)
{
    BEGIN(device);
    return stub_done(give_long(device, STUB_reasons, ret));
}

int nvmlDeviceGetTotalEnergyConsumption(nvml_device_t device, unsigned long long *ret);
int nvmlDeviceGetTotalEnergyConsumption(nvml_device_t device, unsigned long long *ret)
{
    BEGIN(device);
    if (!has(device, STUB_energy))
        return stub_done(NVML_NOT_SUPPORTED);
    *ret = (unsigned long long)((device->values[STUB_energy] +
                                 stub.energy[whole_of(device) - stub.gpus]) *
                                1000);
    return stub_done(NVML_SUCCESS);
}

int nvmlDeviceGetMemoryInfo(nvml_device_t device, struct nvml_memory *memory);
int nvmlDeviceGetMemoryInfo(nvml_device_t device, struct nvml_memory *memory)
{
    BEGIN(device);
    if (!has(device, STUB_memory))
        return stub_done(NVML_NOT_SUPPORTED);
    double used = has(device, STUB_used) ? device->values[STUB_used] : 0;
    *memory = (struct nvml_memory){
        .total = (unsigned long long)device->values[STUB_memory] << 20,
        .free = (unsigned long long)(device->values[STUB_memory] - used) << 20,
        .used = (unsigned long long)used << 20,
    };
    return stub_done(NVML_SUCCESS);
}

int nvmlDeviceGetMemoryInfo_v2(nvml_device_t device, struct nvml_memory_v2 *memory);
int nvmlDeviceGetMemoryInfo_v2(nvml_device_t device, struct nvml_memory_v2 *memory)
{
    BEGIN(device);
    if (memory->version != NVML_MEMORY_V2)
        return stub_done(NVML_ARGUMENT_VERSION_MISMATCH);
    if (!has(device, STUB_memory))
        return stub_done(NVML_NOT_SUPPORTED);
    double used = has(device, STUB_used) ? device->values[STUB_used] : 0;
    double reserved = has(device, STUB_reserved) ? device->values[STUB_reserved] : 0;
    memory->total = (unsigned long long)device->values[STUB_memory] << 20;
    memory->used = (unsigned long long)used << 20;
    memory->reserved = (unsigned long long)reserved << 20;
    memory->free = memory->total - memory->used - memory->reserved;
    return stub_done(NVML_SUCCESS);
}

/* ---- errors ---- */

int nvmlDeviceGetTotalEccErrors(nvml_device_t device, int error, int counter,
                                unsigned long long *ret);
int nvmlDeviceGetTotalEccErrors(nvml_device_t device, int error, int counter,
                                unsigned long long *ret)
{
    static const enum stub_value values[2][2] = {
        { STUB_ecc_corrected, STUB_ecc_corrected_ever },
        { STUB_ecc_uncorrected, STUB_ecc_uncorrected_ever },
    };

    BEGIN(device);
    if (error < 0 || error > 1 || counter < 0 || counter > 1)
        return stub_done(NVML_INVALID_ARGUMENT);
    return stub_done(give_long(device, values[error][counter], ret));
}

int nvmlDeviceGetSramEccErrorStatus(nvml_device_t device, struct nvml_sram_ecc *ret);
int nvmlDeviceGetSramEccErrorStatus(nvml_device_t device, struct nvml_sram_ecc *ret)
{
    BEGIN(device);
    if (ret->version != NVML_SRAM_ECC_V1)
        return stub_done(NVML_ARGUMENT_VERSION_MISMATCH);
    return stub_done(give_number(device, STUB_sram, &ret->is_over_threshold));
}

int nvmlDeviceGetRemappedRows(nvml_device_t device, unsigned *corrected, unsigned *uncorrected,
                              unsigned *pending, unsigned *failed);
int nvmlDeviceGetRemappedRows(nvml_device_t device, unsigned *corrected, unsigned *uncorrected,
                              unsigned *pending, unsigned *failed)
{
    BEGIN(device);
    int result = give_number(device, STUB_rows_corrected, corrected);
    *uncorrected = *pending = *failed = 0;
    if (result == NVML_SUCCESS) {
        give_number(device, STUB_rows_uncorrected, uncorrected);
        give_number(device, STUB_row_pending, pending);
        give_number(device, STUB_row_failed, failed);
    }
    return stub_done(result);
}

int nvmlDeviceGetRetiredPages_v2(nvml_device_t device, int cause, unsigned *count,
                                 unsigned long long *addresses, unsigned long long *times);
int nvmlDeviceGetRetiredPages_v2(nvml_device_t device, int cause, unsigned *count,
                                 unsigned long long *addresses, unsigned long long *times)
{
    unsigned room = *count;

    (void)addresses;
    (void)times;
    BEGIN(device);
    int result = give_number(device, cause == 0 ? STUB_retired_sbe : STUB_retired_dbe, count);
    return stub_done(result == NVML_SUCCESS && *count > room ? NVML_INSUFFICIENT_SIZE : result);
}

int nvmlDeviceGetRetiredPagesPendingStatus(nvml_device_t device, int *ret);
int nvmlDeviceGetRetiredPagesPendingStatus(nvml_device_t device, int *ret)
{
    unsigned number = 0;

    BEGIN(device);
    int result = give_number(device, STUB_retired_pending, &number);
    *ret = (int)number;
    return stub_done(result);
}

/* ---- fields ---- */

static const struct {
    unsigned field;
    enum stub_value value;
    unsigned type;
} fields[] = {
    { NVML_FIELD_MEMORY_TEMPERATURE, STUB_memory_temp, NVML_VALUE_UINT },
    { NVML_FIELD_POWER_VIOLATION, STUB_power_violation, NVML_VALUE_ULONGLONG },
    { NVML_FIELD_THERMAL_VIOLATION, STUB_thermal_violation, NVML_VALUE_ULONGLONG },
    { NVML_FIELD_BOARD_VIOLATION, STUB_board_violation, NVML_VALUE_ULONGLONG },
    { NVML_FIELD_RELIABILITY_VIOLATION, STUB_reliability_violation, NVML_VALUE_ULONGLONG },
    { NVML_FIELD_NVLINK_CRC, STUB_nvlink_crc, NVML_VALUE_ULONGLONG },
    { NVML_FIELD_NVLINK_REPLAY, STUB_nvlink_replay, NVML_VALUE_ULONGLONG },
    { NVML_FIELD_NVLINK_RECOVERY, STUB_nvlink_recovery, NVML_VALUE_ULONGLONG },
    { NVML_FIELD_RECOVERY_ACTION, STUB_recovery_action, NVML_VALUE_UINT },
    { NVML_FIELD_NVLINK_TX, STUB_nvlink_tx, NVML_VALUE_ULONGLONG },
    { NVML_FIELD_NVLINK_RX, STUB_nvlink_rx, NVML_VALUE_ULONGLONG },
    { NVML_FIELD_POWER, STUB_power, NVML_VALUE_UINT },
};

static void give_field(nvml_device_t device, struct nvml_field *field)
{
    field->result = NVML_NOT_SUPPORTED;
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (fields[i].field != field->field || !has(device, fields[i].value))
            continue;
        double value = device->values[fields[i].value];
        field->result = NVML_SUCCESS;
        field->type = fields[i].type;
        field->value.whole_long_long = 0;
        if (field->type == NVML_VALUE_UINT)
            field->value.whole = (unsigned)value;
        else
            field->value.whole_long_long = (unsigned long long)value;
    }
}

int nvmlDeviceGetFieldValues(nvml_device_t device, int count, struct nvml_field *values);
int nvmlDeviceGetFieldValues(nvml_device_t device, int count, struct nvml_field *values)
{
    BEGIN(device);
    for (int i = 0; i < count; i++)
        give_field(device, &values[i]);
    return stub_done(NVML_SUCCESS);
}

/* ---- links ---- */

/* The i-th link goes to *ret_other, or to a switch (NULL). False: there are not so many. */
static bool link_at(nvml_device_t device, unsigned i, nvml_device_t *ret_other)
{
    *ret_other = NULL;
    for (unsigned k = 0; k < stub.gpu_count; k++) {
        if (i < device->links[k]) {
            *ret_other = &stub.gpus[k];
            return true;
        }
        i -= device->links[k];
    }
    return i < device->to_switch;
}

int nvmlDeviceGetNvLinkState(nvml_device_t device, unsigned link, int *ret);
int nvmlDeviceGetNvLinkState(nvml_device_t device, unsigned link, int *ret)
{
    nvml_device_t other;

    BEGIN(device);
    if (!link_at(device, link, &other))
        return stub_done(link == 0 ? NVML_NOT_SUPPORTED : NVML_INVALID_ARGUMENT);
    *ret = !(device->values[STUB_links_down] > link);
    return stub_done(NVML_SUCCESS);
}

int nvmlDeviceGetNvLinkRemoteDeviceType(nvml_device_t device, unsigned link, int *ret);
int nvmlDeviceGetNvLinkRemoteDeviceType(nvml_device_t device, unsigned link, int *ret)
{
    nvml_device_t other;

    BEGIN(device);
    if (!link_at(device, link, &other))
        return stub_done(NVML_INVALID_ARGUMENT);
    *ret = other ? NVML_REMOTE_GPU : NVML_REMOTE_SWITCH;
    return stub_done(NVML_SUCCESS);
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(nvml_device_t device, unsigned link, struct nvml_pci *ret);
int nvmlDeviceGetNvLinkRemotePciInfo_v2(nvml_device_t device, unsigned link, struct nvml_pci *ret)
{
    nvml_device_t other;

    BEGIN(device);
    if (!link_at(device, link, &other))
        return stub_done(NVML_INVALID_ARGUMENT);
    *ret = (struct nvml_pci){ 0 };
    if (other)
        sscanf(other->pci, "%x:%x:%x", &ret->domain, &ret->bus, &ret->device);
    return stub_done(NVML_SUCCESS);
}

int nvmlDeviceGetTopologyCommonAncestor(nvml_device_t a, nvml_device_t b, int *ret);
int nvmlDeviceGetTopologyCommonAncestor(nvml_device_t a, nvml_device_t b, int *ret)
{
    BEGIN(a);
    *ret = a->near[b - stub.gpus];
    return stub_done(*ret < 0 ? NVML_NOT_SUPPORTED : NVML_SUCCESS);
}

/* ---- processes ---- */

static int list(nvml_device_t device, unsigned *count, struct nvml_process *ret)
{
    nvml_device_t whole = whole_of(device);
    unsigned room = *count;

    *count = whole->process_count;
    if (*count > room)
        return NVML_INSUFFICIENT_SIZE;
    for (unsigned i = 0; i < *count; i++) {
        const struct stub_process *process = &whole->processes[i];
        ret[i] = (struct nvml_process){ process->pid, process->memory_mib << 20, process->instance,
                                        NVML_NO_INSTANCE };
    }
    return NVML_SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses_v3(nvml_device_t device, unsigned *count,
                                            struct nvml_process *ret);
int nvmlDeviceGetComputeRunningProcesses_v3(nvml_device_t device, unsigned *count,
                                            struct nvml_process *ret)
{
    BEGIN(device);
    return stub_done(list(device, count, ret));
}

int nvmlDeviceGetComputeRunningProcesses(nvml_device_t device, unsigned *count,
                                         struct nvml_process_v1 *ret);
int nvmlDeviceGetComputeRunningProcesses(nvml_device_t device, unsigned *count,
                                         struct nvml_process_v1 *ret)
{
    struct nvml_process found[STUB_PROCESSES];
    unsigned room = *count;

    BEGIN(device);
    int result = list(device, count, found);
    for (unsigned i = 0; result == NVML_SUCCESS && i < *count && i < room; i++)
        ret[i] = (struct nvml_process_v1){ found[i].pid, found[i].memory };
    return stub_done(result);
}

int nvmlDeviceGetProcessUtilization(nvml_device_t device, struct nvml_process_use *ret,
                                    unsigned *count, unsigned long long seen);
int nvmlDeviceGetProcessUtilization(nvml_device_t device, struct nvml_process_use *ret,
                                    unsigned *count, unsigned long long seen)
{
    unsigned room = *count;
    unsigned long long now = (unsigned long long)(script_now() * 1e6) + 1;

    BEGIN(device);
    *count = 2 * device->process_count; /* a ring has several of each */
    if (seen >= now || *count == 0)
        return stub_done(NVML_NOT_FOUND);
    if (!ret || *count > room)
        return stub_done(NVML_INSUFFICIENT_SIZE);
    for (unsigned i = 0; i < *count; i++)
        ret[i] = (struct nvml_process_use){ .pid = device->processes[i / 2].pid,
                                            .at = now,
                                            .sm = device->processes[i / 2].use };
    return stub_done(NVML_SUCCESS);
}

int nvmlDeviceSetComputeMode(nvml_device_t device, int mode);
int nvmlDeviceSetComputeMode(nvml_device_t device, int mode)
{
    BEGIN(device);
    device->values[STUB_compute_mode] = mode;
    return stub_done(NVML_SUCCESS);
}

int nvmlDeviceGetComputeMode(nvml_device_t device, int *mode);
int nvmlDeviceGetComputeMode(nvml_device_t device, int *mode)
{
    BEGIN(device);
    *mode = has(device, STUB_compute_mode) ? (int)device->values[STUB_compute_mode] : 0;
    return stub_done(NVML_SUCCESS);
}

/* ---- events ---- */

struct nvml_set {
    int unused;
};

static struct nvml_set the_set;

int nvmlEventSetCreate(nvml_set_t *set);
int nvmlEventSetCreate(nvml_set_t *set)
{
    *set = &the_set;
    return NVML_SUCCESS;
}

int nvmlEventSetFree(nvml_set_t set);
int nvmlEventSetFree(nvml_set_t set)
{
    (void)set;
    return NVML_SUCCESS;
}

int nvmlDeviceGetSupportedEventTypes(nvml_device_t device, unsigned long long *types);
int nvmlDeviceGetSupportedEventTypes(nvml_device_t device, unsigned long long *types)
{
    BEGIN(device);
    *types = NVML_EVENT_XID;
    return stub_done(NVML_SUCCESS);
}

int nvmlDeviceRegisterEvents(nvml_device_t device, unsigned long long types, nvml_set_t set);
int nvmlDeviceRegisterEvents(nvml_device_t device, unsigned long long types, nvml_set_t set)
{
    (void)types;
    (void)set;
    BEGIN(device);
    return stub_done(NVML_SUCCESS);
}

int nvmlEventSetWait_v2(nvml_set_t set, struct nvml_event *event, unsigned timeout_ms);
int nvmlEventSetWait_v2(nvml_set_t set, struct nvml_event *event, unsigned timeout_ms)
{
    struct timespec moment = { .tv_nsec = 50000000 };

    (void)set;
    for (unsigned waited = 0; waited <= timeout_ms; waited += 50) {
        pthread_mutex_lock(&stub.lock);
        bool has_one = script_pass() && stub.xid_next < stub.xid_count;
        if (has_one) {
            const struct stub_xid *xid = &stub.xids[stub.xid_next++];
            *event = (struct nvml_event){ .device = &stub.gpus[xid->gpu],
                                          .type = NVML_EVENT_XID,
                                          .data = xid->xid,
                                          .gpu_instance = NVML_NO_INSTANCE,
                                          .compute_instance = NVML_NO_INSTANCE };
        }
        pthread_mutex_unlock(&stub.lock);
        if (has_one)
            return NVML_SUCCESS;
        if (timeout_ms > 0)
            nanosleep(&moment, NULL);
    }
    return NVML_TIMEOUT;
}

/* ---- profiling counters ---- */

struct nvml_sample {
    double at;
    double values[STUB_VALUES];
};

int nvmlGpmQueryDeviceSupport(nvml_device_t device, struct nvml_gpm_support *support);
int nvmlGpmQueryDeviceSupport(nvml_device_t device, struct nvml_gpm_support *support)
{
    BEGIN(device);
    if (support->version != 1)
        return stub_done(NVML_ARGUMENT_VERSION_MISMATCH);
    support->is_supported = device->values[STUB_gpm] == 1;
    return stub_done(NVML_SUCCESS);
}

int nvmlGpmSampleAlloc(nvml_sample_t *sample);
int nvmlGpmSampleAlloc(nvml_sample_t *sample)
{
    *sample = calloc(1, sizeof(**sample));
    return *sample ? NVML_SUCCESS : NVML_MEMORY;
}

int nvmlGpmSampleFree(nvml_sample_t sample);
int nvmlGpmSampleFree(nvml_sample_t sample)
{
    free(sample);
    return NVML_SUCCESS;
}

int nvmlGpmSampleGet(nvml_device_t device, nvml_sample_t sample);
int nvmlGpmSampleGet(nvml_device_t device, nvml_sample_t sample)
{
    BEGIN(device);
    sample->at = script_now();
    memcpy(sample->values, device->values, sizeof(sample->values));
    return stub_done(NVML_SUCCESS);
}

/* What its processes do is what it does. */
int nvmlGpmMigSampleGet(nvml_device_t device, unsigned instance, nvml_sample_t sample);
int nvmlGpmMigSampleGet(nvml_device_t device, unsigned instance, nvml_sample_t sample)
{
    BEGIN(device);
    double use = 0;
    for (unsigned i = 0; i < device->process_count; i++) {
        if (device->processes[i].instance == instance)
            use += device->processes[i].use;
    }
    sample->at = script_now();
    memcpy(sample->values, device->values, sizeof(sample->values));
    sample->values[STUB_engine] = sample->values[STUB_sm] = use;
    return stub_done(NVML_SUCCESS);
}

int nvmlGpmMetricsGet(struct nvml_gpm_get *get);
int nvmlGpmMetricsGet(struct nvml_gpm_get *get)
{
    static const struct {
        unsigned metric;
        enum stub_value value;
    } metrics[] = {
        { NVML_GPM_ENGINE, STUB_engine },
        { NVML_GPM_SM, STUB_sm },
        { NVML_GPM_OCCUPANCY, STUB_occupancy },
        { NVML_GPM_TENSOR, STUB_tensor },
        { NVML_GPM_DRAM, STUB_dram },
        { NVML_GPM_FP64, STUB_fp64 },
        { NVML_GPM_FP32, STUB_fp32 },
        { NVML_GPM_FP16, STUB_fp16 },
        { NVML_GPM_PCIE_TX, STUB_gpm_pcie_tx },
        { NVML_GPM_PCIE_RX, STUB_gpm_pcie_rx },
        { NVML_GPM_NVLINK_TX, STUB_gpm_nvlink_tx },
        { NVML_GPM_NVLINK_RX, STUB_gpm_nvlink_rx },
    };

    if (get->version != 1)
        return NVML_ARGUMENT_VERSION_MISMATCH;
    if (get->after->at - get->before->at < 0.1)
        return NVML_NO_DATA;
    for (unsigned i = 0; i < get->count; i++) {
        get->metrics[i].result = NVML_NOT_SUPPORTED;
        for (size_t k = 0; k < sizeof(metrics) / sizeof(metrics[0]); k++) {
            double value = get->after->values[metrics[k].value];
            if (metrics[k].metric != get->metrics[i].metric || value < 0)
                continue;
            get->metrics[i].value = value;
            get->metrics[i].result = NVML_SUCCESS;
        }
    }
    return NVML_SUCCESS;
}
