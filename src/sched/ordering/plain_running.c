/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/ordering/plain_running.h"

#include <assert.h>

usec_t plain_run_known(const struct plain_started *started, usec_t now)
{
    usec_t run = plain_run_until(started, now);
    usec_t stated = started->job.estimate * USEC_PER_SEC - PLAIN_TICK - 1;

    return started->real == REAL_ENDED || run > stated ? run : stated;
}

/* ---- blocks ---- */

static bool is_before(const struct plain_entry *entry, usec_t limit, uint64_t number)
{
    return entry->limit != limit ? entry->limit < limit : entry->number < number;
}

/* The first block with a last entry that is not before; the last block when there is none. */
static size_t find_block(const struct plain_running *running, usec_t limit, uint64_t number)
{
    assert(running->blocks.count > 0);
    size_t low = 0, high = running->blocks.count - 1;

    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct plain_block *block = running->blocks.items[middle];
        if (is_before(&block->entries[block->count - 1], limit, number))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint32_t find_entry(const struct plain_block *block, usec_t limit, uint64_t number)
{
    uint32_t low = 0, high = block->count;

    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (is_before(&block->entries[middle], limit, number))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct plain_sum no_jobs = { .least = { USEC_NEVER, USEC_NEVER, USEC_NEVER,
                                                     USEC_NEVER } };

static void set_sum(struct plain_running *running, size_t number, const struct plain_sum *sum)
{
    struct plain_sum *before = &running->sums.items[number];

    for (int i = 0; i < PLAIN_TIMES; i++) {
        if (sum->least[i] <= running->least[i])
            running->least[i] = sum->least[i];
        else if (before->least[i] == running->least[i])
            running->is_stale[i] = true;
    }
    *before = *sum;
}

static void sum_up(struct plain_running *running, size_t number)
{
    const struct plain_block *block = running->blocks.items[number];
    struct plain_sum sum = no_jobs;

    sum.limit = block->entries[block->count - 1].limit;
    for (uint32_t i = 0; i < block->count; i++) {
        const struct plain_entry *entry = &block->entries[i];
        usec_t *least = &sum.least[entry->kind];
        sum.share += entry->share;
        *least = entry->time < *least ? entry->time : *least;
    }
    set_sum(running, number, &sum);
}

static void add_block(struct plain_running *running, size_t number)
{
    for (int i = 0; i < PLAIN_TIMES && running->blocks.count == 0; i++)
        running->least[i] = USEC_NEVER;
    list_insert(&running->blocks, number, mem_zero(1, sizeof(struct plain_block)));
    list_insert(&running->sums, number, no_jobs);
}

/* Half of its entries go to a new block behind it; none of the last block, which most jobs join at
 * its end. */
static void split(struct plain_running *running, size_t number, bool is_at_end)
{
    add_block(running, number + 1);
    struct plain_block *block = running->blocks.items[number],
                       *next = running->blocks.items[number + 1];

    assert(block->count == PLAIN_RUNNING_BLOCK);
    next->count = is_at_end ? 0 : PLAIN_RUNNING_BLOCK / 2;
    block->count -= next->count;
    mem_copy(next->entries, &block->entries[block->count], next->count * sizeof(next->entries[0]));
    if (next->count > 0)
        sum_up(running, number + 1);
    sum_up(running, number);
}

static void insert(struct plain_running *running, const struct plain_entry *added)
{
    if (running->blocks.count == 0)
        add_block(running, 0);
    size_t number = find_block(running, added->limit, added->number);
    struct plain_block *block = running->blocks.items[number];
    uint32_t at = find_entry(block, added->limit, added->number);
    if (block->count == PLAIN_RUNNING_BLOCK) {
        bool is_at_end = at == block->count;
        split(running, number, is_at_end);
        if (at >= block->count && (is_at_end || at > block->count)) {
            at -= block->count;
            block = running->blocks.items[++number];
        }
    }
    mem_insert(block->entries, block->count, at, sizeof(*added), added);
    block->count++;
    sum_up(running, number);
}

static void remove_at(struct plain_running *running, size_t number, uint32_t at)
{
    struct plain_block *block = running->blocks.items[number];
    size_t count = block->count;

    mem_remove(block->entries, &count, at, sizeof(block->entries[0]));
    block->count = (uint32_t)count;
    if (count > 0) {
        sum_up(running, number);
        return;
    }
    set_sum(running, number, &no_jobs);
    free(block);
    list_remove(&running->blocks, number);
    list_remove(&running->sums, number);
}

/* ---- times ---- */

static struct plain_entry entry_of(const struct plain_started *started, uint32_t slot, usec_t now)
{
    usec_t run = plain_run_until(started, now), known = plain_run_known(started, now);
    bool moves = started->real == REAL_RUNS && run >= known;
    enum plain_time kind = started->real == REAL_ENDED   ? PLAIN_ENDS
                           : started->real == REAL_WAITS ? PLAIN_WAITS
                           : moves                       ? PLAIN_MOVES
                                                         : PLAIN_FIXED;

    return (struct plain_entry){
        .limit = started->limit,
        .time = moves ? started->start + started->run : started->start + known,
        .number = started->number,
        .slot = slot,
        .share = started->job.share,
        .kind = (uint8_t)kind,
    };
}

static void update(struct plain_running *running, uint32_t slot, usec_t now)
{
    const struct plain_started *started = &running->slots.items[slot];
    size_t number = find_block(running, started->limit, started->number);
    struct plain_block *block = running->blocks.items[number];
    uint32_t at = find_entry(block, started->limit, started->number);

    assert(block->entries[at].slot == slot);
    block->entries[at] = entry_of(started, slot, now);
    sum_up(running, number);
}

static usec_t least_of(struct plain_running *running, enum plain_time kind)
{
    usec_t least = USEC_NEVER;

    if (running->sums.count == 0)
        return USEC_NEVER;
    if (!running->is_stale[kind])
        return running->least[kind];
    LIST_EACH (const struct plain_sum, sum, &running->sums)
        least = sum->least[kind] < least ? sum->least[kind] : least;
    running->least[kind] = least;
    running->is_stale[kind] = false;
    return least;
}

/* The first entry with the least time of that kind; there is one. */
static const struct plain_entry *find_least(struct plain_running *running, enum plain_time kind,
                                            size_t *ret_block)
{
    usec_t least = least_of(running, kind);
    size_t block = 0;

    while (running->sums.items[block].least[kind] != least)
        block++;
    const struct plain_entry *entry = running->blocks.items[block]->entries;
    while (entry->kind != kind || entry->time != least)
        entry++;
    *ret_block = block;
    return entry;
}

usec_t plain_running_next_end(struct plain_running *running)
{
    return least_of(running, PLAIN_ENDS);
}

/* The least fixed time can be that of a job which has run longer by now: it moves from then on. */
usec_t plain_running_known(struct plain_running *running, usec_t now)
{
    usec_t fixed = least_of(running, PLAIN_FIXED);
    size_t block;

    while (fixed != USEC_NEVER) {
        uint32_t slot = find_least(running, PLAIN_FIXED, &block)->slot;
        const struct plain_started *started = &running->slots.items[slot];
        if (started->start + plain_run_known(started, now) == fixed)
            break;
        update(running, slot, now);
        fixed = least_of(running, PLAIN_FIXED);
    }
    usec_t moves = least_of(running, PLAIN_MOVES), waits = least_of(running, PLAIN_WAITS);
    moves = moves == USEC_NEVER ? moves : moves + now;
    fixed = fixed < waits ? fixed : waits;
    return fixed < moves ? fixed : moves;
}

void plain_running_skip_to_waiting(struct plain_walk *walk)
{
    const struct plain_running *running = walk->running;

    while (walk->job && walk->job->real != REAL_WAITS) {
        if (running->sums.items[walk->block].least[PLAIN_WAITS] == USEC_NEVER)
            *walk = plain_running_at(running, walk->block + 1, 0);
        else
            plain_running_next(walk);
    }
}

usec_t plain_running_shadow(const struct plain_running *running, uint32_t left, uint32_t *ret_extra)
{
    const struct plain_sum *sums = running->sums.items;
    uint32_t held = running->held, entry = 0;
    size_t block = 0;

    *ret_extra = 0;
    while (block < running->sums.count && held - sums[block].share > left)
        held -= sums[block++].share;
    if (block == running->sums.count)
        return USEC_NEVER;
    const struct plain_entry *entries = running->blocks.items[block]->entries;
    while (entry == 0 || held > left)
        held -= entries[entry++].share;
    usec_t at = entries[entry - 1].limit;
    /* Others with the same limit. */
    for (; block < running->sums.count; block++, entry = 0) {
        if (entry == 0 && sums[block].limit == at) {
            held -= sums[block].share;
            continue;
        }
        entries = running->blocks.items[block]->entries;
        for (; entry < running->blocks.items[block]->count && entries[entry].limit == at; entry++)
            held -= entries[entry].share;
        if (sums[block].limit != at)
            break;
    }
    *ret_extra = left - held;
    return at;
}

/* ---- jobs ---- */

void plain_running_add(struct plain_running *running, struct plain_started started, usec_t now)
{
    uint32_t slot = (uint32_t)running->slots.count;

    started.number = running->starts++;
    if (running->unused.count > 0) {
        slot = running->unused.items[--running->unused.count];
        running->slots.items[slot] = started;
    } else
        list_add(&running->slots, started);
    struct plain_entry entry = entry_of(&started, slot, now);
    insert(running, &entry);
    map_set(&running->slot_of, started.job.id, slot);
    running->held += started.job.share;
}

const struct plain_started *plain_running_find(const struct plain_running *running, uint64_t job)
{
    uint64_t slot;

    return map_get(&running->slot_of, job, &slot) ? &running->slots.items[slot] : NULL;
}

void plain_running_set_real(struct plain_running *running, uint64_t job, enum plain_real real,
                            usec_t run, usec_t now)
{
    uint64_t slot = 0;
    bool is_there = map_get(&running->slot_of, job, &slot);

    assert(is_there);
    (void)is_there;
    running->slots.items[slot].real = (uint8_t)real;
    running->slots.items[slot].run = run;
    update(running, (uint32_t)slot, now);
}

void plain_running_disown(struct plain_running *running, uint64_t job, usec_t now)
{
    const struct plain_started *started = plain_running_find(running, job);

    if (!started)
        return;
    plain_running_set_real(running, job, REAL_ENDED, started->run, now);
    map_remove(&running->slot_of, job);
}

bool plain_running_take_ended(struct plain_running *running, usec_t reached,
                              struct plain_started *ret)
{
    uint64_t slot_of_job;
    size_t block;

    usec_t end = least_of(running, PLAIN_ENDS);
    if (end == USEC_NEVER || end > reached)
        return false;
    const struct plain_entry *entry = find_least(running, PLAIN_ENDS, &block);
    uint32_t slot = entry->slot, at = (uint32_t)(entry - running->blocks.items[block]->entries);
    *ret = running->slots.items[slot];
    remove_at(running, block, at);
    if (map_get(&running->slot_of, ret->job.id, &slot_of_job) && slot_of_job == slot)
        map_remove(&running->slot_of, ret->job.id);
    list_add(&running->unused, slot);
    running->held -= ret->job.share;
    return true;
}

void plain_running_release(struct plain_running *running)
{
    for (size_t i = 0; i < running->blocks.count; i++)
        free(running->blocks.items[i]);
    list_release(&running->blocks);
    list_release(&running->sums);
    list_release(&running->slots);
    list_release(&running->unused);
    map_release(&running->slot_of);
    *running = (struct plain_running){ 0 };
}
