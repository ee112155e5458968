/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/dra/dra_allocate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "engine/kube/client/kube_json.h"
#include "engine/kube/dra/dra_names.h"

enum {
    TRIES_MAX = 5, /* of a request that is refused */
    LONGEST_MS = 30000,
    PATIENCE_MS = 10000,
};

/* The claims of one pod, one after the other. */
struct errand {
    struct dra_allocator *allocator;
    char *pod_uid, *pod_name, *namespace, *node, *mark;
    json_t *claims;
    LIST(struct dra_device *) devices;
    size_t at, device; /* the next ones */
    uint64_t until;    /* uv_now() */
    uint32_t failures;
    char *waits; /* for what; NULL: a request is under way */
    void (*done)(void *user, const char *why);
    void *user;
};

struct dra_allocator {
    struct kube_client *client;
    struct dra_claims *claims;
    const struct dra_pools *pools;
    LIST(struct errand *) waiting;
};

struct dra_allocator *dra_allocator_create(struct kube_client *client, struct dra_claims *claims,
                                           const struct dra_pools *pools)
{
    struct dra_allocator *allocator = mem_zero(1, sizeof(*allocator));

    *allocator = (struct dra_allocator){ .client = client, .claims = claims, .pools = pools };
    return allocator;
}

static void errand_destroy(struct errand *errand)
{
    char *const owned[] = { errand->pod_uid, errand->pod_name, errand->namespace,
                            errand->node,    errand->mark,     errand->waits };

    for (size_t i = 0; i < COUNT_OF(owned); i++)
        free(owned[i]);
    for (size_t i = 0; i < errand->devices.count; i++)
        dra_device_release(errand->devices.items[i]);
    list_release(&errand->devices);
    json_decref(errand->claims);
    free(errand);
}

void dra_allocator_destroy(struct dra_allocator *allocator)
{
    if (!allocator)
        return;
    for (size_t i = 0; i < allocator->waiting.count; i++)
        errand_destroy(allocator->waiting.items[i]);
    list_release(&allocator->waiting);
    free(allocator);
}

static void finish(struct errand *errand, const char *why)
{
    errand->done(errand->user, why);
    errand_destroy(errand);
}

/* It goes on in the next tick. */
static void wait_for(struct errand *errand, char *what)
{
    free(errand->waits);
    errand->waits = what;
    list_add(&errand->allocator->waiting, errand);
}

/* ---- what is written ---- */

static void add_config(json_t *config, const json_t *entries, const char *source,
                       const char *request)
{
    json_t *entry;
    size_t i;

    json_array_foreach(entries, i, entry)
    {
        json_t *copy = json_copy(entry);
        json_object_set_new(copy, "source", json_string(source));
        if (request)
            json_object_set_new(copy, "requests", json_pack("[s]", request));
        json_array_append_new(config, copy);
    }
}

json_t *dra_allocation(const struct dra_claims *claims, const struct dra_claim *claim,
                       const char *node, struct dra_device *const *devices)
{
    json_t *results = json_array(), *config = json_array(), *request;
    size_t i;

    json_array_foreach(json_object_get(claim->spec, "requests"), i, request)
    {
        const json_t *exactly = json_object_get(request, "exactly");
        const char *name = kube_text(request, "name");
        const struct dra_class *class =
            dra_claims_class(claims, kube_text(exactly, "deviceClassName"));
        for (int64_t left = kube_number(exactly, "count", 1); left > 0; left--, devices++)
            json_array_append_new(results, json_pack("{s:s, s:s, s:s, s:s}", "request", name,
                                                     "driver", (*devices)->driver, "pool",
                                                     (*devices)->pool, "device", (*devices)->name));
        add_config(config, class ? class->config : NULL, "FromClass", name);
    }
    add_config(config, json_object_get(claim->spec, "config"), "FromClaim", NULL);
    return json_pack("{s:{s:o, s:o}, s:{s:[{s:[{s:s, s:s, s:[s]}]}]}}", "devices", "results",
                     results, "config", config, "nodeSelector", "nodeSelectorTerms", "matchFields",
                     "key", "metadata.name", "operator", "In", "values", node);
}

/* With the version that it has as a condition. */
static json_t *about(const struct dra_claim *claim)
{
    return json_pack("{s:s, s:s}", "uid", claim->uid, "resourceVersion", claim->version);
}

static void go_on(struct errand *errand);

static void on_answer(void *user, const struct kube_reply *reply)
{
    struct errand *errand = user;

    if (kube_reply_is_ok(reply)) {
        dra_claims_put(errand->allocator->claims, reply->body);
        go_on(errand);
    } else if (++errand->failures >= TRIES_MAX) {
        AUTO_FREE char *why =
            mem_printf("ResourceClaim %s: %s",
                       json_string_value(json_array_get(errand->claims, errand->at)), reply->words);
        finish(errand, why);
    } else { /* the watch may bring what has changed */
        wait_for(errand, mem_string(reply->words));
    }
}

static void patch(struct dra_allocator *allocator, const struct dra_claim *claim, bool is_status,
                  json_t *body, void (*done)(void *user, const struct kube_reply *reply),
                  void *user)
{
    AUTO_FREE char *path = mem_printf(DRA_API "/namespaces/%s/resourceclaims/%s%s",
                                      claim->namespace, claim->name, is_status ? "/status" : "");

    kube_client_call(allocator->client, &(struct kube_call){ .method = "PATCH",
                                                             .path = path,
                                                             .type = "application/merge-patch+json",
                                                             .body = body,
                                                             .patience_ms = PATIENCE_MS,
                                                             .done = done,
                                                             .user = user });
}

static bool has_finalizer(const struct dra_claim *claim)
{
    json_t *finalizer;
    size_t i;

    json_array_foreach(claim->finalizers, i, finalizer)
    {
        if (strcmp(json_string_value(finalizer), DRA_FINALIZER) == 0)
            return true;
    }
    return false;
}

static void send_mark(struct errand *errand, const struct dra_claim *claim)
{
    json_t *meta = about(claim);
    json_t *finalizers = claim->finalizers ? json_copy(claim->finalizers) : json_array();

    if (!has_finalizer(claim))
        json_array_append_new(finalizers, json_string(DRA_FINALIZER));
    json_object_set_new(meta, "finalizers", finalizers);
    json_object_set_new(meta, "annotations", json_pack("{s:s}", DRA_ATTEMPT, errand->mark));
    patch(errand->allocator, claim, false, json_pack("{s:o}", "metadata", meta), on_answer, errand);
}

static json_t *reserved_with(const struct errand *errand, const struct dra_claim *claim)
{
    json_t *reserved = claim->reserved ? json_copy(claim->reserved) : json_array();

    json_array_append_new(reserved, json_pack("{s:s, s:s, s:s}", "resource", "pods", "name",
                                              errand->pod_name, "uid", errand->pod_uid));
    return reserved;
}

/* allocation NULL: it is allocated. */
static void send_status(struct errand *errand, const struct dra_claim *claim, json_t *allocation)
{
    json_t *status = json_pack("{s:o}", "reservedFor", reserved_with(errand, claim));

    if (allocation)
        json_object_set_new(status, "allocation", allocation);
    patch(errand->allocator, claim, true,
          json_pack("{s:o, s:o}", "metadata", about(claim), "status", status), on_answer, errand);
}

static json_t *freed(const struct dra_claim *claim)
{
    return json_pack("{s:o, s:{s:n, s:n}}", "metadata", about(claim), "status", "allocation",
                     "reservedFor");
}

/* ---- the next step ---- */

/* The claim has the devices that the pod is to get, in whichever order. */
static bool is_as_ordered(const struct errand *errand, const struct dra_claim *claim)
{
    uint32_t count = dra_demand_count(claim), found = 0;

    for (uint32_t i = 0; i < count; i++)
        found += dra_claims_holder(errand->allocator->claims,
                                   errand->devices.items[errand->device + i]->key) == claim;
    return found == count &&
           json_array_size(kube_at(claim->allocation, "devices", "results", NULL)) == count;
}

/* Another claim that has one of its devices. */
static const struct dra_claim *rival_of(const struct errand *errand, const struct dra_claim *claim)
{
    for (uint32_t i = 0; i < dra_demand_count(claim); i++) {
        const struct dra_claim *holder = dra_claims_holder(
            errand->allocator->claims, errand->devices.items[errand->device + i]->key);
        if (holder && holder != claim)
            return holder;
    }
    return NULL;
}

static void allocate(struct errand *errand, const struct dra_claim *claim)
{
    const struct dra_claim *rival = rival_of(errand, claim);

    if (rival)
        wait_for(errand, mem_printf("ResourceClaim %s still has a device that ResourceClaim %s is "
                                    "to get",
                                    rival->key, claim->key));
    else if (!has_finalizer(claim) || strcmp(claim->mark, errand->mark) != 0)
        send_mark(errand, claim);
    else
        send_status(errand, claim,
                    dra_allocation(errand->allocator->claims, claim, errand->node,
                                   errand->devices.items + errand->device));
}

static bool has_devices_for(const struct errand *errand, const struct dra_claim *claim)
{
    return dra_demand_count(claim) <= errand->devices.count - errand->device;
}

/* False: a request is under way, it waits, or it has failed. */
static bool advance(struct errand *errand, struct dra_claim *claim)
{
    const char *elsewhere = dra_claim_node(claim);
    bool is_shared = claim->taker && strcmp(claim->taker, errand->pod_uid) != 0;
    bool is_own = claim->allocation && !dra_demand_is_met(claim, errand->pod_uid) && !is_shared;

    if (claim->allocation && is_own && has_devices_for(errand, claim) &&
        !is_as_ordered(errand, claim)) {
        patch(errand->allocator, claim, true, freed(claim), on_answer, errand);
        return false;
    }
    if (elsewhere[0] && strcmp(elsewhere, errand->node) != 0) {
        AUTO_FREE char *why = mem_printf("ResourceClaim %s is allocated on node %s, not on %s",
                                         claim->key, elsewhere, errand->node);
        finish(errand, why);
        return false;
    }
    if (!claim->allocation && is_shared) {
        wait_for(errand, mem_printf("ResourceClaim %s is allocated first for pod %s", claim->key,
                                    claim->taker_name));
        return false;
    }
    if (!claim->allocation && !has_devices_for(errand, claim)) {
        AUTO_FREE char *why = mem_printf("ResourceClaim %s is not allocated any more", claim->key);
        finish(errand, why);
        return false;
    }
    if (!claim->allocation) {
        allocate(errand, claim);
        return false;
    }
    if (!dra_claim_is_reserved(claim, errand->pod_uid)) {
        send_status(errand, claim, NULL);
        return false;
    }
    errand->device += is_own ? dra_demand_count(claim) : 0;
    errand->at++;
    return true;
}

static void go_on(struct errand *errand)
{
    bool goes_on = true;

    while (goes_on && errand->at < json_array_size(errand->claims)) {
        const char *name = json_string_value(json_array_get(errand->claims, errand->at));
        struct dra_claim *claim =
            dra_claims_find(errand->allocator->claims, errand->namespace, name);
        if (!claim || claim->is_deleting) {
            AUTO_FREE char *why =
                mem_printf("ResourceClaim %s %s", name, claim ? "is being deleted" : "was deleted");
            finish(errand, why);
            return;
        }
        goes_on = advance(errand, claim);
    }
    if (goes_on)
        finish(errand, NULL);
}

/* ---- calls ---- */

static bool take_devices(struct errand *errand, const char *names)
{
    uint32_t count = 0;
    AUTO_FREE struct dra_device **found =
        dra_pools_find_all(errand->allocator->pools, errand->node, names, &count);

    for (uint32_t i = 0; i < count; i++)
        list_add(&errand->devices, dra_device_keep(found[i]));
    return found || !names[0];
}

void dra_allocate(struct dra_allocator *allocator, const struct dra_order *order)
{
    struct errand *errand = mem_zero(1, sizeof(*errand));

    *errand = (struct errand){ .allocator = allocator,
                               .pod_uid = mem_string(order->pod.uid),
                               .pod_name = mem_string(order->pod.name),
                               .namespace = mem_string(order->pod.namespace),
                               .node = mem_string(order->node),
                               .mark = mem_string(order->mark),
                               .claims = json_incref((json_t *)order->pod.claims),
                               .until = order->now_ms + LONGEST_MS,
                               .done = order->done,
                               .user = order->user };
    if (take_devices(errand, order->devices))
        wait_for(errand, mem_string(""));
    else
        wait_for(errand, NULL);
}

static void on_taken_back(void *user, const struct kube_reply *reply)
{
    struct dra_allocator *allocator = user;

    if (kube_reply_is_ok(reply))
        dra_claims_put(allocator->claims, reply->body);
}

void dra_take_back(struct dra_allocator *allocator, struct dra_claim *claim)
{
    patch(allocator, claim, true, freed(claim), on_taken_back, allocator);
}

void dra_allocator_tick(struct dra_allocator *allocator, uint64_t now_ms)
{
    LIST(struct errand *) now = { 0 };

    list_copy(&now, &allocator->waiting);
    allocator->waiting.count = 0;
    for (size_t i = 0; i < now.count; i++) {
        struct errand *errand = now.items[i];
        if (!errand->waits)
            finish(errand, "a device that its pod was to get is not published any more");
        else if (now_ms >= errand->until)
            finish(errand, errand->waits);
        else
            go_on(errand);
    }
    list_release(&now);
}
