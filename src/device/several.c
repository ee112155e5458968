/* SPDX-License-Identifier: Apache-2.0 */
#include "device/several.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct several {
    struct probe probe;
    struct probe_ops ops; /* without what none of the parts can do */
    struct probe *parts[SEVERAL_MAX];
    uint32_t first[SEVERAL_MAX + 1]; /* the number of each one's first device; at the end of all */
    uint32_t part_count;
    uint32_t turn; /* the probe that was waited for last */
};

static struct several *several_of(struct probe *probe)
{
    return CONTAINER_OF(probe, struct several, probe);
}

/* The probe of a device, and its number there; NULL: none. */
static struct probe *part_of(const struct several *several, uint32_t device, uint32_t *ret_own)
{
    for (uint32_t i = 0; i < several->part_count; i++) {
        if (device < several->first[i] || device >= several->first[i + 1])
            continue;
        *ret_own = device - several->first[i];
        return several->parts[i];
    }
    return NULL;
}

static int no_device(uint32_t device, struct error *err)
{
    return error_set(err, -ENODEV, "device %" PRIu32 ": no such device", device);
}

static int not_able(uint32_t device, struct error *err)
{
    return error_set(err, -ENOTSUP, "device %" PRIu32 ": its driver cannot do this", device);
}

/* ---- devices ---- */

typedef LIST(struct probe_device) device_list;

static void append(device_list *all, const struct probe_device *devices, uint32_t count)
{
    uint32_t islands = 0, bridges = 0;

    for (size_t i = 0; i < all->count; i++) {
        islands = all->items[i].island > islands ? all->items[i].island : islands;
        bridges = all->items[i].bridge > bridges ? all->items[i].bridge : bridges;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct probe_device device = devices[i];
        device.island += device.island ? islands : 0;
        device.bridge += device.bridge ? bridges : 0;
        list_add(all, device);
    }
}

static int several_devices(struct probe *probe, struct probe_device **ret_devices,
                           uint32_t *ret_count, struct error *err)
{
    struct several *several = several_of(probe);
    device_list all = { 0 };

    for (uint32_t i = 0; i < several->part_count; i++) {
        AUTO_FREE struct probe_device *devices = NULL;
        uint32_t count = 0;
        int code = several->parts[i]->ops->devices(several->parts[i], &devices, &count, err);
        if (code < 0) {
            list_release(&all);
            return code;
        }
        append(&all, devices, count);
        several->first[i + 1] = (uint32_t)all.count;
    }
    *ret_devices = all.items;
    *ret_count = (uint32_t)all.count;
    return 0;
}

/* ---- calls that go to the probe of the device ---- */

#define FORWARD(call, device, ...)                                                                 \
    do {                                                                                           \
        uint32_t own = 0;                                                                          \
        struct probe *part = part_of(several_of(probe), device, &own);                             \
        if (!part)                                                                                 \
            return no_device(device, err);                                                         \
        return part->ops->call ? part->ops->call(part, own, __VA_ARGS__) : not_able(device, err);  \
    } while (0)

static int several_sample(struct probe *probe, uint32_t device, struct reading *ret,
                          struct error *err)
{
    uint32_t own = 0;
    struct probe *part = part_of(several_of(probe), device, &own);

    if (!part)
        return no_device(device, err);
    return part->ops->sample ? part->ops->sample(part, own, ret, err) : 0;
}

static int several_processes(struct probe *probe, uint32_t device, struct probe_process **ret,
                             uint32_t *ret_count, struct error *err)
{
    FORWARD(processes, device, ret, ret_count, err);
}

static int several_mig_mode(struct probe *probe, uint32_t device, bool is_on, struct error *err)
{
    FORWARD(mig_mode, device, is_on, err);
}

static int several_mig_list(struct probe *probe, uint32_t device, struct probe_instance **ret,
                            uint32_t *ret_count, struct error *err)
{
    FORWARD(mig_list, device, ret, ret_count, err);
}

static int several_mig_create(struct probe *probe, uint32_t device, struct probe_instance *ret,
                              struct error *err)
{
    FORWARD(mig_create, device, ret, err);
}

static int several_mig_remove(struct probe *probe, uint32_t device, uint32_t gpu_instance,
                              struct error *err)
{
    FORWARD(mig_remove, device, gpu_instance, err);
}

static int several_compute_mode(struct probe *probe, uint32_t device, enum probe_compute mode,
                                struct error *err)
{
    FORWARD(compute_mode, device, mode, err);
}

/* ---- what is between them ---- */

static struct probe_link several_link(struct probe *probe, uint32_t a, uint32_t b)
{
    uint32_t own_a = 0, own_b = 0;
    struct probe *first = part_of(several_of(probe), a, &own_a);
    struct probe *second = part_of(several_of(probe), b, &own_b);

    if (first && a == b)
        return (struct probe_link){ .near = PROBE_NEAR_SELF };
    if (!first || first != second || !first->ops->link)
        return (struct probe_link){ .near = PROBE_NEAR_UNKNOWN };
    return first->ops->link(first, own_a, own_b);
}

/* One probe a call, in turn, each for the whole timeout: the caller waits again and again. */
static int several_wait(struct probe *probe, uint32_t timeout_ms, struct probe_event *ret,
                        struct error *err)
{
    struct several *several = several_of(probe);

    for (uint32_t i = 0; i < several->part_count; i++) {
        several->turn = (several->turn + 1) % several->part_count;
        struct probe *part = several->parts[several->turn];
        if (!part->ops->wait)
            continue;
        int code = part->ops->wait(part, timeout_ms, ret, err);
        if (code == 1)
            ret->device += several->first[several->turn];
        return code;
    }
    return error_set(err, -ENOTSUP, "events: no driver reports any"); /* never asked then */
}

static void several_destroy(struct probe *probe)
{
    if (!probe)
        return;

    struct several *several = several_of(probe);
    for (uint32_t i = 0; i < several->part_count; i++)
        several->parts[i]->ops->destroy(several->parts[i]);
    free(several);
}

static const struct probe_ops several_ops = {
    .name = "several",
    .devices = several_devices,
    .sample = several_sample,
    .processes = several_processes,
    .wait = several_wait,
    .link = several_link,
    .mig_mode = several_mig_mode,
    .mig_list = several_mig_list,
    .mig_create = several_mig_create,
    .mig_remove = several_mig_remove,
    .compute_mode = several_compute_mode,
    .destroy = several_destroy,
};

struct probe *probe_several_create(struct probe *const *probes, uint32_t count)
{
    struct several *several = mem_zero(1, sizeof(*several));

    assert(count >= 1 && count <= SEVERAL_MAX);
    bool can_wait = false, can_sample = false;
    for (uint32_t i = 0; i < count; i++) {
        can_wait |= probes[i]->ops->wait != NULL;
        can_sample |= probes[i]->ops->sample != NULL;
    }
    several->ops = several_ops;
    several->ops.wait = can_wait ? several_wait : NULL;
    several->ops.sample = can_sample ? several_sample : NULL;
    several->probe.ops = &several->ops;
    memcpy(several->parts, probes, count * sizeof(probes[0]));
    several->part_count = count;
    return &several->probe;
}
