/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_NVML_ABI_H
#define DEVICE_NVML_ABI_H

/* nvml_abi - the names, numbers and layouts of libnvidia-ml.so.1 that we use, in our own words
 *
 * The library is opened when running and never linked; a name that it lacks is a reading that
 * can't be had.
 */

#include <stdint.h>

typedef struct nvml_device *nvml_device_t;

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
    RESULT(25, ARGUMENT_VERSION_MISMATCH, "the driver does not know this version of a structure")  \
    RESULT(27, NOT_READY, "not ready")                                                             \
    RESULT(28, GPU_NOT_FOUND, "not found")                                                         \
    RESULT(29, INVALID_STATE, "in a state that the driver can't work with")                        \
    RESULT(999, UNKNOWN, "unknown error of the driver")

#define NVML_AS_ENUM(number, name, words) NVML_##name = number,
enum nvml_result { NVML_RESULTS(NVML_AS_ENUM) };
#undef NVML_AS_ENUM

enum { NVML_NAME_SIZE = 96, NVML_UUID_SIZE = 96, NVML_DRIVER_SIZE = 80 };

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

#define NVML_MEMORY_V2 ((unsigned)(sizeof(struct nvml_memory_v2) | 2u << 24))

_Static_assert(sizeof(struct nvml_memory) == 24, "as the library has it");
_Static_assert(sizeof(struct nvml_memory_v2) == 40, "as the library has it");
_Static_assert(NVML_MEMORY_V2 == 0x02000028, "as the library has it");
_Static_assert(sizeof(struct nvml_pci) == 68, "as the library has it");

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
    CALL(memory_v2, (nvml_device_t, struct nvml_memory_v2 *), "nvmlDeviceGetMemoryInfo_v2", NULL)  \
    CALL(memory, (nvml_device_t, struct nvml_memory *), "nvmlDeviceGetMemoryInfo", NULL)           \
    CALL(pci, (nvml_device_t, struct nvml_pci *), "nvmlDeviceGetPciInfo_v3",                       \
         "nvmlDeviceGetPciInfo_v2")                                                                \
    CALL(mig_mode, (nvml_device_t, unsigned *, unsigned *), "nvmlDeviceGetMigMode", NULL)          \
    CALL(numa_node, (nvml_device_t, unsigned *), "nvmlDeviceGetNumaNodeId", NULL)

#endif
