/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cluster/pool.h"

#include <stdlib.h>
#include <string.h>

#include "core/cluster/label.h"
#include "core/cluster/node.h"

void pool_release(struct pool *pool)
{
    free(pool->name);
    free(pool->queue);
    free(pool->model);
    list_release(&pool->where);
    list_release(&pool->during);
}

bool pool_matches(const struct pool *pool, const struct device *device, const struct node *node)
{
    if (pool->model[0] && strcmp(pool->model, device->model) != 0)
        return false;
    if (!where_holds(pool->where.items, (uint32_t)pool->where.count, node, device))
        return false;
    return pool->devices == 0 || (device->index < 64 && (pool->devices >> device->index & 1));
}
