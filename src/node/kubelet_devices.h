/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_KUBELET_DEVICES_H
#define NODE_KUBELET_DEVICES_H

/* kubelet_devices - which pod has a device, as the kubelet of this machine keeps it
 *
 * A device plugin does not choose the pod, nor does the scheduler choose the device: the kubelet
 * does, and writes it into the checkpoint of its device manager. That file is JSON:
 *
 *     {"Data": {"PodDeviceEntries": [{"PodUID": "…", "ResourceName": "nvidia.com/gpu",
 *       "DeviceIDs": {"-1": ["GPU-…", …]}, …}], …}, "Checksum": …}
 *
 * An ID is a UUID or an index, "::N" behind it a replica of time-slicing. Entries of other
 * resources than GPUs are ignored: their plugins number devices, too.
 *
 * Order of calls:  create, (look, pod)*, destroy
 * Limits:          KUBELET_DEVICES_BYTES_MAX of the file
 */

#include <stdbool.h>
#include <stdint.h>

#include "core/device_watch.h"

enum { KUBELET_DEVICES_BYTES_MAX = 16 << 20 };

struct kubelet_devices;

struct kubelet_devices *kubelet_devices_create(const char *path);
void kubelet_devices_destroy(struct kubelet_devices *devices); /* NULL is fine */

/* Read the file if it has changed. What was read before stays known while it cannot be read. */
void kubelet_devices_look(struct kubelet_devices *devices);

/* The UID of the pod that has this GPU; false: none. */
bool kubelet_devices_pod(const struct kubelet_devices *devices, const char *uuid, uint32_t index,
                         char ret[WATCH_POD_SIZE]);

#endif
