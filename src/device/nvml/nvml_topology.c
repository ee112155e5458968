/* SPDX-License-Identifier: Apache-2.0 */
/* How the devices are linked: NVLinks to each other or to a common switch, else PCIe. */
#include <stdio.h>

#include "device/nvml/nvml_inside.h"

/* Links between two devices; links to a switch reach all devices at it. */
struct links {
    uint32_t direct[NVML_LINKS_MAX]; /* places of their other ends */
    uint32_t direct_count, to_switch;
};

static bool is_up(const struct nvml_calls *call, nvml_device_t handle, unsigned link, bool *ret_end)
{
    int state = 0;
    int result = call->nvlink_state(handle, link, &state);

    *ret_end = result != NVML_SUCCESS;
    return result == NVML_SUCCESS && state != 0;
}

static uint32_t place_of(const struct nvml *nvml, const struct nvml_pci *pci)
{
    for (uint32_t i = 0; i < nvml->gpu_count; i++) {
        const char *address = nvml->gpus[i].known.address;
        unsigned domain, bus, device;
        if (sscanf(address, "%x:%x:%x", &domain, &bus, &device) == 3 && domain == pci->domain &&
            bus == pci->bus && device == pci->device)
            return i;
    }
    return UINT32_MAX;
}

static void find_links(const struct nvml *nvml, uint32_t device, struct links *ret)
{
    const struct nvml_calls *call = &nvml->call;
    nvml_device_t handle = nvml->gpus[device].handle;

    *ret = (struct links){ 0 };
    if (!handle || !call->nvlink_state || !call->nvlink_remote)
        return;
    for (unsigned i = 0; i < NVML_LINKS_MAX; i++) {
        struct nvml_pci pci = { 0 };
        int type = NVML_REMOTE_GPU;
        bool is_end = false;
        if (!is_up(call, handle, i, &is_end)) {
            if (is_end)
                return;
            continue;
        }
        if (call->nvlink_remote_type &&
            call->nvlink_remote_type(handle, i, &type) == NVML_SUCCESS &&
            type == NVML_REMOTE_SWITCH) {
            ret->to_switch++;
            continue;
        }
        if (call->nvlink_remote(handle, i, &pci) != NVML_SUCCESS)
            continue;
        uint32_t place = place_of(nvml, &pci);
        if (place != UINT32_MAX)
            ret->direct[ret->direct_count++] = place;
        else if (!call->nvlink_remote_type)
            ret->to_switch++; /* older libraries do not say what is at the other end */
    }
}

static enum probe_near near_of(int level)
{
    switch (level) {
    case NVML_NEAR_INTERNAL:
        return PROBE_NEAR_BOARD;
    case NVML_NEAR_SINGLE:
        return PROBE_NEAR_SWITCH;
    case NVML_NEAR_MULTIPLE:
        return PROBE_NEAR_SWITCHES;
    case NVML_NEAR_HOST_BRIDGE:
        return PROBE_NEAR_BRIDGE;
    case NVML_NEAR_NODE:
        return PROBE_NEAR_NUMA;
    case NVML_NEAR_SYSTEM:
        return PROBE_NEAR_MACHINE;
    default:
        return PROBE_NEAR_UNKNOWN;
    }
}

static enum probe_near pcie_near(const struct nvml *nvml, uint32_t a, uint32_t b)
{
    nvml_device_t first = nvml->gpus[a].handle, second = nvml->gpus[b].handle;
    int level = 0;

    if (!nvml->call.common_ancestor || !first || !second ||
        nvml->call.common_ancestor(first, second, &level) != NVML_SUCCESS)
        return PROBE_NEAR_UNKNOWN;
    return near_of(level);
}

struct probe_link nvml_link(struct probe *probe, uint32_t a, uint32_t b)
{
    const struct nvml *nvml = nvml_of(probe);
    struct links of_a, of_b;
    uint32_t count = 0;

    if (a >= nvml->gpu_count || b >= nvml->gpu_count)
        return (struct probe_link){ .near = PROBE_NEAR_UNKNOWN };
    if (a == b)
        return (struct probe_link){ .near = PROBE_NEAR_SELF };
    find_links(nvml, a, &of_a);
    find_links(nvml, b, &of_b);
    for (uint32_t i = 0; i < of_a.direct_count; i++)
        count += of_a.direct[i] == b;
    count += of_a.to_switch < of_b.to_switch ? of_a.to_switch : of_b.to_switch;
    if (count > 0)
        return (struct probe_link){ .near = PROBE_NEAR_LINK, .links = count };
    return (struct probe_link){ .near = pcie_near(nvml, a, b) };
}

/* A device that is near enough to one of a group belongs to the group. */
static void group(struct nvml *nvml, struct probe_device *devices, uint32_t count, bool by_link)
{
    uint32_t groups = 0;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t *own = by_link ? &devices[i].island : &devices[i].bridge;
        for (uint32_t k = 0; k < i && *own == 0; k++) {
            uint32_t *of = by_link ? &devices[k].island : &devices[k].bridge;
            struct probe_link link = nvml_link(&nvml->probe, k, i);
            bool is_near = by_link ? link.near == PROBE_NEAR_LINK
                                   : pcie_near(nvml, k, i) == PROBE_NEAR_SWITCH ||
                                         pcie_near(nvml, k, i) == PROBE_NEAR_BOARD;
            if (!is_near)
                continue;
            if (*of == 0)
                *of = ++groups;
            *own = *of;
        }
    }
}

void nvml_find_groups(struct nvml *nvml, struct probe_device *devices, uint32_t count)
{
    group(nvml, devices, count, true);
    group(nvml, devices, count, false);
}
