/* SPDX-License-Identifier: Apache-2.0 */
#include "device/numa.h"

#include <hwloc.h>
#include <stdlib.h>

#include "base/mem.h"
#include "core/probe.h"

struct numa {
    hwloc_topology_t topology;
};

/* These would load the drivers of the GPUs, each for itself; buses are enough here, and the kernel
 * lists them without the library of "pci", which leaks. */
static void leave_out_drivers(hwloc_topology_t topology)
{
    static const char *const components[] = { "nvml", "cuda", "opencl",   "gl",
                                              "pci",  "rsmi", "levelzero" };

    for (size_t i = 0; i < COUNT_OF(components); i++)
        hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                      components[i]);
}

struct numa *numa_create(void)
{
    struct numa *numa = mem_zero(1, sizeof(*numa));

    if (hwloc_topology_init(&numa->topology) < 0) {
        free(numa);
        return NULL;
    }
    leave_out_drivers(numa->topology);
    hwloc_topology_set_cache_types_filter(numa->topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(numa->topology, HWLOC_OBJ_PCI_DEVICE,
                                   HWLOC_TYPE_FILTER_KEEP_ALL);
    if (hwloc_topology_load(numa->topology) < 0) {
        numa_destroy(numa);
        return NULL;
    }
    return numa;
}

void numa_destroy(struct numa *numa)
{
    if (!numa)
        return;
    hwloc_topology_destroy(numa->topology);
    free(numa);
}

int32_t numa_node_of(const struct numa *numa, const char *address)
{
    if (!numa)
        return PROBE_UNKNOWN;
    hwloc_obj_t device = hwloc_get_pcidev_by_busidstring(numa->topology, address);
    if (!device)
        return PROBE_UNKNOWN;

    hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(numa->topology, device);
    if (!near || !near->nodeset || hwloc_bitmap_weight(near->nodeset) != 1)
        return PROBE_UNKNOWN;
    return hwloc_bitmap_first(near->nodeset);
}
