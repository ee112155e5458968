/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_PROBE_CHOICE_H
#define NODE_PROBE_CHOICE_H

/* probe_choice - opens the probe that the option --devices selects, and finds its devices
 *
 * DEVICES is "auto" (all vendors found; PROBE_CHOICE_SYNTHETIC if there is neither a driver nor a
 * device), "nvml", "amd", "intel", "none", "recorded:FILE" or one like "synthetic:h100:4". For
 * tests, the files of AMD's and Intel's drivers are read below $TARN_DEVICE_ROOT.
 */

#include "base/text.h"
#include "core/probe.h"

#define PROBE_CHOICE_SYNTHETIC "synthetic:h100:4"

/* ret_name: "nvml", "nvml+amd", "none", or DEVICES itself; malloc'd. *ret_probe may become NULL
 * (none). */
int probe_choice_open(const char *devices, struct probe **ret_probe, char **ret_name,
                      struct error *err);

/* The devices that the probe found; items is malloc'd. */
struct probe_devices {
    struct probe_device *items;
    uint32_t count;
};

/* *probe may be NULL: no devices. Blocks for half a minute at most: if a device hangs, fails with
 * -ETIMEDOUT and sets *probe to NULL, because a thread is still inside it. */
int probe_choice_find(struct probe **probe, struct probe_devices *ret, struct error *err);

#endif
