/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_KUBE_KUBE_QUEUES_H
#define WIRE_KUBE_KUBE_QUEUES_H

/* kube_queues - queues of another scheduler of Kubernetes, and how they are written as tarn's
 *
 * Order of calls:  kube_queue_add*, kube_amounts_add*, kube_queues_write, kube_queues_release
 * Owner:           the caller of the struct; queues point to their objects. Pointers to queues are
 *                  valid until the next kube_queue_add()
 * On failure:      the first one is in code and err, with the place of the object
 */

#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "wire/kube/kube_manifest.h"

enum { AMOUNT_NAME_SIZE = 32 }; /* of a model */

/* Amounts of one resource. Absent bounds are those that add up to "all" or "no bound". */
struct kube_amount {
    char resource[64]; /* "gpus", "h100", "mig-1g.10gb", "cpus", "memory" (in MiB), "tpu", "npu" */
    int64_t nominal, borrow, lend;
    bool has_nominal;    /* an amount was given; 0 counts */
    bool borrows_freely; /* of one part at least there is no bound */
    bool has_lend;       /* of one part at least there is a bound */
};

struct kube_amounts {
    LIST(struct kube_amount) all;
};

struct kube_queue {
    const char *kind;
    char *origin; /* as the other scheduler names it; kind and origin together are unique */
    const char *parent_kind, *parent_origin; /* NULL: at the top */
    char *name;                              /* in tarn: unique */
    const struct kube_object *object;        /* NULL: it is only mentioned */
    int64_t weight;                          /* 0: not given */
    struct kube_amounts quota, limit;        /* limit: only nominal counts */
    LIST(const char *) models;               /* that its jobs may use; none: all */
    bool is_preemptible;                     /* its jobs are preempted unless they say otherwise */
    bool is_firm;                            /* above its quota its jobs are not preempted */
    bool is_group;                           /* its quota includes those of the queues below it */
    bool is_closed;                          /* and these have no more than it */
    bool has_unknown;                        /* it has devices that tarn does not know */
};

struct kube_queues {
    struct kube_objects objects;
    LIST(struct kube_queue) all;
    int64_t priority_max; /* that users may set; 0: none was given */
    struct text *report;
    struct error *err;
    int code;
};

/* name: the one that is tried first. NULL: there is such an origin of this kind already, or it is
 * no name, which is reported. */
struct kube_queue *kube_queue_add(struct kube_queues *queues, const char *kind, const char *origin,
                                  const char *name, const struct kube_object *object);
struct kube_queue *kube_queue_find(const struct kube_queues *queues, const char *kind,
                                   const char *origin);

/* "FILE:LINE: ClusterQueue team-a: KEY=VALUE: words"; the line is that of the key of this map. */
void kube_report(struct kube_queues *queues, const struct kube_object *object, const json_t *map,
                 const char *key, const char *words);
/* Only if the map has the key, with another value than `usual` (NULL: with any). */
void kube_report_key(struct kube_queues *queues, const struct kube_object *object,
                     const json_t *map, const char *key, const char *usual, const char *words);
struct kube_note {
    const char *key, *usual, *words;
};
void kube_report_keys(struct kube_queues *queues, const struct kube_object *object,
                      const json_t *map, const struct kube_note *notes, size_t count);
/* The kind has no equal. */
void kube_report_kind(struct kube_queues *queues, const struct kube_object *object,
                      const char *words);

/* Keep the first failure. */
void kube_fail(struct kube_queues *queues, const struct kube_object *object, const json_t *map,
               const char *key, const char *expected);

/* The amount of a resource of Kubernetes, made if it is not there; NULL: tarn has no such resource,
 * which is reported. model: NULL: GPUs of any model. */
struct kube_amount *kube_amounts_of(struct kube_queues *queues, struct kube_amounts *amounts,
                                    const struct kube_object *object, const json_t *map,
                                    const char *resource, const char *model);
bool kube_amount_is_gpu(const struct kube_amount *amount);
/* By tarn's name of the resource. */
struct kube_amount *kube_amount_make(struct kube_amounts *amounts, const char *resource);
/* The quantity that a key has, in the unit of this amount; false: there is none, or a failure. */
bool kube_quantity(struct kube_queues *queues, const struct kube_object *object, const json_t *map,
                   const char *key, const struct kube_amount *amount, int64_t *ret);
/* "cpu: 4, nvidia.com/gpu: 8" as nominal amounts. */
void kube_amounts_read(struct kube_queues *queues, struct kube_amounts *amounts,
                       const struct kube_object *object, const json_t *map);
/* true or false; usual: not given. */
bool kube_bool(struct kube_queues *queues, const struct kube_object *object, const json_t *map,
               const char *key, bool usual);
/* NULL: not given, or empty. */
const char *kube_string(struct kube_queues *queues, const struct kube_object *object,
                        const json_t *map, const char *key);
/* A weight as in "2" or "500m": rounded up to a whole number, which is reported. 0: not given. */
int64_t kube_weight(struct kube_queues *queues, const struct kube_object *object, const json_t *map,
                    const char *key);

/* The value of a label with the product of a GPU as tarn's model, new; NULL: no label has it. */
char *kube_model_of_labels(const json_t *labels);

/* Add the section `queues`. Parents become a tree first. */
void kube_queues_write(struct kube_queues *queues, struct text *config);
void kube_queues_release(struct kube_queues *queues);

#endif
