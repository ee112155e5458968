/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/slurm/slurm_instance.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/mem.h"
#include "base/text.h"
#include "engine/slurm/gres.h"
#include "io/file.h"

enum { INSTANCE_BYTES = 8 };

int slurm_instance_open(const char *state_dir, char ret[SLURM_INSTANCE_SIZE], struct error *err)
{
    AUTO_FREE char *path = mem_printf("%s/slurm-instance", state_dir);
    AUTO_RELEASE(text) struct text known = { 0 };
    unsigned char bytes[INSTANCE_BYTES];
    struct error ignored;

    if (file_read(path, SLURM_INSTANCE_SIZE, &known, &ignored) == 0 &&
        known.length == SLURM_INSTANCE_SIZE - 1) {
        snprintf(ret, SLURM_INSTANCE_SIZE, "%s", text_string(&known));
        return 0;
    }
    if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
        return error_set(err, -errno, "engine slurm: no random number: %s", strerror(errno));
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
    return file_replace(path, ret, SLURM_INSTANCE_SIZE - 1, err);
}

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
