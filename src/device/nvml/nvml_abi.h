/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_NVML_NVML_ABI_H
#define DEVICE_NVML_NVML_ABI_H

/* nvml_abi - the names, numbers and layouts of libnvidia-ml.so.1 that we use, in our own words
 *
 * The library is opened when running and never linked; a name that it lacks is a reading that
 * can't be had.
 */

#include <stddef.h>
#include <stdint.h>

typedef struct nvml_device *nvml_device_t;
typedef struct nvml_set *nvml_set_t;
typedef struct nvml_instance *nvml_instance_t; /* a MIG GPU instance */
typedef struct nvml_compute *nvml_compute_t;   /* a compute instance in it */
typedef struct nvml_sample *nvml_sample_t;     /* of GPM */

/* RESULT(number, NVML's name, what it means for a device) */
#define NVML_RESULTS(RESULT)                                                                       \
    RESULT(0, SUCCESS, "works")                                                                    \
    RESULT(1, UNINITIALIZED, "the driver's library is not initialised")                            \
    RESULT(2, INVALID_ARGUMENT, "the driver refused an argument")                                  \
    RESULT(3, NOT_SUPPORTED, "not supported")                                                      \
    RESULT(4, NO_PERMISSION, "no permission to use it")                                            \
    RESULT(6, NOT_FOUND, "not found")                                                              \
    RESULT(7, INSUFFICIENT_SIZE, "more data than expected")                                        \
    RESULT(8, INSUFFICIENT_POWER, "its external power is not connected")                           \
    RESULT(9, DRIVER_NOT_LOADED, "the driver is not loaded")                                       \
    RESULT(10, TIMEOUT, "the driver took too long")                                                \
    RESULT(11, IRQ_ISSUE, "the kernel has a problem with its interrupts")                          \
    RESULT(12, LIBRARY_NOT_FOUND, "a part of the driver is missing")                               \
    RESULT(13, FUNCTION_NOT_FOUND, "the driver has no such function")                              \
    RESULT(15, GPU_IS_LOST, "fell off the bus; reboot needed")                                     \
    RESULT(16, RESET_REQUIRED, "needs a reset")                                                    \
    RESULT(17, OPERATING_SYSTEM, "the operating system blocked it")                                \
    RESULT(18, LIB_RM_VERSION_MISMATCH, "driver and library differ in version; reboot needed")     \
    RESULT(19, IN_USE, "in use")                                                                   \
    RESULT(20, MEMORY, "the driver is out of memory")                                              \
    RESULT(21, NO_DATA, "no data")                                                                 \
    RESULT(23, INSUFFICIENT_RESOURCES, "no room for it")                                           \
    RESULT(25, ARGUMENT_VERSION_MISMATCH, "the driver does not know this version of a structure")  \
    RESULT(27, NOT_READY, "not ready")                                                             \
    RESULT(28, GPU_NOT_FOUND, "not found")                                                         \
    RESULT(29, INVALID_STATE, "in a state that the driver can't work with")                        \
    RESULT(999, UNKNOWN, "unknown error of the driver")

#define NVML_AS_ENUM(number, name, words) NVML_##name = number,
enum nvml_result { NVML_RESULTS(NVML_AS_ENUM) };
#undef NVML_AS_ENUM

enum {
    NVML_NAME_SIZE = 96,
    NVML_UUID_SIZE = 96,
    NVML_DRIVER_SIZE = 80,
    NVML_LINKS_MAX = 36,       /* 18 before Blackwell */
    NVML_GPM_TABLE_SIZE = 333, /* newest; only the first so many that are asked for are touched */
    NVML_PROFILES_MAX = 0x12,  /* indices of GPU instance profiles */
};

/* ---- structures: layouts of the library, names of ours ---- */

struct nvml_memory {
    unsigned long long total, free, used; /* bytes */
};

struct nvml_memory_v2 {
    unsigned version; /* NVML_MEMORY_V2 */
    unsigned long long total, reserved, free, used;
};

struct nvml_pci {
    char address_short[16]; /* "0000:17:00.0" */
    unsigned domain, bus, device, device_id, subsystem_id;
    char address[32]; /* "00000000:17:00.0"; empty before version 3 of the call */
};

struct nvml_utilization {
    unsigned gpu, memory; /* percent */
};

/* Of the _v2 and _v3 calls. */
struct nvml_process {
    unsigned pid;
    unsigned long long memory;               /* bytes; NVML_NOT_AVAILABLE */
    unsigned gpu_instance, compute_instance; /* NVML_NO_INSTANCE */
};

/* Of the calls without a suffix, which drivers from before 2021 have alone. */
struct nvml_process_v1 {
    unsigned pid;
    unsigned long long memory;
};

struct nvml_process_use {
    unsigned pid;
    unsigned long long at;                 /* us since 1970 */
    unsigned sm, memory, encoder, decoder; /* percent */
};

union nvml_value {
    double real;
    int number;
    unsigned whole;
    unsigned long whole_long;
    unsigned long long whole_long_long;
    long long number_long_long;
    unsigned short whole_short;
};

enum nvml_value_type {
    NVML_VALUE_DOUBLE,
    NVML_VALUE_UINT,
    NVML_VALUE_ULONG,
    NVML_VALUE_ULONGLONG,
    NVML_VALUE_LONGLONG,
    NVML_VALUE_INT,
    NVML_VALUE_USHORT,
};

struct nvml_field {
    unsigned field, scope;
    long long at, latency_us;
    unsigned type; /* enum nvml_value_type */
    int result;
    union nvml_value value;
};

struct nvml_event {
    nvml_device_t device;
    unsigned long long type, data; /* data: the XID */
    unsigned gpu_instance, compute_instance;
};

struct nvml_sram_ecc {
    unsigned version; /* NVML_SRAM_ECC_V1 */
    unsigned long long uncorrected_parity, uncorrected_secded, corrected, volatile_parity,
        volatile_secded, volatile_corrected, l2, sm, pcie, mcu, other;
    unsigned is_over_threshold;
};

/* MIG, in memory slices. */
struct nvml_placement {
    unsigned start, size;
};

struct nvml_instance_profile {
    unsigned id, can_p2p, slices, instances, multiprocessors, copy_engines, decoders, encoders,
        jpegs, flow_units;
    unsigned long long memory_mib;
};

struct nvml_instance_info {
    nvml_device_t device;
    unsigned id, profile;
    struct nvml_placement placement;
};

struct nvml_compute_profile {
    unsigned id, slices, instances, multiprocessors, copy_engines, decoders, encoders, jpegs,
        flow_units;
};

struct nvml_compute_info {
    nvml_device_t device;
    nvml_instance_t instance;
    unsigned id, profile;
    struct nvml_placement placement;
};

/* Profiling counters without a profiler (GPM): Hopper and later. */
struct nvml_gpm_metric {
    unsigned metric;
    int result;
    double value;
    struct {
        char *name, *long_name, *unit;
    } about;
};

struct nvml_gpm_get {
    unsigned version; /* 1 */
    unsigned count;
    nvml_sample_t before, after;
    struct nvml_gpm_metric metrics[NVML_GPM_TABLE_SIZE];
};

struct nvml_gpm_support {
    unsigned version; /* 1 */
    unsigned is_supported;
};

#define NVML_VERSIONED(type, version) ((unsigned)(sizeof(type) | (unsigned)(version) << 24))
#define NVML_MEMORY_V2                NVML_VERSIONED(struct nvml_memory_v2, 2)
#define NVML_SRAM_ECC_V1              NVML_VERSIONED(struct nvml_sram_ecc, 1)
#define NVML_NOT_AVAILABLE            (~0ULL)
#define NVML_NO_INSTANCE              (~0U)

#define NVML_LAYOUT(type, bytes)                                                                   \
    _Static_assert(sizeof(struct type) == (bytes), "the size that the library has")
#define NVML_OFFSET(type, member, bytes)                                                           \
    _Static_assert(offsetof(struct type, member) == (bytes), "where the library has it")

NVML_LAYOUT(nvml_memory, 24);
NVML_LAYOUT(nvml_memory_v2, 40);
NVML_LAYOUT(nvml_pci, 68);
NVML_LAYOUT(nvml_utilization, 8);
NVML_LAYOUT(nvml_process, 24);
NVML_LAYOUT(nvml_process_v1, 16);
NVML_LAYOUT(nvml_process_use, 32);
NVML_LAYOUT(nvml_field, 40);
NVML_LAYOUT(nvml_event, 32);
NVML_LAYOUT(nvml_sram_ecc, 104);
NVML_LAYOUT(nvml_placement, 8);
NVML_LAYOUT(nvml_instance_profile, 48);
NVML_LAYOUT(nvml_instance_info, 24);
NVML_LAYOUT(nvml_compute_profile, 36);
NVML_LAYOUT(nvml_compute_info, 32);
NVML_LAYOUT(nvml_gpm_metric, 40);
NVML_LAYOUT(nvml_gpm_get, 13344);
NVML_LAYOUT(nvml_gpm_support, 8);
NVML_OFFSET(nvml_memory_v2, total, 8);
NVML_OFFSET(nvml_memory_v2, used, 32);
NVML_OFFSET(nvml_pci, domain, 16);
NVML_OFFSET(nvml_pci, address, 36);
NVML_OFFSET(nvml_process, memory, 8);
NVML_OFFSET(nvml_process, gpu_instance, 16);
NVML_OFFSET(nvml_process_use, at, 8);
NVML_OFFSET(nvml_process_use, sm, 16);
NVML_OFFSET(nvml_field, at, 8);
NVML_OFFSET(nvml_field, type, 24);
NVML_OFFSET(nvml_field, result, 28);
NVML_OFFSET(nvml_field, value, 32);
NVML_OFFSET(nvml_event, type, 8);
NVML_OFFSET(nvml_event, gpu_instance, 24);
NVML_OFFSET(nvml_sram_ecc, is_over_threshold, 96);
NVML_OFFSET(nvml_instance_profile, memory_mib, 40);
NVML_OFFSET(nvml_instance_info, placement, 16);
NVML_OFFSET(nvml_compute_info, instance, 8);
NVML_OFFSET(nvml_compute_info, placement, 24);
NVML_OFFSET(nvml_gpm_metric, value, 8);
NVML_OFFSET(nvml_gpm_get, before, 8);
NVML_OFFSET(nvml_gpm_get, metrics, 24);
_Static_assert(NVML_MEMORY_V2 == 0x02000028, "as the library has it");
_Static_assert(NVML_SRAM_ECC_V1 == 0x01000068, "as the library has it");

/* ---- numbers ---- */

enum {
    NVML_CLOCK_SM = 1,
    NVML_CLOCK_MEMORY = 2,
    NVML_THRESHOLD_SHUTDOWN = 0,
    NVML_THRESHOLD_SLOWDOWN = 1,
    NVML_PCIE_TX = 0,
    NVML_PCIE_RX = 1,
    NVML_ERRORS_CORRECTED = 0,
    NVML_ERRORS_UNCORRECTED = 1,
    NVML_COUNT_VOLATILE = 0,
    NVML_COUNT_AGGREGATE = 1,
    NVML_RETIRED_SBE = 0,
    NVML_RETIRED_DBE = 1,
    NVML_EVENT_XID = 8,
    NVML_EVENT_UNAVAILABLE = 0x4000,
    NVML_EVENT_RECOVERY = 0x8000,
    NVML_NEAR_INTERNAL = 0,
    NVML_NEAR_SINGLE = 10,
    NVML_NEAR_MULTIPLE = 20,
    NVML_NEAR_HOST_BRIDGE = 30,
    NVML_NEAR_NODE = 40,
    NVML_NEAR_SYSTEM = 50,
    NVML_REMOTE_GPU = 0,
    NVML_REMOTE_SWITCH = 2,
};

/* Fields of nvmlDeviceGetFieldValues. */
enum nvml_field_id {
    NVML_FIELD_NVLINK_CRC = 38,
    NVML_FIELD_NVLINK_REPLAY = 52,
    NVML_FIELD_NVLINK_RECOVERY = 59,
    NVML_FIELD_POWER_VIOLATION = 74,
    NVML_FIELD_THERMAL_VIOLATION = 75,
    NVML_FIELD_BOARD_VIOLATION = 77,
    NVML_FIELD_RELIABILITY_VIOLATION = 79,
    NVML_FIELD_MEMORY_TEMPERATURE = 82,
    NVML_FIELD_ENERGY = 83,
    NVML_FIELD_NVLINK_TX = 138, /* KiB */
    NVML_FIELD_NVLINK_RX = 139,
    NVML_FIELD_POWER = 186, /* now, mW */
    NVML_FIELD_RECOVERY_ACTION = 230,
};

/* Reasons for which clocks are not higher. */
enum nvml_clock_reason {
    NVML_REASON_IDLE = 0x1,
    NVML_REASON_POWER_CAP = 0x4,
    NVML_REASON_HW_SLOWDOWN = 0x8,
    NVML_REASON_SW_THERMAL = 0x20,
    NVML_REASON_HW_THERMAL = 0x40,
    NVML_REASON_POWER_BRAKE = 0x80,
};

enum nvml_gpm_id {
    NVML_GPM_ENGINE = 1,
    NVML_GPM_SM = 2,
    NVML_GPM_OCCUPANCY = 3,
    NVML_GPM_TENSOR = 5,
    NVML_GPM_DRAM = 10,
    NVML_GPM_FP64 = 11,
    NVML_GPM_FP32 = 12,
    NVML_GPM_FP16 = 13,
    NVML_GPM_PCIE_TX = 20, /* MiB/s */
    NVML_GPM_PCIE_RX = 21,
    NVML_GPM_NVLINK_RX = 60,
    NVML_GPM_NVLINK_TX = 61,
};

/* ---- calls ---- */

/* CALL(member, parameters, newest name, older name or NULL)   results are int, 0 is success */
#define NVML_CALLS_NEEDED(CALL)                                                                    \
    CALL(init, (void), "nvmlInit_v2", "nvmlInit")                                                  \
    CALL(shutdown, (void), "nvmlShutdown", NULL)                                                   \
    CALL(device_count, (unsigned *), "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount")                \
    CALL(device_at, (unsigned, nvml_device_t *), "nvmlDeviceGetHandleByIndex_v2",                  \
         "nvmlDeviceGetHandleByIndex")                                                             \
    CALL(name, (nvml_device_t, char *, unsigned), "nvmlDeviceGetName", NULL)                       \
    CALL(uuid, (nvml_device_t, char *, unsigned), "nvmlDeviceGetUUID", NULL)

#define NVML_CALLS_OPTIONAL(CALL)                                                                  \
    CALL(driver_version, (char *, unsigned), "nvmlSystemGetDriverVersion", NULL)                   \
    CALL(minor, (nvml_device_t, unsigned *), "nvmlDeviceGetMinorNumber", NULL)                     \
    CALL(memory_v2, (nvml_device_t, struct nvml_memory_v2 *), "nvmlDeviceGetMemoryInfo_v2", NULL)  \
    CALL(memory, (nvml_device_t, struct nvml_memory *), "nvmlDeviceGetMemoryInfo", NULL)           \
    CALL(pci, (nvml_device_t, struct nvml_pci *), "nvmlDeviceGetPciInfo_v3",                       \
         "nvmlDeviceGetPciInfo_v2")                                                                \
    CALL(numa_node, (nvml_device_t, unsigned *), "nvmlDeviceGetNumaNodeId", NULL)                  \
    CALL(utilization, (nvml_device_t, struct nvml_utilization *), "nvmlDeviceGetUtilizationRates", \
         NULL)                                                                                     \
    CALL(encoder, (nvml_device_t, unsigned *, unsigned *), "nvmlDeviceGetEncoderUtilization",      \
         NULL)                                                                                     \
    CALL(decoder, (nvml_device_t, unsigned *, unsigned *), "nvmlDeviceGetDecoderUtilization",      \
         NULL)                                                                                     \
    CALL(temperature, (nvml_device_t, int, unsigned *), "nvmlDeviceGetTemperature", NULL)          \
    CALL(threshold, (nvml_device_t, int, unsigned *), "nvmlDeviceGetTemperatureThreshold", NULL)   \
    CALL(fan, (nvml_device_t, unsigned *), "nvmlDeviceGetFanSpeed", NULL)                          \
    CALL(power, (nvml_device_t, unsigned *), "nvmlDeviceGetPowerUsage", NULL)                      \
    CALL(power_limit, (nvml_device_t, unsigned *), "nvmlDeviceGetEnforcedPowerLimit", NULL)        \
    CALL(energy, (nvml_device_t, unsigned long long *), "nvmlDeviceGetTotalEnergyConsumption",     \
         NULL)                                                                                     \
    CALL(clock, (nvml_device_t, int, unsigned *), "nvmlDeviceGetClockInfo", NULL)                  \
    CALL(clock_max, (nvml_device_t, int, unsigned *), "nvmlDeviceGetMaxClockInfo", NULL)           \
    CALL(pstate, (nvml_device_t, int *), "nvmlDeviceGetPerformanceState", NULL)                    \
    CALL(clock_reasons, (nvml_device_t, unsigned long long *),                                     \
         "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")    \
    CALL(ecc, (nvml_device_t, int, int, unsigned long long *), "nvmlDeviceGetTotalEccErrors",      \
         NULL)                                                                                     \
    CALL(sram_ecc, (nvml_device_t, struct nvml_sram_ecc *), "nvmlDeviceGetSramEccErrorStatus",     \
         NULL)                                                                                     \
    CALL(remapped, (nvml_device_t, unsigned *, unsigned *, unsigned *, unsigned *),                \
         "nvmlDeviceGetRemappedRows", NULL)                                                        \
    CALL(retired, (nvml_device_t, int, unsigned *, unsigned long long *, unsigned long long *),    \
         "nvmlDeviceGetRetiredPages_v2", NULL)                                                     \
    CALL(retired_pending, (nvml_device_t, int *), "nvmlDeviceGetRetiredPagesPendingStatus", NULL)  \
    CALL(fields, (nvml_device_t, int, struct nvml_field *), "nvmlDeviceGetFieldValues", NULL)      \
    CALL(pcie, (nvml_device_t, int, unsigned *), "nvmlDeviceGetPcieThroughput", NULL)              \
    CALL(pcie_replays, (nvml_device_t, unsigned *), "nvmlDeviceGetPcieReplayCounter", NULL)        \
    CALL(pcie_generation, (nvml_device_t, unsigned *), "nvmlDeviceGetCurrPcieLinkGeneration",      \
         NULL)                                                                                     \
    CALL(pcie_width, (nvml_device_t, unsigned *), "nvmlDeviceGetCurrPcieLinkWidth", NULL)          \
    CALL(pcie_generation_max, (nvml_device_t, unsigned *), "nvmlDeviceGetMaxPcieLinkGeneration",   \
         NULL)                                                                                     \
    CALL(pcie_width_max, (nvml_device_t, unsigned *), "nvmlDeviceGetMaxPcieLinkWidth", NULL)       \
    CALL(nvlink_state, (nvml_device_t, unsigned, int *), "nvmlDeviceGetNvLinkState", NULL)         \
    CALL(nvlink_remote, (nvml_device_t, unsigned, struct nvml_pci *),                              \
         "nvmlDeviceGetNvLinkRemotePciInfo_v2", NULL)                                              \
    CALL(nvlink_remote_type, (nvml_device_t, unsigned, int *),                                     \
         "nvmlDeviceGetNvLinkRemoteDeviceType", NULL)                                              \
    CALL(common_ancestor, (nvml_device_t, nvml_device_t, int *),                                   \
         "nvmlDeviceGetTopologyCommonAncestor", NULL)                                              \
    CALL(compute_processes, (nvml_device_t, unsigned *, struct nvml_process *),                    \
         "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2")     \
    CALL(compute_processes_v1, (nvml_device_t, unsigned *, struct nvml_process_v1 *),              \
         "nvmlDeviceGetComputeRunningProcesses", NULL)                                             \
    CALL(graphics_processes, (nvml_device_t, unsigned *, struct nvml_process *),                   \
         "nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2")   \
    CALL(mps_processes, (nvml_device_t, unsigned *, struct nvml_process *),                        \
         "nvmlDeviceGetMPSComputeRunningProcesses_v3",                                             \
         "nvmlDeviceGetMPSComputeRunningProcesses_v2")                                             \
    CALL(process_use, (nvml_device_t, struct nvml_process_use *, unsigned *, unsigned long long),  \
         "nvmlDeviceGetProcessUtilization", NULL)                                                  \
    CALL(set_compute_mode, (nvml_device_t, int), "nvmlDeviceSetComputeMode", NULL)                 \
    CALL(compute_mode, (nvml_device_t, int *), "nvmlDeviceGetComputeMode", NULL)                   \
    CALL(event_set, (nvml_set_t *), "nvmlEventSetCreate", NULL)                                    \
    CALL(event_set_free, (nvml_set_t), "nvmlEventSetFree", NULL)                                   \
    CALL(event_types, (nvml_device_t, unsigned long long *), "nvmlDeviceGetSupportedEventTypes",   \
         NULL)                                                                                     \
    CALL(event_register, (nvml_device_t, unsigned long long, nvml_set_t),                          \
         "nvmlDeviceRegisterEvents", NULL)                                                         \
    CALL(event_wait, (nvml_set_t, struct nvml_event *, unsigned), "nvmlEventSetWait_v2", NULL)     \
    CALL(gpm_support, (nvml_device_t, struct nvml_gpm_support *), "nvmlGpmQueryDeviceSupport",     \
         NULL)                                                                                     \
    CALL(gpm_alloc, (nvml_sample_t *), "nvmlGpmSampleAlloc", NULL)                                 \
    CALL(gpm_free, (nvml_sample_t), "nvmlGpmSampleFree", NULL)                                     \
    CALL(gpm_sample, (nvml_device_t, nvml_sample_t), "nvmlGpmSampleGet", NULL)                     \
    CALL(gpm_sample_mig, (nvml_device_t, unsigned, nvml_sample_t), "nvmlGpmMigSampleGet", NULL)    \
    CALL(gpm_metrics, (struct nvml_gpm_get *), "nvmlGpmMetricsGet", NULL)                          \
    CALL(mig_mode, (nvml_device_t, unsigned *, unsigned *), "nvmlDeviceGetMigMode", NULL)          \
    CALL(mig_set_mode, (nvml_device_t, unsigned, int *), "nvmlDeviceSetMigMode", NULL)             \
    CALL(mig_device_most, (nvml_device_t, unsigned *), "nvmlDeviceGetMaxMigDeviceCount", NULL)     \
    CALL(mig_device_at, (nvml_device_t, unsigned, nvml_device_t *),                                \
         "nvmlDeviceGetMigDeviceHandleByIndex", NULL)                                              \
    CALL(mig_gpu_instance, (nvml_device_t, unsigned *), "nvmlDeviceGetGpuInstanceId", NULL)        \
    CALL(mig_profile, (nvml_device_t, unsigned, struct nvml_instance_profile *),                   \
         "nvmlDeviceGetGpuInstanceProfileInfo", NULL)                                              \
    CALL(mig_placements, (nvml_device_t, unsigned, struct nvml_placement *, unsigned *),           \
         "nvmlDeviceGetGpuInstancePossiblePlacements_v2",                                          \
         "nvmlDeviceGetGpuInstancePossiblePlacements")                                             \
    CALL(mig_create, (nvml_device_t, unsigned, const struct nvml_placement *, nvml_instance_t *),  \
         "nvmlDeviceCreateGpuInstanceWithPlacement", NULL)                                         \
    CALL(mig_instances, (nvml_device_t, unsigned, nvml_instance_t *, unsigned *),                  \
         "nvmlDeviceGetGpuInstances", NULL)                                                        \
    CALL(mig_instance_by_id, (nvml_device_t, unsigned, nvml_instance_t *),                         \
         "nvmlDeviceGetGpuInstanceById", NULL)                                                     \
    CALL(mig_info, (nvml_instance_t, struct nvml_instance_info *), "nvmlGpuInstanceGetInfo", NULL) \
    CALL(mig_destroy, (nvml_instance_t), "nvmlGpuInstanceDestroy", NULL)                           \
    CALL(mig_compute_profile,                                                                      \
         (nvml_instance_t, unsigned, unsigned, struct nvml_compute_profile *),                     \
         "nvmlGpuInstanceGetComputeInstanceProfileInfo", NULL)                                     \
    CALL(mig_compute_create, (nvml_instance_t, unsigned, nvml_compute_t *),                        \
         "nvmlGpuInstanceCreateComputeInstance", NULL)                                             \
    CALL(mig_computes, (nvml_instance_t, unsigned, nvml_compute_t *, unsigned *),                  \
         "nvmlGpuInstanceGetComputeInstances", NULL)                                               \
    CALL(mig_compute_info, (nvml_compute_t, struct nvml_compute_info *),                           \
         "nvmlComputeInstanceGetInfo_v2", NULL)                                                    \
    CALL(mig_compute_destroy, (nvml_compute_t), "nvmlComputeInstanceDestroy", NULL)

#endif
