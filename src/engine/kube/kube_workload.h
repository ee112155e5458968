/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_KUBE_WORKLOAD_H
#define ENGINE_KUBE_KUBE_WORKLOAD_H

/* kube_workload - the workloads that tarn knows, by their keys
 *
 * The inside of kube_workloads: what is known of each workload, its waiting pods, whether it is
 * suspended until tarn starts it, and what its pods are told.
 */

#include "base/map.h"
#include "base/mem.h"
#include "engine/kube/kube_workloads.h"

#define WORKLOAD_NAME_START "kube/"

enum workload_stage {
    WORKLOAD_GATHERING, /* pods are missing, or it was refused */
    WORKLOAD_REPORTED,  /* arrived; not answered */
    WORKLOAD_KNOWN,     /* it has a job, which waits */
    WORKLOAD_STARTED,   /* an attempt has its pods */
};

struct workload {
    char *key, *object, *owner_path;
    char *queue; /* that its object states; "": none, or not asked */
    enum kube_group_kind kind;
    LIST(const struct kube_pod *) pods; /* that wait */
    struct kube_pod *suspended;      /* as its pods will be; NULL: it is not suspended for tarn */
    bool is_job_seen, needs_managed; /* of that */
    uint32_t size, generation;       /* size: 0: not known */
    enum workload_stage stage;
    uint64_t job;
    uint64_t due;         /* uv_now(): report or ask not before */
    uint64_t asked_at;    /* for the number of its pods */
    uint64_t said_at;     /* when `words` were set */
    uint64_t short_since; /* since when pods are missing; 0: none is */
    uint64_t gates_due;   /* gates are removed, and their reason is written, not before */
    uint64_t rules_added; /* kube_rules_added() when it was reported */
    uint64_t rules_moves; /* kube_rules_moves() when tarn refused it; 0: it did not */
    uint64_t refused_at;  /* then */
    uint32_t returns;     /* of its attempts, since it was reported */
    uint64_t extra_since; /* since when pods wait beside its attempt; 0: none does */
    bool is_asking, was_noted, was_started;
    bool is_split;         /* its pods do not start together: each is a workload of its own */
    bool is_told;          /* the pods of its job know that they wait in tarn */
    bool lacks_room;       /* another node would help, as tarn said last */
    bool is_unschedulable; /* autoscalers should add a node for its pods */
    bool is_turned;        /* that has changed, and not all of its pods know it */
    bool is_awake;         /* it is in the list of those */
    size_t place;          /* in the list of all */
    char *noted;           /* what tarn said last; NULL: nothing */
    char *words;           /* as set in the condition; NULL: none */
    char *mirror;          /* path of its mirror; NULL: none */
};

struct kube_workloads {
    struct engine_options options;
    struct kube_client *client;
    struct kube_nodes *nodes;
    struct kube_events *events;
    struct kube_mirrors *mirrors;
    struct kube_provision *provision;
    LIST(struct workload *) all;
    LIST(struct workload *) awake;
    uint64_t swept_at;  /* uv_now() when all were looked at */
    struct map by_key;  /* hash -> pointer */
    struct map managed; /* hashes of the names of namespaces */
    struct map alike;   /* rules of pods about other pods -> how many single pods with them wait in
                         * tarn; made anew in each tick */
};

/* NULL: not known. */
struct workload *workload_find(const struct kube_workloads *workloads, const char *key);
/* By the name of its arrival, of whichever generation; it wakes. */
struct workload *workload_find_named(struct kube_workloads *workloads, const char *name);
struct workload *workload_find_or_add(struct kube_workloads *workloads,
                                      const struct kube_group *group);
/* Take it out of the lists, and destroy it. */
void workload_remove(struct kube_workloads *workloads, struct workload *workload);
/* Look at it in the next tick, and until nothing about it is due soon. The others, which are many,
 * are looked at every few seconds. */
void workload_wake(struct kube_workloads *workloads, struct workload *workload);

/* The name of its arrival. */
void workload_format_name(const struct workload *workload, char *ret, size_t size);
void workload_name_mirror(struct kube_workloads *workloads, struct workload *workload,
                          const struct kube_pod *pod);
/* Whether the namespace of a pod has the label that makes its pods tarn's. */
bool workload_is_managed(const struct kube_workloads *workloads, const struct kube_pod *pod);
/* Whether it waits for tarn as a suspended Job, not for another queue. */
bool workload_is_suspended(const struct kube_workloads *workloads, const struct workload *workload);

/* The group of a pod that starts alone; valid as long as the pod. */
struct kube_group workload_group_alone(const struct kube_pod *pod);
/* The workload of a pod: of the pod alone if it does not start together with others. */
struct workload *workload_of(const struct kube_workloads *workloads, const struct kube_pod *pod);
/* The place of a pod in the list of those that wait; -1: it does not. */
int64_t workload_place(const struct workload *workload, const struct kube_pod *pod);

/* The object that can be suspended. */
const char *workload_object_path(const struct workload *workload);

/* What its pods, or its suspended Job, are told. is_news: it is worth an Event, too. */
void workload_say(struct kube_workloads *workloads, struct workload *workload, const char *words,
                  bool is_news);
/* The same of what the daemon says, with what became of the request for nodes. All its pods are
 * told when it changes whether an autoscaler should add a node for them. */
void workload_note(struct kube_workloads *workloads, struct workload *workload, const char *words,
                   bool lacks_room);
/* The request may have changed since the note. */
void workload_say_noted(struct kube_workloads *workloads, struct workload *workload);
/* The note does not hold any more. */
void workload_forget_note(struct workload *workload);
/* What became of its request for nodes; new. NULL: nothing is to be said. */
char *workload_request(const struct kube_workloads *workloads, const struct workload *workload);

#endif
