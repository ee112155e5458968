/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/capacity/fleet.h"

#include <assert.h>
#include <stdlib.h>

static void note(struct fleet *fleet, uint32_t node)
{
    assert(node < fleet->nodes.count);
    fleet->nodes.items[node].change = fleet->changes;
    fleet->log[fleet->changes++ & (FLEET_LOG_SIZE - 1)] = node;
}

static void count_node(struct fleet *fleet, uint32_t number)
{
    const struct layout_node *at = &fleet->layout->nodes.items[number];
    struct fleet_node *node = &fleet->nodes.items[number];

    node->milli = 0;
    node->whole = 0;
    for (uint32_t i = at->first; i < at->first + at->count; i++) {
        node->milli += fleet->slots.items[i].milli;
        node->whole += fleet->slots.items[i].milli == GPU_MILLI;
    }
}

static void note_company(struct fleet *fleet, uint32_t node, const struct lease *lease, int sign)
{
    for (size_t i = 0; i < fleet->company.count; i++) {
        struct fleet_company *at = &fleet->company.items[i];
        if (at->node != node || at->labels != lease->labels || at->apart != lease->apart)
            continue;
        at->count += (uint32_t)sign;
        if (at->count == 0)
            *at = fleet->company.items[--fleet->company.count];
        return;
    }
    list_add(&fleet->company,
             (struct fleet_company){ node, (uint32_t)sign, lease->labels, lease->apart });
}

static void make_company(struct fleet *fleet, const struct state *state, bool is_empty)
{
    fleet->company.count = 0;
    for (const struct job *job = is_empty ? NULL : state->first_active; job;
         job = job->run->active_next) {
        const struct lease *lease = job->run->lease;
        for (uint32_t i = 0; (lease->labels | lease->apart) != 0 && i < lease->members_count; i++)
            note_company(fleet, lease->members[i].node, lease, 1);
    }
}

void fleet_make(struct fleet *fleet, const struct layout *layout, const struct state *state,
                bool is_empty)
{
    if (!fleet->log)
        fleet->log = mem_zero(FLEET_LOG_SIZE, sizeof(fleet->log[0]));
    fleet->layout = layout;
    list_resize(&fleet->nodes, layout->nodes.count);
    list_resize(&fleet->slots, layout->slots.count);
    list_resize(&fleet->pools, state->pools.count);
    for (uint32_t i = 0; i < layout->slots.count; i++) {
        uint32_t device = layout->slots.items[i].device;
        const struct room_device *room = &state->room.devices.items[device];
        fleet->slots.items[i] =
            is_empty ? (struct fleet_slot){ GPU_MILLI, 0, state->devices.items[device].memory_mib }
                     : (struct fleet_slot){ (int32_t)room->milli, room->mig, room->memory_mib };
    }
    assert(fleet->nodes.count == state->nodes.count);
    for (uint32_t i = 0; i < layout->nodes.count; i++) {
        const struct node *node = &state->nodes.items[i];
        const struct room_node *room = &state->room.nodes.items[i];
        fleet->nodes.items[i] = (struct fleet_node){
            .cpu_milli = is_empty ? node->cpu_milli : room->cpu_milli,
            .memory_mib = is_empty ? node->memory_mib : room->memory_mib,
        };
        count_node(fleet, i);
    }
    for (size_t i = 0; i < state->pools.count; i++)
        fleet->pools.items[i] = is_empty ? 0 : state->room.pools.items[i];
    make_company(fleet, state, is_empty);
    fleet->changes += FLEET_LOG_SIZE + 1; /* every follower looks at all */
    fleet->followed = fleet->changes;
}

void fleet_release(struct fleet *fleet)
{
    list_release(&fleet->nodes);
    list_release(&fleet->slots);
    list_release(&fleet->pools);
    list_release(&fleet->company);
    free(fleet->log);
    fleet->log = NULL;
}

static void take_slice(struct fleet *fleet, const struct slice *slice, uint32_t node, int sign)
{
    struct fleet_slot *slot =
        &fleet->slots.items[fleet->layout->slot_of_device.items[slice->device]];
    struct fleet_node *at = &fleet->nodes.items[node];
    int32_t milli = sign * (int32_t)slice->milli;

    assert(sign == 1 || sign == -1);
    at->whole -= slot->milli == GPU_MILLI;
    slot->milli -= milli;
    slot->memory_mib -= sign * slice->memory_mib;
    slot->mig += (uint32_t)sign * mig_hold_of_slice(slice);
    at->whole += slot->milli == GPU_MILLI;
    at->milli -= milli;
    fleet->pools.items[slice->pool] += milli;
}

bool fleet_is_apart(const struct fleet *fleet, uint32_t node, uint64_t labels, uint64_t apart)
{
    for (size_t i = 0; i < fleet->company.count; i++) {
        const struct fleet_company *at = &fleet->company.items[i];
        if (at->node == node && (int32_t)at->count > 0 &&
            ((at->labels & apart) != 0 || (at->apart & labels) != 0))
            return false;
    }
    return true;
}

static void take_on(struct fleet *fleet, uint32_t rank, const struct lease *lease, int sign)
{
    uint32_t node = lease->members[rank].node;

    fleet->nodes.items[node].cpu_milli -= sign * lease_cpu_milli(lease, rank);
    fleet->nodes.items[node].memory_mib -= sign * lease_memory_mib(lease, rank);
    if ((lease->labels | lease->apart) != 0)
        note_company(fleet, node, lease, sign);
    note(fleet, node);
}

/* Slices stand in the order of their ranks. */
void fleet_take(struct fleet *fleet, const struct lease *lease, int sign)
{
    for (uint32_t i = 0; i < lease->slices_count; i++) {
        const struct slice *slice = &lease->slices[i];
        take_slice(fleet, slice, lease->members[slice->rank].node, sign);
    }
    for (uint32_t i = 0; i < lease->members_count; i++)
        take_on(fleet, i, lease, sign);
}

void fleet_take_member(struct fleet *fleet, const struct lease *lease, uint32_t rank, int sign)
{
    assert(rank < lease->members_count);
    for (uint32_t i = lease->slices_count; i-- > 0 && lease->slices[i].rank >= rank;) {
        if (lease->slices[i].rank == rank)
            take_slice(fleet, &lease->slices[i], lease->members[rank].node, sign);
    }
    take_on(fleet, rank, lease, sign);
}

static void copy_node(struct fleet *to, const struct fleet *from, uint32_t number)
{
    const struct layout_node *at = &from->layout->nodes.items[number];
    uint64_t change = to->nodes.items[number].change;

    to->nodes.items[number] = from->nodes.items[number];
    to->nodes.items[number].change = change;
    mem_copy(to->slots.items + at->first, from->slots.items + at->first,
             at->count * sizeof(to->slots.items[0]));
}

static void copy_all(struct fleet *to, const struct fleet *from)
{
    list_resize(&to->nodes, from->nodes.count);
    list_resize(&to->slots, from->slots.count);
    for (uint32_t i = 0; i < from->nodes.count; i++)
        copy_node(to, from, i);
}

/* Its own log is only used for this: it starts again each time. */
void fleet_follow(struct fleet *ahead, const struct fleet *now)
{
    bool is_near = ahead->layout == now->layout && ahead->nodes.count == now->nodes.count &&
                   fleet_can_catch_up(now, ahead->followed) && ahead->changes <= FLEET_LOG_SIZE;

    assert(ahead != now);
    if (!ahead->log)
        ahead->log = mem_zero(FLEET_LOG_SIZE, sizeof(ahead->log[0]));
    if (is_near) {
        for (uint64_t i = 0; i < ahead->changes; i++)
            copy_node(ahead, now, ahead->log[i]);
        for (uint64_t i = ahead->followed; i < now->changes; i++)
            copy_node(ahead, now, fleet_log_at(now, i));
    } else {
        ahead->layout = now->layout;
        copy_all(ahead, now);
    }
    list_copy(&ahead->pools, &now->pools);
    list_copy(&ahead->company, &now->company);
    ahead->changes = 0;
    ahead->followed = now->changes;
}

void fleet_mirror(struct fleet *own, const struct fleet *now, bool is_other)
{
    bool is_near = !is_other && fleet_can_catch_up(now, own->followed);

    assert(own != now && own->layout->nodes.count == now->nodes.count);
    if (!own->log)
        own->log = mem_zero(FLEET_LOG_SIZE, sizeof(own->log[0]));
    list_copy(&own->pools, &now->pools);
    list_copy(&own->company, &now->company);
    if (is_near) {
        for (uint64_t i = own->followed; i < now->changes; i++) {
            copy_node(own, now, fleet_log_at(now, i));
            note(own, fleet_log_at(now, i));
        }
    } else {
        copy_all(own, now);
        own->changes += FLEET_LOG_SIZE + 1; /* every follower looks at all */
    }
    own->followed = now->changes;
}

bool fleet_has(const struct fleet *fleet, const struct lease *lease)
{
    for (uint32_t i = 0; i < lease->slices_count; i++) {
        const struct slice *slice = &lease->slices[i];
        const struct fleet_slot *slot =
            &fleet->slots.items[fleet->layout->slot_of_device.items[slice->device]];
        if (slot->milli < (int32_t)slice->milli || slot->memory_mib < slice->memory_mib ||
            mig_is_overlapping(slot->mig + mig_hold_of_slice(slice)))
            return false;
    }
    for (uint32_t i = 0; i < lease->members_count; i++) {
        const struct fleet_node *node = &fleet->nodes.items[lease->members[i].node];
        if (node->cpu_milli < lease_cpu_milli(lease, i) ||
            node->memory_mib < lease_memory_mib(lease, i))
            return false;
        if (!fleet_is_apart(fleet, lease->members[i].node, lease->labels, lease->apart))
            return false;
    }
    return true;
}

struct spot spot_of(const struct fleet *fleet, uint32_t node)
{
    assert(node < fleet->nodes.count);
    const struct layout_node *at = &fleet->layout->nodes.items[node];
    struct spot spot = { node, at, fleet->nodes.items[node], fleet->slots.items + at->first };

    if (!fleet->is_now)
        spot.free.change = 0;
    return spot;
}
