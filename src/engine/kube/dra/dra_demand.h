/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_DRA_DRA_DEMAND_H
#define ENGINE_KUBE_DRA_DRA_DEMAND_H

/* dra_demand - what the ResourceClaims of a pod request
 *
 * A claim that is allocated, for whichever pods, requests nothing more: the pod goes where its
 * devices are. A claim that tarn has allocated for this pod alone counts as requested: it was
 * written before the pod was bound.
 *
 * Several pods may name a claim. The first one that is looked at takes it: it gets the devices;
 * the others share them, on its node.
 */

#include <jansson.h>

#include "engine/kube/dra/dra_claims.h"

struct dra_pod {
    const char *uid, *namespace, *name;
    const json_t *claims; /* names */
};

struct dra_demand {
    char *filter;   /* for dra_filters_label(); "": no device is requested */
    uint32_t count; /* of devices */
    json_t *nodes;  /* lists of terms, all of which its node must meet; NULL: none */
    char *with;     /* UID of a pod that gets the devices of a claim that this one shares; "" */
};

/* Fails with -EAGAIN (a claim does not exist yet) and -ENOTSUP (what tarn does not support). */
int dra_demand_read(const struct dra_claims *claims, const struct dra_pod *pod,
                    struct dra_demand *ret, struct error *err);
void dra_demand_release(struct dra_demand *demand);

/* The number of devices that a claim requests, which is supported. */
uint32_t dra_demand_count(const struct dra_claim *claim);
/* Whether it is allocated, and not for this pod alone by tarn: it requests nothing more. */
bool dra_demand_is_met(const struct dra_claim *claim, const char *pod_uid);

#endif
