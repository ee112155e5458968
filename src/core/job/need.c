/* SPDX-License-Identifier: Apache-2.0 */
#include "core/job/need.h"

#include <assert.h>

#include "base/compiler.h"

static uint32_t first_of(const struct map *map, uint64_t key)
{
    uint64_t first = 0;

    map_get(map, key, &first);
    return (uint32_t)first;
}

void need_add(struct need_table *table, uint64_t job, uint64_t on, enum need_kind kind)
{
    struct need need = {
        .job = job,
        .on = on,
        .kind = (uint8_t)kind,
        .next = need_first(table, on),
        .next_of_job = need_first_of(table, job),
    };
    uint32_t number;

    if (table->unused.count > 0) {
        number = table->unused.items[--table->unused.count];
        table->needs.items[number] = need;
    } else {
        number = (uint32_t)table->needs.count;
        list_add(&table->needs, need);
    }
    map_set(&table->by_target, on, (uint64_t)number + 1);
    map_set(&table->by_job, job, (uint64_t)number + 1);
}

uint32_t need_first(const struct need_table *table, uint64_t on)
{
    return first_of(&table->by_target, on);
}

uint32_t need_first_of(const struct need_table *table, uint64_t job)
{
    return first_of(&table->by_job, job);
}

/* The next need on the chain of its target, or of its job. */
static uint32_t *next_of(struct need *need, bool of_job)
{
    return of_job ? &need->next_of_job : &need->next;
}

static void unchain(struct need_table *table, uint32_t number_plus_one, bool of_job)
{
    struct need *items = table->needs.items, *need = &items[number_plus_one - 1];
    struct map *map = of_job ? &table->by_job : &table->by_target;
    uint64_t key = of_job ? need->job : need->on;
    uint32_t next = *next_of(need, of_job), at = first_of(map, key);

    if (at == number_plus_one) {
        if (next != 0)
            map_set(map, key, next);
        else
            map_remove(map, key);
        return;
    }
    assert(at != 0); /* a need is on both of its chains */
    while (*next_of(&items[at - 1], of_job) != number_plus_one)
        at = *next_of(&items[at - 1], of_job);
    *next_of(&items[at - 1], of_job) = next;
}

bool need_remove(struct need_table *table, uint32_t number_plus_one)
{
    assert(number_plus_one > 0 && number_plus_one <= table->needs.count);

    struct need *need = &table->needs.items[number_plus_one - 1];

    if (need->job == 0)
        return false;
    unchain(table, number_plus_one, false);
    unchain(table, number_plus_one, true);
    need->job = 0;
    list_add(&table->unused, number_plus_one - 1);
    return true;
}

void need_remove_of(struct need_table *table, uint64_t job)
{
    for (uint32_t at = need_first_of(table, job); at != 0; at = need_first_of(table, job))
        need_remove(table, at);
}

void need_table_release(struct need_table *table)
{
    list_release(&table->needs);
    list_release(&table->unused);
    map_release(&table->by_target);
    map_release(&table->by_job);
}

DEFINE_NAMES(need_kind_name, enum need_kind, "ok", "ended", "failed", "started")
