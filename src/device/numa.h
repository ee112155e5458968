/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVICE_NUMA_H
#define DEVICE_NUMA_H

/* numa - finds the NUMA node of a PCI device, through hwloc
 *
 * Loading the topology takes tens of milliseconds and some megabytes: load it only if there is a
 * device, query it, and destroy it.
 */

#include <stdint.h>

#include "base/compiler.h"

struct numa;

struct numa *numa_create(void); /* NULL: the topology is not available */
void numa_destroy(struct numa *numa);
DEFINE_AUTO(numa)

/* PROBE_UNKNOWN: hwloc does not know the device, or it is near several nodes. numa may be NULL. */
int32_t numa_node_of(const struct numa *numa, const char *address);

#endif
