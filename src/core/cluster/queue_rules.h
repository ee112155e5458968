/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLUSTER_QUEUE_RULES_H
#define CORE_CLUSTER_QUEUE_RULES_H

/* queue_rules - what a queue says of the jobs that are submitted to it
 *
 * Bounds and defaults are checked when a job is submitted, changed or requeued: the scheduler does
 * not read them, and a new configuration leaves jobs alone that are there. oom_most is read when a
 * job has run out of memory. A queue that does not
 * say one of them has that of the queue above it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/units.h"
#include "core/job/request.h"

struct queue;

enum queue_preemptible {
    PREEMPTIBLE_INHERIT,
    PREEMPTIBLE_OPTIONAL, /* as the job says; else it is not */
    PREEMPTIBLE_DEFAULT,  /* as the job says; else it is */
    PREEMPTIBLE_ALWAYS,
    PREEMPTIBLE_NEVER,
    PREEMPTIBLE_WORDS,
};

/* 0: not said. */
struct queue_rules {
    int64_t preemptible;     /* enum queue_preemptible */
    int64_t priority_most;   /* that users who are no administrators give */
    usec_t duration_default; /* max_duration of a job that does not say one */
    usec_t duration_most;    /* USEC_NEVER: no bound */
    int64_t gpus_most;       /* of a job */
    int64_t oom_factor;      /* of a job with memory that does not say one, in thousandths */
    int64_t oom_most;        /* MiB: a member gets no more by it; 0: what a machine has */
};

/* Names that a queue lists; of users, and the groups next to them. */
enum queue_list {
    QUEUE_MODELS, /* that its jobs may have */
    QUEUE_SUBMIT_USERS,
    QUEUE_SUBMIT_GROUPS,
    QUEUE_ADMIN_USERS,
    QUEUE_ADMIN_GROUPS,
    QUEUE_LISTS,
};
enum { QUEUE_NAMES_MAX = 256 }; /* of a queue, all lists together */

struct queue_name {
    char name[REQUEST_NAME_SIZE];
    uint32_t gid; /* of a group */
    uint8_t list; /* enum queue_list */
};

/* With what the queues above say. */
struct queue_rules queue_rules_of(const struct queue *queues, uint32_t number);

/* Whether this queue itself has a name in one of the lists from `list` on, `count` of them. */
bool queue_lists(const struct queue *queue, enum queue_list list, uint32_t count);
/* The queue, or the nearest above it, that has; NULL: none has. */
const struct queue *queue_that_lists(const struct queue *queues, uint32_t number,
                                     enum queue_list list, uint32_t count);

#endif
