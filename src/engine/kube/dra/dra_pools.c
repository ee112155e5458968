/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/dra/dra_pools.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "io/log.h"

/* Of one driver on one node. */
struct pool {
    char *driver, *name;
    LIST(struct dra_device *) devices; /* of the last generation that was complete */
    bool is_complete, is_seen;
};

struct owner {
    char *node;
    LIST(struct dra_slice *) slices;
    LIST(struct pool) pools;
    LIST(struct dra_place) places;
};

struct dra_pools {
    LIST(struct owner *) all;
    struct map by_node; /* hash -> pointer */
    bool is_known, has_any;
};

struct dra_pools *dra_pools_create(void)
{
    return mem_zero(1, sizeof(struct dra_pools));
}

static void empty_pool(struct pool *pool)
{
    for (size_t i = 0; i < pool->devices.count; i++)
        dra_device_release(pool->devices.items[i]);
    pool->devices.count = 0;
}

static void pool_release(struct pool *pool)
{
    empty_pool(pool);
    list_release(&pool->devices);
    free(pool->driver);
    free(pool->name);
}

void dra_pools_destroy(struct dra_pools *pools)
{
    if (!pools)
        return;
    for (size_t i = 0; i < pools->all.count; i++) {
        struct owner *owner = pools->all.items[i];
        for (size_t k = 0; k < owner->slices.count; k++)
            dra_slice_destroy(owner->slices.items[k]);
        for (size_t k = 0; k < owner->pools.count; k++)
            pool_release(&owner->pools.items[k]);
        list_release(&owner->slices);
        list_release(&owner->pools);
        list_release(&owner->places);
        free(owner->node);
        free(owner);
    }
    list_release(&pools->all);
    map_release(&pools->by_node);
    free(pools);
}

static struct owner *find(const struct dra_pools *pools, const char *node)
{
    uint64_t at;

    if (!map_get(&pools->by_node, map_hash(node, strlen(node)), &at))
        return NULL;
    struct owner *owner = (struct owner *)(uintptr_t)at;
    return strcmp(owner->node, node) == 0 ? owner : NULL;
}

static struct owner *find_or_add(struct dra_pools *pools, const char *node)
{
    struct owner *owner = find(pools, node);

    if (owner)
        return owner;
    owner = mem_zero(1, sizeof(*owner));
    owner->node = mem_string(node);
    list_add(&pools->all, owner);
    map_set(&pools->by_node, map_hash(node, strlen(node)), (uint64_t)(uintptr_t)owner);
    return owner;
}

/* ---- pools ---- */

static struct pool *pool_of(struct owner *owner, const struct dra_slice *slice)
{
    LIST_EACH (struct pool, pool, &owner->pools) {
        if (strcmp(pool->name, slice->pool) == 0 && strcmp(pool->driver, slice->driver) == 0)
            return pool;
    }
    list_add(&owner->pools, ((struct pool){ .driver = mem_string(slice->driver),
                                            .name = mem_string(slice->pool) }));
    return &owner->pools.items[owner->pools.count - 1];
}

static bool is_of(const struct pool *pool, const struct dra_slice *slice, int64_t generation)
{
    return strcmp(slice->pool, pool->name) == 0 && strcmp(slice->driver, pool->driver) == 0 &&
           slice->generation == generation;
}

static int64_t newest_of(const struct owner *owner, const struct pool *pool)
{
    int64_t newest = INT64_MIN;

    for (size_t i = 0; i < owner->slices.count; i++) {
        const struct dra_slice *slice = owner->slices.items[i];
        if (is_of(pool, slice, slice->generation) && slice->generation > newest)
            newest = slice->generation;
    }
    return newest;
}

static bool has_twice(const struct pool *pool)
{
    for (size_t i = 1; i < pool->devices.count; i++) {
        if (strcmp(pool->devices.items[i - 1]->key, pool->devices.items[i]->key) == 0)
            return true;
    }
    return false;
}

/* Take the devices of the newest generation, if all of it is there. */
static void complete(struct owner *owner, struct pool *pool)
{
    int64_t newest = newest_of(owner, pool), count = 0, wanted = 0;

    for (size_t i = 0; i < owner->slices.count; i++) {
        const struct dra_slice *slice = owner->slices.items[i];
        if (!is_of(pool, slice, newest))
            continue;
        count++;
        wanted = slice->slice_count;
    }
    pool->is_complete = count == wanted && count > 0;
    if (!pool->is_complete)
        return;
    struct pool fresh = { 0 };
    for (size_t i = 0; i < owner->slices.count; i++) {
        const struct dra_slice *slice = owner->slices.items[i];
        for (uint32_t k = 0; k < slice->device_count && is_of(pool, slice, newest); k++)
            list_add(&fresh.devices, dra_device_keep(slice->devices[k]));
    }
    empty_pool(pool);
    list_release(&pool->devices);
    list_copy(&pool->devices, &fresh.devices);
    list_release(&fresh.devices);
    list_sort(&pool->devices, dra_device_compare);
    if (has_twice(pool)) {
        log_line(LOG_WARNING,
                 "a pool of devices has a name twice and is not used driver=%s pool=%s",
                 pool->driver, pool->name);
        empty_pool(pool);
    }
}

static int compare_pools(const void *a, const void *b)
{
    const struct pool *left = a, *right = b;
    int order = strcmp(left->driver, right->driver);

    return order != 0 ? order : strcmp(left->name, right->name);
}

static void rebuild(struct dra_pools *pools, struct owner *owner)
{
    LIST_EACH (struct pool, pool, &owner->pools)
        pool->is_seen = false;
    for (size_t i = 0; i < owner->slices.count; i++)
        pool_of(owner, owner->slices.items[i])->is_seen = true;
    owner->places.count = 0;
    for (size_t i = owner->pools.count; i-- > 0;) {
        if (owner->pools.items[i].is_seen)
            continue;
        pool_release(&owner->pools.items[i]);
        list_remove(&owner->pools, i);
    }
    list_sort(&owner->pools, compare_pools);
    LIST_EACH (struct pool, pool, &owner->pools) {
        complete(owner, pool);
        for (size_t i = 0; i < pool->devices.count; i++)
            list_add(&owner->places,
                     ((struct dra_place){ pool->devices.items[i], !pool->is_complete }));
    }
    pools->has_any |= owner->places.count > 0;
}

/* ---- slices ---- */

static void remove_slice(struct owner *owner, const char *name)
{
    for (size_t i = 0; i < owner->slices.count; i++) {
        if (strcmp(owner->slices.items[i]->name, name) != 0)
            continue;
        dra_slice_destroy(owner->slices.items[i]);
        list_remove(&owner->slices, i);
        return;
    }
}

static bool was_left_out(const struct owner *owner, const struct dra_slice *slice)
{
    for (size_t i = 0; i < owner->slices.count; i++) {
        const struct dra_slice *known = owner->slices.items[i];
        if (strcmp(known->name, slice->name) == 0)
            return string_equal(known->left_out, slice->left_out);
    }
    return false;
}

static struct owner *keep(struct dra_pools *pools, struct dra_slice *slice)
{
    struct owner *owner = find_or_add(pools, slice->node);

    if (slice->left_out && !was_left_out(owner, slice))
        log_line(LOG_NOTICE, "devices are left out driver=%s reason='%s'", slice->driver,
                 slice->left_out);
    remove_slice(owner, slice->name);
    slice->is_seen = true;
    list_add(&owner->slices, slice);
    return owner;
}

static void end_list(struct dra_pools *pools, void (*touched)(void *user, const char *node),
                     void *user)
{
    pools->is_known = true;
    for (size_t i = 0; i < pools->all.count; i++) {
        struct owner *owner = pools->all.items[i];
        for (size_t k = owner->slices.count; k-- > 0;) {
            if (!owner->slices.items[k]->is_seen)
                remove_slice(owner, owner->slices.items[k]->name);
        }
        rebuild(pools, owner);
        touched(user, owner->node);
    }
}

void dra_pools_see(struct dra_pools *pools, enum kube_event event, void *object,
                   void (*touched)(void *user, const char *node), void *user)
{
    struct dra_slice *slice = object;
    struct owner *owner = NULL;

    switch (event) {
    case KUBE_LIST_BEGINS:
        for (size_t i = 0; i < pools->all.count; i++)
            LIST_EACH (struct dra_slice *, at, &pools->all.items[i]->slices)
                (*at)->is_seen = false;
        break;
    case KUBE_OBJECT:
        owner = keep(pools, slice);
        break;
    case KUBE_GONE:
        owner = find(pools, slice->node);
        if (owner)
            remove_slice(owner, slice->name);
        dra_slice_destroy(slice);
        break;
    case KUBE_LIST_ENDS:
        end_list(pools, touched, user);
        break;
    }
    if (owner && pools->is_known) {
        rebuild(pools, owner);
        touched(user, owner->node);
    }
}

/* ---- questions ---- */

const struct dra_place *dra_pools_of(const struct dra_pools *pools, const char *node,
                                     uint32_t *ret_count)
{
    const struct owner *owner = pools ? find(pools, node) : NULL;

    *ret_count = owner ? (uint32_t)owner->places.count : 0;
    return owner ? owner->places.items : NULL;
}

bool dra_pools_each(const struct dra_pools *pools,
                    bool (*check)(void *user, struct dra_device *device), void *user)
{
    for (size_t i = 0; i < pools->all.count; i++) {
        LIST_EACH (const struct dra_place, place, &pools->all.items[i]->places) {
            if (!check(user, place->device))
                return false;
        }
    }
    return true;
}

struct dra_device *dra_pools_find(const struct dra_pools *pools, const char *node, const char *uuid)
{
    const struct owner *owner = pools ? find(pools, node) : NULL;

    for (size_t i = 0; owner && i < owner->places.count; i++) {
        if (strcmp(owner->places.items[i].device->probe.uuid, uuid) == 0)
            return owner->places.items[i].device;
    }
    return NULL;
}

struct dra_device **dra_pools_find_all(const struct dra_pools *pools, const char *node,
                                       const char *uuids, uint32_t *ret_count)
{
    LIST(struct dra_device *) found = { 0 };

    for (const char *at = uuids; *at; at += *at == ',') {
        size_t length = strcspn(at, ",");
        AUTO_FREE char *uuid = mem_string_of(at, length);
        struct dra_device *device = dra_pools_find(pools, node, uuid);
        if (!device) {
            list_release(&found);
            return NULL;
        }
        list_add(&found, device);
        at += length;
    }
    *ret_count = (uint32_t)found.count;
    return found.items;
}

bool dra_pools_are_known(const struct dra_pools *pools)
{
    return pools->is_known;
}

bool dra_pools_have_any(const struct dra_pools *pools)
{
    return pools && pools->has_any;
}

const char *dra_pools_left_out(const struct dra_pools *pools)
{
    for (size_t i = 0; i < pools->all.count; i++) {
        LIST_EACH (struct dra_slice *, at, &pools->all.items[i]->slices) {
            if ((*at)->left_out)
                return (*at)->left_out;
        }
    }
    return NULL;
}
