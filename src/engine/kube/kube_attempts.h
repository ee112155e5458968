/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_KUBE_ATTEMPTS_H
#define ENGINE_KUBE_KUBE_ATTEMPTS_H

/* kube_attempts - started attempts, and the pods of their members
 *
 * The members of an attempt are bound to their nodes in one burst, all or none: if one cannot be
 * bound, the others are evicted and the attempt is lost, so that tarn queues the job again. Each
 * pod carries the attempt and rank in an annotation, which the binding itself sets. So after a
 * crash, what was bound is found, and binding again is the same request.
 *
 * While a controller replaces a pod that failed or was deleted, its member keeps its node and
 * devices for a few seconds, and the new pod gets them.
 *
 * Order of calls:  create, (recover | start | stop | forget | see | gone | synced | tick)*, destroy
 * Owner:           pods belong to the caller, and outlive their place here
 */

#include "core/engine.h"
#include "engine/kube/client/kube_client.h"
#include "engine/kube/kube_nodes.h"
#include "engine/kube/kube_workloads.h"

struct kube_attempts;

/* namespace: of the pods of tarn's own jobs. */
struct kube_attempts *kube_attempts_create(const struct engine_options *options,
                                           const char *instance, const char *namespace,
                                           struct kube_client *client, struct kube_nodes *nodes,
                                           struct kube_workloads *workloads,
                                           struct kube_events *events, struct kube_dra *dra);
void kube_attempts_destroy(struct kube_attempts *attempts); /* NULL is fine */

/* engine_ops */
int kube_attempts_start(struct kube_attempts *attempts, const struct engine_launch *launches,
                        uint32_t count, struct error *err);
void kube_attempts_stop(struct kube_attempts *attempts, const struct engine_attempt *which,
                        usec_t grace);
void kube_attempts_recover(struct kube_attempts *attempts, const struct engine_attempt *which,
                           const bool *was_started, bool *ret_found);
void kube_attempts_forget(struct kube_attempts *attempts, const struct engine_attempt *which);
const char *kube_attempts_trouble(struct kube_attempts *attempts, uint64_t job, uint32_t attempt);

/* After a restart: the pod is of an attempt that was not reported as started. The daemon starts it
 * again, and its pods must be seen again then; or it does not within a few seconds, and the pod is
 * of no job. */
bool kube_attempts_expects(const struct kube_attempts *attempts, const struct kube_pod *pod);

/* A pod exists or has changed. False: it is no member of an attempt. */
bool kube_attempts_see(struct kube_attempts *attempts, const struct kube_pod *pod);
/* A pod was deleted; its last state. */
bool kube_attempts_gone(struct kube_attempts *attempts, const struct kube_pod *pod);
/* An exporter states that the kubelet gave this device to the pod with this UID. */
void kube_attempts_give(struct kube_attempts *attempts, const char *uuid, const char *pod);
/* All pods are known: members without one are started or lost. */
void kube_attempts_synced(struct kube_attempts *attempts);
/* What is due. True: a pod that still exists is no member any more: see kube_attempts_have(). */
bool kube_attempts_tick(struct kube_attempts *attempts);
/* No attempt from before a restart is still expected. */
bool kube_attempts_are_settled(const struct kube_attempts *attempts);
bool kube_attempts_have(const struct kube_attempts *attempts, const struct kube_pod *pod);
/* The node that the pod is being bound to; NULL: none. */
const char *kube_attempts_node(const struct kube_attempts *attempts, const struct kube_pod *pod);

#endif
