/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/ordering/plain_waiting.h"

#include <assert.h>
#include <stdlib.h>

static bool is_before(const struct plain_job *a, const struct plain_job *b)
{
    return a->priority != b->priority ? a->priority > b->priority
           : a->turn != b->turn       ? a->turn < b->turn
                                      : a->id < b->id;
}

/* The place of the first that is not before the job: where it would be added. It is past the last
 * one of the last block if there is none. */
static struct plain_place find_place(const struct plain_waiting *waiting,
                                     const struct plain_job *job)
{
    assert(waiting->blocks.count > 0);
    size_t low = 0, high = waiting->blocks.count - 1;

    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct plain_waiting_block *block = waiting->blocks.items[middle];
        if (is_before(&block->jobs[block->count - 1], job))
            low = middle + 1;
        else
            high = middle;
    }
    const struct plain_waiting_block *block = waiting->blocks.items[low];
    uint32_t first = 0, last = block->count;
    while (first < last) {
        uint32_t middle = (first + last) / 2;
        if (is_before(&block->jobs[middle], job))
            first = middle + 1;
        else
            last = middle;
    }
    return (struct plain_place){ low, first };
}

static void note_least(struct plain_waiting_block *block)
{
    block->share = block->limit = UINT32_MAX;
    for (uint32_t i = 0; i < block->count; i++) {
        const struct plain_job *job = &block->jobs[i];
        block->share = job->share < block->share ? job->share : block->share;
        block->limit = job->limit < block->limit ? job->limit : block->limit;
    }
}

static struct plain_waiting_block *add_block(struct plain_waiting *waiting, size_t number)
{
    struct plain_waiting_block *block = mem_zero(1, sizeof(*block));

    list_insert(&waiting->blocks, number, block);
    return block;
}

/* Half of the jobs go to a new block behind it; none where the next one joins at its end, which is
 * where most do. */
static void split(struct plain_waiting *waiting, struct plain_place *place)
{
    struct plain_waiting_block *next = add_block(waiting, place->block + 1),
                               *block = waiting->blocks.items[place->block];

    assert(block->count == PLAIN_WAITING_BLOCK);
    next->count = place->index == block->count ? 0 : PLAIN_WAITING_BLOCK / 2;
    block->count -= next->count;
    mem_copy(next->jobs, &block->jobs[block->count], next->count * sizeof(next->jobs[0]));
    note_least(block);
    note_least(next);
    if (place->index > block->count || next->count == 0)
        *place = (struct plain_place){ place->block + 1, place->index - block->count };
}

void plain_waiting_add(struct plain_waiting *waiting, const struct plain_job *job)
{
    if (waiting->blocks.count == 0)
        add_block(waiting, 0);
    struct plain_place place = find_place(waiting, job);
    if (waiting->blocks.items[place.block]->count == PLAIN_WAITING_BLOCK)
        split(waiting, &place);
    struct plain_waiting_block *block = waiting->blocks.items[place.block];
    mem_insert(block->jobs, block->count, place.index, sizeof(*job), job);
    block->count++;
    note_least(block);
}

/* Two that half fill one are one: a search passes few blocks. */
static void join_next(struct plain_waiting *waiting, size_t number)
{
    struct plain_waiting_block *block = waiting->blocks.items[number], *next;

    if (number + 1 == waiting->blocks.count)
        return;
    next = waiting->blocks.items[number + 1];
    if (block->count + next->count > PLAIN_WAITING_BLOCK / 2)
        return;
    mem_copy(&block->jobs[block->count], next->jobs, next->count * sizeof(next->jobs[0]));
    block->count += next->count;
    free(next);
    list_remove(&waiting->blocks, number + 1);
}

struct plain_job plain_waiting_take(struct plain_waiting *waiting, struct plain_place *place)
{
    struct plain_waiting_block *block = waiting->blocks.items[place->block];
    struct plain_job job = block->jobs[place->index];
    size_t count = block->count;

    mem_remove(block->jobs, &count, place->index, sizeof(job));
    block->count = (uint32_t)count;
    if (count == 0) {
        free(block);
        list_remove(&waiting->blocks, place->block);
        return job;
    }
    join_next(waiting, place->block);
    note_least(block);
    if (place->index == block->count)
        *place = (struct plain_place){ place->block + 1, 0 };
    return job;
}

bool plain_waiting_find(const struct plain_waiting *waiting, const struct plain_job *key,
                        struct plain_place *ret)
{
    if (waiting->blocks.count == 0)
        return false;
    *ret = find_place(waiting, key);
    const struct plain_waiting_block *block = waiting->blocks.items[ret->block];
    return ret->index < block->count && block->jobs[ret->index].id == key->id;
}

bool plain_waiting_fit(const struct plain_waiting *waiting, struct plain_place *place,
                       uint32_t share, uint32_t limit, uint32_t extra)
{
    while (place->block < waiting->blocks.count) {
        const struct plain_waiting_block *block = waiting->blocks.items[place->block];
        bool is_none = block->share > share || (block->limit > limit && block->share > extra);
        for (uint32_t i = place->index; i < block->count && !is_none; i++) {
            const struct plain_job *job = &block->jobs[i];
            place->index = i;
            if (job->share <= share && (job->limit <= limit || job->share <= extra))
                return true;
        }
        *place = (struct plain_place){ place->block + 1, 0 };
    }
    return false;
}

void plain_waiting_release(struct plain_waiting *waiting)
{
    for (size_t i = 0; i < waiting->blocks.count; i++)
        free(waiting->blocks.items[i]);
    list_release(&waiting->blocks);
}
