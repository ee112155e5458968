/* SPDX-License-Identifier: Apache-2.0 */
#include "device/drm/intel.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "core/model_name.h"

/* The kernel gives numbers only. Memory: where the product has one size; 0: several. */
static const struct product {
    uint32_t id;
    int64_t memory_mib;
    const char *name;
} products[] = {
    { 0x56a0, 0, "Intel Arc A770" },
    { 0x56a1, 8192, "Intel Arc A750" },
    { 0x56a2, 8192, "Intel Arc A580" },
    { 0x56a5, 6144, "Intel Arc A380" },
    { 0x56a6, 4096, "Intel Arc A310" },
    { 0x5690, 16384, "Intel Arc A770M" },
    { 0x5691, 12288, "Intel Arc A730M" },
    { 0x56c0, 16384, "Intel Data Center GPU Flex 170" },
    { 0x56c1, 6144, "Intel Data Center GPU Flex 140" },
    { 0x0bd5, 131072, "Intel Data Center GPU Max 1550" },
    { 0x0bd6, 131072, "Intel Data Center GPU Max 1550" },
    { 0x0bd9, 49152, "Intel Data Center GPU Max 1100" },
    { 0x0bda, 49152, "Intel Data Center GPU Max 1100" },
    { 0x0bdb, 49152, "Intel Data Center GPU Max 1100" },
    { 0xe20b, 12288, "Intel Arc B580" },
    { 0xe20c, 10240, "Intel Arc B570" },
    { 0xe211, 24576, "Intel Arc Pro B60" },
    { 0xe212, 16384, "Intel Arc Pro B50" },
};

static const struct product *find_product(uint32_t id)
{
    for (size_t i = 0; i < COUNT_OF(products); i++) {
        if (products[i].id == id)
            return &products[i];
    }
    return NULL;
}

/* xe says it of each tile. */
static int64_t memory_of_tiles(const struct drm_device *at)
{
    char **names = sysfs_names(at->folder, "tile");
    int64_t sum = 0;

    for (char **name = names; *name; name++) {
        AUTO_FREE char *tile = mem_printf("%s/%s", at->folder, *name);
        int64_t bytes = 0;
        if (sysfs_number(tile, "physical_vram_size_bytes", &bytes) && bytes > 0 &&
            bytes <= INT64_MAX - sum)
            sum += bytes;
    }
    sysfs_names_free(names);
    return sum;
}

/* The memory as seen over PCIe, when all of it is: the third line "0x4000000000 0x43ffffffff ...".
 */
static int64_t memory_of_window(const struct drm_device *at)
{
    enum { WINDOW_LINE = 2 };
    const int64_t least = INT64_C(1) << 30; /* small windows are cuttings */
    char text[SYSFS_TEXT_SIZE];
    uint64_t first = 0, last = 0;

    if (!sysfs_text(at->folder, "resource", text, sizeof(text)))
        return 0;
    const char *line = text;
    for (int i = 0; i < WINDOW_LINE && line; i++) {
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    if (!line || sscanf(line, "%" SCNx64 " %" SCNx64, &first, &last) != 2 || last <= first ||
        last - first >= INT64_MAX)
        return 0;
    int64_t bytes = (int64_t)(last - first) + 1;
    return bytes >= least ? bytes : 0;
}

/* 0: it has none of its own, or the size is not known. */
static int64_t find_memory(const struct drm_gpu *gpu, const struct product *product)
{
    int64_t bytes = 0;

    if (sysfs_number(gpu->card, "lmem_total_bytes", &bytes) && bytes > 0)
        return bytes;
    bytes = memory_of_tiles(&gpu->at);
    if (bytes > 0)
        return bytes;
    if (product && product->memory_mib > 0)
        return product->memory_mib << 20;
    return memory_of_window(&gpu->at);
}

/* What is part of the processor is on its own bus. */
static bool is_integrated(const struct drm_device *at)
{
    unsigned domain, bus;

    return sscanf(at->address, "%x:%x", &domain, &bus) != 2 || bus == 0;
}

static bool describe(const struct drm_probe *intel, struct drm_gpu *gpu, struct probe_device *ret)
{
    const struct drm_device *at = &gpu->at;
    const struct product *product = find_product(at->device_id);

    (void)intel;
    if (at->card >= 0)
        snprintf(gpu->card, sizeof(gpu->card), "%.480s/drm/card%d", at->folder, (int)at->card);
    gpu->memory_bytes = find_memory(gpu, product);
    if (!product && (is_integrated(at) || gpu->memory_bytes == 0))
        return false;
    if (gpu->memory_bytes > 0)
        ret->memory_mib = gpu->memory_bytes >> 20;
    if (product)
        snprintf(ret->product, sizeof(ret->product), "%s", product->name);
    else
        snprintf(ret->product, sizeof(ret->product), "Intel %04" PRIx32, at->device_id);
    snprintf(ret->uuid, sizeof(ret->uuid), "INTEL-%s", at->address);
    model_shorten(ret->product, ret->model);
    return true;
}

struct probe *probe_intel_create(const char *root, usec_t (*now)(void))
{
    static const char *const drivers[] = { "i915", "xe", NULL };
    static const struct drm_maker maker = {
        .name = "intel", .drivers = drivers, .describe = describe, .sample = intel_sample
    };

    return drm_probe_create(&maker, root, now);
}
