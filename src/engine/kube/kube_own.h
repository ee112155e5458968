/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_KUBE_OWN_H
#define ENGINE_KUBE_KUBE_OWN_H

/* kube_own - pods of jobs that were submitted to tarn
 *
 * A pod template, QUEUE.yaml or default.yaml in the configured directory, gives the image, the
 * volumes, the service account and whatever else the site needs; tarn adds name, command,
 * environment, resources and node. The name of a pod follows from instance, job, attempt and rank:
 * creating it twice is one pod. The members of a gang find each other by a headless service.
 *
 * Paths of the job (its script, directories, and those of its stages) are the daemon's: the
 * template mounts the state directory of the daemon at the same path.
 */

#include <jansson.h>

#include "core/engine.h"

/* "tarn-2ab95029-12-1-0"; new. */
char *kube_own_name(const char *instance, const struct member_id *id);

/* "tarn-2ab95029-12-1": the service of its attempt; new. */
char *kube_own_service_name(const char *instance, const struct member_id *id);

/* The template of a queue. Fails with -ENOENT or -EINVAL and names the file. */
int kube_own_template(const char *directory, const char *queue, json_t **ret, struct error *err);

/* The pod of a member, new. resource: of its accelerators; NULL: they are those of a claim, and the
 * pod has no node before tarn has allocated it. gpus: KUBE_GPUS; gang: it has more members. */
json_t *kube_own_pod(const json_t *template, const char *instance, const char *namespace,
                     const struct engine_launch *launch, const char *resource, const char *gpus,
                     bool is_gang);

/* The ResourceClaimTemplate of such a pod, with its name, new: Kubernetes makes the claim from it,
 * and removes the claim with the pod. */
json_t *kube_own_claims(const char *instance, const struct engine_launch *launch,
                        const char *device_class);

/* The headless service of an attempt, new. */
json_t *kube_own_service(const char *instance, const struct member_id *id);

#endif
