/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/dra/dra_device.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/quantity.h"
#include "base/text.h"
#include "core/model_name.h"
#include "engine/kube/client/kube_json.h"

#define NVIDIA_DRIVER "gpu.nvidia.com"

/* ---- attributes ---- */

/* The name without its domain. */
static const char *plain_name(const char *name)
{
    const char *slash = strrchr(name, '/');

    return slash ? slash + 1 : name;
}

/* The value of the first attribute or capacity with this plain name; those without a domain first.
 */
static const json_t *field(const json_t *fields, const char *wanted)
{
    const json_t *found = json_object_get(fields, wanted);
    json_t *value;
    const char *name;

    json_object_foreach((json_t *)fields, name, value)
    {
        if (!found && strcmp(plain_name(name), wanted) == 0)
            found = value;
    }
    return found;
}

static const char *attribute(const struct dra_device *device, const char *name)
{
    return kube_text(field(device->attributes, name), "string");
}

static int64_t memory_of(const struct dra_device *device)
{
    int64_t mib;

    return quantity_mib(kube_text(field(device->capacity, "memory"), "value"), &mib) && mib > 0
               ? mib
               : PROBE_UNKNOWN;
}

void dra_vendor(const char *driver, char *ret, size_t size)
{
    const char *first = driver, *dot = strchr(driver, '.');

    if (dot && strchr(dot + 1, '.')) /* the part before the top-level domain */
        first = dot + 1;
    snprintf(ret, size, "%.*s", (int)strcspn(first, "."), first);
}

/* ---- names ---- */

static void set_model(struct dra_device *device)
{
    static const char *const names[] = { "productName", "model", "product", "deviceModel", NULL };
    struct probe_device *probe = &device->probe;
    const char *product = "", *profile = attribute(device, "profile");

    if (strcmp(attribute(device, "type"), "mig") == 0 && profile[0]) {
        snprintf(probe->model, sizeof(probe->model), "mig-%.*s", REQUEST_MODEL_SIZE - 5, profile);
        snprintf(probe->product, sizeof(probe->product), "MIG %.40s", profile);
        return;
    }
    for (const char *const *name = names; *name && !product[0]; name++)
        product = attribute(device, *name);
    if (!product[0])
        product = device->driver;
    string_clean(probe->product, sizeof(probe->product), product, strlen(product));
    model_shorten(probe->product, probe->model);
}

/* "nic" of nic.example.com; accelerators with graphics in their name or type are GPUs. */
static void set_kind(struct dra_device *device)
{
    static const char *const gpus[] = { "gpu", "mig", "vgpu", "", NULL };
    const char *type = attribute(device, "type");
    char first[64];

    snprintf(first, sizeof(first), "%.*s", (int)strcspn(device->driver, "."), device->driver);
    bool is_gpu = string_starts(first, "gpu") || strstr(first, "-gpu") ||
                  (type[0] && string_is_in(type, gpus));
    if (is_gpu)
        return;
    for (char *at = first; *at; at++)
        *at = *at == '-' ? '_' : *at;
    snprintf(device->kind, sizeof(device->kind), "%.*s", REQUEST_KIND_SIZE - 1, first);
}

static void set_uuid(struct dra_device *device)
{
    const char *uuid = attribute(device, "uuid");
    char *ret = device->probe.uuid;

    if (strcmp(device->driver, NVIDIA_DRIVER) == 0 && string_is_name(uuid, PROBE_UUID_SIZE - 1)) {
        snprintf(ret, PROBE_UUID_SIZE, "%s", uuid);
        return;
    }
    AUTO_FREE char *name = mem_printf("%s.%s.%s", device->name, device->pool, device->driver);
    if (string_is_name(name, PROBE_UUID_SIZE - 1))
        snprintf(ret, PROBE_UUID_SIZE, "%s", name);
    else
        snprintf(ret, PROBE_UUID_SIZE, "%.60s-%016" PRIx64, device->name,
                 map_hash(device->key, strlen(device->key)));
}

static void set_taint(struct dra_device *device, const json_t *taints)
{
    json_t *taint;
    size_t i;

    json_array_foreach(taints, i, taint)
    {
        const char *effect = kube_text(taint, "effect"), *value = kube_text(taint, "value");
        if ((strcmp(effect, "NoSchedule") != 0 && strcmp(effect, "NoExecute") != 0) ||
            device->probe.sick[0])
            continue;
        AUTO_FREE char *words =
            mem_printf("its driver or an administrator tainted it: %s%s%s:%s",
                       kube_text(taint, "key"), value[0] ? "=" : "", value, effect);
        string_clean(device->probe.sick, sizeof(device->probe.sick), words, strlen(words));
    }
}

/* ---- slices ---- */

static const char *unsupported_device(const json_t *object)
{
    if (json_array_size(json_object_get(object, "consumesCounters")) > 0)
        return "devices share counters (consumesCounters)";
    if (json_is_true(json_object_get(object, "allowMultipleAllocations")))
        return "several claims may have a device (allowMultipleAllocations)";
    if (json_array_size(json_object_get(object, "bindingConditions")) > 0)
        return "devices need conditions before pods are bound (bindingConditions)";
    return NULL;
}

static const char *unsupported_slice(const json_t *spec)
{
    if (json_object_get(spec, "nodeSelector"))
        return "its devices are of several nodes (nodeSelector)";
    if (json_is_true(json_object_get(spec, "allNodes")))
        return "its devices are of all nodes (allNodes)";
    if (json_is_true(json_object_get(spec, "perDeviceNodeSelection")))
        return "each device has nodes of its own (perDeviceNodeSelection)";
    return kube_text(spec, "nodeName")[0] ? NULL : "it names no node";
}

static struct dra_device *read_device(const struct dra_slice *slice, const json_t *object,
                                      bool is_synthetic)
{
    struct dra_device *device = mem_zero(1, sizeof(*device));

    device->references = 1;
    device->driver = mem_string(slice->driver);
    device->pool = mem_string(slice->pool);
    device->name = mem_string(kube_text(object, "name"));
    device->key = mem_printf("%s/%s/%s", slice->driver, slice->pool, device->name);
    device->attributes = json_incref(json_object_get(object, "attributes"));
    device->capacity = json_incref(json_object_get(object, "capacity"));
    device->probe.memory_mib = memory_of(device);
    device->probe.numa_node = device->probe.minor = PROBE_UNKNOWN;
    device->probe.is_synthetic = is_synthetic;
    dra_vendor(slice->driver, device->probe.vendor, sizeof(device->probe.vendor));
    set_model(device);
    set_kind(device);
    set_uuid(device);
    set_taint(device, json_object_get(object, "taints"));
    return device;
}

static void leave_out(struct dra_slice *slice, const char *why)
{
    if (!slice->left_out)
        slice->left_out = mem_printf("ResourceSlice %s: %s", slice->name, why);
}

static void read_devices(struct dra_slice *slice, const json_t *list, bool is_synthetic)
{
    json_t *object;
    size_t i;

    slice->devices = mem_zero(json_array_size(list) + 1, sizeof(slice->devices[0]));
    json_array_foreach(list, i, object)
    {
        const char *why = unsupported_device(object);
        if (why)
            leave_out(slice, why);
        else
            slice->devices[slice->device_count++] = read_device(slice, object, is_synthetic);
    }
}

void *dra_slice_read(const json_t *object)
{
    const json_t *about = json_object_get(object, "metadata");
    const json_t *spec = json_object_get(object, "spec"), *pool = json_object_get(spec, "pool");
    const char *why = unsupported_slice(spec);

    if (!kube_text(about, "name")[0] || !kube_text(spec, "driver")[0])
        return NULL;
    struct dra_slice *slice = mem_zero(1, sizeof(*slice));
    *slice = (struct dra_slice){ .name = mem_string(kube_text(about, "name")),
                                 .driver = mem_string(kube_text(spec, "driver")),
                                 .pool = mem_string(kube_text(pool, "name")),
                                 .node = mem_string(kube_text(spec, "nodeName")),
                                 .generation = kube_number(pool, "generation", 0),
                                 .slice_count = kube_number(pool, "resourceSliceCount", 0) };
    bool is_synthetic = kube_at(about, "annotations", "kwok.x-k8s.io/node", NULL) != NULL;
    if (why)
        leave_out(slice, why);
    else
        read_devices(slice, json_object_get(spec, "devices"), is_synthetic);
    return slice;
}

void dra_slice_destroy(void *value)
{
    struct dra_slice *slice = value;

    if (!slice)
        return;
    for (uint32_t i = 0; i < slice->device_count; i++)
        dra_device_release(slice->devices[i]);
    free(slice->devices);
    free(slice->name);
    free(slice->driver);
    free(slice->pool);
    free(slice->node);
    free(slice->left_out);
    free(slice);
}

/* ---- devices ---- */

struct dra_device *dra_device_keep(struct dra_device *device)
{
    device->references++;
    return device;
}

void dra_device_release(struct dra_device *device)
{
    if (--device->references > 0)
        return;
    free(device->driver);
    free(device->pool);
    free(device->name);
    free(device->key);
    json_decref(device->attributes);
    json_decref(device->capacity);
    free(device);
}

int dra_device_compare(const void *a, const void *b)
{
    const struct dra_device *const *left = a, *const *right = b;

    return strverscmp((*left)->key, (*right)->key);
}
