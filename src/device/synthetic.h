/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_SYNTHETIC_H
#define DEVICE_SYNTHETIC_H

/* synthetic - GPUs that are not there, for trying tarn out and for tests
 *
 * The words are a list of MODEL[:COUNT]: "h100:4", "h100:4,a100:2", also with the "synthetic:" of
 * the option in front. Each device says that it is synthetic. Their UUIDs are the same each time.
 *
 * Owner:   the caller; destroy through the port
 * Limits:  SYNTHETIC_DEVICES_MAX devices
 */

#include "core/probe.h"

enum { SYNTHETIC_DEVICES_MAX = 64 };

/* Fails with -EINVAL: a model that is not known, a count that is none, too many. */
int probe_synthetic_create(const char *words, struct probe **ret, struct error *err);

#endif
