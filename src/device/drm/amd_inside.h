/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_DRM_AMD_INSIDE_H
#define DEVICE_DRM_AMD_INSIDE_H

/* amd_inside - what the files of the probe for AMD share; for them alone */

#include "device/drm/drm.h"
#include "device/drm/drm_clients.h"

/* One device; only the thread that asks about it touches `seen`. */
struct amd_gpu {
    struct drm_device at;
    int64_t kfd_node; /* in KFD's topology; PROBE_UNKNOWN: computing is not possible or not seen */
    int64_t kfd_id;   /* 0: none */
    int64_t compute_units;
    struct drm_seen seen;
};

struct amd {
    struct probe probe;
    char *root;
    struct drm_clients *clients;
    struct amd_gpu *gpus;
    uint32_t gpu_count;
};

static inline struct amd *amd_of(struct probe *probe)
{
    return (struct amd *)(void *)((char *)probe - offsetof(struct amd, probe));
}

/* ---- readings ---- */
int amd_sample(struct probe *probe, uint32_t device, struct reading *ret, struct error *err);

/* ---- KFD, the kernel's door to computing ---- */
/* Which of its nodes each device is. */
void amd_kfd_find(struct amd *amd);
/* Whether XGMI goes from one to the other without a third between. */
bool amd_kfd_linked(const struct amd *amd, uint32_t a, uint32_t b);
/* Add the memory and the use of programs that compute, which their open files do not say. */
void amd_kfd_processes(const struct amd *amd, const struct amd_gpu *gpu,
                       struct probe_process **processes, uint32_t *count);

#endif
