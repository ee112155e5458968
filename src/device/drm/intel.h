/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_DRM_INTEL_H
#define DEVICE_DRM_INTEL_H

/* intel - the Intel GPUs of this machine, through the files of the kernel's drivers (i915, xe)
 *
 * Only those with memory of their own: what is part of a processor is for a display. Use and power
 * are differences between two readings, so the first has neither. Processes of others are seen
 * only by root.
 *
 * Owner:   the caller; destroy through the port
 */

#include "device/drm/drm_probe.h"

/* The files are below root: "" for this machine. now: a clock for tests, NULL: the real one. It may
 * find no device: that is an answer of devices(). */
struct probe *probe_intel_create(const char *root, usec_t (*now)(void));

/* For intel.c. */
void intel_sample(const struct drm_probe *intel, struct drm_gpu *gpu, struct reading *ret);

#endif
