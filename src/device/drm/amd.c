/* SPDX-License-Identifier: Apache-2.0 */
#include "device/drm/amd.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "device/drm/amd_inside.h"
#include "device/model.h"
#include "device/near.h"

/* Boards whose maker wrote no name into them and that libdrm's list need not know. */
static const struct {
    uint32_t id;
    const char *product;
} products[] = {
    { 0x66a0, "AMD Instinct MI50" },      { 0x66a1, "AMD Instinct MI50" },
    { 0x7388, "AMD Instinct MI100" },     { 0x738c, "AMD Instinct MI100" },
    { 0x738e, "AMD Instinct MI100" },     { 0x7408, "AMD Instinct MI250X" },
    { 0x740c, "AMD Instinct MI250" },     { 0x740f, "AMD Instinct MI210" },
    { 0x74a0, "AMD Instinct MI300A" },    { 0x74a1, "AMD Instinct MI300X" },
    { 0x74a2, "AMD Instinct MI308X" },    { 0x74a5, "AMD Instinct MI325X" },
    { 0x74b5, "AMD Instinct MI300X" },    { 0x74b9, "AMD Instinct MI325X" },
    { 0x75a0, "AMD Instinct MI350X" },    { 0x75a3, "AMD Instinct MI355X" },
    { 0x744c, "AMD Radeon RX 7900 XTX" }, { 0x7448, "AMD Radeon Pro W7900" },
    { 0x73bf, "AMD Radeon RX 6900 XT" },  { 0x7550, "AMD Radeon RX 9070 XT" },
};

/* libdrm's own list, where it is installed: "744C,\tC8,\tAMD Radeon RX 7900 XTX". */
static bool listed_product(const char *root, const struct drm_device *at, char *ret, size_t size)
{
    enum { LINE_SIZE = 256 };
    AUTO_FREE char *path = mem_printf("%s/usr/share/libdrm/amdgpu.ids", root);
    FILE *file = fopen(path, "re");
    char line[LINE_SIZE];
    bool is_found = false;

    while (file && !is_found && fgets(line, sizeof(line), file)) {
        unsigned id, revision;
        int name = 0;
        if (sscanf(line, "%x, %x, %n", &id, &revision, &name) != 2 || name == 0 ||
            id != at->device_id || revision != at->revision)
            continue;
        line[strcspn(line, "\r\n")] = '\0';
        snprintf(ret, size, "%.*s", (int)size - 1, line + name);
        is_found = ret[0] != '\0';
    }
    if (file)
        fclose(file);
    return is_found;
}

static void find_product(const char *root, const struct drm_device *at, struct probe_device *ret)
{
    size_t size = sizeof(ret->product);

    if ((sysfs_text(at->folder, "product_name", ret->product, size) &&
         string_is_utf8(ret->product, strlen(ret->product))) ||
        listed_product(root, at, ret->product, size))
        return;
    for (size_t i = 0; i < COUNT_OF(products); i++) {
        if (products[i].id == at->device_id) {
            snprintf(ret->product, size, "%s", products[i].product);
            return;
        }
    }
    snprintf(ret->product, size, "AMD %04" PRIx32, at->device_id);
}

/* What the chip was given when it was made, else where it is. */
static void find_uuid(const struct drm_device *at, struct probe_device *ret)
{
    uint64_t id = 0;

    if (sysfs_hex(at->folder, "unique_id", &id) && id != 0)
        snprintf(ret->uuid, sizeof(ret->uuid), "AMD-%016" PRIx64, id);
    else
        snprintf(ret->uuid, sizeof(ret->uuid), "AMD-%s", at->address);
}

static bool describe(const struct amd *amd, const struct drm_device *at, struct probe_device *ret)
{
    int64_t bytes = 0;

    if (!sysfs_number(at->folder, "mem_info_vram_total", &bytes) ||
        bytes >> 20 < AMD_MEMORY_MIB_LEAST)
        return false;
    drm_describe(amd->root, at, "amd", ret);
    ret->memory_mib = bytes >> 20;
    find_product(amd->root, at, ret);
    find_uuid(at, ret);
    model_shorten(ret->product, ret->model);
    return true;
}

static void forget(struct amd *amd)
{
    for (uint32_t i = 0; i < amd->gpu_count; i++)
        drm_seen_release(&amd->gpus[i].seen);
    amd->gpus = mem_resize(amd->gpus, 0, 1);
    amd->gpu_count = 0;
}

/* Two with one name would be taken for one. */
static void tell_apart(struct probe_device *devices, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(devices[i].uuid, devices[k].uuid) == 0)
                snprintf(devices[i].uuid, sizeof(devices[i].uuid), "AMD-%s", devices[i].address);
        }
    }
}

static struct probe_link amd_link(struct probe *probe, uint32_t a, uint32_t b)
{
    const struct amd *amd = amd_of(probe);

    if (a >= amd->gpu_count || b >= amd->gpu_count)
        return (struct probe_link){ .near = PROBE_NEAR_UNKNOWN };
    if (a == b)
        return (struct probe_link){ .near = PROBE_NEAR_SELF };
    if (amd_kfd_linked(amd, a, b))
        return (struct probe_link){ .near = PROBE_NEAR_LINK, .links = 1 };
    return (struct probe_link){ .near = near_pci(amd->root, amd->gpus[a].at.address,
                                                 amd->gpus[b].at.address) };
}

static bool is_linked(const void *user, uint32_t a, uint32_t b)
{
    return amd_kfd_linked(user, a, b);
}

static bool is_behind_one_switch(const void *user, uint32_t a, uint32_t b)
{
    const struct amd *amd = user;

    return near_pci(amd->root, amd->gpus[a].at.address, amd->gpus[b].at.address) ==
           PROBE_NEAR_SWITCH;
}

static void find_groups(const struct amd *amd, struct probe_device *devices)
{
    AUTO_FREE uint32_t *groups = mem_zero((size_t)amd->gpu_count + 1, sizeof(groups[0]));

    near_group(amd->gpu_count, is_linked, amd, groups);
    for (uint32_t i = 0; i < amd->gpu_count; i++)
        devices[i].island = groups[i];
    near_group(amd->gpu_count, is_behind_one_switch, amd, groups);
    for (uint32_t i = 0; i < amd->gpu_count; i++)
        devices[i].bridge = groups[i];
}

static int amd_devices(struct probe *probe, struct probe_device **ret_devices, uint32_t *ret_count,
                       struct error *err)
{
    static const char *const drivers[] = { "amdgpu", NULL };
    struct amd *amd = amd_of(probe);
    uint32_t count = 0;
    AUTO_FREE struct drm_device *found = drm_find(amd->root, drivers, &count);
    struct probe_device *devices = mem_zero((size_t)count + 1, sizeof(devices[0]));

    (void)err;
    forget(amd);
    amd->gpus = mem_zero((size_t)count + 1, sizeof(amd->gpus[0]));
    for (uint32_t i = 0; i < count; i++) {
        if (describe(amd, &found[i], &devices[amd->gpu_count]))
            amd->gpus[amd->gpu_count++] =
                (struct amd_gpu){ .at = found[i], .kfd_node = PROBE_UNKNOWN };
    }
    tell_apart(devices, amd->gpu_count);
    amd_kfd_find(amd);
    find_groups(amd, devices);
    *ret_devices = devices;
    *ret_count = amd->gpu_count;
    return 0;
}

static int amd_processes(struct probe *probe, uint32_t device, struct probe_process **ret,
                         uint32_t *ret_count, struct error *err)
{
    struct amd *amd = amd_of(probe);

    if (device >= amd->gpu_count)
        return error_set(err, -ENODEV, "device %u: there is no such one", device);
    struct amd_gpu *gpu = &amd->gpus[device];
    int code = drm_clients_of(amd->clients, gpu->at.address, &gpu->seen, ret, ret_count, err);
    if (code == 0)
        amd_kfd_processes(amd, gpu, ret, ret_count);
    return code;
}

static void amd_destroy(struct probe *probe)
{
    if (!probe)
        return;

    struct amd *amd = amd_of(probe);
    forget(amd);
    drm_clients_destroy(amd->clients);
    free(amd->root);
    free(amd);
}

static const struct probe_ops amd_ops = {
    .name = "amd",
    .devices = amd_devices,
    .sample = amd_sample,
    .processes = amd_processes,
    .link = amd_link,
    .destroy = amd_destroy,
};

struct probe *probe_amd_create(const char *root, usec_t (*now)(void))
{
    struct amd *amd = mem_zero(1, sizeof(*amd));

    amd->probe.ops = &amd_ops;
    amd->root = mem_string(root);
    amd->clients = drm_clients_create(root, now);
    return &amd->probe;
}
