/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

/* map - from a 64-bit key to a 64-bit value, open addressing
 *
 * The map stores 64-bit keys only: for strings the caller hashes (map_hash) and compares the result
 * itself. Iteration order is not defined and must not steer a decision; sort ids instead.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_slot {
    uint64_t key; /* 0: unused */
    uint64_t value;
};

struct map {
    struct map_slot *slots;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
    uint64_t zero; /* the value of key 0, if there is one */
    bool has_zero;
};

bool map_get(const struct map *map, uint64_t key, uint64_t *ret_value);
void map_set(struct map *map, uint64_t key, uint64_t value);
bool map_remove(struct map *map, uint64_t key);
void map_release(struct map *map);
/* Each entry in turn; *at begins as 0. False: there is none left. */
bool map_next(const struct map *map, size_t *at, struct map_slot *ret);

uint64_t map_hash(const void *bytes, size_t length); /* the same on every machine */
/* The same for whole words; faster. */
uint64_t map_hash_words(const uint64_t *words, size_t count);

#endif
