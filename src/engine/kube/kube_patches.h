/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_KUBE_PATCHES_H
#define ENGINE_KUBE_KUBE_PATCHES_H

/* kube_patches - changes of pods and workloads that wait for tarn
 *
 * Each is one request to the API server, which is repeated for a while; nothing depends on its
 * answer, because the watches show what has changed.
 */

#include "engine/kube/client/kube_client.h"
#include "engine/kube/objects/kube_pod.h"

/* Why a pod is not scheduled: its condition PodScheduled. */
void kube_patch_condition(struct kube_client *client, const struct kube_pod *pod, const char *words,
                          const char *reason);
/* Remove all its scheduling gates. */
void kube_patch_gates(struct kube_client *client, const struct kube_pod *pod);
void kube_patch_delete(struct kube_client *client, const struct kube_pod *pod);
/* Change an object, and an annotation of it: words NULL removes that. Takes the patch over. */
void kube_patch_object(struct kube_client *client, const char *path, json_t *patch,
                       const char *note, const char *words);

#endif
