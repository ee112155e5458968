/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLUSTER_QUEUE_H
#define CORE_CLUSTER_QUEUE_H

/* queue - a tenant in the tree: its quotas, its holdings and its past use
 *
 * Use is counted separately for GPUs, CPUs and memory, in shares of the cluster (units of 2^-20,
 * GPUs weighted by price) times milliseconds, and halves every half-life. It is charged
 * continuously; ordering adds an hour of the running jobs, so that many starts in one instant count
 * at once (sched/ordering/job_order.h). Integers only: 2^-x is computed from twelve constants and a
 * short series.
 *
 * Queue 0 is the root, queue 1 is "default". A number stays with its name.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"
#include "core/cluster/payer.h"
#include "core/cluster/queue_rules.h"
#include "core/cluster/quota.h"
#include "core/job/lease.h"

enum { QUEUE_ROOT = 0, QUEUE_DEFAULT = 1, QUEUE_SHARE_ONE = 1 << 20 };

#define QUEUE_NONE UINT32_MAX

#define QUEUE_HALF_LIFE_DEFAULT (7 * USEC_PER_DAY)
#define QUEUE_HALF_LIFE_MAX     (90 * USEC_PER_DAY)

/* Other bounds of one resource while a window is open. */
struct queue_during {
    uint32_t window; /* number in the agenda */
    uint8_t resource;
    struct quota quota; /* ABSENT: unchanged */
};

struct queue {
    char *name;
    uint32_t parent;
    uint32_t child_count;
    uint32_t weight;
    struct quota quota[RESOURCES_MAX]; /* in force now */
    struct quota base[RESOURCES_MAX];  /* when no window is open */
    LIST(struct queue_during) during;  /* if several windows are open, the last applies */
    struct amounts owned;              /* in static pools of it and the queues below it */
    struct amounts used;               /* held now, with the queues below it */
    struct amounts firm;               /* part of that held by jobs that are not preemptible */
    LIST(struct subject_limit) subjects;
    LIST(struct cell_quota) cells; /* guaranteed to it; at most QUEUE_CELLS_MAX */
    usec_t min_runtime;            /* run time before its jobs may be stopped for other queues */
    struct queue_rules rules;      /* for jobs that are submitted to it */
    LIST(struct queue_name) names; /* at most QUEUE_NAMES_MAX */
    bool firm_within;              /* above its guarantee only preemptible jobs */
    int64_t share[SHARES];         /* of the cluster, held now, with the queues below it */
    uint64_t usage[SHARES];        /* share x ms, decayed, as of usage_at */
    usec_t usage_at;
    uint32_t payer;              /* number of its payer in the state */
    LIST(struct budget) budgets; /* at most BUDGETS_MAX */
    bool is_removed;
};

void queue_release(struct queue *queue);

/* Whether it limits what its users hold or spend, so that their jobs differ. */
bool queue_bounds_users(const struct queue *queue);

/* The parent of a queue; QUEUE_NONE: it is the root. */
static inline uint32_t queue_above(const struct queue *queues, uint32_t number)
{
    return number == QUEUE_ROOT ? QUEUE_NONE : queues[number].parent;
}

/* The usage of one kind now, including the running jobs since usage_at. */
uint64_t queue_usage(const struct queue *queue, enum share kind, usec_t now, usec_t half_life);

/* Update the usage to now. Call it before share changes. */
void queue_advance(struct queue *queue, usec_t now, usec_t half_life);

#endif
