/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_DRA_DRA_NAMES_H
#define ENGINE_KUBE_DRA_DRA_NAMES_H

/* dra_names - names in the objects of dynamic resource allocation (DRA) */

#define DRA_API "/apis/resource.k8s.io/v1"

/* Annotation of a claim that tarn has allocated: INSTANCE/JOB.ATTEMPT/RANK. */
#define DRA_ATTEMPT "tarn.dev/attempt"
/* Annotation of Kubernetes: the claim is generated from the template of a pod. */
#define DRA_POD_CLAIM_NAME "resource.kubernetes.io/pod-claim-name"
/* Finalizer of Kubernetes: an allocated claim is not removed. */
#define DRA_FINALIZER "resource.kubernetes.io/delete-protection"

/* Label of tarn for every device of a slice. */
#define DRA_LABEL "dra"

#endif
