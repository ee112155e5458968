/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cluster/pool.h"

#include <stdio.h>
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

static void add_terms(where_list *where, const char *names, const char *key)
{
    for (const char *at = names ? names : ""; *at; at += strcspn(at, ","), at += *at == ',') {
        struct where_term term;
        size_t length = strcspn(at, ",");
        memset(&term, 0, sizeof(term));
        snprintf(term.key, sizeof(term.key), "%.*s", key ? (int)strlen(key) : (int)length,
                 key ? key : at);
        snprintf(term.value, sizeof(term.value), "%.*s", key ? (int)length : 0, at);
        term.has_value = key != NULL;
        term.is_or = key && at[length] == ',';
        list_add(where, term);
    }
}

void pool_take_names(where_list *where, const char *nodes, const char *labels)
{
    add_terms(where, nodes, "node");
    add_terms(where, labels, NULL);
}

bool pool_matches(const struct pool *pool, const struct device *device, const struct node *node)
{
    if (pool->model[0] && strcmp(pool->model, device->model) != 0)
        return false;
    if (!where_holds(pool->where.items, (uint32_t)pool->where.count, node, device))
        return false;
    return pool->devices == 0 || (device->index < 64 && (pool->devices >> device->index & 1));
}
