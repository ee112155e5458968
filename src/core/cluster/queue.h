/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLUSTER_QUEUE_H
#define CORE_CLUSTER_QUEUE_H

/* queue - a tenant in the tree, what it may have and what it had
 *
 * Use is counted for GPUs, CPUs and memory apart, in shares of the cluster (parts of 2^20, GPUs by
 * what they cost) times milliseconds, and halves every half-life. It is charged
 * as it is used; ordering adds an hour of what runs now, so that many starts in one instant
 * count at once (sched/ordering/job_order.h). Integers only: 2^-x comes from twelve constants and a
 * short series, policies 2.1.
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
    struct quota quota; /* ABSENT: as it is otherwise */
};

struct queue {
    char *name;
    uint32_t parent;
    uint32_t child_count;
    uint32_t weight;
    struct quota quota[RESOURCES_MAX]; /* that hold now */
    struct quota base[RESOURCES_MAX];  /* when no window is open */
    LIST(struct queue_during) during;  /* of several open ones the last counts */
    struct amounts owned;              /* what static pools have for it, with all below */
    struct amounts used;               /* held now, with all below */
    struct amounts firm;               /* of that by jobs that are never stopped for others */
    LIST(struct subject_limit) subjects;
    LIST(struct cell_quota) cells; /* it can always have; at most QUEUE_CELLS_MAX */
    usec_t min_runtime;            /* its jobs are not stopped for other queues before */
    struct queue_rules rules;      /* of jobs that are submitted to it */
    LIST(struct queue_name) names; /* at most QUEUE_NAMES_MAX */
    bool firm_within;              /* above its guarantee only jobs that may be stopped */
    int64_t share[SHARES];         /* of the cluster held now, with all below */
    uint64_t usage[SHARES];        /* share x ms, decayed, as of usage_at */
    usec_t usage_at;
    uint32_t payer;              /* that it is, with all below: its number in the state */
    LIST(struct budget) budgets; /* at most BUDGETS_MAX */
    bool is_removed;
};

void queue_release(struct queue *queue);

/* It bounds what its users hold or spend: their jobs are not alike. */
bool queue_bounds_users(const struct queue *queue);

/* The queue above one of these; QUEUE_NONE: it is the root. */
static inline uint32_t queue_above(const struct queue *queues, uint32_t number)
{
    return number == QUEUE_ROOT ? QUEUE_NONE : queues[number].parent;
}

/* What the usage of one kind is at now, with what runs since usage_at. */
uint64_t queue_usage(const struct queue *queue, enum share kind, usec_t now, usec_t half_life);

/* Bring usage up to now; before share changes. */
void queue_advance(struct queue *queue, usec_t now, usec_t half_life);

#endif
