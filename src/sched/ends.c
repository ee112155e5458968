/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/ends.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static bool is_before(const struct ends_entry *entry, usec_t end, uint64_t id)
{
    return entry->end != end ? entry->end < end : entry->job->id < id;
}

/* The first block with a last entry that is not before; the last block when there is none. */
static size_t find_block(const struct ends *ends, usec_t end, uint64_t id)
{
    assert(ends->blocks.count > 0);
    size_t low = 0, high = ends->blocks.count - 1;

    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct ends_block *block = ends->blocks.items[middle];
        if (is_before(&block->entries[block->count - 1], end, id))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint32_t find_entry(const struct ends_block *block, usec_t end, uint64_t id)
{
    uint32_t low = 0, high = block->count;

    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (is_before(&block->entries[middle], end, id))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void split(struct ends *ends, size_t at)
{
    struct ends_block *block = ends->blocks.items[at];
    struct ends_block *half = mem_zero(1, sizeof(*half));

    assert(block->count == ENDS_BLOCK);
    half->count = ENDS_BLOCK / 2;
    block->count -= half->count;
    memcpy(half->entries, &block->entries[block->count], half->count * sizeof(half->entries[0]));
    list_insert(&ends->blocks, at + 1, half);
}

static void sum_up(struct ends *ends, const struct ends_entry *entry, int sign)
{
    int64_t share = entry->share / 1024;

    if (entry->end == USEC_NEVER) {
        ends->share_open += sign * share;
        return;
    }
    ends->share += sign * share;
    ends->area += sign * share * (entry->end / 1000);
}

int64_t ends_work(const struct ends *ends, usec_t now)
{
    int64_t work = ends->area - ends->share * (now / 1000);

    return (work > 0 ? work : 0) + ends->share_open * (USEC_PER_HOUR / 1000);
}

void ends_add(struct ends *ends, usec_t end, struct job *job)
{
    if (ends->blocks.count == 0)
        list_add(&ends->blocks, mem_zero(1, sizeof(struct ends_block)));
    size_t number = find_block(ends, end, job->id);
    if (ends->blocks.items[number]->count == ENDS_BLOCK) {
        split(ends, number);
        number = find_block(ends, end, job->id);
    }
    struct ends_block *block = ends->blocks.items[number];
    uint32_t at = find_entry(block, end, job->id);
    assert(at == 0 || is_before(&block->entries[at - 1], end, job->id));
    assert(at == block->count || block->entries[at].job != job);
    memmove(&block->entries[at + 1], &block->entries[at],
            (block->count - at) * sizeof(block->entries[0]));
    block->entries[at] =
        (struct ends_entry){ end, job, job->run->lease ? job->run->lease->share : 0 };
    sum_up(ends, &block->entries[at], 1);
    block->count++;
    ends->count++;
}

void ends_remove(struct ends *ends, usec_t end, const struct job *job)
{
    size_t number = find_block(ends, end, job->id);
    struct ends_block *block = ends->blocks.items[number];
    uint32_t at = find_entry(block, end, job->id);

    assert(at < block->count && block->entries[at].job == job);
    sum_up(ends, &block->entries[at], -1);
    block->count--;
    ends->count--;
    memmove(&block->entries[at], &block->entries[at + 1],
            (block->count - at) * sizeof(block->entries[0]));
    if (block->count > 0)
        return;
    free(block);
    list_remove(&ends->blocks, number);
}

void ends_release(struct ends *ends)
{
    for (size_t i = 0; i < ends->blocks.count; i++)
        free(ends->blocks.items[i]);
    list_release(&ends->blocks);
    *ends = (struct ends){ 0 };
}

static bool is_limit_before(const void *left, const void *right)
{
    const struct time_limit *a = left, *b = right;

    return a->at != b->at ? a->at < b->at : a->job < b->job;
}

void time_limit_add(time_limit_heap *heap, usec_t at, uint64_t job)
{
    struct time_limit added = { at, job };

    assert(at != USEC_NEVER && job != 0);
    list_add(heap, added);
    struct time_limit *items = heap->items;
    size_t i = heap->count - 1;
    for (; i > 0 && is_limit_before(&added, &items[(i - 1) / 2]); i = (i - 1) / 2)
        items[i] = items[(i - 1) / 2];
    items[i] = added;
}

usec_t time_limit_first(const time_limit_heap *heap)
{
    return heap->count > 0 ? heap->items[0].at : USEC_NEVER;
}

bool time_limit_take(time_limit_heap *heap, usec_t now, uint64_t *ret_job)
{
    struct time_limit *items = heap->items;

    if (time_limit_first(heap) > now || heap->count == 0)
        return false;
    *ret_job = items[0].job;
    items[0] = items[--heap->count];
    list_sift(heap, 0, is_limit_before);
    return true;
}
