/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLUSTER_QUEUE_RULES_H
#define CORE_CLUSTER_QUEUE_RULES_H

/* queue_rules - the bounds and defaults of a queue for the jobs that are submitted to it
 *
 * They are checked when a job is submitted, changed or requeued. The scheduler does not read them,
 * and a new configuration does not affect existing jobs. oom_most is read when a job has run out of
 * memory. A queue inherits each rule that it does not set from the queue above it.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/units.h"
#include "core/job/request.h"

struct queue;

enum queue_preemptible {
    PREEMPTIBLE_INHERIT,
    PREEMPTIBLE_OPTIONAL, /* as the job states; default: no */
    PREEMPTIBLE_DEFAULT,  /* as the job states; default: yes */
    PREEMPTIBLE_ALWAYS,
    PREEMPTIBLE_NEVER,
    PREEMPTIBLE_WORDS,
};

/* 0: not set. */
struct queue_rules {
    int64_t preemptible;     /* enum queue_preemptible */
    int64_t priority_most;   /* highest priority that ordinary users may set */
    usec_t duration_default; /* max_duration of a job without one */
    usec_t duration_most;    /* USEC_NEVER: no bound */
    int64_t gpus_most;       /* most GPUs of a job */
    int64_t slack_percent;   /* slack of protected starts (waiting.md), of the plain wait */
    usec_t slack_least;
    int64_t oom_factor; /* for a job with memory and without a factor, in thousandths */
    int64_t oom_most;   /* most MiB of a member through it; 0: the memory of a node */
};

/* Lists of names of a queue; a list of groups follows the list of users. */
enum queue_list {
    QUEUE_MODELS, /* models that its jobs may use */
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

/* The rules including inherited ones. */
struct queue_rules queue_rules_of(const struct queue *queues, uint32_t number);

/* Whether they set a slack of protected starts. */
static inline bool queue_sets_slack(const struct queue_rules *rules)
{
    return rules->slack_percent > 0 || rules->slack_least > 0;
}

/* This queue or the nearest above it with a name in one of `count` lists from `list` on; NULL:
 * none. */
const struct queue *queue_that_lists(const struct queue *queues, uint32_t number,
                                     enum queue_list list, uint32_t count);

#endif
