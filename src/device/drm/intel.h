/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_DRM_INTEL_H
#define DEVICE_DRM_INTEL_H

/* intel - the Intel GPUs of this machine, through the files of the kernel's drivers (i915, xe)
 *
 * Only devices with their own memory are listed: an adapter in a processor is for a display. Use
 * and power are differences between two readings, so the first reading has neither. Only root can
 * see the processes of other users.
 *
 * Owner:   the caller; destroy through the port
 */

#include "device/drm/drm_probe.h"

/* The files are below root: "" for this machine. now: a clock for tests; NULL: the real clock. If
 * there is no device, devices() returns none. */
struct probe *probe_intel_create(const char *root, usec_t (*now)(void));

/* For intel.c. */
void intel_sample(const struct drm_probe *intel, struct drm_gpu *gpu, struct reading *ret);

#endif
