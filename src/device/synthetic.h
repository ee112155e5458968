/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_SYNTHETIC_H
#define DEVICE_SYNTHETIC_H

/* synthetic - simulated GPUs, for trials and tests
 *
 * words is a list of MODEL[:COUNT]: "h100:4", "h100:4,a100:2", optionally with the prefix
 * "synthetic:" of the option. Each device is marked as synthetic. Their UUIDs are the same each
 * time.
 *
 * Owner:   the caller; destroy through the port
 * Limits:  SYNTHETIC_DEVICES_MAX devices
 */

#include "core/probe.h"

enum { SYNTHETIC_DEVICES_MAX = 64 };

/* Fails with -EINVAL: an unknown model, an invalid count, or too many devices. */
int probe_synthetic_create(const char *words, struct probe **ret, struct error *err);

#endif
