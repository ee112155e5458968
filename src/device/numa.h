/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_NUMA_H
#define DEVICE_NUMA_H

/* numa - which memory node a PCI device is near to, through hwloc
 *
 * Loading takes tens of milliseconds and some megabytes: load it when there is a device, ask, and
 * let it go.
 */

#include <stdint.h>

#include "base/compiler.h"

struct numa;

struct numa *numa_create(void); /* NULL when the topology can't be had */
void numa_destroy(struct numa *numa);
DEFINE_AUTO(numa)

/* PROBE_UNKNOWN when hwloc does not know the device, or it is near to several. numa may be NULL. */
int32_t numa_node_of(const struct numa *numa, const char *address);

#endif
