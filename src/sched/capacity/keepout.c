/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/capacity/keepout.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sched/job_facts.h"

enum { SLOTS_MOST = 64 };

/* How willingly a device is kept: the lower, the better. */
enum {
    KEEP_OWN,
    KEEP_FREE,
    KEEP_FREE_BY_THEN,
    KEEP_STOPPABLE,
    KEEP_HELD,
};

void gates_release(struct gates *gates)
{
    list_release(&gates->items);
    list_release(&gates->before);
}

static const struct reservation *reservation_of(const struct gate *gate, const struct state *state)
{
    return &state->agenda.reservations.items[gate->reservation];
}

static const struct window *window_of(const struct gate *gate, const struct state *state)
{
    return state->agenda.windows.items[reservation_of(gate, state)->window];
}

static bool is_owner(const struct gate *gate, const struct state *state, uint32_t queue,
                     uint32_t user)
{
    const struct reservation *reservation = reservation_of(gate, state);

    if (reservation->kind == RESERVATION_USER)
        return reservation->user == user;
    return reservation->kind == RESERVATION_QUEUE && gate->queue >= 0 &&
           state_is_below(state, queue, (uint32_t)gate->queue);
}

bool gate_bars(const struct gate *gate, const struct state *state, const struct gate_ask *ask)
{
    return !is_owner(gate, state, ask->queue, ask->user) &&
           window_overlaps(window_of(gate, state), ask->from, ask->until);
}

usec_t gate_shuts_at(const struct gate *gate, const struct state *state, const struct gate_ask *ask)
{
    const struct window *window = window_of(gate, state);

    assert(ask->from <= ask->until);
    if (is_owner(gate, state, ask->queue, ask->user))
        return USEC_NEVER;
    return window_at(window, ask->from, NULL) ? ask->from : window_next_edge(window, ask->from);
}

usec_t gate_opens_at(const struct gate *gate, const struct state *state, const struct gate_ask *ask)
{
    usec_t shut = gate_shuts_at(gate, state, ask);

    return shut == USEC_NEVER ? shut : window_next_edge(window_of(gate, state), shut);
}

static bool holds_there(const struct gate *gate, const struct layout *layout,
                        const struct slice *slice)
{
    uint32_t slot = layout->slot_of_device.items[slice->device];
    uint32_t place = slot - layout->nodes.items[gate->node].first;

    return place < SLOTS_MOST && place < layout->nodes.items[gate->node].count &&
           (gate->slots >> place & 1) != 0;
}

bool gate_has(const struct gate *gate, const struct layout *layout, const struct lease *lease)
{
    for (uint32_t i = 0; gate->slots == 0 && i < lease->members_count; i++) {
        if (lease->members[i].node == gate->node)
            return true;
    }
    for (uint32_t i = 0; gate->slots != 0 && i < lease->slices_count; i++) {
        if (holds_there(gate, layout, &lease->slices[i]))
            return true;
    }
    return false;
}

/* ---- whole machines ---- */

static bool is_named(const struct reservation *reservation, const char *node)
{
    const struct pool names = { .model = "", .nodes = reservation->nodes };
    const struct device any = { .model = "" };
    const struct node at = { .name = (char *)(uintptr_t)node };

    return pool_matches(&names, &any, &at);
}

static void shut_machines(struct gates *gates, const struct state *state, uint32_t number,
                          int64_t queue)
{
    const struct reservation *reservation = &state->agenda.reservations.items[number];

    for (uint32_t i = 0; i < state->nodes.count; i++) {
        if (reservation->nodes[0] && is_named(reservation, state->nodes.items[i].name))
            list_add(&gates->items,
                     (struct gate){ .node = i, .reservation = number, .queue = queue });
    }
}

/* ---- devices ---- */

/* A device, and who holds it when the window opens. */
struct candidate {
    uint32_t device, node, slot; /* slot: of the machine */
    uint8_t keep;
};

struct choosing {
    struct gates *gates;
    const struct state *state;
    const struct layout *layout;
    const struct reservation *reservation;
    struct gate gate; /* all but its place */
    usec_t opens;
    uint8_t *keep; /* by device */
};

static bool are_open_together(const struct window *a, const struct window *b)
{
    for (size_t i = 0; i < a->spans.count; i++) {
        if (window_overlaps(b, a->spans.items[i].from, a->spans.items[i].until))
            return true;
    }
    return false;
}

/* Another reservation has it at some of these times. */
static bool is_taken(const struct choosing *choosing, uint32_t node, uint32_t slot)
{
    const struct window *own = window_of(&choosing->gate, choosing->state);

    for (size_t i = 0; i < choosing->gates->items.count; i++) {
        const struct gate *gate = &choosing->gates->items.items[i];
        if (gate->node == node && (gate->slots == 0 || (gate->slots >> slot & 1) != 0) &&
            are_open_together(own, window_of(gate, choosing->state)))
            return true;
    }
    return false;
}

static bool may_keep(const struct choosing *choosing, const struct device *device)
{
    const struct state *state = choosing->state;
    const struct reservation *reservation = choosing->reservation;

    if (reservation->model[0] && strcmp(reservation->model, device->model) != 0)
        return false;
    if (reservation->nodes[0] && !is_named(reservation, state->nodes.items[device->node].name))
        return false;
    return device->pool == 0 && device_is_usable(state, device);
}

static void note_holder(const struct choosing *choosing, const struct job *job)
{
    const struct state *state = choosing->state;
    usec_t end = job_end_of(state, job);
    uint8_t keep = KEEP_HELD;

    if (is_owner(&choosing->gate, state, job->queue, job->user))
        keep = KEEP_OWN;
    else if (end <= choosing->opens)
        keep = KEEP_FREE_BY_THEN;
    else if (job->is_preemptible)
        keep = KEEP_STOPPABLE;
    for (uint32_t i = 0; i < job->run->lease->slices_count; i++) {
        uint8_t *at = &choosing->keep[job->run->lease->slices[i].device];
        bool is_first = *at == KEEP_FREE;
        *at = is_first || keep > *at ? keep : *at;
    }
}

static int compare_candidates(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;

    if (a->keep != b->keep)
        return a->keep < b->keep ? -1 : 1;
    return a->device < b->device ? -1 : 1;
}

static void shut_device(struct choosing *choosing, const struct candidate *candidate)
{
    struct gates *gates = choosing->gates;

    for (size_t i = 0; i < gates->items.count; i++) {
        struct gate *gate = &gates->items.items[i];
        if (gate->reservation == choosing->gate.reservation && gate->node == candidate->node) {
            gate->slots |= UINT64_C(1) << candidate->slot;
            return;
        }
    }
    struct gate gate = choosing->gate;
    gate.node = candidate->node;
    gate.slots = UINT64_C(1) << candidate->slot;
    list_add(&gates->items, gate);
}

static void shut_devices(struct choosing *choosing, const struct ends *ends, struct arena *arena)
{
    const struct state *state = choosing->state;
    const struct layout *layout = choosing->layout;
    struct candidate *candidates = arena_take(arena, state->devices.count + 1, sizeof(*candidates));
    struct ends_walk walk = { .ends = ends };
    uint32_t count = 0;

    choosing->keep = arena_take(arena, state->devices.count + 1, 1);
    memset(choosing->keep, KEEP_FREE, state->devices.count);
    for (const struct ends_entry *entry = ends_next(&walk); entry; entry = ends_next(&walk))
        note_holder(choosing, entry->job);
    for (uint32_t i = 0; i < state->devices.count; i++) {
        const struct device *device = &state->devices.items[i];
        uint32_t slot = layout->slot_of_device.items[i] - layout->nodes.items[device->node].first;
        if (slot < SLOTS_MOST && may_keep(choosing, device) &&
            !is_taken(choosing, device->node, slot))
            candidates[count++] = (struct candidate){ i, device->node, slot, choosing->keep[i] };
    }
    if (count > 1)
        qsort(candidates, count, sizeof(candidates[0]), compare_candidates);
    for (uint32_t i = 0; i < count && i < choosing->reservation->gpus; i++)
        shut_device(choosing, &candidates[i]);
}

/* ---- all of them ---- */

static bool are_as_before(const struct gates *gates)
{
    return gates->items.count == gates->before.count &&
           (gates->items.count == 0 ||
            memcmp(gates->items.items, gates->before.items,
                   gates->items.count * sizeof(gates->items.items[0])) == 0);
}

static void remember(struct gates *gates)
{
    gates->before.count = 0;
    for (size_t i = 0; i < gates->items.count; i++)
        list_add(&gates->before, gates->items.items[i]);
}

bool gates_make(struct gates *gates, const struct state *state, const struct layout *layout,
                const struct ends *ends, struct arena *arena)
{
    const struct agenda *agenda = &state->agenda;

    gates->passed = agenda->passed;
    if (agenda->reservations.count == 0 && gates->items.count == 0)
        return false;
    remember(gates);
    gates->items.count = 0;
    for (int pass = 0; pass < 2; pass++) { /* machines first: they leave no choice */
        for (uint32_t i = 0; i < agenda->reservations.count; i++) {
            const struct reservation *reservation = &agenda->reservations.items[i];
            const struct window *window = agenda->windows.items[reservation->window];
            struct choosing choosing = {
                gates, state, layout, reservation, { .reservation = i }, state->now, NULL
            };
            bool is_open = window_at(window, state->now, NULL);
            choosing.opens = is_open ? state->now : window_next_edge(window, state->now);
            if (choosing.opens == USEC_NEVER || (reservation->gpus == 0) != (pass == 0))
                continue;
            choosing.gate.queue = reservation->kind == RESERVATION_QUEUE
                                      ? state_find_queue(state, reservation->owner)
                                      : -1;
            if (reservation->gpus == 0)
                shut_machines(gates, state, i, choosing.gate.queue);
            else
                shut_devices(&choosing, ends, arena);
        }
    }
    return !are_as_before(gates);
}
