/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/kube_claims.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "engine/kube/client/kube_json.h"

/* A claim, a volume or a storage class. */
struct thing {
    char *key;                          /* name; of a claim: "NAMESPACE/NAME" */
    char *volume, *class;               /* of a claim; "": none */
    json_t *terms;                      /* of a volume: of its nodeAffinity; NULL: any node */
    bool is_bound;                      /* a claim */
    bool waits_for_pod, is_provisioned; /* the claims of a class */
    bool is_seen;
};

struct kube_claims {
    struct {
        LIST(struct thing *) all;
        struct map by_key;
        bool is_known;
    } kinds[KUBE_CLAIMS_KINDS];
};

/* ---- objects ---- */

static struct thing *read_thing(const json_t *object, bool has_namespace)
{
    const json_t *about = json_object_get(object, "metadata");
    const char *name = kube_text(about, "name");
    struct thing *thing = mem_zero(1, sizeof(*thing));

    thing->key =
        has_namespace ? mem_printf("%s/%s", kube_text(about, "namespace"), name) : mem_string(name);
    thing->volume = mem_string(kube_text(json_object_get(object, "spec"), "volumeName"));
    thing->class = mem_string(kube_text(json_object_get(object, "spec"), "storageClassName"));
    return thing;
}

void *kube_claim_read(const json_t *object)
{
    struct thing *thing = read_thing(object, true);

    thing->is_bound = strcmp(kube_text(json_object_get(object, "status"), "phase"), "Bound") == 0;
    return thing;
}

void *kube_volume_read(const json_t *object)
{
    struct thing *thing = read_thing(object, false);

    thing->terms =
        json_incref(kube_at(object, "spec", "nodeAffinity", "required", "nodeSelectorTerms", NULL));
    return thing;
}

void *kube_storage_class_read(const json_t *object)
{
    struct thing *thing = read_thing(object, false);

    thing->waits_for_pod =
        strcmp(kube_text(object, "volumeBindingMode"), "WaitForFirstConsumer") == 0;
    thing->is_provisioned =
        strcmp(kube_text(object, "provisioner"), "kubernetes.io/no-provisioner") != 0;
    return thing;
}

void kube_claim_destroy(void *object)
{
    struct thing *thing = object;

    if (!thing)
        return;
    free(thing->key);
    free(thing->volume);
    free(thing->class);
    json_decref(thing->terms);
    free(thing);
}

/* ---- what is known ---- */

struct kube_claims *kube_claims_create(void)
{
    return mem_zero(1, sizeof(struct kube_claims));
}

void kube_claims_destroy(struct kube_claims *claims)
{
    for (size_t kind = 0; claims && kind < KUBE_CLAIMS_KINDS; kind++) {
        for (size_t i = 0; i < claims->kinds[kind].all.count; i++)
            kube_claim_destroy(claims->kinds[kind].all.items[i]);
        list_release(&claims->kinds[kind].all);
        map_release(&claims->kinds[kind].by_key);
    }
    free(claims);
}

static struct thing *find(const struct kube_claims *claims, enum kube_claims_kind kind,
                          const char *key)
{
    uint64_t at;

    if (!map_get(&claims->kinds[kind].by_key, map_hash(key, strlen(key)), &at))
        return NULL;
    struct thing *thing = (struct thing *)(uintptr_t)at;
    return strcmp(thing->key, key) == 0 ? thing : NULL;
}

static void lose(struct kube_claims *claims, enum kube_claims_kind kind, const char *key)
{
    struct thing *thing = find(claims, kind, key);
    size_t i = 0;

    if (!thing)
        return;
    while (claims->kinds[kind].all.items[i] != thing)
        i++;
    list_remove(&claims->kinds[kind].all, i);
    map_remove(&claims->kinds[kind].by_key, map_hash(key, strlen(key)));
    kube_claim_destroy(thing);
}

static void keep(struct kube_claims *claims, enum kube_claims_kind kind, struct thing *thing)
{
    lose(claims, kind, thing->key);
    thing->is_seen = true;
    list_add(&claims->kinds[kind].all, thing);
    map_set(&claims->kinds[kind].by_key, map_hash(thing->key, strlen(thing->key)),
            (uint64_t)(uintptr_t)thing);
}

static void begin_list(struct kube_claims *claims, enum kube_claims_kind kind)
{
    for (size_t i = 0; i < claims->kinds[kind].all.count; i++)
        claims->kinds[kind].all.items[i]->is_seen = false;
}

static void end_list(struct kube_claims *claims, enum kube_claims_kind kind)
{
    claims->kinds[kind].is_known = true;
    for (size_t i = claims->kinds[kind].all.count; i-- > 0;) {
        if (!claims->kinds[kind].all.items[i]->is_seen)
            lose(claims, kind, claims->kinds[kind].all.items[i]->key);
    }
}

void kube_claims_see(struct kube_claims *claims, enum kube_claims_kind kind, enum kube_event event,
                     void *object)
{
    struct thing *thing = object;

    switch (event) {
    case KUBE_LIST_BEGINS:
        begin_list(claims, kind);
        break;
    case KUBE_OBJECT:
        keep(claims, kind, thing);
        break;
    case KUBE_GONE:
        lose(claims, kind, thing->key);
        kube_claim_destroy(thing);
        break;
    case KUBE_LIST_ENDS:
        end_list(claims, kind);
        break;
    }
}

/* ---- of a pod ---- */

static const struct thing *claim_of(const struct kube_claims *claims, const struct kube_pod *pod,
                                    const char *name)
{
    AUTO_FREE char *key = mem_printf("%s/%s", pod->namespace, name);

    return find(claims, KUBE_CLAIM, key);
}

static bool waits_for_pod(const struct kube_claims *claims, const struct thing *claim)
{
    const struct thing *class = find(claims, KUBE_STORAGE_CLASS, claim->class);

    return !claim->is_bound && !claim->volume[0] && class && class->waits_for_pod;
}

bool kube_claims_wait(const struct kube_claims *claims, const struct kube_pod *pod,
                      const char *name)
{
    const struct thing *claim = claims ? claim_of(claims, pod, name) : NULL;

    return claim && waits_for_pod(claims, claim);
}

/* The terms of a claim's volume are added; a claim that waits for the pod adds none. */
static int add_terms(const struct kube_claims *claims, const struct kube_pod *pod, const char *name,
                     json_t *volumes, struct error *err)
{
    const struct thing *claim = claim_of(claims, pod, name);

    if (!claim)
        return error_set(err, -ENOENT, "its PersistentVolumeClaim %s does not exist", name);
    if (waits_for_pod(claims, claim)) {
        if (find(claims, KUBE_STORAGE_CLASS, claim->class)->is_provisioned)
            return 0;
        return error_set(
            err, -ENOTSUP,
            "its PersistentVolumeClaim %s waits for its first consumer, and storage "
            "class %s has no provisioner: tarn binds no claims; bind it with volumeName",
            name, claim->class);
    }
    const struct thing *volume = claim->is_bound ? find(claims, KUBE_VOLUME, claim->volume) : NULL;
    if (!volume)
        return error_set(err, -EAGAIN, "its PersistentVolumeClaim %s is not bound", name);
    if (volume->terms)
        json_array_append(volumes, volume->terms);
    return 0;
}

json_t *kube_claims_fits(const struct kube_claims *claims, const struct kube_pod *pod,
                         struct error *err)
{
    json_t *volumes, *name;
    size_t i;
    int code = 0;

    if (!pod->claims)
        return json_incref(pod->fits);
    for (size_t kind = 0; kind < KUBE_CLAIMS_KINDS; kind++) {
        if (!claims || !claims->kinds[kind].is_known) {
            error_set(err, -EAGAIN,
                      "the volumes of the cluster are not known: tarn needs the "
                      "right to list and watch PersistentVolumeClaims, "
                      "PersistentVolumes and StorageClasses");
            return NULL;
        }
    }
    volumes = json_array();
    json_array_foreach(pod->claims, i, name)
    {
        if (code == 0)
            code = add_terms(claims, pod, json_string_value(name), volumes, err);
    }
    json_t *fits = code == 0 ? json_copy(pod->fits) : NULL;
    if (json_array_size(volumes) > 0 && fits)
        json_object_set(fits, "volumes", volumes);
    json_decref(volumes);
    return fits;
}
