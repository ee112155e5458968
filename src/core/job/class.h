/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_JOB_CLASS_H
#define CORE_JOB_CLASS_H

/* class - the interned shape of a request, with its roles
 *
 * Jobs of one class are interchangeable for placement, so the brain looks at classes, not jobs.
 * A class lives as long as a job refers to it; after that its number may be used for another.
 * Numbers never influence a decision. How long a job may run is not part of its shape: max_duration
 * of a class is USEC_NEVER; the limit of a job is in the job itself.
 */

#include <stdint.h>

#include "base/map.h"
#include "base/mem.h"
#include "core/job/request.h"

/* Where an empty cluster could hold its jobs, as found last (control/lookup.h). */
struct class_possible {
    uint64_t world; /* state_world() of then; 0: not found yet */
    uint32_t queue;
    bool is_preemptible;
};

struct class
{
    struct request request;
    uint64_t serial;        /* never used for another class */
    uint64_t labels, apart; /* of the request, as bits (class_label_bits) */
    uint32_t references;
    uint32_t next_alike; /* number of the next one with the same hash, plus one; 0: last */
    struct class_possible possible;
    /* Followed by the roles and the conditions, if any. */
};

/* In all, and how many of them one user may add. */
enum { CLASS_LABELS_MAX = 64, CLASS_LABELS_USER_MAX = 16 };

/* A label of a job; it is assigned a bit as long as a class has it. */
struct class_label {
    char name[REQUEST_LABEL_SIZE];
    uint32_t references;
    uint32_t user; /* the user who added it, plus one; 0: unknown */
};

struct class_table {
    LIST(struct class *) classes; /* NULL: free number */
    LIST(uint32_t) unused;
    uint64_t serial;
    struct map by_hash; /* hash -> number of the first, plus one */
    struct class_label labels[CLASS_LABELS_MAX];
};

/* How many labels of the request have no bit yet, and how many bits are unused. */
uint32_t class_labels_new(const struct class_table *table, const struct request *request);
uint32_t class_labels_unused(const struct class_table *table);
/* A job of this user has the class: its labels without a user become this user's. */
void class_note_user(struct class_table *table, uint32_t number, uint32_t user);
uint32_t class_labels_of_user(const struct class_table *table, uint32_t user);
/* The bits of labels, which need not be those of a class. A label without a bit is on no job. */
uint64_t class_label_bits(const struct class_table *table, const struct job_label *labels,
                          uint32_t count);
static inline bool class_labels_fit(const struct class_table *table, const struct request *request)
{
    return class_labels_new(table, request) <= class_labels_unused(table);
}

/* Whether they would be one class. */
bool class_is_same(const struct request *a, const struct request *b);
/* The one of such requests; NULL: no job has it. */
struct class *class_find(const struct class_table *table, const struct request *request);
uint32_t class_claim(struct class_table *table, const struct request *request);
void class_release(struct class_table *table, uint32_t number);
static inline const struct request *class_request(const struct class_table *table, uint32_t number)
{
    return &table->classes.items[number]->request;
}
void class_table_release(struct class_table *table);

#endif
