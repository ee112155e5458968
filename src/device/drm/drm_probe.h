/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_DRM_DRM_PROBE_H
#define DEVICE_DRM_DRM_PROBE_H

/* drm_probe - the probe of one vendor's devices (AMD, Intel), through files of the kernel's drivers
 *
 * For each vendor, struct drm_maker lists the drivers, describes a device and reads its sensors.
 * The rest is common: finding the devices, their processes and their links.
 */

#include "device/drm/drm.h"
#include "device/drm/drm_clients.h"

/* An earlier value of a counter, for differences; at 0: there was none. */
struct drm_counter {
    usec_t at;
    int64_t value;
    unsigned count; /* number of counters in the sum */
};

/* One device; only the thread that reads it modifies it. */
struct drm_gpu {
    struct drm_device at;
    struct drm_seen seen;
    /* AMD */
    int64_t kfd_node; /* in KFD's topology; PROBE_UNKNOWN: computing is not possible or not seen */
    int64_t kfd_id;   /* 0: none */
    int64_t compute_units;
    /* Intel */
    char card[SYSFS_PATH_SIZE]; /* i915 keeps its files here: .../drm/card0 */
    int64_t memory_bytes;       /* 0: not known */
    struct drm_counter energy, idle;
};

struct drm_probe {
    struct probe probe;
    struct probe_ops ops; /* with the vendor's name */
    const struct drm_maker *maker;
    char *root;
    usec_t (*now)(void);
    struct drm_clients *clients;
    struct drm_gpu *gpus;
    uint32_t gpu_count;
};

struct drm_maker {
    const char *name;           /* of the probe, and the vendor of its devices */
    const char *const *drivers; /* NULL-terminated */
    /* False: not a compute device. drm_describe() has filled the common properties of ret. */
    bool (*describe)(const struct drm_probe *probe, struct drm_gpu *gpu, struct probe_device *ret);
    void (*found)(struct drm_probe *probe, struct probe_device *devices); /* all found; or NULL */
    /* Whether a link of the vendor connects two devices; NULL: it has no such links. */
    bool (*linked)(const void *drm_probe, uint32_t a, uint32_t b);
    void (*sample)(const struct drm_probe *probe, struct drm_gpu *gpu, struct reading *ret);
    /* Add processes that have no file of the device open; or NULL. */
    void (*add_processes)(const struct drm_probe *probe, const struct drm_gpu *gpu,
                          struct probe_process **processes, uint32_t *count);
};

/* root, now: as probe_amd_create(). */
struct probe *drm_probe_create(const struct drm_maker *maker, const char *root,
                               usec_t (*now)(void));

/* Set the temperature of a sensor, unless the reading already has it. */
void drm_set_temperature(const struct drm_device *device, unsigned sensor, const char *what,
                         enum reading_id id, struct reading *ret);

#endif
