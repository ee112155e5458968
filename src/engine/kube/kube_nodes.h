/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_KUBE_NODES_H
#define ENGINE_KUBE_KUBE_NODES_H

/* kube_nodes - the nodes of the cluster, and what pods that tarn did not start have on them
 *
 * The API server does not check capacity: what tarn must not use is subtracted here. CPUs and
 * memory of such pods reduce the node; their accelerators are reported as occupied, taken from
 * those that no job of tarn holds.
 *
 * Order of calls:  create, (begin, see*, end | gone | see | charge | hold | report)*, destroy
 */

#include "core/engine.h"
#include "engine/exporter/node_readings.h"
#include "engine/kube/kube_claims.h"
#include "engine/kube/kube_dra.h"
#include "engine/kube/kube_rules.h"
#include "engine/kube/objects/kube_node.h"
#include "engine/kube/objects/kube_pod.h"

struct kube_nodes;

/* claims: what is known of volumes; NULL: nothing. dra: devices of slices; NULL: none. */
struct kube_nodes *kube_nodes_create(const struct engine_options *options,
                                     const struct kube_claims *claims, struct kube_dra *dra);
void kube_nodes_destroy(struct kube_nodes *nodes); /* NULL is fine */

/* A list of all nodes. see() and gone() take the node over. */
void kube_nodes_begin(struct kube_nodes *nodes);
void kube_nodes_see(struct kube_nodes *nodes, struct kube_node *node);
void kube_nodes_gone(struct kube_nodes *nodes, struct kube_node *node);
void kube_nodes_end(struct kube_nodes *nodes);

/* NULL: not known. */
const struct kube_node *kube_nodes_find(const struct kube_nodes *nodes, const char *name);
/* Whether tarn chooses the devices of pods, not the kubelet. */
bool kube_nodes_are_exact(const struct kube_nodes *nodes);
/* Whether any node has an accelerator of this resource. */
bool kube_nodes_have(const struct kube_nodes *nodes, const char *resource);

/* A pod is on its node, or not any more. is_ours: a job of tarn holds what it has. */
void kube_nodes_charge(struct kube_nodes *nodes, const struct kube_pod *pod, bool is_there,
                       bool is_ours);
/* A job of tarn holds these devices of a node, or not any more: UUIDs or indices, "0,1". */
void kube_nodes_hold(struct kube_nodes *nodes, const char *node, const char *devices, bool is_held);
/* The label of the conditions that a pod has for its node; it is reported from now on, as long as
 * it is asked for every few minutes. NULL and the reason: it cannot be placed now. */
const char *kube_nodes_label(struct kube_nodes *nodes, const struct kube_pod *pod,
                             struct error *err);

/* Which pods there are, for rules about other pods (kube_rules.h): calls kube_nodes_assume() for
 * each. */
void kube_nodes_on_each(struct kube_nodes *nodes, void (*each)(void *user), void *user);
/* A pod is being bound to a node, or not any more: it counts for rules about other pods. */
void kube_nodes_assume(struct kube_nodes *nodes, const struct kube_pod *pod, const char *node,
                       bool is_there);
/* The rules of the pods of the cluster about each other. */
struct kube_rules *kube_nodes_rules(struct kube_nodes *nodes);
/* Labels of nodes where a pod cannot go, because of such rules; see kube_rules_ask(). */
json_t *kube_nodes_forbid(struct kube_nodes *nodes, const struct kube_pod *pod, struct error *err);
/* Whether such rules allow a pod to go to a node now; see kube_rules_allow(). */
bool kube_nodes_allow(struct kube_nodes *nodes, const struct kube_pod *pod, const char *node,
                      uint64_t *ret_added, struct error *err);

/* The label of the devices that its ResourceClaims request, see kube_dra_label(). */
const char *kube_nodes_device_label(struct kube_nodes *nodes, const struct kube_pod *pod,
                                    const char **ret_kind, struct error *err);
/* Whether any node has accelerators with a label of their own, see kube_device_name(). */
bool kube_nodes_have_labelled(const struct kube_nodes *nodes);
/* Whether there are devices that only ResourceClaims may have. */
bool kube_nodes_have_claimed(const struct kube_nodes *nodes);
/* Devices of slices, and claims, of a node have changed; "": of any. */
void kube_nodes_touch(struct kube_nodes *nodes, const char *node);

/* Whether this PersistentVolumeClaim of the pod waits for its first consumer. */
bool kube_nodes_claim_waits(const struct kube_nodes *nodes, const struct kube_pod *pod,
                            const char *name);

/* The words with what stands behind such labels instead of them; new. */
char *kube_nodes_spell(const struct kube_nodes *nodes, const char *words);

/* Whether a device plugin offers this device on the node. */
bool kube_nodes_have_device(const struct kube_nodes *nodes, const char *node, const char *uuid);
/* The value of the node's taint with this key; NULL: it has none, or is not known. */
const char *kube_nodes_taint(const struct kube_nodes *nodes, const char *node, const char *key);
/* The name of the n-th known node; NULL: there are fewer. */
const char *kube_nodes_name(const struct kube_nodes *nodes, size_t n);

/* Ask the exporters of the nodes that are up, at this port; 0: none. Cheap if nothing changed. */
void kube_nodes_follow(struct kube_nodes *nodes, struct node_readings *readings, uint32_t port);

/* Report what changed; all: everything. Nothing before the first list of nodes and pods. */
void kube_nodes_report(struct kube_nodes *nodes, bool all);

#endif
