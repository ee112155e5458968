/* SPDX-License-Identifier: Apache-2.0 */
#include "device/drm/drm_probe.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "device/near.h"

static struct drm_probe *drm_of(struct probe *probe)
{
    return CONTAINER_OF(probe, struct drm_probe, probe);
}

static void forget(struct drm_probe *drm)
{
    for (uint32_t i = 0; i < drm->gpu_count; i++)
        drm_seen_release(&drm->gpus[i].seen);
    drm->gpus = mem_resize(drm->gpus, 0, 1);
    drm->gpu_count = 0;
}

static enum probe_near near_of(const struct drm_probe *drm, uint32_t a, uint32_t b)
{
    return near_pci(drm->root, drm->gpus[a].at.address, drm->gpus[b].at.address);
}

static bool is_linked(const struct drm_probe *drm, uint32_t a, uint32_t b)
{
    return drm->maker->linked && drm->maker->linked(drm, a, b);
}

static struct probe_link link_of(struct probe *probe, uint32_t a, uint32_t b)
{
    const struct drm_probe *drm = drm_of(probe);

    if (a >= drm->gpu_count || b >= drm->gpu_count)
        return (struct probe_link){ .near = PROBE_NEAR_UNKNOWN };
    if (a == b)
        return (struct probe_link){ .near = PROBE_NEAR_SELF };
    if (is_linked(drm, a, b))
        return (struct probe_link){ .near = PROBE_NEAR_LINK, .links = 1 };
    return (struct probe_link){ .near = near_of(drm, a, b) };
}

static bool is_behind_one_switch(const void *user, uint32_t a, uint32_t b)
{
    return near_of(user, a, b) == PROBE_NEAR_SWITCH;
}

static void find_groups(const struct drm_probe *drm, struct probe_device *devices)
{
    AUTO_FREE uint32_t *groups = mem_zero((size_t)drm->gpu_count + 1, sizeof(groups[0]));

    if (drm->maker->linked)
        near_group(drm->gpu_count, drm->maker->linked, drm, groups);
    for (uint32_t i = 0; i < drm->gpu_count; i++)
        devices[i].island = groups[i];
    near_group(drm->gpu_count, is_behind_one_switch, drm, groups);
    for (uint32_t i = 0; i < drm->gpu_count; i++)
        devices[i].bridge = groups[i];
}

static int find_devices(struct probe *probe, struct probe_device **ret_devices, uint32_t *ret_count,
                        struct error *err)
{
    struct drm_probe *drm = drm_of(probe);
    uint32_t count = 0;
    AUTO_FREE struct drm_device *found = drm_find(drm->root, drm->maker->drivers, &count);
    struct probe_device *devices = mem_zero((size_t)count + 1, sizeof(devices[0]));

    (void)err;
    forget(drm);
    drm->gpus = mem_zero((size_t)count + 1, sizeof(drm->gpus[0]));
    for (uint32_t i = 0; i < count; i++) {
        struct drm_gpu *gpu = &drm->gpus[drm->gpu_count];
        *gpu = (struct drm_gpu){ .at = found[i], .kfd_node = PROBE_UNKNOWN };
        drm_describe(drm->root, &found[i], drm->maker->name, &devices[drm->gpu_count]);
        drm->gpu_count += drm->maker->describe(drm, gpu, &devices[drm->gpu_count]);
    }
    if (drm->maker->found)
        drm->maker->found(drm, devices);
    find_groups(drm, devices);
    *ret_devices = devices;
    *ret_count = drm->gpu_count;
    return 0;
}

static int sample(struct probe *probe, uint32_t device, struct reading *ret, struct error *err)
{
    const struct drm_probe *drm = drm_of(probe);

    if (device >= drm->gpu_count)
        return error_set(err, -ENODEV, "device %u: no such device", device);
    struct drm_gpu *gpu = &drm->gpus[device];
    if (!drm_is_there(&gpu->at))
        return error_set(err, -ENODEV, "%s: lost from the bus", gpu->at.address);
    drm->maker->sample(drm, gpu, ret);
    drm_read_pcie(&gpu->at, ret);
    return 0;
}

static int list_processes(struct probe *probe, uint32_t device, struct probe_process **ret,
                          uint32_t *ret_count, struct error *err)
{
    const struct drm_probe *drm = drm_of(probe);

    if (device >= drm->gpu_count)
        return error_set(err, -ENODEV, "device %u: no such device", device);
    struct drm_gpu *gpu = &drm->gpus[device];
    int code = drm_clients_of(drm->clients, gpu->at.address, &gpu->seen, ret, ret_count, err);
    if (code == 0 && drm->maker->add_processes)
        drm->maker->add_processes(drm, gpu, ret, ret_count);
    return code;
}

static void destroy(struct probe *probe)
{
    if (!probe)
        return;

    struct drm_probe *drm = drm_of(probe);
    forget(drm);
    drm_clients_destroy(drm->clients);
    free(drm->root);
    free(drm);
}

struct probe *drm_probe_create(const struct drm_maker *maker, const char *root, usec_t (*now)(void))
{
    struct drm_probe *drm = mem_zero(1, sizeof(*drm));

    drm->ops = (struct probe_ops){ .name = maker->name,
                                   .devices = find_devices,
                                   .sample = sample,
                                   .processes = list_processes,
                                   .link = link_of,
                                   .destroy = destroy };
    drm->probe.ops = &drm->ops;
    drm->maker = maker;
    drm->root = mem_string(root);
    drm->now = now ? now : drm_clock;
    drm->clients = drm_clients_create(root, now);
    return &drm->probe;
}

void drm_set_temperature(const struct drm_device *device, unsigned sensor, const char *what,
                         enum reading_id id, struct reading *ret)
{
    enum { MILLICELSIUS_MAX = 200000 };
    int64_t value = 0;

    if (!reading_has(ret, id) && drm_sensor_read(device, "temp", sensor, what, &value) &&
        value > -MILLICELSIUS_MAX && value < MILLICELSIUS_MAX)
        reading_set(ret, id, value);
}
