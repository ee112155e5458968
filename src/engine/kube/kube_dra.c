/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/kube_dra.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "engine/kube/client/kube_json.h"
#include "engine/kube/dra/dra_class.h"
#include "engine/kube/dra/dra_names.h"
#include "io/log.h"

enum { SWEEP_MS = 1000, PATIENCE_MS = 3600000 };

struct kube_dra {
    struct kube_client *client;
    struct kube_dra_told told;
    struct dra_pools *pools;
    struct dra_claims *claims;
    struct dra_filters *filters;
    struct dra_allocator *allocator;
    bool is_absent; /* there are no such objects for tarn, because: */
    const char *why_absent;
    uint64_t swept_at;
    bool (*is_stray)(const char *pod_uid); /* while they are swept */
    char *mixed;                           /* a node where a vendor's slices are left out */
};

struct kube_dra *kube_dra_create(struct kube_client *client, const struct kube_dra_told *told)
{
    struct kube_dra *dra = mem_zero(1, sizeof(*dra));

    dra->client = client;
    dra->told = *told;
    dra->pools = dra_pools_create();
    dra->claims = dra_claims_create(told->touched, told->user);
    dra->filters = dra_filters_create(dra->claims, dra->pools);
    dra->allocator = dra_allocator_create(client, dra->claims, dra->pools);
    return dra;
}

void kube_dra_destroy(struct kube_dra *dra)
{
    if (!dra)
        return;
    dra_allocator_destroy(dra->allocator);
    dra_filters_destroy(dra->filters);
    dra_claims_destroy(dra->claims);
    dra_pools_destroy(dra->pools);
    free(dra->mixed);
    free(dra);
}

/* ---- objects ---- */

void kube_dra_see(struct kube_dra *dra, enum kube_dra_kind kind, enum kube_event event,
                  void *object)
{
    switch (kind) {
    case KUBE_DRA_SLICE:
        dra_pools_see(dra->pools, event, object, dra->told.touched, dra->told.user);
        break;
    case KUBE_DRA_CLASS:
        dra_claims_see_class(dra->claims, event, object);
        break;
    case KUBE_DRA_CLAIM:
        dra_claims_see(dra->claims, event, object);
        break;
    case KUBE_DRA_KINDS:
        break;
    }
    dra->told.changed(dra->told.user);
}

static void on_slice(void *user, enum kube_event event, void *object)
{
    kube_dra_see(user, KUBE_DRA_SLICE, event, object);
}

static void on_class(void *user, enum kube_event event, void *object)
{
    kube_dra_see(user, KUBE_DRA_CLASS, event, object);
}

static void on_claim(void *user, enum kube_event event, void *object)
{
    kube_dra_see(user, KUBE_DRA_CLAIM, event, object);
}

static void on_first(void *user, const struct kube_reply *reply)
{
    struct kube_dra *dra = user;
    static const struct kube_watch watches[KUBE_DRA_KINDS] = {
        { .path = DRA_API "/resourceslices",
          .read = dra_slice_read,
          .on_event = on_slice,
          .release = dra_slice_destroy },
        { .path = DRA_API "/deviceclasses",
          .read = dra_class_read,
          .on_event = on_class,
          .release = dra_class_destroy },
        { .path = DRA_API "/resourceclaims",
          .read = dra_claim_read,
          .on_event = on_claim,
          .release = dra_claim_destroy },
    };

    dra->is_absent = !kube_reply_is_ok(reply);
    dra->why_absent = reply->status == KUBE_NOT_FOUND
                          ? "the API server does not serve resource.k8s.io/v1"
                          : "the daemon may not list resourceclaims of resource.k8s.io";
    if (dra->is_absent)
        log_line(LOG_INFO, "has no devices by ResourceClaims (DRA) reason='%s'", reply->words);
    for (size_t i = 0; i < KUBE_DRA_KINDS && !dra->is_absent; i++) {
        struct kube_watch watch = watches[i];
        watch.user = dra;
        kube_client_watch(dra->client, &watch);
    }
    dra->told.changed(dra->told.user);
}

void kube_dra_watch(struct kube_dra *dra)
{
    kube_client_call(dra->client, &(struct kube_call){ .method = "GET",
                                                       .path = DRA_API "/resourceclaims?limit=1",
                                                       .patience_ms = PATIENCE_MS,
                                                       .done = on_first,
                                                       .user = dra });
}

bool kube_dra_is_known(const struct kube_dra *dra)
{
    return dra->is_absent || (dra_pools_are_known(dra->pools) && dra_claims_are_known(dra->claims));
}

/* ---- pods ---- */

static void set_text(char **text, const char *value)
{
    free(*text);
    *text = mem_string(value);
}

static void take_demand(struct kube_pod *pod, struct dra_demand *demand)
{
    pod->device_count = demand->count;
    set_text(&pod->filter, demand->filter);
    set_text(&pod->shares_with, demand->with);
    json_decref(pod->places);
    pod->places = json_incref(demand->nodes);
}

void kube_dra_resolve(struct kube_dra *dra, struct kube_pod *pod)
{
    const struct dra_pod about = { pod->uid, pod->namespace, pod->name, pod->resource_claims };
    struct dra_demand demand;
    struct error err;

    if (!pod->resource_claims || pod->is_claim_missing)
        return;
    free(pod->unresolved);
    pod->unresolved = NULL;
    int code = dra->is_absent
                   ? error_set(&err, -ENOTSUP, "it has ResourceClaims, and %s", dra->why_absent)
                   : dra_demand_read(dra->claims, &about, &demand, &err);
    if (code < 0) {
        pod->unresolved = mem_string(err.text);
        return;
    }
    take_demand(pod, &demand);
    dra_demand_release(&demand);
}

void kube_dra_forget(struct kube_dra *dra, const struct kube_pod *pod)
{
    if (pod->resource_claims)
        dra_claims_forget_pod(dra->claims, pod->uid);
}

const char *kube_dra_label(struct kube_dra *dra, const struct kube_pod *pod, uint64_t now_ms,
                           const char **ret_kind, struct error *err)
{
    const char *label =
        dra ? dra_filters_label(dra->filters, pod->filter, now_ms, ret_kind, err) : NULL;

    if (!dra)
        error_set(err, -ENOTSUP, "there are no devices for ResourceClaims");
    if (!label && dra && dra->mixed)
        error_prefix(err, -ENOTSUP, "%s", dra->mixed);
    return label;
}

char *kube_dra_spell(const struct kube_dra *dra, const char *words, size_t *ret_length)
{
    return dra ? dra_filters_spell(dra->filters, words, ret_length) : NULL;
}

/* ---- devices ---- */

bool kube_dra_is_used(const struct kube_dra *dra)
{
    return dra && dra_pools_have_any(dra->pools);
}

uint64_t kube_dra_version(struct kube_dra *dra)
{
    return dra ? dra_filters_version(dra->filters) : 0;
}

/* The device plugin of the node offers the same devices. */
static bool has_plugin(const struct kube_node *node, const char *vendor)
{
    for (uint32_t i = 0; i < node->device_count; i++) {
        if (strcmp(node->devices[i].vendor, vendor) == 0)
            return true;
    }
    return false;
}

static void note_mixed(struct kube_dra *dra, const struct kube_node *node, const char *driver)
{
    if (dra->mixed)
        return;
    dra->mixed = mem_printf("node %s has a device plugin, too: the devices of %s there are those "
                            "of the plugin",
                            node->name, driver);
    log_line(LOG_NOTICE, "devices are left out reason='%s'", dra->mixed);
}

static void occupy(const struct kube_dra *dra, const struct dra_place *place,
                   struct probe_device *device)
{
    const struct dra_claim *holder = dra_claims_holder(dra->claims, place->device->key);

    if (device->sick[0] || (!holder && !place->is_updating)) /* tainted, or free */
        return;
    device->is_occupied = true;
    if (holder)
        snprintf(device->sick, sizeof(device->sick), "allocated to ResourceClaim %.60s",
                 holder->key);
    else
        snprintf(device->sick, sizeof(device->sick), "its driver is publishing its devices anew");
}

void kube_dra_devices_of(struct kube_dra *dra, const struct kube_node *node,
                         struct kube_dra_devices *ret)
{
    uint32_t count = 0;
    const struct dra_place *places = dra ? dra_pools_of(dra->pools, node->name, &count) : NULL;

    *ret = (struct kube_dra_devices){ 0 };
    if (count == 0)
        return;
    char **labels = dra_filters_of(dra->filters, node->name);
    ret->devices = mem_zero(count, sizeof(ret->devices[0]));
    ret->notes = mem_zero(count, sizeof(ret->notes[0]));
    for (uint32_t i = 0; i < count; i++) {
        const struct dra_device *device = places[i].device;
        if (has_plugin(node, device->probe.vendor)) {
            note_mixed(dra, node, device->driver);
            free(labels[i]);
            continue;
        }
        ret->devices[ret->count] = device->probe;
        occupy(dra, &places[i], &ret->devices[ret->count]);
        ret->notes[ret->count++] =
            (struct engine_device_note){ .labels = labels[i], .kind = device->kind };
    }
    free(labels);
}

void kube_dra_devices_release(struct kube_dra_devices *devices)
{
    for (uint32_t i = 0; i < devices->count; i++)
        free((char *)devices->notes[i].labels);
    free(devices->notes);
    free(devices->devices);
}

bool kube_dra_has(const struct kube_dra *dra, const char *node, const char *devices)
{
    AUTO_FREE char *first = mem_string_of(devices, strcspn(devices, ","));

    return dra && dra_pools_find(dra->pools, node, first);
}

const char *kube_dra_class(const struct kube_dra *dra, const char *node, const char *devices,
                           struct error *err)
{
    uint32_t count = 0;
    AUTO_FREE struct dra_device **chosen = dra_pools_find_all(dra->pools, node, devices, &count);
    const char *class = count > 0 ? dra_class_of(dra->claims, chosen, count) : NULL;

    if (!class)
        error_set(err, -ENOTSUP,
                  "no DeviceClass selects all devices that were chosen on node %s: expected one, "
                  "for example with the selector device.driver == '%s'",
                  node, count > 0 ? chosen[0]->driver : "DRIVER");
    return class;
}

/* ---- allocations ---- */

void kube_dra_allocate(struct kube_dra *dra, const struct kube_pod *pod, struct dra_order order)
{
    order.pod = (struct dra_pod){ pod->uid, pod->namespace, pod->name, pod->resource_claims };
    dra_allocate(dra->allocator, &order);
}

static void sweep(void *user, struct dra_claim *claim)
{
    struct kube_dra *dra = user;
    json_t *consumer;
    size_t i;

    if (!claim->allocation || !claim->mark[0] || json_array_size(claim->reserved) == 0)
        return;
    json_array_foreach(claim->reserved, i, consumer)
    {
        if (!dra->is_stray(kube_text(consumer, "uid")))
            return;
    }
    log_line(LOG_NOTICE, "takes back the devices of a claim whose pod is not bound claim=%s",
             claim->key);
    dra_take_back(dra->allocator, claim);
}

void kube_dra_tick(struct kube_dra *dra, uint64_t now_ms, bool (*is_stray)(const char *pod_uid))
{
    dra_allocator_tick(dra->allocator, now_ms);
    if (now_ms - dra->swept_at < SWEEP_MS || dra->is_absent)
        return;
    dra->swept_at = now_ms;
    dra->is_stray = is_stray;
    dra_claims_each(dra->claims, sweep, dra);
}
