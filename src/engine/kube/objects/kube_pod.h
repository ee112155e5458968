/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_KUBE_POD_H
#define ENGINE_KUBE_KUBE_POD_H

/* kube_pod - what the engine needs of a pod, in values of its own
 *
 * kube_pod_read() runs in the thread of the client. A pod says itself which group it belongs to
 * (kube_group.h). What the scheduler must know and tarn cannot honour is in `refused`.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/kube/objects/kube_group.h"

/* Labels of tarn by which pods keep apart (anti-affinity), "port-80-tcp", "apart-3f2a91c0". */
enum { KUBE_APART_MAX = 4, KUBE_APART_SIZE = 24 };

enum kube_phase { KUBE_PENDING, KUBE_RUNNING, KUBE_SUCCEEDED, KUBE_FAILED };

/* Accelerators of one resource that a pod requests, or a node has. */
struct kube_device_name {
    const char *resource, *vendor, *kind; /* kind: "": a GPU */
    const char *label; /* of these devices, for pods that request this resource; "": none */
};

/* The accelerators that a device plugin offers as this resource; NULL: it is none. */
const struct kube_device_name *kube_device_name(const char *resource);
/* "3g.40gb" of nvidia.com/mig-3g.40gb; NULL: it is no MIG instance. */
const char *kube_mig_profile(const char *resource);

struct kube_mark { /* KUBE_ATTEMPT */
    char instance[20];
    uint64_t job;
    uint32_t attempt, rank;
};

struct kube_pod {
    char *uid, *namespace, *name, *version;
    char *node; /* "": not bound */
    char *scheduler;
    char *queue; /* "": none stated */
    struct kube_group group;
    enum kube_phase phase;
    bool is_gated; /* by tarn's gate */
    bool is_gated_by_others;
    bool is_deleting, is_started;
    bool is_evicted;       /* the cluster ended it, not the program */
    bool is_unschedulable; /* as its condition says */
    int32_t priority;
    /* requests */
    int64_t cpu_milli, memory_mib;
    uint32_t device_count;
    char *device;            /* resource; "": none */
    json_t *others;          /* other resources, in thousandths: {"rdma/hca": 1000}; NULL: none */
    json_t *fits;            /* conditions for its node (kube_fits.h) */
    json_t *labels;          /* kube_labels_read(); NULL: none */
    json_t *rules;           /* about other pods (kube_rule.h); NULL: none */
    json_t *claims;          /* names of PersistentVolumeClaims; NULL: none */
    json_t *resource_claims; /* names of ResourceClaims; NULL: none */
    bool is_claim_missing;   /* one of these has no name yet */
    char apart[KUBE_APART_MAX][KUBE_APART_SIZE]; /* no other pod with one of them on its node */
    uint32_t apart_count, apart_marks; /* marks: bits of those that only others keep apart from */
    char *share;   /* a part of a GPU, in tarn's grammar: "0.5", "mem=2000M"; "": none */
    char *refused; /* why tarn cannot schedule it; NULL */
    /* of its ResourceClaims, by kube_dra_resolve(): device_count, and */
    char *filter;      /* of its devices; "": it gets none */
    char *shares_with; /* UID of the pod that gets devices which it shares; "": none */
    json_t *places;    /* lists of terms for its node; NULL: none */
    char *unresolved;  /* why it is not known yet, or not supported; NULL */
    int64_t limit_s;   /* activeDeadlineSeconds; 0: none */
    int64_t grace_s;
    char *estimate;      /* "": none */
    char *checkpoint;    /* "": not stated */
    int8_t preemptible;  /* 1 yes, 0 no, -1 not stated */
    char *arrival;       /* KUBE_ARRIVAL; "": none */
    char *gpus, *output; /* KUBE_GPUS, KUBE_OUTPUT; "": none */
    bool is_marked;
    struct kube_mark mark;
    char *waits;      /* what keeps its containers: "ImagePullBackOff: ..."; "": nothing */
    bool is_hopeless; /* that will not change */
    /* how it ended */
    int exit_code, signal;
    bool was_oom;
    char *reason; /* "": none */
};

/* The queue that labels and annotations of an object name, tarn's or another's; "": none. */
const char *kube_stated_queue(const json_t *metadata);

/* NULL: not a pod. */
void *kube_pod_read(const json_t *object);
void kube_pod_destroy(void *pod); /* NULL is fine */

#endif
