/* SPDX-License-Identifier: Apache-2.0 */
#include "node/locality.h"

#include <stdlib.h>
#include <string.h>

#include "core/job/lease.h"
#include "device/host.h"

enum { NODES_MAX = 64 };

/* The memory nodes of its devices as bits; 0: it has none, or one is not known. */
static uint64_t nodes_of(const struct state *state, const struct lease *lease, uint32_t place)
{
    uint64_t nodes = 0;

    for (uint32_t i = 0; i < lease->slices_count; i++) {
        const struct device *device = &state->devices.items[lease->slices[i].device];
        if (lease->slices[i].rank != place)
            continue;
        if (device->is_synthetic || device->numa_node < 1 || device->numa_node > NODES_MAX)
            return 0;
        nodes |= UINT64_C(1) << (device->numa_node - 1);
    }
    return nodes;
}

/* What those were given that are at any of these nodes of a machine, itself among them. */
static int64_t sum_given(const struct state *state, uint32_t node, uint64_t nodes)
{
    int64_t sum = 0;

    for (const struct job *other = state->first_active; other; other = other->run->active_next) {
        const struct lease *lease = other->run->lease;
        for (uint32_t i = 0; i < lease->members_count; i++) {
            if (lease->members[i].node == node && (nodes_of(state, lease, i) & nodes) != 0)
                sum += lease_cpu_milli(lease, i);
        }
    }
    return sum;
}

bool locality_find(const struct state *state, const struct job *job, uint32_t place,
                   struct locality *ret)
{
    const struct lease *lease = job->run->lease;
    const char *root = secure_getenv("TARN_DEVICE_ROOT");
    uint64_t nodes = nodes_of(state, lease, place);
    struct text cpus = { 0 };
    int64_t count = 0;

    if (nodes == 0 || state->settings.watch.cpus_anywhere)
        return false;
    ret->memory_node = -1;
    for (uint32_t i = 0; i < NODES_MAX; i++) {
        char some[MACHINE_CPUS_SIZE];
        if ((nodes >> i & 1) == 0)
            continue;
        uint32_t more = probe_node_cpus(root ? root : "", i, some);
        if (more > 0)
            text_printf(&cpus, "%s%s", count > 0 ? "," : "", some);
        count += more;
        ret->memory_node = nodes == UINT64_C(1) << i ? (int64_t)i : -1;
    }
    bool fits = count > 0 && cpus.length < sizeof(ret->cpus) &&
                sum_given(state, lease->members[place].node, nodes) <= count * 1000;
    if (fits)
        memcpy(ret->cpus, cpus.bytes, cpus.length + 1);
    text_release(&cpus);
    return fits;
}
