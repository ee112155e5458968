/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "device/drm/amd.h"

enum { LINK_XGMI = 11, LINK_HOP_WEIGHT = 15, NODES_MAX = 1024 };

static char *node_path(const struct drm_probe *amd, int64_t node)
{
    return mem_printf("%s/sys/class/kfd/kfd/topology/nodes/%" PRId64, amd->root, node);
}

/* "0000:03:00.0" of domain 0 and location 0x300. */
static bool is_at(const struct drm_device *device, int64_t domain, int64_t location)
{
    unsigned found_domain, bus, slot, function;

    if (sscanf(device->address, "%x:%x:%x.%x", &found_domain, &bus, &slot, &function) != 4)
        return false;
    return found_domain == domain && (bus << 8 | slot << 3 | function) == location;
}

static void take_node(struct drm_probe *amd, int64_t node)
{
    AUTO_FREE char *folder = node_path(amd, node);
    int64_t id = 0, location = 0, domain = 0, simds = 0, simds_each = 0;
    char text[SYSFS_TEXT_SIZE];

    if (!sysfs_number(folder, "gpu_id", &id) || id <= 0 ||
        !sysfs_text(folder, "properties", text, sizeof(text)) ||
        !sysfs_key(text, "location_id", &location))
        return;
    sysfs_key(text, "domain", &domain);
    sysfs_key(text, "simd_count", &simds);
    sysfs_key(text, "simd_per_cu", &simds_each);
    for (uint32_t i = 0; i < amd->gpu_count; i++) {
        if (amd->gpus[i].kfd_id != 0 || !is_at(&amd->gpus[i].at, domain, location))
            continue;
        amd->gpus[i].kfd_node = node;
        amd->gpus[i].kfd_id = id;
        amd->gpus[i].compute_units = simds > 0 && simds_each > 0 ? simds / simds_each : 0;
        return;
    }
}

void amd_kfd_find(struct drm_probe *amd)
{
    AUTO_FREE char *nodes = mem_printf("%s/sys/class/kfd/kfd/topology/nodes", amd->root);
    char **names = sysfs_names(nodes, "");

    for (char **name = names; *name; name++) {
        char *end;
        long node = strtol(*name, &end, 10);
        if (*end == '\0' && node >= 0 && node < NODES_MAX)
            take_node(amd, node);
    }
    sysfs_names_free(names);
}

bool amd_kfd_linked(const void *user, uint32_t a, uint32_t b)
{
    const struct drm_probe *amd = user;

    if (amd->gpus[a].kfd_node < 0 || amd->gpus[b].kfd_node < 0)
        return false;
    AUTO_FREE char *node = node_path(amd, amd->gpus[a].kfd_node);
    AUTO_FREE char *links = mem_printf("%s/io_links", node);
    char **names = sysfs_names(links, "");
    bool is_linked = false;

    for (char **name = names; *name && !is_linked; name++) {
        AUTO_FREE char *link = mem_printf("%s/%s", links, *name);
        char text[SYSFS_TEXT_SIZE];
        int64_t type = 0, to = PROBE_UNKNOWN, weight = 0;
        if (!sysfs_text(link, "properties", text, sizeof(text)))
            continue;
        sysfs_key(text, "type", &type);
        sysfs_key(text, "node_to", &to);
        sysfs_key(text, "weight", &weight);
        is_linked = type == LINK_XGMI && to == amd->gpus[b].kfd_node && weight <= LINK_HOP_WEIGHT;
    }
    sysfs_names_free(names);
    return is_linked;
}

/* ---- processes ---- */

/* Compute units that have work of it now, of all; PROBE_UNKNOWN. */
static int64_t occupancy(const struct drm_gpu *gpu, const char *folder)
{
    AUTO_FREE char *file = mem_printf("stats_%" PRId64 "/cu_occupancy", gpu->kfd_id);
    int64_t units = 0;

    if (gpu->compute_units <= 0 || !sysfs_number(folder, file, &units) || units < 0)
        return PROBE_UNKNOWN;
    units = units < gpu->compute_units ? units : gpu->compute_units;
    return units * READING_RATIO_ONE / gpu->compute_units;
}

static struct probe_process *find(struct probe_process **processes, uint32_t *count, uint32_t pid)
{
    for (uint32_t i = 0; i < *count; i++) {
        if ((*processes)[i].pid == pid)
            return &(*processes)[i];
    }
    *processes = mem_resize(*processes, (size_t)*count + 1, sizeof(**processes));
    (*processes)[*count] = (struct probe_process){
        .pid = pid, .memory_bytes = PROBE_UNKNOWN, .use = PROBE_UNKNOWN, .instance = PROBE_UNKNOWN
    };
    return &(*processes)[(*count)++];
}

/* Newer drivers count this memory for the open file too, so it is not added to that. What it
 * computes goes past the kernel: the file's engines know nothing of it. */
static void take_process(const struct drm_gpu *gpu, const char *folder, uint32_t pid,
                         struct probe_process **processes, uint32_t *count)
{
    AUTO_FREE char *file = mem_printf("vram_%" PRId64, gpu->kfd_id);
    int64_t bytes = 0;

    if (!sysfs_number(folder, file, &bytes) || bytes <= 0)
        return;
    struct probe_process *process = find(processes, count, pid);
    int64_t use = occupancy(gpu, folder);
    if (bytes > process->memory_bytes)
        process->memory_bytes = bytes;
    if (use > process->use || process->use == 0)
        process->use = use;
    process->is_graphics = false;
}

void amd_kfd_processes(const struct drm_probe *amd, const struct drm_gpu *gpu,
                       struct probe_process **processes, uint32_t *count)
{
    AUTO_FREE char *proc = mem_printf("%s/sys/class/kfd/kfd/proc", amd->root);

    if (gpu->kfd_id == 0)
        return;
    char **names = sysfs_names(proc, "");
    for (char **name = names; *name; name++) {
        AUTO_FREE char *folder = mem_printf("%s/%s", proc, *name);
        char *end;
        unsigned long pid = strtoul(*name, &end, 10);
        if (*end == '\0' && pid > 0 && pid <= INT32_MAX)
            take_process(gpu, folder, (uint32_t)pid, processes, count);
    }
    sysfs_names_free(names);
}
