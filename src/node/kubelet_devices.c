/* SPDX-License-Identifier: Apache-2.0 */
#include "node/kubelet_devices.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/text.h"
#include "io/file.h"
#include "io/log.h"

struct holding {
    char *id; /* of the device */
    char pod[WATCH_POD_SIZE];
};

struct kubelet_devices {
    char *path;
    struct stat seen;
    LIST(struct holding) all;
    bool is_wrong; /* it was logged that the file cannot be read */
};

struct kubelet_devices *kubelet_devices_create(const char *path)
{
    struct kubelet_devices *devices = mem_zero(1, sizeof(*devices));

    devices->path = mem_string(path);
    kubelet_devices_look(devices);
    return devices;
}

static void forget(struct kubelet_devices *devices)
{
    LIST_EACH (struct holding, holding, &devices->all)
        free(holding->id);
    devices->all.count = 0;
}

void kubelet_devices_destroy(struct kubelet_devices *devices)
{
    if (!devices)
        return;
    forget(devices);
    list_release(&devices->all);
    free(devices->path);
    free(devices);
}

/* Other plugins number their devices, too. */
static bool is_gpu(const char *resource)
{
    static const char *const known[] = { "nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915",
                                         "gpu.intel.com/xe", NULL };

    return resource &&
           (string_is_in(resource, known) || string_starts(resource, "nvidia.com/gpu."));
}

static void add_ids(struct kubelet_devices *devices, const char *pod, const json_t *ids)
{
    const char *numa_node;
    json_t *list, *id;
    size_t i;

    json_object_foreach((json_t *)ids, numa_node, list)
    {
        json_array_foreach(list, i, id)
        {
            const char *text = json_string_value(id);
            if (!text)
                continue;
            const char *replica = strstr(text, "::");
            size_t length = replica ? (size_t)(replica - text) : strlen(text);
            struct holding holding = { .id = mem_string_of(text, length) };
            string_clean(holding.pod, sizeof(holding.pod), pod, strlen(pod));
            list_add(&devices->all, holding);
        }
    }
}

static int read_entries(struct kubelet_devices *devices, const char *text, struct error *err)
{
    json_error_t detail;
    json_t *file = json_loads(text, 0, &detail), *entry;
    const json_t *data = json_object_get(file, "Data");
    size_t i;

    if (!json_is_object(data)) {
        json_decref(file);
        return error_set(err, -EINVAL, "%s: expected the checkpoint of a kubelet's devices%s%s",
                         devices->path, file ? "" : ": ", file ? "" : detail.text);
    }
    forget(devices);
    json_array_foreach(json_object_get(data, "PodDeviceEntries"), i, entry)
    {
        const char *pod = json_string_value(json_object_get(entry, "PodUID"));
        const char *resource = json_string_value(json_object_get(entry, "ResourceName"));
        if (pod && pod[0] && is_gpu(resource))
            add_ids(devices, pod, json_object_get(entry, "DeviceIDs"));
    }
    json_decref(file);
    return 0;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

void kubelet_devices_look(struct kubelet_devices *devices)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    struct stat now = { 0 };
    struct error err;

    bool is_there = stat(devices->path, &now) == 0;
    if (is_there && is_same_file(&now, &devices->seen))
        return;
    int code = file_read(devices->path, KUBELET_DEVICES_BYTES_MAX, &text, &err);
    if (code == 0)
        code = read_entries(devices, text_string(&text), &err);
    if (code < 0 && !devices->is_wrong)
        log_line(LOG_WARNING, "the kubelet's devices are not known reason='%s'", err.text);
    devices->is_wrong = code < 0;
    devices->seen = code < 0 ? (struct stat){ 0 } : now;
}

bool kubelet_devices_pod(const struct kubelet_devices *devices, const char *uuid, uint32_t index,
                         char ret[WATCH_POD_SIZE])
{
    char number[16];

    snprintf(number, sizeof(number), "%" PRIu32, index);
    LIST_EACH (const struct holding, holding, &devices->all) {
        if (strcmp(holding->id, uuid) != 0 && strcmp(holding->id, number) != 0)
            continue;
        memcpy(ret, holding->pod, WATCH_POD_SIZE);
        return true;
    }
    return false;
}
