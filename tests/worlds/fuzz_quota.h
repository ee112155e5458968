/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WORLDS_FUZZ_QUOTA_H
#define WORLDS_FUZZ_QUOTA_H

/* fuzz_quota - limits, borrowing, lending and use of queues: the shadow's own account
 *
 * The terms are those of core/cluster/quota.h. Amounts are by resource: GPUs of any model
 * (thousandths), CPUs (thousandths), memory (MiB), then each model that a quota or a price named,
 * in that order.
 */

#include "base/mem.h"
#include "core/job/job.h"
#include "core/journal/event.h"
#include "worlds/fuzz_money.h"
#include "worlds/fuzz_times.h"

enum { SHADOW_GPUS, SHADOW_CPUS, SHADOW_MEMORY, SHADOW_MODELS, SHADOW_RESOURCES = 16 };

struct shadow_amounts {
    int64_t of[SHADOW_RESOURCES];
};

struct shadow_subject {
    uint8_t kind; /* enum subject_kind */
    uint32_t resource;
    char *user;
    uint32_t gid;
    int64_t limit;
};

/* While a window is open. ABSENT: as otherwise. */
struct shadow_during {
    uint32_t window, resource;
    struct quota quota;
};

struct shadow_queue {
    char *name;
    uint32_t parent, children;
    struct quota quota[SHADOW_RESOURCES]; /* that holds now */
    struct quota base[SHADOW_RESOURCES];  /* while no window is open */
    LIST(struct shadow_during) during;    /* of several open ones the last counts */
    LIST(struct shadow_budget) budgets;
    struct shadow_amounts owned, used, firm; /* static pools'; held; held by non-preemptible jobs */
    LIST(struct shadow_subject) subjects;
    usec_t min_runtime;
    bool firm_within, is_removed;
};

struct shadow;
struct shadow_job;

void shadow_quota_init(struct shadow_queue *queue); /* no bound anywhere */
void shadow_quota_release(struct shadow_queue *queue);
void shadow_quota_set(struct shadow *shadow, struct shadow_queue *queue,
                      const struct event_queue *event);
uint32_t shadow_resource(struct shadow *shadow, const char *name); /* a new number, if need be */
/* Of a queue, at a time. */
struct quota shadow_quota_at(const struct shadow *shadow, uint32_t queue, uint32_t resource,
                             usec_t at);
/* What is owned, used and firm, counted anew: after the world changed. */
void shadow_recount(struct shadow *shadow);
/* What it holds is added to its queue and all above (sign 1), or taken away. */
void shadow_quota_hold(struct shadow *shadow, const struct shadow_job *job, int sign);

/* The most that a quota allows, beside what is owned; -1: no bound. */
int64_t shadow_bound_by(const struct quota *quota, int64_t owned);
/* The most that a queue may hold, of all or (is_firm) by those that are never stopped; -1: no
 * bound. */
int64_t shadow_bound_of(const struct shadow_queue *queue, uint32_t resource, bool is_firm);
/* What is held of it, in the same way. */
int64_t shadow_held_of(const struct shadow_queue *queue, uint32_t resource, bool is_firm);
/* Whether those that are never stopped are bound to its guarantee of this. */
bool shadow_is_firm_bound(const struct shadow_queue *queue, uint32_t resource, bool is_preemptible);
/* What the user or group of this job, by the kind of the subject, holds below the queue. */
int64_t shadow_subject_holds(const struct shadow *shadow, uint32_t queue,
                             const struct shadow_subject *subject, const struct shadow_job *job);
/* Whether the subject's limit is for the user of this job. */
bool shadow_subject_is_for(const struct shadow_queue *queue, const struct shadow_subject *subject,
                           const struct shadow_job *job);
/* What queues beside the way up from this one keep: do not lend, and do not use. */
int64_t shadow_kept_from(const struct shadow *shadow, uint32_t queue, uint32_t resource);
/* Machines that are up, devices that are well. */
int64_t shadow_capacity(const struct shadow *shadow, uint32_t resource);
bool shadow_has_quotas(const struct shadow *shadow); /* any bound of any queue */
/* The queue or one above holds more GPUs than it may. */
bool shadow_is_over(const struct shadow *shadow, uint32_t queue);
/* What a lease takes. */
struct shadow_amounts shadow_amounts_of(const struct shadow *shadow, const struct lease *lease);
/* At most so much for all members. */
struct shadow_amounts shadow_most_of(const struct shadow *shadow, const struct request *request,
                                     uint32_t alternative);
/* No quota can stand in the way of so much: certain when true. */
bool shadow_quota_is_wide(const struct shadow *shadow, uint32_t queue,
                          const struct shadow_amounts *amounts);

#endif
