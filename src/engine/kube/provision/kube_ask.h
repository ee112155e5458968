/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_PROVISION_KUBE_ASK_H
#define ENGINE_KUBE_PROVISION_KUBE_ASK_H

/* kube_ask - the request for the nodes of one workload, from its making to its removal
 *
 * The inside of kube_provision. Its objects are made, and removed, one after the other: first the
 * PodTemplates, from the pods as they are, then the ProvisioningRequest. While calls are under way
 * (ASK_MAKES, ASK_REMOVES), it must not be destroyed.
 */

#include "base/mem.h"
#include "engine/kube/client/kube_client.h"
#include "engine/kube/objects/kube_pod.h"
#include "engine/kube/provision/kube_request.h"

#define KUBE_REQUESTS_API "/apis/" KUBE_REQUEST_API

enum ask_state {
    ASK_WAITS,   /* no request exists */
    ASK_CHOSEN,  /* it is its turn */
    ASK_MAKES,   /* its objects are made one after the other */
    ASK_OPEN,    /* its request exists */
    ASK_REMOVES, /* its objects are removed one after the other */
};

/* Pods that are alike. */
struct podset {
    char *path;                 /* of a pod of this kind, or of the suspended Job */
    const struct kube_pod *pod; /* only while they are compared */
    uint32_t count;
};

/* The nodes for one workload. */
struct ask {
    struct uv_loop_s *loop;
    struct kube_client *client;
    char *arrival, *namespace, *name;
    char *class; /* of what is made */
    enum ask_state state;
    int32_t priority;
    uint64_t job;
    uint64_t wished_at, made_at; /* uv_now() */
    uint64_t due;                /* it is not made, or removed again, before */
    uint32_t failures;
    LIST(struct podset) sets;
    size_t step; /* of what is made or removed */
    json_t *owner;
    struct kube_request *request; /* as it is; NULL: not seen */
    char *failed;                 /* why the last one ended; NULL: it did not */
    bool is_listed;
};

/* Takes the name over. */
struct ask *ask_create(struct uv_loop_s *loop, struct kube_client *client, const char *arrival,
                       const char *namespace, char *name);
void ask_destroy(struct ask *ask); /* NULL is fine */

/* Make the objects for these pods; job: path of the suspended Job that they will belong to; "":
 * they exist. */
void ask_make(struct ask *ask, const char *class, const struct kube_pod *const *pods,
              uint32_t count, const char *job);
/* Remove what exists. If its request is over, that was a failure. */
void ask_remove(struct ask *ask);
/* No request exists now; the next one is made after a pause. failed: why, taken over; NULL: it did
 * not fail. */
void ask_end(struct ask *ask, char *failed);
/* How it is does not count any more. */
void ask_forget_request(struct ask *ask);
/* It was made, and removed before it was seen. */
bool ask_is_lost(const struct ask *ask);

#endif
