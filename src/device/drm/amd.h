/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_DRM_AMD_H
#define DEVICE_DRM_AMD_H

/* amd - the AMD GPUs of this machine, through the files of the kernel's driver; no library
 *
 * An adapter that is part of a processor, and for which only little memory is set aside (less than
 * AMD_MEMORY_MIB_LEAST), is for a display and is not listed. Only root can see the processes of
 * other users.
 *
 * Owner:   the caller; destroy through the port
 */

#include "device/drm/drm_probe.h"

enum { AMD_MEMORY_MIB_LEAST = 2048 };

/* The files are below root: "" for this machine. now: a clock for tests; NULL: the real clock. If
 * there is no device, devices() returns none. */
struct probe *probe_amd_create(const char *root, usec_t (*now)(void));

/* ---- for amd.c ---- */

void amd_sample(const struct drm_probe *amd, struct drm_gpu *gpu, struct reading *ret);

/* Find the node of each device in KFD, the kernel's interface for computing. */
void amd_kfd_find(struct drm_probe *amd);
/* Whether XGMI connects two devices directly. */
bool amd_kfd_linked(const void *amd, uint32_t a, uint32_t b);
/* Add the memory and the use of compute programs, which the information about their open
 * files lacks. */
void amd_kfd_processes(const struct drm_probe *amd, const struct drm_gpu *gpu,
                       struct probe_process **processes, uint32_t *count);

#endif
