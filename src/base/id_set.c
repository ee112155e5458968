/* SPDX-License-Identifier: Apache-2.0 */
#include "base/id_set.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

enum { WORD = 64, SPAN = WORD * WORD * WORD, TOP = ID_SET_LEVELS - 1 };

static const uint64_t none = UINT64_MAX;

/* ---- place ---- */

/* Each level begins with a whole word of the level above. */
static void reach_down(struct id_set *set, uint64_t base)
{
    uint64_t words = (set->base - base) / WORD;

    assert(base % SPAN == 0 && words > 0);
    for (unsigned level = 0; level <= TOP; level++, words /= WORD) {
        size_t before = set->levels[level].count;
        list_resize(&set->levels[level], before + words);
        uint64_t *items = set->levels[level].items;
        memmove(items + words, items, before * sizeof(items[0]));
        memset(items, 0, words * sizeof(items[0]));
    }
    set->base = base;
}

static void reach_up(struct id_set *set, uint64_t bit)
{
    for (unsigned level = 0; level <= TOP; level++) {
        bit /= WORD;
        while (set->levels[level].count <= bit)
            list_add(&set->levels[level], 0);
    }
}

void id_set_add(struct id_set *set, uint64_t id)
{
    uint64_t base = id - id % SPAN;

    if (set->count == 0)
        set->base = base;
    if (base < set->base)
        reach_down(set, base);
    uint64_t bit = id - set->base;
    reach_up(set, bit);
    for (unsigned level = 0; level <= TOP; level++, bit /= WORD)
        set->levels[level].items[bit / WORD] |= UINT64_C(1) << bit % WORD;
    set->count++;
}

void id_set_remove(struct id_set *set, uint64_t id)
{
    uint64_t bit = id - set->base;

    assert(set->count > 0 && id >= set->base && bit / WORD < set->levels[0].count);
    if (set->count == 1) {
        id_set_release(set);
        return;
    }
    set->count--;
    for (unsigned level = 0; level <= TOP; level++, bit /= WORD) {
        uint64_t *word = &set->levels[level].items[bit / WORD];
        *word &= ~(UINT64_C(1) << bit % WORD);
        if (*word != 0)
            return;
    }
}

void id_set_release(struct id_set *set)
{
    for (unsigned level = 0; level <= TOP; level++)
        list_release(&set->levels[level]);
    set->base = set->count = 0;
}

/* ---- search ---- */

static uint64_t lowest(uint64_t word)
{
    return (uint64_t)__builtin_ctzll(word);
}

static uint64_t highest(uint64_t word)
{
    return WORD - 1 - (uint64_t)__builtin_clzll(word);
}

/* The first bit of the level from `bit` on, in its word or, at the top, in any. */
static uint64_t first_in_word(const struct id_set *set, unsigned level, uint64_t bit)
{
    for (uint64_t at = bit / WORD; at < set->levels[level].count; at++) {
        uint64_t word = set->levels[level].items[at];
        word &= at == bit / WORD ? UINT64_MAX << bit % WORD : UINT64_MAX;
        if (word != 0)
            return at * WORD + lowest(word);
        if (level < TOP)
            break;
    }
    return none;
}

static uint64_t last_in_word(const struct id_set *set, unsigned level, uint64_t bit)
{
    for (uint64_t at = bit / WORD + 1; at-- > 0;) {
        uint64_t word = set->levels[level].items[at];
        word &= at == bit / WORD ? UINT64_MAX >> (WORD - 1 - bit % WORD) : UINT64_MAX;
        if (word != 0)
            return at * WORD + highest(word);
        if (level < TOP)
            break;
    }
    return none;
}

uint64_t id_set_next(const struct id_set *set, uint64_t after)
{
    uint64_t bit = after < set->base ? 0 : after - set->base + 1, found = none;
    unsigned level = 0;

    if (set->count == 0)
        return 0;
    for (; level <= TOP; level++, bit = bit / WORD + 1) {
        found = first_in_word(set, level, bit);
        if (found != none)
            break;
    }
    if (found == none)
        return 0;
    for (; level > 0; level--)
        found = found * WORD + lowest(set->levels[level - 1].items[found]);
    return set->base + found;
}

uint64_t id_set_previous(const struct id_set *set, uint64_t before)
{
    uint64_t bits = set->levels[0].count * WORD, found = none;
    unsigned level = 0;

    if (set->count == 0 || before <= set->base)
        return 0;
    uint64_t bit = before - set->base > bits ? bits - 1 : before - set->base - 1;
    for (; level <= TOP; level++, bit = bit / WORD - 1) {
        found = last_in_word(set, level, bit);
        if (found != none || bit / WORD == 0)
            break;
    }
    if (found == none)
        return 0;
    for (; level > 0; level--)
        found = found * WORD + highest(set->levels[level - 1].items[found]);
    return set->base + found;
}
