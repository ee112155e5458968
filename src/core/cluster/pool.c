/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cluster/pool.h"

#include <stdlib.h>
#include <string.h>

#include "core/cluster/node.h"

void pool_release(struct pool *pool)
{
    free(pool->name);
    free(pool->queue);
    free(pool->model);
    free(pool->nodes);
    free(pool->labels);
    list_release(&pool->during);
}

static bool names_contain(const char *names, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = names; *at; at += strcspn(at, ","), at += *at == ',') {
        if (strcspn(at, ",") == length && strncmp(at, name, length) == 0)
            return true;
    }
    return false;
}

static bool has_all(const char *names, const char *wanted)
{
    bool has = true;

    for (const char *at = wanted; has && *at; at += strcspn(at, ","), at += *at == ',') {
        AUTO_FREE char *name = mem_string_of(at, strcspn(at, ","));
        has = names && names_contain(names, name);
    }
    return has;
}

bool pool_matches(const struct pool *pool, const struct device *device, const struct node *node)
{
    if (pool->model[0] && strcmp(pool->model, device->model) != 0)
        return false;
    if (pool->nodes[0] && !names_contain(pool->nodes, node->name))
        return false;
    if (pool->labels && !has_all(device->labels, pool->labels))
        return false;
    return pool->devices == 0 || (device->index < 64 && (pool->devices >> device->index & 1));
}
