/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_DRA_DRA_ALLOCATE_H
#define ENGINE_KUBE_DRA_DRA_ALLOCATE_H

/* dra_allocate - write into the claims of a pod which devices it gets, before the pod is bound
 *
 * A claim is marked, then allocated and reserved for the pod in one request, each with the version
 * of the claim as its condition. What was written before a crash is found, and is the same, or is
 * taken back. A device that another claim still has is waited for: claims of pods that have ended
 * are freed by a controller of Kubernetes, a moment later. So is a claim that another pod of the
 * job is to have first.
 *
 * Order of calls:  create, (start | take_back | tick)*, destroy
 * Limits:          an allocation fails after 30 seconds
 */

#include "engine/kube/client/kube_client.h"
#include "engine/kube/dra/dra_demand.h"
#include "engine/kube/dra/dra_pools.h"

struct dra_allocator;

struct dra_order {
    struct dra_pod pod;
    const char *node;
    const char *devices; /* their names there, comma-separated, in the order of the requests */
    const char *mark;    /* DRA_ATTEMPT */
    uint64_t now_ms;     /* uv_now() */
    void (*done)(void *user, const char *why); /* NULL: the pod may be bound */
    void *user;
};

struct dra_allocator *dra_allocator_create(struct kube_client *client, struct dra_claims *claims,
                                           const struct dra_pools *pools);
void dra_allocator_destroy(struct dra_allocator *allocator); /* NULL is fine */

/* done() is called once, never from inside; the texts are copied. */
void dra_allocate(struct dra_allocator *allocator, const struct dra_order *order);
/* Undo an allocation of tarn: no pod that it is reserved for is bound. */
void dra_take_back(struct dra_allocator *allocator, struct dra_claim *claim);
/* What waits may go on. */
void dra_allocator_tick(struct dra_allocator *allocator, uint64_t now_ms);

/* The allocation of a claim to these devices, in the order of its requests; new. */
json_t *dra_allocation(const struct dra_claims *claims, const struct dra_claim *claim,
                       const char *node, struct dra_device *const *devices);

#endif
