/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_DRA_DRA_CLAIMS_H
#define ENGINE_KUBE_DRA_DRA_CLAIMS_H

/* dra_claims - the ResourceClaims and DeviceClasses of the cluster, and which claim has a device
 *
 * The API server does not check that a device is allocated once. What tarn writes is known here
 * from the answer on, before the watch tells it.
 *
 * Order of calls:  create, (see | put | find ...)*, destroy
 * Owner:           objects belong to the store, and are valid until the next see() or put()
 */

#include "engine/kube/client/kube_client.h"

struct dra_claims;

struct dra_claim {
    char *key; /* "NAMESPACE/NAME" */
    char *namespace, *name, *uid, *version;
    json_t *spec;       /* "spec.devices" */
    json_t *allocation; /* NULL: it is not allocated */
    json_t *reserved;   /* "status.reservedFor"; NULL: none */
    json_t *finalizers; /* NULL: none */
    char *mark;         /* annotation KUBE_ATTEMPT: tarn allocated it, once; "": none */
    bool is_generated;  /* for one pod, from a template */
    bool is_deleting;
    char *taker, *taker_name; /* the pod that it is allocated for first: UID, name; NULL: none */
    bool is_seen;
};

struct dra_class {
    char *name;
    json_t *selectors; /* texts in CEL */
    json_t *config;    /* as in the API; NULL: none */
    bool is_seen;
};

/* touched(): what claims have of the devices of this node has changed ("": of any). */
struct dra_claims *dra_claims_create(void (*touched)(void *user, const char *node), void *user);
void dra_claims_destroy(struct dra_claims *claims); /* NULL is fine */

/* Run in the thread of the client. */
void *dra_claim_read(const json_t *object);
void dra_claim_destroy(void *claim); /* NULL is fine */
void *dra_class_read(const json_t *object);
void dra_class_destroy(void *object); /* NULL is fine */

/* Events of the watches; they take the objects over. */
void dra_claims_see(struct dra_claims *claims, enum kube_event event, void *object);
void dra_claims_see_class(struct dra_claims *claims, enum kube_event event, void *object);
bool dra_claims_are_known(const struct dra_claims *claims); /* both lists were read */
/* Counts the changes of classes. */
uint64_t dra_claims_class_version(const struct dra_claims *claims);

/* A claim as the API server answered with it; an older one is ignored. */
void dra_claims_put(struct dra_claims *claims, const json_t *object);

/* NULL: there is none. */
struct dra_claim *dra_claims_find(const struct dra_claims *claims, const char *namespace,
                                  const char *name);
const struct dra_class *dra_claims_class(const struct dra_claims *claims, const char *name);
/* Each class, in no order; NULL: there are no more. */
const struct dra_class *dra_claims_class_at(const struct dra_claims *claims, size_t at);
/* The claim that a device ("DRIVER/POOL/NAME") is allocated to; NULL: none. */
const struct dra_claim *dra_claims_holder(const struct dra_claims *claims, const char *device);
/* Whether a pod may use the claim. */
bool dra_claim_is_reserved(const struct dra_claim *claim, const char *pod_uid);
/* A pod is gone: another one may take the claims that it was to be first with. */
void dra_claims_forget_pod(struct dra_claims *claims, const char *pod_uid);

/* Each claim in turn. */
void dra_claims_each(const struct dra_claims *claims,
                     void (*visit)(void *user, struct dra_claim *claim), void *user);

/* The nodes that an allocation can be used on: terms, as of a node affinity; NULL: any. */
const json_t *dra_allocation_terms(const json_t *allocation);
/* The only one; "": it is not allocated, or on several. */
const char *dra_claim_node(const struct dra_claim *claim);

#endif
