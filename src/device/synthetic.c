/* SPDX-License-Identifier: Apache-2.0 */
#include "device/synthetic.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "device/model.h"

struct synthetic {
    struct probe probe;
    struct probe_device devices[SYNTHETIC_DEVICES_MAX];
    uint32_t count;
};

static int synthetic_devices(struct probe *probe, struct probe_device **ret_devices,
                             uint32_t *ret_count, struct error *err)
{
    const struct synthetic *synthetic = CONTAINER_OF(probe, struct synthetic, probe);
    struct probe_device *devices = mem_zero(synthetic->count, sizeof(devices[0]));

    (void)err;
    memcpy(devices, synthetic->devices, synthetic->count * sizeof(devices[0]));
    *ret_devices = devices;
    *ret_count = synthetic->count;
    return 0;
}

static void synthetic_destroy(struct probe *probe)
{
    if (probe)
        mem_resize(CONTAINER_OF(probe, struct synthetic, probe), 0, 1);
}

static const struct probe_ops synthetic_ops = {
    .name = "synthetic",
    .devices = synthetic_devices,
    .destroy = synthetic_destroy,
};

/* Of the shape of a real one, and told apart at a glance: GPU-5e7b.... */
static struct probe_device device_of(const struct model *model, uint32_t index)
{
    struct probe_device device = {
        .vendor = "nvidia",
        .memory_mib = model->memory_mib,
        .numa_node = PROBE_UNKNOWN,
        .is_synthetic = true,
    };

    AUTO_FREE char *name = mem_printf("%s %" PRIu32, model->name, index);
    uint64_t hash = map_hash(name, strlen(name));
    snprintf(device.uuid, sizeof(device.uuid), "GPU-5e7b%04" PRIx32 "-%04x-4%03x-8%03x-%012" PRIx64,
             index, (unsigned)(hash >> 48) & 0xffff, (unsigned)(hash >> 36) & 0xfff,
             (unsigned)(hash >> 24) & 0xfff, hash & UINT64_C(0xffffffffffff));
    snprintf(device.model, sizeof(device.model), "%s", model->model);
    int length = snprintf(device.product, sizeof(device.product), "Synthetic ");
    for (const char *s = model->model; *s; s++)
        device.product[length++] = (char)toupper((unsigned char)*s);
    snprintf(device.product + length, sizeof(device.product) - (size_t)length, " %" PRId64 "GB",
             (model->memory_mib + 1023) / 1024);
    return device;
}

static int unknown_model(const char *name, struct error *err)
{
    const char *nearest = string_nearest(name, model_names());
    AUTO_RELEASE(text) struct text known = { 0 };

    if (nearest)
        return error_set(err, -EINVAL, "synthetic device '%.40s': no such model; did you mean %s?",
                         name, nearest);
    for (const char *const *model = model_names(); *model; model++)
        text_printf(&known, "%s%s", known.length ? ", " : "", *model);
    return error_set(err, -EINVAL, "synthetic device '%.40s': no such model; expected one of %s",
                     name, text_string(&known));
}

/* One MODEL[:COUNT], which is cut up. */
static int add_item(struct synthetic *synthetic, char *item, struct error *err)
{
    unsigned long count = 1;
    char *colon = strchr(item, ':');

    if (colon) {
        char *end;

        *colon = '\0';
        count = isdigit((unsigned char)colon[1]) ? strtoul(colon + 1, &end, 10) : 0;
        if (count < 1 || *end != '\0')
            return error_set(err, -EINVAL,
                             "synthetic device '%.40s:%.40s': not a count; expected MODEL:COUNT, "
                             "like h100:4",
                             item, colon + 1);
    }

    const struct model *model = model_find(item);
    if (!model)
        return unknown_model(item, err);
    if (count > SYNTHETIC_DEVICES_MAX - synthetic->count)
        return error_set(err, -EINVAL, "synthetic devices: more than %d", SYNTHETIC_DEVICES_MAX);
    for (; count > 0; count--, synthetic->count++)
        synthetic->devices[synthetic->count] = device_of(model, synthetic->count);
    return 0;
}

int probe_synthetic_create(const char *words, struct probe **ret, struct error *err)
{
    static const char prefix[] = "synthetic:";
    AUTO_FREE char *list =
        mem_string(string_starts(words, prefix) ? words + strlen(prefix) : words);
    struct synthetic *synthetic = mem_zero(1, sizeof(*synthetic));
    char *rest = list;
    int code = 0;

    synthetic->probe.ops = &synthetic_ops;
    while (code == 0 && rest)
        code = add_item(synthetic, strsep(&rest, ","), err);
    if (code < 0) {
        mem_resize(synthetic, 0, 1);
        return code;
    }
    *ret = &synthetic->probe;
    return 0;
}
