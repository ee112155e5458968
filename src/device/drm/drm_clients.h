/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_DRM_DRM_CLIENTS_H
#define DEVICE_DRM_DRM_CLIENTS_H

/* drm_clients - the processes on a device, from the kernel's open files (/proc/PID/fdinfo)
 *
 * A walk over all processes serves each device once: a second call for a device makes a new one. So
 * devices that are asked about at the same time share one walk.
 *
 * Only processes that we may look at are found: all of them for root, else our own.
 * Threads: any; a device from one at a time.
 */

#include "core/probe.h"

struct drm_clients;

/* now: a clock that only goes forward; NULL: CLOCK_BOOTTIME. */
struct drm_clients *drm_clients_create(const char *root, usec_t (*now)(void));
void drm_clients_destroy(struct drm_clients *clients); /* NULL is fine */

/* What was seen of one device's clients the last time; zeroed at first. */
struct drm_seen {
    struct drm_past *items;
    uint32_t count;
    uint64_t walk;
};
void drm_seen_release(struct drm_seen *seen);

/* The processes that have the device open, with use since the last time; malloc'd. Fails with
 * -ENOTSUP: there is no /proc. */
int drm_clients_of(struct drm_clients *clients, const char *address, struct drm_seen *seen,
                   struct probe_process **ret, uint32_t *ret_count, struct error *err);

#endif
