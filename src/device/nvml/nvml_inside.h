/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_NVML_NVML_INSIDE_H
#define DEVICE_NVML_NVML_INSIDE_H

/* nvml_inside - declarations that the files of the NVML probe share; only for these files */

#include <stdatomic.h>
#include <string.h>

#include "core/probe.h"
#include "device/nvml/nvml_abi.h"

#define NVML_AS_MEMBER(member, parameters, newest, older) int(*member) parameters;

struct nvml_calls {
    NVML_CALLS_NEEDED(NVML_AS_MEMBER)
    NVML_CALLS_OPTIONAL(NVML_AS_MEMBER)
};

enum { NVML_METERS = 16 };

/* Profiling counters of a device, or of a MIG instance of it. */
struct nvml_meter {
    unsigned instance; /* NVML_NO_INSTANCE: the whole device */
    uint32_t slices;   /* compute slices of it */
    nvml_sample_t before, after;
    bool has_before;
    int64_t use; /* last utilization, relative to the device; -1: not known */
};

/* One device; only the thread that reads it uses the members after `handle`. */
struct nvml_gpu {
    nvml_device_t handle;      /* NULL: not available */
    struct probe_device known; /* its properties when it last worked */
    uint64_t unsupported;      /* readings that it reported as unsupported */
    uint32_t askings;          /* readings since those were last tried */
    bool had_mig;              /* its MIG mode at that time */
    bool is_gpm_known, has_gpm;
    struct nvml_meter meters[NVML_METERS]; /* of GPM */
    uint32_t meter_count;
    unsigned long long use_seen; /* samples of process_use are read up to here */
    _Atomic uint32_t last_xid;   /* plus one; 0: none was seen */
    _Atomic bool has_mig;        /* its current MIG mode */
};

struct nvml {
    struct probe probe;
    void *library;
    struct nvml_calls call;
    char driver[NVML_DRIVER_SIZE];
    struct nvml_gpu *gpus;
    uint32_t gpu_count;
    nvml_set_t events; /* NULL: not created yet, or not supported */
    bool has_no_events;
};

const char *nvml_words(int result);

/* Set err to the driver's message; returns -ENODEV, -EIO, -ENOTSUP ... */
int nvml_fail(int result, const char *what, struct error *err);

/* The device, or NULL with the code and the reason why it cannot be read. */
struct nvml_gpu *nvml_gpu_of(struct probe *probe, uint32_t device, int *ret_code,
                             struct error *err);

static inline struct nvml *nvml_of(struct probe *probe)
{
    return (struct nvml *)(void *)((char *)probe - offsetof(struct nvml, probe));
}

/* Whether a result means that the device itself is faulty. */
bool nvml_is_sick(int result);

int nvml_sample(struct probe *probe, uint32_t device, struct reading *ret, struct error *err);
/* Set the available profiling counters in the reading. */
void nvml_gpm_read(const struct nvml *nvml, struct nvml_gpu *gpu, struct reading *ret);
/* Set the use of each process from these counters; processes of one instance get equal parts. */
void nvml_gpm_share(const struct nvml_gpu *gpu, struct probe_process *processes, uint32_t count);
void nvml_gpm_release(const struct nvml *nvml, struct nvml_gpu *gpu);
int nvml_processes(struct probe *probe, uint32_t device, struct probe_process **ret,
                   uint32_t *ret_count, struct error *err);
int nvml_wait(struct probe *probe, uint32_t timeout_ms, struct probe_event *ret, struct error *err);
struct probe_link nvml_link(struct probe *probe, uint32_t a, uint32_t b);
/* Determine islands and bridges of all devices from the links between them. */
void nvml_find_groups(struct nvml *nvml, struct probe_device *devices, uint32_t count);
int nvml_mig_mode(struct probe *probe, uint32_t device, bool is_on, struct error *err);
int nvml_mig_list(struct probe *probe, uint32_t device, struct probe_instance **ret,
                  uint32_t *ret_count, struct error *err);
int nvml_mig_create(struct probe *probe, uint32_t device, struct probe_instance *ret,
                    struct error *err);
int nvml_mig_remove(struct probe *probe, uint32_t device, uint32_t gpu_instance, struct error *err);
/* The instances of a device with their slices, NVML_METERS at most; returns how many. */
uint32_t nvml_mig_meters(const struct nvml *nvml, const struct nvml_gpu *gpu,
                         struct nvml_meter *ret);

#endif
