/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_DRM_INTEL_INSIDE_H
#define DEVICE_DRM_INTEL_INSIDE_H

/* intel_inside - what the files of the probe for Intel share; for them alone */

#include "device/drm/drm.h"
#include "device/drm/drm_clients.h"

/* Counters as they were, for differences; at 0: they were not there. */
struct intel_past {
    usec_t at;
    int64_t value;
    unsigned count; /* of what was added up */
};

/* One device; only the thread that asks about it touches what changes. */
struct intel_gpu {
    struct drm_device at;
    char card[SYSFS_PATH_SIZE]; /* i915 keeps its files here: .../drm/card0 */
    int64_t memory_bytes;       /* 0: not known */
    struct intel_past energy, idle;
    struct drm_seen seen;
};

struct intel {
    struct probe probe;
    char *root;
    usec_t (*now)(void);
    struct drm_clients *clients;
    struct intel_gpu *gpus;
    uint32_t gpu_count;
};

static inline struct intel *intel_of(struct probe *probe)
{
    return (struct intel *)(void *)((char *)probe - offsetof(struct intel, probe));
}

int intel_sample(struct probe *probe, uint32_t device, struct reading *ret, struct error *err);

#endif
