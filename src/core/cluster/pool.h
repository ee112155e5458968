/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLUSTER_POOL_H
#define CORE_CLUSTER_POOL_H

/* pool - a named set of devices
 *
 * A static pool owns devices, which serve the jobs of one queue and are never lent. Devices are
 * assigned to static pools in the order of the pools' numbers, lowest device first. A dynamic pool
 * shares the other devices. It owns no devices: `min` GPUs are always kept free for its jobs, its
 * jobs never hold more than `max`, and between the two it grows and shrinks with its jobs. Pool 0
 * is the dynamic pool "default", without min and max, for jobs that name no pool.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "core/job/where.h"

/* The MIG mode that its devices must have, if they support it. */
enum pool_mig { POOL_MIG_ANY, POOL_MIG_OFF, POOL_MIG_ON };

/* In milli-GPUs. */
struct pool_size {
    int64_t min, max;
};

/* Another size while a window is open. */
struct pool_during {
    uint32_t window;              /* number in the agenda */
    int64_t milli_min, milli_max; /* ABSENT: unchanged */
};

struct pool {
    char *name;
    char *queue;                  /* static: the owner */
    char *model;                  /* "": any */
    where_list where;             /* conditions on its devices */
    uint64_t devices;             /* bit i: index i on its node; 0: any */
    uint32_t gpus;                /* static: number of devices; 0: all that match */
    int64_t milli_min, milli_max; /* dynamic: in force now */
    int64_t base_min, base_max;   /* when no window is open */
    LIST(struct pool_during) during;
    bool is_static;
    bool is_removed;
    uint8_t mig; /* enum pool_mig */
};

struct device;
struct node;

void pool_release(struct pool *pool);

/* Whether the device meets the conditions of the pool. */
bool pool_matches(const struct pool *pool, const struct device *device, const struct node *node);

#endif
