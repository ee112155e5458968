/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cluster/quota.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

DEFINE_NAMES(cell_level_name, enum cell_level, "pair", "island", "node", "rack")

void amounts_add(struct amounts *to, const struct amounts *more, int sign)
{
    assert(sign == 1 || sign == -1);
    for (size_t i = 0; i < RESOURCES_MAX; i++)
        to->of[i] += sign * more->of[i];
    to->rate_more += sign * more->rate_more;
}

int64_t *quota_part(struct quota *quota, enum quota_bound bound)
{
    assert(bound < BOUNDS);

    int64_t *const bounds[BOUNDS] = { &quota->guarantee, &quota->limit, &quota->borrow,
                                      &quota->lend };

    return bounds[bound];
}

int64_t quota_part_of(const struct quota *quota, enum quota_bound bound)
{
    struct quota copy = *quota;

    return *quota_part(&copy, bound);
}

void quota_override(struct quota *quota, const struct quota *said)
{
    for (enum quota_bound i = 0; i < BOUNDS; i++) {
        int64_t bound = quota_part_of(said, i);
        if (bound != ABSENT)
            *quota_part(quota, i) = bound;
    }
}

int64_t quota_owed(const struct quota *quota, int64_t owned)
{
    return quota->guarantee + owned;
}

int64_t quota_most(const struct quota *quota, int64_t owned)
{
    int64_t most =
        quota->borrow == QUOTA_NONE ? QUOTA_NONE : quota->guarantee + owned + quota->borrow;

    if (quota->limit != QUOTA_NONE && (most == QUOTA_NONE || quota->limit < most))
        most = quota->limit;
    return most;
}

int resource_find(const resource_list *resources, const char *name)
{
    for (size_t i = 0; i < resources->count; i++) {
        if (strcmp(resources->items[i].name, name) == 0)
            return (int)i;
    }
    return -1;
}

int resource_claim(resource_list *resources, const char *name)
{
    int found = resource_find(resources, name);

    if (found >= 0)
        return found;
    if (resources->count == RESOURCES_MAX)
        return -1;
    list_add(resources, (struct resource_name){ .name = mem_string(name) });
    return (int)resources->count - 1;
}

void resources_release(resource_list *resources)
{
    for (size_t i = 0; i < resources->count; i++)
        free(resources->items[i].name);
    list_release(resources);
}

/* Queues are few: both numbers fit, and the key is exact. */
static uint64_t key_of(uint32_t queue, enum subject_kind kind, uint32_t id)
{
    return (uint64_t)queue << 34 | (uint64_t)(kind == SUBJECT_GROUP) << 32 | id;
}

void holding_add(struct holdings *holdings, uint32_t queue, enum subject_kind kind, uint32_t id,
                 const struct amounts *amounts, int sign)
{
    uint64_t key = key_of(queue, kind, id), place = 0;

    if (!map_get(&holdings->places, key, &place)) {
        list_add(&holdings->items,
                 (struct holding){ .queue = queue, .kind = (uint8_t)kind, .id = id });
        place = holdings->items.count;
        map_set(&holdings->places, key, place);
    }
    assert(place > 0 && place <= holdings->items.count);
    amounts_add(&holdings->items.items[place - 1].amounts, amounts, sign);
}

const struct amounts *holding_of(const struct holdings *holdings, uint32_t queue,
                                 enum subject_kind kind, uint32_t id)
{
    uint64_t place = 0;

    if (!map_get(&holdings->places, key_of(queue, kind, id), &place))
        return NULL;
    return &holdings->items.items[place - 1].amounts;
}

void holdings_release(struct holdings *holdings)
{
    list_release(&holdings->items);
    map_release(&holdings->places);
}
