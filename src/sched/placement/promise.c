/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/placement/promise.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static struct promise_spot *find_spot(const struct promise *promise, uint32_t node)
{
    size_t low = 0, high = promise->spots.count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (promise->spots.items[middle].node < node)
            low = middle + 1;
        else
            high = middle;
    }
    bool is_found = low < promise->spots.count && promise->spots.items[low].node == node;
    return is_found ? &promise->spots.items[low] : NULL;
}

/* Whether a job that ends at `end` still holds what it has at the promise's time. */
static bool is_over(const struct promise *promise, usec_t end)
{
    return end > promise->at || end == USEC_NEVER;
}

static void take_member(struct promise *promise, const struct layout *layout,
                        const struct lease *lease, uint32_t rank, int sign)
{
    uint32_t node = lease->members[rank].node, first = layout->nodes.items[node].first;
    struct promise_spot *held = find_spot(promise, node);

    assert(rank < lease->members_count && (sign == 1 || sign == -1));
    if (held) {
        held->rest.cpu_milli -= sign * lease_cpu_milli(lease, rank);
        held->rest.memory_mib -= sign * lease_memory_mib(lease, rank);
    }
    for (uint32_t k = 0; k < lease->slices_count; k++) {
        const struct slice *slice = &lease->slices[k];
        if (slice->rank != rank)
            continue;
        promise->pools.items[slice->pool] += sign * (int64_t)slice->milli;
        if (!held)
            continue;
        struct fleet_slot *slot = &held->slots[layout->slot_of_device.items[slice->device] - first];
        int32_t before = slot->milli, after = before - sign * (int32_t)slice->milli;
        bool is_one = slice->milli == GPU_MILLI || (sign > 0 ? before : after) == GPU_MILLI;
        held->whole -= is_one ? sign : 0;
        slot->milli = after;
        slot->memory_mib -= sign * slice->memory_mib;
        slot->mig += (uint32_t)sign * mig_hold_of_slice(slice);
    }
}

static void take_all(struct promise *promise, const struct layout *layout,
                     const struct lease *lease, int sign)
{
    for (uint32_t rank = 0; rank < lease->members_count; rank++)
        take_member(promise, layout, lease, rank, sign);
}

static void clear(struct promise *promise)
{
    for (size_t i = 0; i < promise->spots.count; i++)
        free(promise->spots.items[i].slots);
    promise->spots.count = 0;
    promise->pools.count = 0;
    lease_destroy(promise->lease);
    promise->lease = NULL;
}

static int compare_spots(const void *a, const void *b)
{
    const struct promise_spot *left = a, *right = b;

    return (left->node > right->node) - (left->node < right->node);
}

void promise_add(struct promises *promises, uint64_t job, usec_t earliest, usec_t at, usec_t end,
                 const struct fleet *rest, const struct lease *lease)
{
    assert(promises->count <= promises->held.count && !promise_of(promises, job));
    assert(promises->own == 0);
    promise_drop(promises, rest->layout, promises->count);
    if (promises->held.count == promises->count)
        list_add(&promises->held, (struct promise){ 0 });
    struct promise *promise = &promises->held.items[promises->count];

    clear(promise);
    promise->job = job;
    promise->earliest = earliest;
    promise->at = at;
    promise->end = end;
    promise->lease = lease_copy(lease);
    promise->is_stale = false;
    promise->is_over = false;
    for (uint32_t i = 0; i < lease->members_count; i++)
        list_add(&promise->spots, (struct promise_spot){ .node = lease->members[i].node });
    list_sort(&promise->spots, compare_spots);
    size_t kept = 0;
    for (size_t i = 0; i < promise->spots.count; i++) {
        uint32_t node = promise->spots.items[i].node;
        const struct layout_node *at_node = &rest->layout->nodes.items[node];
        if (kept > 0 && promise->spots.items[kept - 1].node == node)
            continue;
        struct promise_spot spot = { .node = node,
                                     .whole = (int32_t)rest->nodes.items[node].whole,
                                     .rest = rest->nodes.items[node] };
        spot.slots = mem_zero(at_node->count + 1u, sizeof(spot.slots[0]));
        mem_copy(spot.slots, rest->slots.items + at_node->first,
                 at_node->count * sizeof(spot.slots[0]));
        promise->spots.items[kept++] = spot;
    }
    assert(kept > 0);
    promise->spots.count = kept;
    list_copy(&promise->pools, &rest->pools);
    for (size_t i = 0; i < promises->count; i++) {
        struct promise *other = &promises->held.items[i];
        if (other->at > at && is_over(other, end))
            take_all(other, rest->layout, lease, 1);
    }
    promises->kept = ++promises->count;
}

/* What a promise has taken from those of a later time, and from those of its time that are later in
 * the stack. sign: 1 takes it, -1 gives it back. */
static void take_from_later(struct promises *promises, const struct layout *layout,
                            const struct promise *own, int sign)
{
    bool is_after = false;

    for (size_t i = 0; i < promises->count; i++) {
        struct promise *other = &promises->held.items[i];
        if (other == own)
            is_after = true;
        else if ((other->at > own->at || (other->at == own->at && is_after)) &&
                 is_over(other, own->end))
            take_all(other, layout, own->lease, sign);
    }
}

static struct promise *find_live(struct promises *promises, uint64_t job)
{
    for (size_t i = 0; i < promises->count && job != 0; i++) {
        struct promise *promise = &promises->held.items[i];
        if (promise->job == job && !promise->is_over)
            return promise;
    }
    return NULL;
}

void promise_set_own(struct promises *promises, const struct layout *layout, uint64_t job)
{
    const struct promise *own = find_live(promises, job != 0 ? job : promises->own);

    assert((job == 0) != (promises->own == 0));
    promises->own = job;
    if (own)
        take_from_later(promises, layout, own, job != 0 ? -1 : 1);
}

void promise_end(struct promises *promises, const struct layout *layout, uint64_t job)
{
    struct promise *own = find_live(promises, job);

    assert(promises->own == 0);
    if (!own)
        return;
    take_from_later(promises, layout, own, -1);
    own->is_over = true;
}

void promise_drop(struct promises *promises, const struct layout *layout, size_t count)
{
    while (promises->kept > count) {
        struct promise *promise = &promises->held.items[--promises->kept];
        for (size_t i = 0; !promise->is_over && i < promises->kept; i++) {
            struct promise *other = &promises->held.items[i];
            if (other->at > promise->at && is_over(other, promise->end))
                take_all(other, layout, promise->lease, -1);
        }
    }
    if (promises->count > promises->kept)
        promises->count = promises->kept;
}

/* What is promised is no longer free at its time. */
static bool is_broken(const struct promise_spot *spot, const struct layout *layout)
{
    if (spot->rest.cpu_milli < 0 || spot->rest.memory_mib < 0 || spot->whole < 0)
        return true;
    for (uint32_t i = 0; i < layout->nodes.items[spot->node].count; i++) {
        if (spot->slots[i].milli < 0 && spot->slots[i].milli > -GPU_MILLI)
            return true; /* a part of a device is promised where it is */
        if (mig_is_overlapping(spot->slots[i].mig))
            return true;
    }
    return false;
}

bool promise_renew(struct promises *promises, const struct layout *layout, uint64_t job,
                   usec_t earliest, usec_t now)
{
    if (promises->count == promises->kept)
        return false;
    struct promise *promise = &promises->held.items[promises->count];
    if (promise->job != job || promise->is_stale || promise->is_over || promise->at <= now ||
        promise->earliest != earliest)
        return false;
    for (size_t i = 0; i < promise->spots.count; i++) {
        if (is_broken(&promise->spots.items[i], layout))
            return false;
    }
    promises->count++;
    return true;
}

static bool shares_a_machine(const struct promise *promise, const struct lease *lease)
{
    for (uint32_t i = 0; i < lease->members_count; i++) {
        if (find_spot(promise, lease->members[i].node))
            return true;
    }
    return false;
}

/* A promise without a time counts on jobs without an end. If one of these ends or gets an end, the
 * promise is stale. */
static void doubt(struct promise *promise, const struct lease *lease, usec_t end)
{
    if (promise->at == USEC_NEVER && end == USEC_NEVER && shares_a_machine(promise, lease))
        promise->is_stale = true;
}

void promise_account(struct promises *promises, const struct layout *layout,
                     const struct lease *lease, usec_t end, int sign)
{
    for (size_t i = 0; i < promises->kept; i++) {
        struct promise *promise = &promises->held.items[i];
        if (sign < 0)
            doubt(promise, lease, end);
        if (is_over(promise, end))
            take_all(promise, layout, lease, sign);
    }
}

void promise_shift(struct promises *promises, const struct layout *layout,
                   const struct lease *lease, usec_t from, usec_t to)
{
    for (size_t i = 0; i < promises->kept; i++) {
        struct promise *promise = &promises->held.items[i];
        int change = (int)is_over(promise, to) - (int)is_over(promise, from);
        doubt(promise, lease, from);
        if (change != 0)
            take_all(promise, layout, lease, change);
    }
}

void promise_list(const struct promises *promises, usec_t end, promise_nodes *ret_nodes)
{
    ret_nodes->count = 0;
    for (size_t i = 0; i < promises->count; i++) {
        const struct promise *promise = &promises->held.items[i];
        for (size_t k = 0; promise_is_touched(promises, promise, end) && k < promise->spots.count;
             k++)
            list_add(ret_nodes, promise->spots.items[k].node);
    }
}

#define SMALLER(a, b) ((b) < (a) ? (b) : (a))

/* A promise of devices by number takes others if some of its own were taken: as many of the devices
 * that seem to be free are not. A job that takes devices by position must not see them. */
static void hide_promised(const struct promise_spot *held, struct fleet_slot *slots, uint32_t count)
{
    int32_t left = held->whole;

    for (uint32_t k = 0; k < count; k++) {
        if (held->slots[k].milli == GPU_MILLI && left-- <= 0)
            slots[k] = (struct fleet_slot){ .mig = slots[k].mig };
    }
}

void promise_limit(const struct promises *promises, usec_t end, bool by_number, struct spot *spot,
                   struct fleet_slot *slots)
{
    int32_t whole = (int32_t)spot->free.whole;
    bool is_copied = false;

    for (size_t i = 0; i < promises->count; i++) {
        const struct promise *promise = &promises->held.items[i];
        const struct promise_spot *held =
            promise_is_touched(promises, promise, end) ? find_spot(promise, spot->node) : NULL;
        if (!held)
            continue;
        if (!is_copied && spot->at->count > 0)
            memcpy(slots, spot->slots, spot->at->count * sizeof(slots[0]));
        is_copied = true;
        spot->free.cpu_milli = SMALLER(spot->free.cpu_milli, held->rest.cpu_milli);
        spot->free.memory_mib = SMALLER(spot->free.memory_mib, held->rest.memory_mib);
        whole = SMALLER(whole, held->whole);
        for (uint32_t k = 0; k < spot->at->count && !by_number; k++) {
            slots[k].milli = SMALLER(slots[k].milli, held->slots[k].milli);
            slots[k].memory_mib = SMALLER(slots[k].memory_mib, held->slots[k].memory_mib);
            slots[k].mig = mig_join(slots[k].mig, held->slots[k].mig);
        }
        if (!by_number)
            hide_promised(held, slots, spot->at->count);
    }
    if (!is_copied)
        return;
    spot->slots = slots;
    spot->free.change = 0;
    if (by_number) {
        spot->free.whole = (uint32_t)(whole > 0 ? whole : 0);
        return;
    }
    spot->free.milli = 0;
    spot->free.whole = 0;
    for (uint32_t k = 0; k < spot->at->count; k++) {
        spot->free.milli += slots[k].milli;
        spot->free.whole += slots[k].milli == GPU_MILLI;
    }
}

bool promise_avoid(const struct promises *promises, const struct layout *layout, usec_t end,
                   uint32_t node, bool *avoid)
{
    for (size_t i = 0; i < promises->count; i++) {
        const struct promise *promise = &promises->held.items[i];
        const struct promise_spot *held =
            promise_is_touched(promises, promise, end) ? NULL : find_spot(promise, node);
        if (!held)
            continue;
        for (uint32_t k = 0; k < layout->nodes.items[node].count; k++)
            avoid[k] = held->slots[k].milli == GPU_MILLI;
        return true;
    }
    return false;
}

void promise_take(struct promises *promises, const struct layout *layout, usec_t end,
                  const struct lease *lease, uint32_t rank, int sign)
{
    for (size_t i = 0; i < promises->count; i++) {
        if (promise_is_touched(promises, &promises->held.items[i], end))
            take_member(&promises->held.items[i], layout, lease, rank, sign);
    }
}

bool promise_pool_allows(const struct promises *promises, const struct state *state, usec_t end,
                         uint32_t pool)
{
    int64_t most = state->pools.items[pool].milli_max;

    for (size_t i = 0; most > 0 && i < promises->count; i++) {
        const struct promise *promise = &promises->held.items[i];
        if (promise_is_touched(promises, promise, end) && pool < promise->pools.count &&
            promise->pools.items[pool] > most)
            return false;
    }
    return true;
}

const struct promise *promise_of(const struct promises *promises, uint64_t job)
{
    for (size_t i = 0; i < promises->count; i++) {
        if (promises->held.items[i].job == job)
            return &promises->held.items[i];
    }
    return NULL;
}

uint64_t promise_holder(const struct promises *promises, usec_t end)
{
    for (size_t i = 0; i < promises->count; i++) {
        if (promise_is_touched(promises, &promises->held.items[i], end))
            return promises->held.items[i].job;
    }
    return 0;
}

void promises_release(struct promises *promises)
{
    for (size_t i = 0; i < promises->held.count; i++) {
        clear(&promises->held.items[i]);
        list_release(&promises->held.items[i].spots);
        list_release(&promises->held.items[i].pools);
    }
    list_release(&promises->held);
    promises->count = promises->kept = 0;
}
