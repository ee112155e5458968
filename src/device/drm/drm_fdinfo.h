/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_DRM_DRM_FDINFO_H
#define DEVICE_DRM_DRM_FDINFO_H

/* drm_fdinfo - parses the kernel's information about one open file of a graphics driver
 *
 * The keys are defined in the kernel's Documentation/gpu/drm-usage-stats.rst. Only device memory
 * counts, and only the engines for computing and drawing, not those for copies and video.
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
    uint64_t id; /* of the client; shared files have the same id */
    char address[PROBE_ADDRESS_SIZE];
    int64_t memory_bytes; /* PROBE_UNKNOWN */
    struct drm_engine engines[DRM_ENGINES];
    bool is_card; /* opened as card, as displays do */
};

/* False: not a file of a graphics driver, or the device or client is missing. */
bool drm_fdinfo_parse(char *text, struct drm_client *ret);

/* Use in millionths of the time; PROBE_UNKNOWN: the driver counts neither engine. */
int64_t drm_fdinfo_use(const struct drm_client *before, const struct drm_client *now,
                       usec_t between);

#endif
