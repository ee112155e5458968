/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_PROVISION_KUBE_REQUEST_H
#define ENGINE_KUBE_PROVISION_KUBE_REQUEST_H

/* kube_request - ProvisioningRequests of cluster-autoscaler, and the PodTemplates that they name
 *
 * A ProvisioningRequest asks for the nodes of several pods at once. It names a PodTemplate for each
 * kind of pods. Those of tarn have the annotation KUBE_ARRIVAL.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define KUBE_REQUEST_API  "autoscaling.x-k8s.io/v1"
#define KUBE_REQUEST_KIND "provisioningrequests"

/* Annotations of pods that use the nodes of a request. */
#define KUBE_REQUEST_NAME  "autoscaling.x-k8s.io/consume-provisioning-request"
#define KUBE_REQUEST_CLASS "autoscaling.x-k8s.io/provisioning-class-name"

enum {
    KUBE_REQUEST_SETS_MAX = 32,  /* kinds of pods, by the API */
    KUBE_REQUEST_NAME_MAX = 253, /* bytes of the name of a class, by the API */
};

struct kube_request {
    char *namespace, *name, *uid, *class;
    char *arrival; /* KUBE_ARRIVAL */
    char *words;   /* its condition: "Accepted: MESSAGE"; "": it has none yet */
    uint32_t set_count;
    bool is_provisioned;
    bool is_over; /* it failed, or its nodes are not kept for it any more */
};

/* NULL: not one of tarn. Runs in the thread of the client. */
void *kube_request_read(const json_t *object);
void kube_request_destroy(void *request); /* NULL is fine */

/* Who owns what is created for a pod or a Job, so that Kubernetes removes it with them: the Job,
 * the controller of the pod, or the pod. New; NULL: the object is none. */
json_t *kube_request_owner(const json_t *object);

/* The PodTemplate of a pod, or of the pods of a Job. New; NULL: the object is none. */
json_t *kube_request_template(const json_t *object, const char *name, const json_t *owner);

/* The request; counts: of pods, for each template. New. */
struct kube_request_plan {
    const char *name, *arrival, *class;
    const json_t *owner;
    const uint32_t *counts;
    size_t set_count;
};
json_t *kube_request_make(const struct kube_request_plan *plan);

/* The name of template number i of a request; new. */
char *kube_request_template_name(const char *name, size_t i);

#endif
