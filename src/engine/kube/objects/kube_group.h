/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_KUBE_GROUP_H
#define ENGINE_KUBE_KUBE_GROUP_H

/* kube_group - the workload that a pod belongs to, and how many pods start together
 *
 * Controllers create the pods of a workload one after the other. Owner references, labels and
 * annotations tell which pods belong together; kube_group.def lists the known kinds. A pod without
 * such a kind is a group of its own.
 *
 * The number of pods is stated on the pod, or in the object of the workload, which is then asked
 * for (`object`).
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

enum kube_group_kind {
#define GROUP(ID, ...) KUBE_GROUP_##ID,
#include "engine/kube/objects/kube_group.def"
    KUBE_GROUPS,
};

struct kube_group {
    enum kube_group_kind kind;
    char *key;                    /* permanent and unique: a UID, or KIND/NAMESPACE/NAME */
    char *title;                  /* name for people */
    char *role;                   /* "worker"; "": none */
    char *object;                 /* path of the API object that states the size; "": none */
    char *owner_uid, *owner_path; /* of the controller of the pod; "": none */
    uint32_t size;                /* 0: not known yet */
    uint32_t index;               /* order of its pods within a role */
};

/* Of a pod; the strings are new. */
void kube_group_read(const json_t *pod, struct kube_group *ret);
void kube_group_release(struct kube_group *group);

/* The number of pods that the object of a workload states; 0: it states none. */
uint32_t kube_group_size(enum kube_group_kind kind, const json_t *object);
/* Whether its pods run one after the other, and so start without waiting for each other: a Job with
 * more completions than pods at a time. */
bool kube_group_is_split(enum kube_group_kind kind, const json_t *object);
/* The path of "spec.suspend" and the like in the object, as a merge patch with this value; new.
 * NULL: the kind has none. */
json_t *kube_group_suspend(enum kube_group_kind kind, bool is_suspended);

/* "/apis/batch/v1/namespaces/NS/jobs/NAME" of an object; new. "": its names are none of the API's.
 */
char *kube_object_path(const char *api_version, const char *kind, const char *namespace,
                       const char *name);

/* A name for an object of tarn's; title: for people, key: unique. Small letters, digits and
 * hyphens, at most 59; new. */
char *kube_object_name(const char *title, const char *key);

#endif
