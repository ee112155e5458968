/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/dra/dra_claims.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "engine/kube/client/kube_json.h"
#include "engine/kube/dra/dra_names.h"

struct dra_claims {
    LIST(struct dra_claim *) all;
    LIST(struct dra_class *) classes;
    struct map by_key;    /* hash -> pointer */
    struct map by_device; /* hash of "DRIVER/POOL/NAME" -> pointer */
    uint64_t class_version;
    bool has_claims, has_classes;
    void (*touched)(void *user, const char *node);
    void *user;
};

static uint64_t hash_of(const char *text)
{
    return map_hash(text, strlen(text));
}

/* ---- objects ---- */

void *dra_claim_read(const json_t *object)
{
    const json_t *about = json_object_get(object, "metadata");
    const json_t *status = json_object_get(object, "status");
    const json_t *notes = json_object_get(about, "annotations");

    if (!kube_text(about, "uid")[0])
        return NULL;
    struct dra_claim *claim = mem_zero(1, sizeof(*claim));
    *claim = (struct dra_claim){
        .namespace = mem_string(kube_text(about, "namespace")),
        .name = mem_string(kube_text(about, "name")),
        .uid = mem_string(kube_text(about, "uid")),
        .version = mem_string(kube_text(about, "resourceVersion")),
        .spec = json_incref(kube_at(object, "spec", "devices", NULL)),
        .allocation = json_incref(json_object_get(status, "allocation")),
        .reserved = json_incref(json_object_get(status, "reservedFor")),
        .finalizers = json_incref(json_object_get(about, "finalizers")),
        .mark = mem_string(kube_text(notes, DRA_ATTEMPT)),
        .is_generated = kube_text(notes, DRA_POD_CLAIM_NAME)[0] != '\0',
        .is_deleting = json_object_get(about, "deletionTimestamp") != NULL,
    };
    claim->key = mem_printf("%s/%s", claim->namespace, claim->name);
    return claim;
}

void dra_claim_destroy(void *value)
{
    struct dra_claim *claim = value;

    if (!claim)
        return;
    char *const owned[] = { claim->key,     claim->namespace, claim->name,  claim->uid,
                            claim->version, claim->mark,      claim->taker, claim->taker_name };
    for (size_t i = 0; i < COUNT_OF(owned); i++)
        free(owned[i]);
    json_decref(claim->spec);
    json_decref(claim->allocation);
    json_decref(claim->reserved);
    json_decref(claim->finalizers);
    free(claim);
}

void *dra_class_read(const json_t *object)
{
    const json_t *spec = json_object_get(object, "spec");
    const char *name = kube_text(json_object_get(object, "metadata"), "name");
    struct dra_class *class = mem_zero(1, sizeof(*class));
    json_t *selector;
    size_t i;

    class->name = mem_string(name);
    class->config = json_incref(json_object_get(spec, "config"));
    class->selectors = json_array();
    json_array_foreach(json_object_get(spec, "selectors"), i, selector)
        json_array_append(class->selectors, kube_at(selector, "cel", "expression", NULL));
    return class;
}

void dra_class_destroy(void *value)
{
    struct dra_class *class = value;

    if (!class)
        return;
    free(class->name);
    json_decref(class->selectors);
    json_decref(class->config);
    free(class);
}

/* ---- the store ---- */

struct dra_claims *dra_claims_create(void (*touched)(void *user, const char *node), void *user)
{
    struct dra_claims *claims = mem_zero(1, sizeof(*claims));

    claims->touched = touched;
    claims->user = user;
    return claims;
}

void dra_claims_destroy(struct dra_claims *claims)
{
    if (!claims)
        return;
    for (size_t i = 0; i < claims->all.count; i++)
        dra_claim_destroy(claims->all.items[i]);
    for (size_t i = 0; i < claims->classes.count; i++)
        dra_class_destroy(claims->classes.items[i]);
    list_release(&claims->all);
    list_release(&claims->classes);
    map_release(&claims->by_key);
    map_release(&claims->by_device);
    free(claims);
}

static struct dra_claim *find(const struct dra_claims *claims, const char *key)
{
    uint64_t at;

    if (!map_get(&claims->by_key, hash_of(key), &at))
        return NULL;
    struct dra_claim *claim = (struct dra_claim *)(uintptr_t)at;
    return strcmp(claim->key, key) == 0 ? claim : NULL;
}

/* Devices that an administrator looks at (adminAccess) stay free for others. */
static void index_devices(struct dra_claims *claims, struct dra_claim *claim, bool is_held)
{
    json_t *result;
    size_t i;

    json_array_foreach(kube_at(claim->allocation, "devices", "results", NULL), i, result)
    {
        AUTO_FREE char *key = mem_printf("%s/%s/%s", kube_text(result, "driver"),
                                         kube_text(result, "pool"), kube_text(result, "device"));
        uint64_t at;
        if (json_is_true(json_object_get(result, "adminAccess")))
            continue;
        if (is_held)
            map_set(&claims->by_device, hash_of(key), (uint64_t)(uintptr_t)claim);
        else if (map_get(&claims->by_device, hash_of(key), &at) && at == (uint64_t)(uintptr_t)claim)
            map_remove(&claims->by_device, hash_of(key));
    }
    if (claim->allocation)
        claims->touched(claims->user, dra_claim_node(claim));
}

static void lose(struct dra_claims *claims, const char *key)
{
    struct dra_claim *claim = find(claims, key);
    size_t i = 0;

    if (!claim)
        return;
    index_devices(claims, claim, false);
    while (claims->all.items[i] != claim)
        i++;
    claims->all.items[i] = claims->all.items[--claims->all.count];
    map_remove(&claims->by_key, hash_of(key));
    dra_claim_destroy(claim);
}

/* Versions of the API server only grow. */
static bool is_older(const struct dra_claim *claim, const struct dra_claim *than)
{
    return strcmp(claim->uid, than->uid) == 0 &&
           strtoull(claim->version, NULL, 10) < strtoull(than->version, NULL, 10);
}

/* Takes the claim over. What only tarn knows of it stays. */
static void keep(struct dra_claims *claims, struct dra_claim *claim)
{
    struct dra_claim *known = find(claims, claim->key);

    if (known && is_older(claim, known)) {
        known->is_seen = true;
        dra_claim_destroy(claim);
        return;
    }
    if (known && strcmp(known->uid, claim->uid) == 0) {
        bool is_freed = known->allocation && !claim->allocation;
        claim->taker = is_freed ? NULL : TAKE(known->taker);
        claim->taker_name = is_freed ? NULL : TAKE(known->taker_name);
    }
    lose(claims, claim->key);
    claim->is_seen = true;
    list_add(&claims->all, claim);
    map_set(&claims->by_key, hash_of(claim->key), (uint64_t)(uintptr_t)claim);
    index_devices(claims, claim, true);
}

void dra_claims_see(struct dra_claims *claims, enum kube_event event, void *object)
{
    struct dra_claim *claim = object;

    switch (event) {
    case KUBE_LIST_BEGINS:
        for (size_t i = 0; i < claims->all.count; i++)
            claims->all.items[i]->is_seen = false;
        break;
    case KUBE_OBJECT:
        keep(claims, claim);
        break;
    case KUBE_GONE:
        lose(claims, claim->key);
        dra_claim_destroy(claim);
        break;
    case KUBE_LIST_ENDS:
        claims->has_claims = true;
        for (size_t i = claims->all.count; i-- > 0;) {
            if (!claims->all.items[i]->is_seen)
                lose(claims, claims->all.items[i]->key);
        }
        break;
    }
}

void dra_claims_put(struct dra_claims *claims, const json_t *object)
{
    struct dra_claim *claim = dra_claim_read(object);

    if (claim)
        keep(claims, claim);
}

static void lose_class(struct dra_claims *claims, const char *name)
{
    for (size_t i = 0; i < claims->classes.count; i++) {
        if (strcmp(claims->classes.items[i]->name, name) != 0)
            continue;
        dra_class_destroy(claims->classes.items[i]);
        list_remove(&claims->classes, i);
        return;
    }
}

void dra_claims_see_class(struct dra_claims *claims, enum kube_event event, void *object)
{
    struct dra_class *class = object;

    claims->class_version++;
    switch (event) {
    case KUBE_LIST_BEGINS:
        for (size_t i = 0; i < claims->classes.count; i++)
            claims->classes.items[i]->is_seen = false;
        break;
    case KUBE_OBJECT:
        lose_class(claims, class->name);
        class->is_seen = true;
        list_add(&claims->classes, class);
        break;
    case KUBE_GONE:
        lose_class(claims, class->name);
        dra_class_destroy(class);
        break;
    case KUBE_LIST_ENDS:
        claims->has_classes = true;
        for (size_t i = claims->classes.count; i-- > 0;) {
            if (!claims->classes.items[i]->is_seen)
                lose_class(claims, claims->classes.items[i]->name);
        }
        break;
    }
}

/* ---- questions ---- */

bool dra_claims_are_known(const struct dra_claims *claims)
{
    return claims->has_claims && claims->has_classes;
}

uint64_t dra_claims_class_version(const struct dra_claims *claims)
{
    return claims->class_version;
}

struct dra_claim *dra_claims_find(const struct dra_claims *claims, const char *namespace,
                                  const char *name)
{
    AUTO_FREE char *key = mem_printf("%s/%s", namespace, name);

    return find(claims, key);
}

const struct dra_class *dra_claims_class(const struct dra_claims *claims, const char *name)
{
    for (size_t i = 0; i < claims->classes.count; i++) {
        if (strcmp(claims->classes.items[i]->name, name) == 0)
            return claims->classes.items[i];
    }
    return NULL;
}

const struct dra_class *dra_claims_class_at(const struct dra_claims *claims, size_t at)
{
    return at < claims->classes.count ? claims->classes.items[at] : NULL;
}

const struct dra_claim *dra_claims_holder(const struct dra_claims *claims, const char *device)
{
    uint64_t at;

    return map_get(&claims->by_device, hash_of(device), &at)
               ? (const struct dra_claim *)(uintptr_t)at
               : NULL;
}

bool dra_claim_is_reserved(const struct dra_claim *claim, const char *pod_uid)
{
    json_t *user;
    size_t i;

    json_array_foreach(claim->reserved, i, user)
    {
        if (strcmp(kube_text(user, "uid"), pod_uid) == 0)
            return true;
    }
    return false;
}

void dra_claims_forget_pod(struct dra_claims *claims, const char *pod_uid)
{
    for (size_t i = 0; i < claims->all.count; i++) {
        struct dra_claim *claim = claims->all.items[i];
        if (!claim->taker || strcmp(claim->taker, pod_uid) != 0)
            continue;
        free(claim->taker);
        free(claim->taker_name);
        claim->taker = claim->taker_name = NULL;
    }
}

void dra_claims_each(const struct dra_claims *claims,
                     void (*visit)(void *user, struct dra_claim *claim), void *user)
{
    for (size_t i = 0; i < claims->all.count; i++)
        visit(user, claims->all.items[i]);
}

const json_t *dra_allocation_terms(const json_t *allocation)
{
    return kube_at(allocation, "nodeSelector", "nodeSelectorTerms", NULL);
}

const char *dra_claim_node(const struct dra_claim *claim)
{
    const json_t *term = json_array_get(dra_allocation_terms(claim->allocation), 0);
    const json_t *match = json_array_get(json_object_get(term, "matchFields"), 0);
    const char *node = json_string_value(json_array_get(json_object_get(match, "values"), 0));

    return node && strcmp(kube_text(match, "key"), "metadata.name") == 0 ? node : "";
}
