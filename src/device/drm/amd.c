/* SPDX-License-Identifier: Apache-2.0 */
#include "device/drm/amd.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "core/model_name.h"

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

static bool describe(const struct drm_probe *amd, struct drm_gpu *gpu, struct probe_device *ret)
{
    int64_t bytes = 0;

    if (!sysfs_number(gpu->at.folder, "mem_info_vram_total", &bytes) ||
        bytes >> 20 < AMD_MEMORY_MIB_LEAST)
        return false;
    ret->memory_mib = bytes >> 20;
    find_product(amd->root, &gpu->at, ret);
    find_uuid(&gpu->at, ret);
    model_shorten(ret->product, ret->model);
    return true;
}

/* Two with one name would be taken for one. */
static void tell_apart(struct drm_probe *amd, struct probe_device *devices)
{
    for (uint32_t i = 1; i < amd->gpu_count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(devices[i].uuid, devices[k].uuid) == 0)
                snprintf(devices[i].uuid, sizeof(devices[i].uuid), "AMD-%s", devices[i].address);
        }
    }
    amd_kfd_find(amd);
}

struct probe *probe_amd_create(const char *root, usec_t (*now)(void))
{
    static const char *const drivers[] = { "amdgpu", NULL };
    static const struct drm_maker maker = { .name = "amd",
                                            .drivers = drivers,
                                            .describe = describe,
                                            .found = tell_apart,
                                            .linked = amd_kfd_linked,
                                            .sample = amd_sample,
                                            .add_processes = amd_kfd_processes };

    return drm_probe_create(&maker, root, now);
}
