/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_NVML_NVML_INSIDE_H
#define DEVICE_NVML_NVML_INSIDE_H

/* nvml_inside - what the files of the NVML probe share; for them alone */

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
    unsigned instance; /* NVML_NO_INSTANCE: all of the device */
    uint32_t slices;   /* compute slices of it */
    nvml_sample_t before, after;
    bool has_before;
    int64_t use; /* of the device, the last time; -1: not known */
};

/* One device; only the thread that asks about it touches what is behind `handle`. */
struct nvml_gpu {
    nvml_device_t handle;      /* NULL: it could not be had */
    struct probe_device known; /* how it was when last it worked */
    uint64_t unsupported;      /* readings that it does not have, as far as it says */
    uint32_t askings;          /* since those were asked for last */
    bool had_mig;              /* its mode then */
    bool is_gpm_known, has_gpm;
    struct nvml_meter meters[NVML_METERS]; /* of GPM */
    uint32_t meter_count;
    unsigned long long use_seen; /* of process_use: up to here */
    _Atomic uint32_t last_xid;   /* plus one; 0: none was seen */
    _Atomic bool has_mig;        /* its mode now */
};

struct nvml {
    struct probe probe;
    void *library;
    struct nvml_calls call;
    char driver[NVML_DRIVER_SIZE];
    struct nvml_gpu *gpus;
    uint32_t gpu_count;
    nvml_set_t events; /* NULL: not asked for yet, or there are none */
    bool has_no_events;
};

const char *nvml_words(int result);

/* -ENODEV, -EIO, -ENOTSUP ... with its words. */
int nvml_fail(int result, const char *what, struct error *err);

/* The device, or NULL with the code and words of why it can't be asked. */
struct nvml_gpu *nvml_gpu_of(struct probe *probe, uint32_t device, int *ret_code,
                             struct error *err);

static inline struct nvml *nvml_of(struct probe *probe)
{
    return (struct nvml *)(void *)((char *)probe - offsetof(struct nvml, probe));
}

/* Whether a result says that the device itself is in trouble. */
bool nvml_is_sick(int result);

int nvml_sample(struct probe *probe, uint32_t device, struct reading *ret, struct error *err);
/* What there is of the profiling counters is set. */
void nvml_gpm_read(const struct nvml *nvml, struct nvml_gpu *gpu, struct reading *ret);
/* What each process did by them, where they tell: those of an instance have equal parts of it. */
void nvml_gpm_share(const struct nvml_gpu *gpu, struct probe_process *processes, uint32_t count);
void nvml_gpm_release(const struct nvml *nvml, struct nvml_gpu *gpu);
int nvml_processes(struct probe *probe, uint32_t device, struct probe_process **ret,
                   uint32_t *ret_count, struct error *err);
int nvml_wait(struct probe *probe, uint32_t timeout_ms, struct probe_event *ret, struct error *err);
struct probe_link nvml_link(struct probe *probe, uint32_t a, uint32_t b);
/* Islands and bridges of all, from the links between them. */
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
int nvml_compute_mode(struct probe *probe, uint32_t device, enum probe_compute mode,
                      struct error *err);

#endif
