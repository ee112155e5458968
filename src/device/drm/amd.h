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

#include "core/probe.h"

enum { AMD_MEMORY_MIB_LEAST = 2048 };

/* The files are below root: "" for this machine. now: a clock for tests, NULL: the real one. It may
 * find no device: that is an answer of devices(). */
struct probe *probe_amd_create(const char *root, usec_t (*now)(void));

#endif
