/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_KUBE_CLAIMS_H
#define ENGINE_KUBE_KUBE_CLAIMS_H

/* kube_claims - which nodes the volumes of a pod can be used on
 *
 * A PersistentVolume may be restricted to some nodes (nodeAffinity). A pod whose claims are bound
 * to such volumes runs on these only. A claim that waits for its first consumer is bound by its
 * provisioner after tarn has named the node (KUBE_SELECTED_NODE); tarn binds no claims itself.
 *
 * Order of calls:  create, (see | fits | waits)*, destroy
 */

#include "base/error.h"
#include "engine/kube/client/kube_client.h"
#include "engine/kube/objects/kube_pod.h"

/* Annotation of a claim, which Kubernetes defines. */
#define KUBE_SELECTED_NODE "volume.kubernetes.io/selected-node"

struct kube_claims;

enum kube_claims_kind { KUBE_CLAIM, KUBE_VOLUME, KUBE_STORAGE_CLASS, KUBE_CLAIMS_KINDS };

struct kube_claims *kube_claims_create(void);
void kube_claims_destroy(struct kube_claims *claims); /* NULL is fine */

/* What the engine needs of an object of one of these kinds. Runs in the thread of the client. */
void *kube_claim_read(const json_t *object);
void *kube_volume_read(const json_t *object);
void *kube_storage_class_read(const json_t *object);
void kube_claim_destroy(void *object); /* of each kind; NULL is fine */

/* An event of the watch of this kind; takes the object over. */
void kube_claims_see(struct kube_claims *claims, enum kube_claims_kind kind, enum kube_event event,
                     void *object);

/* The conditions of a pod (kube_fits.h) with those of its volumes; new. NULL and the reason: it
 * cannot start now. claims NULL: none are known. */
json_t *kube_claims_fits(const struct kube_claims *claims, const struct kube_pod *pod,
                         struct error *err);
/* Whether this claim of the pod waits for its first consumer. */
bool kube_claims_wait(const struct kube_claims *claims, const struct kube_pod *pod,
                      const char *name);

#endif
