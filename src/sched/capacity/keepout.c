/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/capacity/keepout.h"

#include <assert.h>
#include <string.h>

#include "core/cluster/label.h"
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

void keepouts_release(struct keepouts *keepouts)
{
    list_release(&keepouts->items);
    list_release(&keepouts->before);
}

static const struct reservation *reservation_of(const struct keepout *keepout,
                                                const struct state *state)
{
    return &state->agenda.reservations.items[keepout->reservation];
}

static const struct window *window_of(const struct keepout *keepout, const struct state *state)
{
    return state->agenda.windows.items[reservation_of(keepout, state)->window];
}

static bool is_owner(const struct keepout *keepout, const struct state *state, uint32_t queue,
                     uint32_t user)
{
    const struct reservation *reservation = reservation_of(keepout, state);

    if (reservation->kind == RESERVATION_USER)
        return reservation->user == user;
    return reservation->kind == RESERVATION_QUEUE && keepout->queue >= 0 &&
           state_is_below(state, queue, (uint32_t)keepout->queue);
}

bool keepout_bars(const struct keepout *keepout, const struct state *state,
                  const struct keepout_ask *ask)
{
    return !is_owner(keepout, state, ask->queue, ask->user) &&
           window_overlaps(window_of(keepout, state), ask->from, ask->until);
}

usec_t keepout_shuts_at(const struct keepout *keepout, const struct state *state,
                        const struct keepout_ask *ask)
{
    const struct window *window = window_of(keepout, state);

    assert(ask->from <= ask->until);
    if (is_owner(keepout, state, ask->queue, ask->user))
        return USEC_NEVER;
    return window_at(window, ask->from, NULL) ? ask->from : window_next_edge(window, ask->from);
}

usec_t keepout_opens_at(const struct keepout *keepout, const struct state *state,
                        const struct keepout_ask *ask)
{
    usec_t shut = keepout_shuts_at(keepout, state, ask);

    return shut == USEC_NEVER ? shut : window_next_edge(window_of(keepout, state), shut);
}

static bool holds_there(const struct keepout *keepout, const struct layout *layout,
                        const struct slice *slice)
{
    uint32_t slot = layout->slot_of_device.items[slice->device];
    uint32_t place = slot - layout->nodes.items[keepout->node].first;

    return place < SLOTS_MOST && place < layout->nodes.items[keepout->node].count &&
           (keepout->slots >> place & 1) != 0;
}

bool keepout_has(const struct keepout *keepout, const struct layout *layout,
                 const struct lease *lease)
{
    if (keepout->slots == 0)
        return lease_is_on(lease, keepout->node);
    for (uint32_t i = 0; i < lease->slices_count; i++) {
        if (holds_there(keepout, layout, &lease->slices[i]))
            return true;
    }
    return false;
}

bool keepouts_allow(const struct keepouts *keepouts, const struct state *state,
                    const struct layout *layout, const struct keepout_ask *ask,
                    const struct lease *lease, struct why *why)
{
    LIST_EACH (const struct keepout, keepout, &keepouts->items) {
        if (!keepout_bars(keepout, state, ask) || !keepout_has(keepout, layout, lease))
            continue;
        *why = (struct why){ .kind = WHY_RESERVATION, .window = keepout->reservation };
        return false;
    }
    return true;
}

/* ---- whole nodes ---- */

static bool is_on(const struct reservation *reservation, const struct node *node)
{
    return where_holds(reservation->where.items, (uint32_t)reservation->where.count, node, NULL);
}

static void shut_machines(struct keepouts *keepouts, const struct state *state, uint32_t number,
                          int64_t queue)
{
    const struct reservation *reservation = &state->agenda.reservations.items[number];

    for (uint32_t i = 0; i < state->nodes.count; i++) {
        if (reservation->where.count > 0 && is_on(reservation, &state->nodes.items[i]))
            list_add(&keepouts->items,
                     (struct keepout){ .node = i, .reservation = number, .queue = queue });
    }
}

/* ---- devices ---- */

/* A device, and its state when the window opens. */
struct candidate {
    uint32_t device, node, slot; /* slot: of the node */
    uint8_t keep;
};

struct choosing {
    struct keepouts *keepouts;
    const struct state *state;
    const struct layout *layout;
    const struct reservation *reservation;
    struct keepout keepout; /* all but its place */
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
    const struct window *own = window_of(&choosing->keepout, choosing->state);

    LIST_EACH (const struct keepout, keepout, &choosing->keepouts->items) {
        if (keepout->node == node && (keepout->slots == 0 || (keepout->slots >> slot & 1) != 0) &&
            are_open_together(own, window_of(keepout, choosing->state)))
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
    if (!is_on(reservation, &state->nodes.items[device->node]))
        return false;
    return device->pool == 0 && device_is_usable(state, device);
}

static void note_holder(const struct choosing *choosing, const struct job *job)
{
    const struct state *state = choosing->state;
    usec_t end = job_end_of(state, job);
    uint8_t keep = KEEP_HELD;

    if (is_owner(&choosing->keepout, state, job->queue, job->user))
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
    struct keepouts *keepouts = choosing->keepouts;

    LIST_EACH (struct keepout, keepout, &keepouts->items) {
        if (keepout->reservation == choosing->keepout.reservation &&
            keepout->node == candidate->node) {
            keepout->slots |= UINT64_C(1) << candidate->slot;
            return;
        }
    }
    struct keepout keepout = choosing->keepout;
    keepout.node = candidate->node;
    keepout.slots = UINT64_C(1) << candidate->slot;
    list_add(&keepouts->items, keepout);
}

static void shut_devices(struct choosing *choosing, const struct ends *ends, struct arena *arena)
{
    const struct state *state = choosing->state;
    const struct layout *layout = choosing->layout;
    struct candidate *candidates = arena_take(arena, state->devices.count + 1, sizeof(*candidates));
    uint32_t count = 0;

    choosing->keep = arena_take(arena, state->devices.count + 1, 1);
    memset(choosing->keep, KEEP_FREE, state->devices.count);
    for (struct ends_walk at = ends_first(ends); at.job; ends_next(&at))
        note_holder(choosing, at.job);
    for (uint32_t i = 0; i < state->devices.count; i++) {
        const struct device *device = &state->devices.items[i];
        uint32_t slot = layout->slot_of_device.items[i] - layout->nodes.items[device->node].first;
        if (slot < SLOTS_MOST && may_keep(choosing, device) &&
            !is_taken(choosing, device->node, slot))
            candidates[count++] = (struct candidate){ i, device->node, slot, choosing->keep[i] };
    }
    mem_sort(candidates, count, sizeof(candidates[0]), compare_candidates);
    for (uint32_t i = 0; i < count && i < choosing->reservation->gpus; i++)
        shut_device(choosing, &candidates[i]);
}

/* ---- all of them ---- */

static bool are_as_before(const struct keepouts *keepouts)
{
    return keepouts->items.count == keepouts->before.count &&
           (keepouts->items.count == 0 ||
            memcmp(keepouts->items.items, keepouts->before.items,
                   keepouts->items.count * sizeof(keepouts->items.items[0])) == 0);
}

bool keepouts_make(struct keepouts *keepouts, const struct state *state,
                   const struct layout *layout, const struct ends *ends, struct arena *arena)
{
    const struct agenda *agenda = &state->agenda;

    keepouts->passed = agenda->passed;
    if (agenda->reservations.count == 0 && keepouts->items.count == 0)
        return false;
    list_copy(&keepouts->before, &keepouts->items);
    keepouts->items.count = 0;
    for (int pass = 0; pass < 2; pass++) { /* nodes first: they leave no choice */
        for (uint32_t i = 0; i < agenda->reservations.count; i++) {
            const struct reservation *reservation = &agenda->reservations.items[i];
            const struct window *window = agenda->windows.items[reservation->window];
            struct choosing choosing = {
                keepouts, state, layout, reservation, { .reservation = i }, state->now, NULL
            };
            bool is_open = window_at(window, state->now, NULL);
            choosing.opens = is_open ? state->now : window_next_edge(window, state->now);
            if (choosing.opens == USEC_NEVER || (reservation->gpus == 0) != (pass == 0))
                continue;
            choosing.keepout.queue = reservation->kind == RESERVATION_QUEUE
                                         ? state_find_queue(state, reservation->owner)
                                         : -1;
            if (reservation->gpus == 0)
                shut_machines(keepouts, state, i, choosing.keepout.queue);
            else
                shut_devices(&choosing, ends, arena);
        }
    }
    return !are_as_before(keepouts);
}
