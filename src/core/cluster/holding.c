/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cluster/holding.h"

#include <assert.h>

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
