/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_PROBE_CHOICE_H
#define NODE_PROBE_CHOICE_H

/* probe_choice - which devices of this machine to use, and what there is of them
 *
 * DEVICES is "auto" (all vendors found; PROBE_CHOICE_SYNTHETIC where there is neither a driver nor
 * a device), "nvml", "amd", "intel", "none", "recorded:FILE" or one like "synthetic:h100:4". The
 * files of AMD's and Intel's drivers are looked for below $TARN_DEVICE_ROOT, for tests.
 */

#include "base/text.h"
#include "core/probe.h"

#define PROBE_CHOICE_SYNTHETIC "synthetic:h100:4"

/* ret_name: "nvml", "nvml+amd", "none", or what was asked for; malloc'd. ret_probe may be NULL
 * (none). */
int probe_choice_open(const char *devices, struct probe **ret_probe, char **ret_name,
                      struct error *err);

/* What the probe found; items is malloc'd. */
struct probe_devices {
    struct probe_device *items;
    uint32_t count;
};

/* *probe may be NULL: there are none. Blocks, but not for as long as a device that hangs: fails
 * with -ETIMEDOUT after half a minute, and *probe is NULL then, as a thread is in it still. */
int probe_choice_find(struct probe **probe, struct probe_devices *ret, struct error *err);

#endif
