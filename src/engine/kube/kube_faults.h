/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_KUBE_FAULTS_H
#define ENGINE_KUBE_KUBE_FAULTS_H

/* kube_faults - nodes with a faulty GPU get a taint, where the kubelet chooses the GPUs
 *
 * tarn cannot keep a pod off one GPU there. So the node gets the taint KUBE_FAULT (NoSchedule),
 * which all schedulers respect, and an annotation with the reason; both go when the fault is over.
 * The value of the taint is the instance of the daemon: its journal alone knows whether the fault
 * is over, so a daemon with another journal keeps what it finds. A pod that tolerates the taint may
 * run there. What others write to the node meanwhile is kept: the resourceVersion is a fence, and
 * what was refused is tried again.
 *
 * Order of calls:  create, (set | tick)*, destroy
 */

#include "core/engine.h"
#include "engine/kube/client/kube_client.h"
#include "engine/kube/kube_nodes.h"

struct kube_faults;

struct kube_faults *kube_faults_create(struct kube_client *client, const struct kube_nodes *nodes,
                                       const char *instance);
/* After the client. NULL is fine. */
void kube_faults_destroy(struct kube_faults *faults);

/* Why a GPU of the node is faulty; NULL: none is. */
void kube_faults_set(struct kube_faults *faults, const char *node, const char *reason);

/* Write what is due; now: uv_now(). Only once all nodes are known. */
void kube_faults_tick(struct kube_faults *faults, uint64_t now);

#endif
