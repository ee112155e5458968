/* SPDX-License-Identifier: Apache-2.0 */
#include "core/job/need.h"

#include <assert.h>

#include "core/job/group.h"

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
    uint64_t first = 0;

    map_get(&table->by_target, on, &first);
    return (uint32_t)first;
}

uint32_t need_first_of(const struct need_table *table, uint64_t job)
{
    uint64_t first = 0;

    map_get(&table->by_job, job, &first);
    return (uint32_t)first;
}

static void unchain_from_target(struct need_table *table, uint32_t number_plus_one)
{
    const struct need *need = &table->needs.items[number_plus_one - 1];
    uint32_t first = need_first(table, need->on);

    if (first == number_plus_one) {
        if (need->next != 0)
            map_set(&table->by_target, need->on, need->next);
        else
            map_remove(&table->by_target, need->on);
    } else {
        assert(first != 0); /* a need is on both of its chains */
        struct need *before = &table->needs.items[first - 1];
        while (before->next != number_plus_one)
            before = &table->needs.items[before->next - 1];
        before->next = need->next;
    }
}

static void unchain_from_job(struct need_table *table, uint32_t number_plus_one)
{
    const struct need *need = &table->needs.items[number_plus_one - 1];
    uint32_t first = need_first_of(table, need->job);

    if (first == number_plus_one) {
        if (need->next_of_job != 0)
            map_set(&table->by_job, need->job, need->next_of_job);
        else
            map_remove(&table->by_job, need->job);
    } else {
        assert(first != 0); /* a need is on both of its chains */
        struct need *before = &table->needs.items[first - 1];
        while (before->next_of_job != number_plus_one)
            before = &table->needs.items[before->next_of_job - 1];
        before->next_of_job = need->next_of_job;
    }
}

bool need_remove(struct need_table *table, uint32_t number_plus_one)
{
    assert(number_plus_one > 0 && number_plus_one <= table->needs.count);

    struct need *need = &table->needs.items[number_plus_one - 1];

    if (need->job == 0)
        return false;
    unchain_from_target(table, number_plus_one);
    unchain_from_job(table, number_plus_one);
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

const char *need_kind_name(enum need_kind kind)
{
    static const char *const names[] = { "ok", "ended", "failed", "started" };

    return (size_t)kind < COUNT_OF(names) ? names[kind] : "unknown";
}

const char *group_kind_name(enum group_kind kind)
{
    static const char *const names[] = { "array", "stage", "pipeline" };

    return (size_t)kind < COUNT_OF(names) ? names[kind] : "unknown";
}
