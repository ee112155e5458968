/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <stdlib.h>

#include "base/mem.h"

static uint64_t mix(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    return x;
}

/* The slot of key, or the free one where it would go. */
static struct map_slot *find(const struct map *map, uint64_t key)
{
    size_t at = (size_t)mix(key) & (map->capacity - 1);

    while (map->slots[at].key != 0 && map->slots[at].key != key)
        at = (at + 1) & (map->capacity - 1);
    return &map->slots[at];
}

static void grow(struct map *map)
{
    struct map old = *map;

    map->capacity = old.capacity ? old.capacity * 2 : 16;
    map->slots = mem_zero(map->capacity, sizeof(map->slots[0]));
    for (size_t i = 0; i < old.capacity; i++) {
        if (old.slots[i].key != 0)
            *find(map, old.slots[i].key) = old.slots[i];
    }
    free(old.slots);
}

bool map_get(const struct map *map, uint64_t key, uint64_t *ret_value)
{
    if (map->count == 0 || (key == 0 && !map->has_zero))
        return false;

    const struct map_slot *slot = key != 0 && map->capacity > 0 ? find(map, key) : NULL;
    if (key != 0 && (!slot || slot->key == 0))
        return false;
    *ret_value = slot ? slot->value : map->zero;
    return true;
}

void map_set(struct map *map, uint64_t key, uint64_t value)
{
    if (key == 0) {
        map->count += !map->has_zero;
        map->has_zero = true;
        map->zero = value;
        return;
    }
    if ((map->count + 1) * 3 > map->capacity * 2)
        grow(map);
    struct map_slot *slot = find(map, key);
    map->count += slot->key == 0;
    *slot = (struct map_slot){ .key = key, .value = value };
}

bool map_remove(struct map *map, uint64_t key)
{
    if (map->count == 0)
        return false;
    if (key == 0) {
        bool had_zero = map->has_zero;
        map->count -= had_zero;
        map->has_zero = false;
        return had_zero;
    }
    if (map->capacity == 0)
        return false;
    struct map_slot *slot = find(map, key);
    if (slot->key == 0)
        return false;

    /* Close the gap: what was pushed past it moves back, so that a search never stops early. */
    size_t mask = map->capacity - 1;
    size_t gap = (size_t)(slot - map->slots);
    for (size_t at = (gap + 1) & mask; map->slots[at].key != 0; at = (at + 1) & mask) {
        size_t home = (size_t)mix(map->slots[at].key) & mask;
        if (((at - home) & mask) >= ((at - gap) & mask)) {
            map->slots[gap] = map->slots[at];
            gap = at;
        }
    }
    map->slots[gap].key = 0;
    map->count--;
    return true;
}

void map_release(struct map *map)
{
    free(map->slots);
    *map = (struct map){ 0 };
}

bool map_next(const struct map *map, size_t *at, struct map_slot *ret)
{
    for (; *at < map->capacity; (*at)++) {
        if (map->slots[*at].key == 0)
            continue;
        *ret = map->slots[(*at)++];
        return true;
    }
    if (*at > map->capacity || !map->has_zero)
        return false;
    *ret = (struct map_slot){ .value = map->zero };
    (*at)++;
    return true;
}

/* FNV-1a, then mixed: short, and the same on every machine. */
uint64_t map_hash(const void *bytes, size_t length)
{
    const unsigned char *s = bytes;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ s[i]) * UINT64_C(0x100000001b3);
    return mix(hash);
}

uint64_t map_hash_words(const uint64_t *words, size_t count)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < count; i++)
        hash = mix(hash ^ words[i]);
    return hash;
}
