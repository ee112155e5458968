/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_DRM_DRM_CLIENTS_H
#define DEVICE_DRM_DRM_CLIENTS_H

/* drm_clients - the processes on a device, from the kernel's open files (/proc/PID/fdinfo)
 *
 * One walk over all processes serves each device once; a second call for the same device starts a
 * new walk. So devices that are read at the same time share one walk.
 *
 * Only accessible processes are found: all processes for root, else those of the same user.
 * Threads: any, but only one at a time per device.
 */

#include "core/probe.h"

struct drm_clients;

/* now: a monotonic clock; NULL: CLOCK_BOOTTIME. */
struct drm_clients *drm_clients_create(const char *root, usec_t (*now)(void));
void drm_clients_destroy(struct drm_clients *clients); /* NULL is fine */

/* The clients of one device at the last call; initially all zero. */
struct drm_seen {
    struct drm_past *items;
    uint32_t count;
    uint64_t walk;
};
void drm_seen_release(struct drm_seen *seen);

/* The processes that have the device open, with their use since the last call; malloc'd. Fails with
 * -ENOTSUP: there is no /proc. */
int drm_clients_of(struct drm_clients *clients, const char *address, struct drm_seen *seen,
                   struct probe_process **ret, uint32_t *ret_count, struct error *err);

#endif
