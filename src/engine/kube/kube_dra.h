/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_KUBE_DRA_H
#define ENGINE_KUBE_KUBE_DRA_H

/* kube_dra - devices that drivers publish in ResourceSlices, and pods with ResourceClaims
 *
 * A device of a slice is a device of its node; the scheduler chooses exact ones, and tarn writes
 * them into the claims of a pod before it binds the pod. Where the API server does not serve
 * resource.k8s.io/v1, there are no such devices, and pods with claims wait and say why.
 *
 * A node whose device plugin offers devices of a vendor has no devices of that vendor's slices:
 * they are the same ones, and pods may have them already.
 *
 * Order of calls:  create, watch, (resolve | label | allocate ...)*, destroy
 */

#include "core/engine.h"
#include "engine/kube/client/kube_client.h"
#include "engine/kube/dra/dra_allocate.h"
#include "engine/kube/dra/dra_filters.h"
#include "engine/kube/objects/kube_node.h"
#include "engine/kube/objects/kube_pod.h"

struct kube_dra;

struct kube_dra_told {
    void (*touched)(void *user, const char *node); /* devices of a node differ; "": of any */
    void (*changed)(void *user);                   /* claims or classes have changed */
    void *user;
};

/* client NULL: for tests, which give it objects (kube_dra_see()). */
struct kube_dra *kube_dra_create(struct kube_client *client, const struct kube_dra_told *told);
void kube_dra_destroy(struct kube_dra *dra); /* NULL is fine */

/* Find out whether the API server has such objects, and tarn may see them; then watch them. */
void kube_dra_watch(struct kube_dra *dra);
/* What there is is known. */
bool kube_dra_is_known(const struct kube_dra *dra);

enum kube_dra_kind { KUBE_DRA_SLICE, KUBE_DRA_CLASS, KUBE_DRA_CLAIM, KUBE_DRA_KINDS };

/* An event of the watch of this kind; takes the object over. */
void kube_dra_see(struct kube_dra *dra, enum kube_dra_kind kind, enum kube_event event,
                  void *object);

/* Set what the claims of a pod request: number and filter of its devices, and nodes. */
void kube_dra_resolve(struct kube_dra *dra, struct kube_pod *pod);
/* A pod was deleted. */
void kube_dra_forget(struct kube_dra *dra, const struct kube_pod *pod);

/* The label of the devices that the pod requests, and their kind ("": GPUs). NULL and the reason:
 * there are none. dra NULL: as if there were no such objects. */
const char *kube_dra_label(struct kube_dra *dra, const struct kube_pod *pod, uint64_t now_ms,
                           const char **ret_kind, struct error *err);
/* The meaning of a label that words begin with; new, or NULL. */
char *kube_dra_spell(const struct kube_dra *dra, const char *words, size_t *ret_length);
/* Whether there are or were such devices. */
bool kube_dra_is_used(const struct kube_dra *dra);
/* Changes when labels may differ on any node. */
uint64_t kube_dra_version(struct kube_dra *dra);

/* The devices of slices of a node; all arrays malloc'd. */
struct kube_dra_devices {
    struct probe_device *devices; /* occupied: a claim has it; false for what jobs of tarn hold */
    struct engine_device_note *notes;
    uint32_t count;
};
void kube_dra_devices_of(struct kube_dra *dra, const struct kube_node *node,
                         struct kube_dra_devices *ret);
void kube_dra_devices_release(struct kube_dra_devices *devices);

/* Whether the first of these devices of a node ("a,b") is of a slice. */
bool kube_dra_has(const struct kube_dra *dra, const char *node, const char *devices);

/* The DeviceClass by which these devices of a node ("a,b") can be requested; NULL: there is none.
 */
const char *kube_dra_class(const struct kube_dra *dra, const char *node, const char *devices,
                           struct error *err);

/* See dra_allocate.h. */
void kube_dra_allocate(struct kube_dra *dra, const struct kube_pod *pod, struct dra_order order);
/* Go on with allocations, and take back those whose pods are not to be bound: is_stray() says of
 * each pod that such a claim is reserved for that it waits, and no attempt has it. */
void kube_dra_tick(struct kube_dra *dra, uint64_t now_ms, bool (*is_stray)(const char *pod_uid));

#endif
