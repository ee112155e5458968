/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_PROVISION_KUBE_PROVISION_H
#define ENGINE_KUBE_PROVISION_KUBE_PROVISION_H

/* kube_provision - ask an autoscaler for the nodes of whole workloads
 *
 * With `kube: {provisioning: CLASS}`, a workload that waits for room alone gets a
 * ProvisioningRequest of cluster-autoscaler (kube_request.h), which stays until the
 * workload has not been wished for a while. After a failure it is made again, with growing pauses.
 * A bounded number exists at a time: those of high priority first, of equals the oldest jobs.
 *
 * Without the definition in the cluster nothing is asked for, which the log and the words say.
 *
 * Order of calls:  create, all others in any order, destroy
 * Owner:           the caller of create
 */

#include "core/engine.h"
#include "engine/kube/client/kube_client.h"
#include "engine/kube/objects/kube_pod.h"

struct kube_provision;

struct kube_provision *kube_provision_create(const struct engine_options *options,
                                             struct kube_client *client);
void kube_provision_destroy(struct kube_provision *provision); /* NULL is fine */

/* Look for the definition when a class is set, and do what is due. */
void kube_provision_tick(struct kube_provision *provision);

/* Whether nodes are asked for by requests, so that autoscalers must not add nodes for pods. */
bool kube_provision_is_on(const struct kube_provision *provision);

/* A workload that waits for room alone. */
struct kube_wish {
    const char *arrival;
    uint64_t job; /* 0: none yet */
    const struct kube_pod *first;
};
/* Repeated every few seconds. True: it is its turn, so kube_provision_ask() follows. */
bool kube_provision_wish(struct kube_provision *provision, const struct kube_wish *wish);
/* The pods of a wish; job: path of the suspended Job that they will belong to; "": they exist. */
void kube_provision_ask(struct kube_provision *provision, const char *arrival,
                        const struct kube_pod *const *pods, uint32_t count, const char *job);
/* It is not known yet whether the workload still waits for room: a request that exists stays. */
void kube_provision_keep(struct kube_provision *provision, const char *arrival);

/* What became of it: "asked for nodes: ..."; new. NULL: nothing is to be said. */
char *kube_provision_words(const struct kube_provision *provision, const char *arrival);
/* Add the annotations of pods that start on nodes that were provisioned for them. */
void kube_provision_annotate(const struct kube_provision *provision, const char *arrival,
                             json_t *notes);

#endif
