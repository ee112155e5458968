/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/objects/kube_node.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/quantity.h"
#include "core/model_name.h"
#include "engine/kube/client/kube_json.h"
#include "engine/kube/objects/kube_names.h"
#include "engine/kube/objects/kube_pod.h"

enum { DEVICES_MAX = 1024 };

static const char *first_label(const json_t *labels, const char *const *keys)
{
    const char *value = "";

    for (; *keys && !value[0]; keys++)
        value = kube_text(labels, *keys);
    return value;
}

/* ---- devices ---- */

struct about_devices {
    const json_t *labels;
    const char *uuids; /* comma-separated; "": not known */
    bool is_synthetic;
};

/* The profile that a resource names; with the strategy "single", the product does so:
 * "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb" of nvidia.com/gpu. NULL: whole GPUs. */
static const char *profile_of(const char *resource, const char *product)
{
    const char *part = strstr(product, "-MIG-");

    return part && strcmp(kube_device_name(resource)->vendor, "nvidia") == 0
               ? part + strlen("-MIG-")
               : kube_mig_profile(resource);
}

/* GPU feature discovery writes "NVIDIA-H100-80GB-HBM3-SHARED"; tarn's names come from the driver's
 * "NVIDIA H100 80GB HBM3". */
static void name_model(const struct about_devices *about, const char *resource,
                       struct probe_device *device)
{
    static const char *const keys[] = { "nvidia.com/gpu.product",
                                        "amd.com/gpu.product-name",
                                        "amd.com/gpu.family",
                                        "gpu.intel.com/product",
                                        "cloud.google.com/gke-accelerator",
                                        "cloud.google.com/gke-tpu-accelerator",
                                        NULL };
    const char *found = first_label(about->labels, keys), *profile = profile_of(resource, found);
    char product[PROBE_MODEL_SIZE];

    if (profile) { /* instances of other sizes are other devices */
        int length = (int)strcspn(profile, "-_ ");
        length = length < PROBE_MODEL_SIZE - 5 ? length : PROBE_MODEL_SIZE - 5;
        snprintf(device->model, sizeof(device->model), "mig-%.*s", length, profile);
        snprintf(device->product, sizeof(device->product), "MIG %.*s", length, profile);
        return;
    }
    snprintf(product, sizeof(product), "%s", found);
    for (char *at = product; *at; at++)
        *at = *at == '-' || *at == '_' ? ' ' : *at;
    char *suffix = strstr(product, " SHARED");
    if (suffix)
        *suffix = '\0';
    snprintf(device->product, sizeof(device->product), "%s", product);
    model_shorten(product, device->model);
}

static int64_t memory_of(const struct about_devices *about, const char *resource)
{
    const char *profile = kube_mig_profile(resource);
    const char *text = profile ? strchr(profile, '.') : NULL;
    int64_t mib = profile ? strtoll(text ? text + 1 : "0", NULL, 10) * 1024
                          : strtoll(kube_text(about->labels, "nvidia.com/gpu.memory"), NULL, 10);

    return mib > 0 ? mib : PROBE_UNKNOWN;
}

static void name_device(const struct about_devices *about, const char *node, uint32_t index,
                        char ret[PROBE_UUID_SIZE])
{
    const char *at = about->uuids;

    for (uint32_t i = 0; i < index && *at; i++) {
        at += strcspn(at, ",");
        at += *at == ',';
    }
    if (*at)
        snprintf(ret, PROBE_UUID_SIZE, "%.*s", (int)strcspn(at, ","), at);
    else
        snprintf(ret, PROBE_UUID_SIZE, "%.72s-gpu%" PRIu32, node, index);
}

static void add_devices(struct kube_node *node, const struct about_devices *about,
                        const char *resource, int64_t count)
{
    const struct kube_device_name *name = kube_device_name(resource);

    for (int64_t i = 0; i < count && node->device_count < DEVICES_MAX; i++) {
        uint32_t index = node->device_count++;
        node->devices = mem_resize(node->devices, node->device_count, sizeof(node->devices[0]));
        node->resources =
            mem_resize(node->resources, node->device_count, sizeof(node->resources[0]));
        struct probe_device *device = &node->devices[index];
        memset(device, 0, sizeof(*device)); /* they are compared byte for byte */
        memset(node->resources[index], 0, sizeof(node->resources[index]));
        device->memory_mib = memory_of(about, resource);
        device->numa_node = device->minor = PROBE_UNKNOWN;
        device->is_synthetic = about->is_synthetic;
        snprintf(device->vendor, sizeof(device->vendor), "%s", name->vendor);
        snprintf(node->resources[index], sizeof(node->resources[index]), "%s", resource);
        name_model(about, resource, device);
        name_device(about, node->name, index, device->uuid);
    }
}

/* In the order of the names, so that a restart numbers them in the same way. */
static void read_devices(struct kube_node *node, const json_t *object)
{
    const json_t *about = json_object_get(object, "metadata");
    const json_t *allocatable = kube_at(object, "status", "allocatable", NULL);
    struct about_devices devices = {
        .labels = json_object_get(about, "labels"),
        .uuids = kube_text(json_object_get(about, "annotations"), KUBE_GPUS),
        .is_synthetic = kube_at(about, "annotations", "kwok.x-k8s.io/node", NULL) != NULL,
    };
    const char *resource, *last = "";

    for (;;) {
        const char *next = NULL;
        json_t *value;
        int64_t milli;
        json_object_foreach((json_t *)allocatable, resource, value)
        {
            if (kube_device_name(resource) && strcmp(resource, last) > 0 &&
                (!next || strcmp(resource, next) < 0))
                next = resource;
        }
        if (!next)
            return;
        if (quantity_milli(kube_text(allocatable, next), &milli))
            add_devices(node, &devices, next, milli / 1000);
        last = next;
    }
}

/* What tarn knows by name only. */
static json_t *read_others(const json_t *allocatable)
{
    static const char *const known[] = { "cpu", "memory", "pods", "ephemeral-storage", NULL };
    json_t *others = json_object(), *value;
    const char *resource;
    int64_t milli;

    json_object_foreach((json_t *)allocatable, resource, value)
    {
        if (!string_is_in(resource, known) && !kube_device_name(resource) &&
            quantity_milli(json_string_value(value), &milli) && milli > 0)
            json_object_set_new(others, resource, json_integer(milli));
    }
    return others;
}

/* ---- state ---- */

static void drain(struct kube_node *node, const char *words)
{
    if (node->is_drained || node->is_down)
        return;
    node->is_drained = true;
    free(node->reason);
    node->reason = mem_printf("Kubernetes: %s", words);
}

/* Taints that the control plane sets for conditions are conditions here, too. */
static void read_taints(struct kube_node *node, const json_t *spec)
{
    static const char *const conditions[] = { "node.kubernetes.io/not-ready",
                                              "node.kubernetes.io/unreachable",
                                              "node.kubernetes.io/unschedulable", NULL };
    json_t *taint;
    size_t i;

    node->taints = json_array();
    json_array_foreach(json_object_get(spec, "taints"), i, taint)
    {
        const char *key = kube_text(taint, "key");
        if (!string_is_in(key, conditions))
            json_array_append(node->taints, taint);
    }
}

static void read_conditions(struct kube_node *node, const json_t *object)
{
    json_t *condition;
    size_t i;
    bool is_ready = false;
    const char *why = "";

    json_array_foreach(kube_at(object, "status", "conditions", NULL), i, condition)
    {
        if (strcmp(kube_text(condition, "type"), "Ready") != 0)
            continue;
        is_ready = strcmp(kube_text(condition, "status"), "True") == 0;
        why = kube_text(condition, "message");
    }
    if (!is_ready) {
        node->is_down = true;
        node->reason = mem_printf("Kubernetes: not ready%s%s", why[0] ? ": " : "", why);
        return;
    }
    if (json_is_true(kube_at(object, "spec", "unschedulable", NULL)))
        drain(node, "cordoned");
    if (json_object_get(json_object_get(object, "metadata"), "deletionTimestamp"))
        drain(node, "being deleted");
}

static const char *address_of(const json_t *object)
{
    json_t *address;
    size_t i;

    json_array_foreach(kube_at(object, "status", "addresses", NULL), i, address)
    {
        if (strcmp(kube_text(address, "type"), "InternalIP") == 0)
            return kube_text(address, "address");
    }
    return "";
}

void *kube_node_read(const json_t *object)
{
    static const char *const racks[] = { "nvidia.com/gpu.clique",
                                         "topology.kubernetes.io/rack",
                                         "topology.tarn.dev/rack",
                                         "network.topology.nvidia.com/accelerator",
                                         "cloud.google.com/gce-topology-subblock",
                                         "network.topology.nvidia.com/leaf",
                                         NULL };
    static const char *const blocks[] = { "topology.tarn.dev/block",
                                          "network.topology.nvidia.com/spine",
                                          "cloud.google.com/gce-topology-block",
                                          "topology.kubernetes.io/zone", NULL };
    const json_t *about = json_object_get(object, "metadata");
    const json_t *labels = json_object_get(about, "labels");
    const json_t *allocatable = kube_at(object, "status", "allocatable", NULL);
    int64_t pods = 0;

    if (!kube_text(about, "name")[0])
        return NULL;
    struct kube_node *node = mem_zero(1, sizeof(*node));
    *node = (struct kube_node){
        .name = mem_string(kube_text(about, "name")),
        .boot = mem_string(kube_text(kube_at(object, "status", "nodeInfo", NULL), "bootID")),
        .rack = mem_string(first_label(labels, racks)),
        .block = mem_string(first_label(labels, blocks)),
        .address = mem_string(address_of(object)),
        .others = read_others(allocatable),
        .labels = labels ? json_incref((json_t *)labels) : json_object(),
    };
    quantity_milli(kube_text(allocatable, "cpu"), &node->cpu_milli);
    quantity_mib(kube_text(allocatable, "memory"), &node->memory_mib);
    node->pods_max = quantity_milli(kube_text(allocatable, "pods"), &pods) ? (uint32_t)(pods / 1000)
                                                                           : UINT32_MAX;
    read_devices(node, object);
    read_taints(node, json_object_get(object, "spec"));
    read_conditions(node, object);
    return node;
}

static bool has_same_devices(const struct kube_node *a, const struct kube_node *b)
{
    size_t count = a->device_count;

    return count == b->device_count &&
           (count == 0 ||
            (memcmp(a->devices, b->devices, count * sizeof(a->devices[0])) == 0 &&
             memcmp(a->resources, b->resources, count * sizeof(a->resources[0])) == 0));
}

bool kube_node_is_same(const struct kube_node *a, const struct kube_node *b)
{
    return a->cpu_milli == b->cpu_milli && a->memory_mib == b->memory_mib &&
           a->pods_max == b->pods_max && a->is_down == b->is_down &&
           a->is_drained == b->is_drained && has_same_devices(a, b) &&
           string_equal(a->reason, b->reason) && string_equal(a->rack, b->rack) &&
           string_equal(a->block, b->block) && string_equal(a->boot, b->boot) &&
           string_equal(a->address, b->address) && json_equal(a->labels, b->labels) &&
           json_equal(a->others, b->others) && json_equal(a->taints, b->taints);
}

void kube_node_destroy(void *value)
{
    struct kube_node *node = value;

    if (!node)
        return;
    char *const owned[] = { node->name, node->boot,  node->reason,
                            node->rack, node->block, node->address };
    for (size_t i = 0; i < COUNT_OF(owned); i++)
        free(owned[i]);
    json_decref(node->labels);
    json_decref(node->others);
    json_decref(node->taints);
    free(node->devices);
    free(node->resources);
    free(node);
}
