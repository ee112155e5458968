/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_KUBE_DOCUMENT_H
#define ENGINE_KUBE_KUBE_DOCUMENT_H

/* kube_document - the job document of pods that start together
 *
 * Pods with the same role and the same request are a role of the job. All nodes must meet the
 * conditions of all pods. PriorityClasses, which may be far larger than tarn's priorities, keep
 * their order.
 */

#include "base/error.h"
#include "engine/kube/kube_nodes.h"
#include "engine/kube/objects/kube_pod.h"

/* Whether two pods can be members of the same role. */
bool kube_pods_are_alike(const struct kube_pod *a, const struct kube_pod *b);
/* By role, then by index and name. */
int kube_pod_compare(const struct kube_pod *a, const struct kube_pod *b);

/* JSON, new, of pods in that order; or NULL and the reason: tarn cannot place them. queue: that
 * which its objects state; "": none. */
char *kube_document(const struct kube_pod *const *pods, uint32_t count, const char *queue,
                    struct kube_nodes *nodes, struct error *err);

/* A PriorityClass's value as a priority of tarn, -1000 to 1000. */
int32_t kube_priority(int32_t value);

#endif
