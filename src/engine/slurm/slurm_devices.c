/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/slurm/slurm_devices.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "engine/slurm/gres.h"

void slurm_device_name(const char *node, uint32_t index, char ret[PROBE_UUID_SIZE])
{
    snprintf(ret, PROBE_UUID_SIZE, "%.72s-gpu%" PRIu32, node, index);
}

struct probe_device *slurm_devices(const char *node, const char *gres, uint32_t *ret_count)
{
    AUTO_FREE char(*models)[GRES_MODEL_SIZE] = NULL;
    uint32_t count = gres_models(gres, &models);
    struct probe_device *devices = mem_zero(count + 1, sizeof(devices[0]));

    for (uint32_t i = 0; i < count; i++) {
        devices[i] =
            (struct probe_device){ .memory_mib = PROBE_UNKNOWN, .numa_node = PROBE_UNKNOWN };
        snprintf(devices[i].model, sizeof(devices[i].model), "%s", models[i]);
        slurm_device_name(node, i, devices[i].uuid);
    }
    *ret_count = count;
    return devices;
}

void slurm_devices_follow(struct node_readings *readings, const struct slurm_nodes *nodes,
                          uint32_t port)
{
    LIST(struct readings_node) asked = { 0 };

    for (size_t i = 0; port > 0 && i < nodes->all.count; i++) {
        const struct slurm_node *from = &nodes->all.items[i];
        struct readings_node node = { .name = from->name,
                                      .address = from->address,
                                      .count = gres_count(from->gres) };
        if (from->is_outside || from->is_down || node.count == 0)
            continue;
        node.uuids = mem_zero(node.count, sizeof(node.uuids[0]));
        for (uint32_t k = 0; k < node.count; k++)
            slurm_device_name(node.name, k, node.uuids[k]);
        list_add(&asked, node);
    }
    node_readings_follow(readings, asked.items, asked.count, port);
    LIST_EACH (struct readings_node, node, &asked)
        free(node->uuids);
    list_release(&asked);
}
