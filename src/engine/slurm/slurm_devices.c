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
