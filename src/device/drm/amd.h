/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_DRM_AMD_H
#define DEVICE_DRM_AMD_H

/* amd - the AMD GPUs of this machine, through the files of the kernel's driver; no library
 *
 * An adapter that is part of a processor and has only a little of its memory set aside
 * (AMD_MEMORY_MIB_LEAST) is for a display: it is not listed. Processes of others are seen only by
 * root.
 *
 * Owner:   the caller; destroy through the port
 */

#include "device/drm/drm_probe.h"

enum { AMD_MEMORY_MIB_LEAST = 2048 };

/* The files are below root: "" for this machine. now: a clock for tests, NULL: the real one. It may
 * find no device: that is an answer of devices(). */
struct probe *probe_amd_create(const char *root, usec_t (*now)(void));

/* ---- for amd.c ---- */

void amd_sample(const struct drm_probe *amd, struct drm_gpu *gpu, struct reading *ret);

/* KFD, the kernel's interface to computing: which of its nodes each device is. */
void amd_kfd_find(struct drm_probe *amd);
/* Whether XGMI joins two devices directly. */
bool amd_kfd_linked(const void *amd, uint32_t a, uint32_t b);
/* Add the memory and the use of programs that compute, which their open files do not say. */
void amd_kfd_processes(const struct drm_probe *amd, const struct drm_gpu *gpu,
                       struct probe_process **processes, uint32_t *count);

#endif
