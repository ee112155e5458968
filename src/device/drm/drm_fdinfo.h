/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_DRM_DRM_FDINFO_H
#define DEVICE_DRM_DRM_FDINFO_H

/* drm_fdinfo - what the kernel says of one open file of a graphics driver
 *
 * The keys are those of the kernel's Documentation/gpu/drm-usage-stats.rst. Memory is that of the
 * device; engines are those for computing and drawing, without copies and video.
 */

#include <stdbool.h>
#include <stdint.h>

#include "core/probe.h"

enum { DRM_ENGINES = 2, DRM_FDINFO_SIZE = 8192 };

struct drm_engine {
    bool is_there;
    int64_t busy;     /* nanoseconds, or cycles */
    int64_t total;    /* cycles; 0: busy is nanoseconds */
    int64_t capacity; /* how many such engines there are; at least 1 */
};

struct drm_client {
    uint32_t pid;
    uint64_t id; /* of the client: files that are shared have the same */
    char address[PROBE_ADDRESS_SIZE];
    int64_t memory_bytes; /* PROBE_UNKNOWN */
    struct drm_engine engines[DRM_ENGINES];
    bool is_card; /* opened as card, which displays do */
};

/* False: it is not of a graphics driver, or does not say which device and client. */
bool drm_fdinfo_parse(char *text, struct drm_client *ret);

/* Millionths of the time; PROBE_UNKNOWN when its driver counts neither. */
int64_t drm_fdinfo_use(const struct drm_client *before, const struct drm_client *now,
                       usec_t between);

#endif
