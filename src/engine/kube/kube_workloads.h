/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_KUBE_WORKLOADS_H
#define ENGINE_KUBE_KUBE_WORKLOADS_H

/* kube_workloads - pods that wait for tarn, by the workload that they belong to
 *
 * A workload becomes a job of tarn, "kube/KEY", when all pods that start together exist. The pods
 * of a job are ordered by role and index: the pod at a place is the member of that rank. Until tarn
 * starts it, the condition PodScheduled of its pods has what tarn says about it.
 *
 * A suspended Job (kube_job.h) arrives without pods; its start ends the suspension.
 *
 * A workload whose controller makes new pods after the end of its job arrives again, as
 * "kube/KEY.2" and so on. If it is cancelled in tarn, it is suspended or deleted in Kubernetes.
 *
 * Order of calls:  create, (see | gone | tick | answer | note | take)*, destroy
 * Owner:           pods belong to the caller, and outlive their place here
 */

#include "core/engine.h"
#include "engine/kube/client/kube_client.h"
#include "engine/kube/kube_events.h"
#include "engine/kube/kube_mirrors.h"
#include "engine/kube/kube_nodes.h"
#include "engine/kube/objects/kube_job.h"
#include "engine/kube/objects/kube_pod.h"
#include "engine/kube/provision/kube_provision.h"

struct kube_workloads;

struct kube_workloads *kube_workloads_create(const struct engine_options *options,
                                             struct kube_client *client, struct kube_nodes *nodes,
                                             struct kube_events *events,
                                             struct kube_mirrors *mirrors,
                                             struct kube_provision *provision);
void kube_workloads_destroy(struct kube_workloads *workloads); /* NULL is fine */

/* A pod waits for tarn: it is new, has changed, or its attempt gave it back. */
void kube_workloads_see(struct kube_workloads *workloads, const struct kube_pod *pod);
/* A pod does not wait any more: it was deleted, or an attempt has it. */
void kube_workloads_gone(struct kube_workloads *workloads, const struct kube_pod *pod);
/* A Job exists or has changed: it may be suspended until tarn starts it. */
void kube_workloads_see_job(struct kube_workloads *workloads, struct kube_job *job);
/* Jobs are listed again: those that are not seen until the end are gone. */
void kube_workloads_begin_jobs(struct kube_workloads *workloads);
void kube_workloads_end_jobs(struct kube_workloads *workloads);
void kube_workloads_lose_job(struct kube_workloads *workloads, const char *key);
/* Whether the pods of a namespace are tarn's, by its label. */
void kube_workloads_manage(struct kube_workloads *workloads, const char *namespace,
                           bool is_managed);
/* The conditions of suspended Jobs are still needed. */
void kube_workloads_need(struct kube_workloads *workloads);
/* Report the workloads that are complete, and what else is due. Nothing before all pods are known.
 */
void kube_workloads_tick(struct kube_workloads *workloads);

/* engine_ops.answer, engine_ops.note and engine_ops.show. */
void kube_workloads_answer(struct kube_workloads *workloads, const char *name, uint64_t job,
                           const struct error *err, bool lacks_nodes);
void kube_workloads_note(struct kube_workloads *workloads, const char *name, uint64_t job,
                         const char *words, enum engine_fate fate);
bool kube_workloads_show(struct kube_workloads *workloads, const struct engine_view *view);
/* What became of the request for the nodes of a waiting job; new. NULL: nothing is to be said. */
char *kube_workloads_request(const struct kube_workloads *workloads, uint64_t job);

/* The waiting pods of an arrival in the order of the ranks, malloc'd; at most `most`. Its attempt
 * has started: pods that come later are not reported while it runs. */
const struct kube_pod **kube_workloads_take(struct kube_workloads *workloads, const char *name,
                                            uint32_t most, uint32_t *ret_count);
/* Add what its pods have as annotations when they are bound. */
void kube_workloads_annotate(const struct kube_workloads *workloads, const char *name,
                             json_t *notes);
/* After a restart: an attempt has this pod, whose annotation names its arrival. */
void kube_workloads_adopt(struct kube_workloads *workloads, const struct kube_pod *pod);
/* The attempt ends, and its pods are replaced meanwhile: they wait for the next one together. */
void kube_workloads_keep(struct kube_workloads *workloads, const char *name);
/* The attempt starts nothing, and its job is placed again: its pods wait as before. rule: the rule
 * of others that excludes them, see kube_rules_allow(). */
void kube_workloads_return(struct kube_workloads *workloads, const char *name, uint64_t rule);
/* The attempt is over. */
void kube_workloads_end(struct kube_workloads *workloads, const char *name);
/* The waiting pod of an arrival that can take the place of a pod that ended; NULL: none. */
const struct kube_pod *kube_workloads_heir(struct kube_workloads *workloads, const char *name,
                                           const char *role, uint32_t device_count);

#endif
