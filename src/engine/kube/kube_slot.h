/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_KUBE_SLOT_H
#define ENGINE_KUBE_KUBE_SLOT_H

/* kube_slot - the members of started attempts, and what is reported of them
 *
 * The inside of kube_attempts: a member is a slot, which has a node and devices from its start to
 * its end, and mostly a pod. A pod that ends leaves its slot empty while its controller may replace
 * it; else the end is reported.
 */

#include <jansson.h>

#include "base/map.h"
#include "base/mem.h"
#include "core/engine.h"
#include "engine/kube/client/kube_client.h"
#include "engine/kube/kube_nodes.h"
#include "engine/kube/kube_workloads.h"

enum slot_state {
    SLOT_EMPTY,   /* it has no pod yet, or waits for the replacement of one */
    SLOT_BINDING, /* asked, not answered */
    SLOT_BOUND,
    SLOT_OVER, /* its end was reported */
};

/* A member. */
struct slot {
    struct attempt *attempt;
    const struct kube_pod *pod;     /* NULL: none */
    const struct kube_pod *counted; /* counts on the node before it is bound; NULL: none */
    char *node, *gpus;              /* NULL after a restart, until its pod is seen */
    char *role;
    uint32_t rank, device_count;
    char *given; /* names of the devices that the kubelet gave to its pod, ","; NULL: not known */
    uint32_t given_count;
    enum slot_state state;
    bool is_started;   /* reported */
    bool is_checking;  /* a failed binding is looked at */
    bool has_end;      /* outcome is set: reported unless its pod is replaced */
    char *version;     /* of its pod, as last answered: a fence for its binding */
    uint32_t failures; /* of its binding */
    uint64_t empty_since, evict_due;
    uint64_t stuck_since; /* its pod is bound and cannot start; 0: not so */
    struct engine_outcome outcome;
    json_t *own;               /* the pod to create; NULL: it exists, or comes from outside */
    json_t *own_claims;        /* and its ResourceClaimTemplate, for devices of slices; or NULL */
    bool is_followed, has_log; /* its output is copied; it was */
    uint64_t ended_at;         /* it waits for its log since then; 0: it does not */
};

struct attempt {
    uint64_t job;
    uint32_t attempt, count;
    struct slot *slots;
    char *external;   /* the arrival; NULL: a job of tarn, or not known after a restart */
    bool is_stopping; /* its pods are evicted */
    bool is_undone;   /* they are evicted because not all could start */
    bool is_returned; /* nothing of it has started, and nothing may: it is placed again */
    uint64_t rule;    /* because of this one of others, see kube_rules_allow(); 0: another reason */
    bool is_sought;   /* it ran when the daemon started */
    bool is_awake;    /* it is in the list of those */
    int64_t grace_s;
    char reason[160]; /* why it is undone, or waits */
};

struct kube_attempts {
    struct engine_options options;
    struct kube_client *client;
    struct kube_nodes *nodes;
    struct kube_workloads *workloads;
    struct kube_events *events;
    struct kube_dra *dra;
    char instance[20], namespace[64];
    LIST(struct attempt *) all;      /* ascending */
    LIST(struct attempt *) awake;    /* something is due soon: see attempt_wake() */
    uint64_t swept_at;               /* uv_now() when all were looked at */
    LIST(struct member_id) expected; /* attempts that the daemon will start again; rank: unused */
    uint64_t expected_until;         /* uv_now() */
    struct map by_pod;               /* hash of the UID -> slot */
    bool is_synced;
    bool has_left;  /* a pod that still exists is no member any more */
    char told[320]; /* by kube_attempts_trouble() */
};

void attempt_destroy(struct attempt *attempt);
/* The place of an attempt in the list of all, or where it belongs. */
size_t attempt_place(const struct kube_attempts *attempts, uint64_t job, uint32_t number);
/* NULL: not known. */
struct attempt *attempt_find(const struct kube_attempts *attempts, uint64_t job, uint32_t number);
struct attempt *attempt_add(struct kube_attempts *attempts, uint64_t job, uint32_t number,
                            uint32_t count);
/* Look at it in the next tick, and until all its members are bound or over. The others, which are
 * many, are looked at every few seconds. */
void attempt_wake(struct kube_attempts *attempts, struct attempt *attempt);
/* Take it out of the lists, and destroy it. */
void attempt_remove(struct kube_attempts *attempts, struct attempt *attempt);
/* The ends of all its members were reported. */
bool attempt_is_over(const struct attempt *attempt);

/* NULL: it has no such rank. */
struct slot *slot_of_rank(const struct attempt *attempt, uint32_t rank);
/* The member that a pod is, by its place here or by the annotation of its binding; NULL: none. */
struct slot *slot_of(const struct kube_attempts *attempts, const struct kube_pod *pod);
void slot_attach(struct kube_attempts *attempts, struct slot *slot, const struct kube_pod *pod);
void slot_detach(struct kube_attempts *attempts, struct slot *slot);
/* From now on, a pod counts on the node of the member for rules about other pods; NULL: none does.
 */
void slot_count(struct kube_attempts *attempts, struct slot *slot, const struct kube_pod *pod);

/* An exporter states that the kubelet gave this device to its pod. When all are known, the lease
 * follows. */
void slot_note_given(struct kube_attempts *attempts, struct slot *slot, const char *uuid);

/* Once; again is fine. */
void slot_report_started(struct kube_attempts *attempts, struct slot *slot);
void slot_set_outcome(struct slot *slot, enum engine_outcome_kind kind, const char *reason);
/* The outcome of a pod that has ended, or was deleted before it ended. */
void slot_note_end(struct slot *slot, const struct kube_pod *pod);
/* Its user has ended the job in Kubernetes. */
void slot_note_cancelled(struct slot *slot);
void slot_note_deletion(struct kube_attempts *attempts, struct slot *slot);
/* Its outcome is set: keep its place for another pod, wait for its output, or report it. */
void slot_end(struct kube_attempts *attempts, struct slot *slot);
void slot_report_end(struct kube_attempts *attempts, struct slot *slot);

#endif
