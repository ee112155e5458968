/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/nodes/inventory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "core/health/health.h"

struct inventory {
    struct hub *hub;
    struct map said;      /* hashes of the names of nodes */
    LIST(char *) on_call; /* names of nodes */
    /* The devices of each node, by their places plus one, 0: none; see index_devices(). */
    LIST(uint32_t) first, last; /* of a node */
    LIST(uint32_t) next;        /* of a device, on the same node */
    bool is_complete, is_told;
    void *user;
    void (*completed)(void *user);
};

static const struct state *state_of(const struct inventory *inventory)
{
    return hub_state(inventory->hub);
}

static bool is_same(const char *known, const char *found)
{
    return strcmp(known ? known : "", found ? found : "") == 0;
}

static const char *or_empty(const char *words)
{
    return words ? words : "";
}

/* A drain by the engine ends with it; one by an administrator of tarn stays. */
#define ENGINE_DRAINED "engine: "

static bool is_drained_by_engine(const struct event_node *node)
{
    return node->state == NODE_DRAINED && !or_empty(node->drained)[0] &&
           string_starts(or_empty(node->reason), ENGINE_DRAINED);
}

static void emit_node(struct inventory *inventory, const struct engine_node *said)
{
    const struct state *state = state_of(inventory);
    int64_t found = state_find_node(state, said->name);
    const struct node *node = found >= 0 ? &state->nodes.items[found] : NULL;
    struct event event = { .kind = EVENT_NODE, .node = { .name = said->name } };
    struct event_node *now = &event.node;

    if (node) /* what the machine does not know of itself stays as it was said */
        state_describe_node(node, now);
    struct event_node before = *now;
    now->cpu_milli = said->cpu_milli;
    now->memory_mib = said->memory_mib;
    if (or_empty(said->rack)[0])
        now->rack = said->rack;
    if (or_empty(said->block)[0])
        now->block = said->block;
    now->labels = said->labels;
    AUTO_FREE char *drained = mem_printf(ENGINE_DRAINED "%s", or_empty(said->reason));
    bool is_kept = said->is_on_call && now->state == NODE_DRAINED && !is_drained_by_engine(now);
    if (is_kept) {
        ; /* an administrator keeps it empty, whether it is there or not */
    } else if (said->is_down) {
        if (now->state == NODE_DRAINED && !is_drained_by_engine(now))
            now->drained = now->reason; /* it stays drained when it returns */
        now->state = NODE_DOWN;
        now->reason = said->reason;
    } else if (now->state == NODE_DOWN && or_empty(now->drained)[0]) {
        now->state = NODE_DRAINED;
        now->reason = now->drained;
        now->going_at = 0;
    } else if (said->is_drained && (now->state != NODE_DRAINED || is_drained_by_engine(now))) {
        now->state = NODE_DRAINED;
        now->reason = drained;
    } else if (now->state == NODE_DOWN || (!said->is_drained && is_drained_by_engine(now))) {
        now->going_at = now->state == NODE_DOWN ? 0 : now->going_at; /* it was gone */
        now->state = NODE_UP;
        now->reason = NULL;
    }
    if (!node || before.state != now->state || before.cpu_milli != now->cpu_milli ||
        before.memory_mib != now->memory_mib || !is_same(before.reason, now->reason) ||
        !is_same(before.rack, now->rack) || !is_same(before.block, now->block) ||
        !is_same(before.labels, now->labels))
        hub_emit(inventory->hub, &event);
}

void inventory_expect(struct inventory *inventory)
{
    const struct state *state = state_of(inventory);

    for (size_t i = 0; i < state->nodes.count; i++) {
        const struct node *node = &state->nodes.items[i];
        struct event event = { .kind = EVENT_NODE };
        if (node->state != NODE_UP)
            continue;
        state_describe_node(node, &event.node);
        event.node.state = NODE_DRAINED;
        event.node.reason = ENGINE_DRAINED "not reported since the daemon started";
        hub_emit(inventory->hub, &event);
    }
}

static bool is_known_so(const struct state *state, const struct event_device *now)
{
    int64_t found = state_find_device(state, now->uuid);
    const struct device *known = found >= 0 ? &state->devices.items[found] : NULL;

    return known && known->index == now->index && known->numa_node == now->numa_node &&
           known->memory_mib == (now->memory_mib > 0 ? now->memory_mib : 0) &&
           known->mig_now == now->mig_enabled && known->is_gone == (now->gone != 0) &&
           known->is_occupied == (now->occupied != 0) &&
           known->is_recorded == (now->recorded != 0) && is_same(known->sick, now->sick) &&
           is_same(known->model, now->model) && is_same(known->product, now->product) &&
           is_same(known->vendor, now->vendor) && is_same(known->address, now->address) &&
           known->island == now->island && known->bridge == now->bridge &&
           is_same(known->said_labels, now->labels) && is_same(known->kind, now->kind) &&
           known->faults == now->faults && known->foreign_mib == now->foreign_mib &&
           strcmp(state->nodes.items[known->node].name, now->node) == 0;
}

/* Within one run of the machine, a device keeps its faults and its foreign processes until the next
 * reading: it gets no job before. If the engine does not say when a node started, the readings tell
 * whether a fault is over. */
static void keep_what_was_seen(const struct state *state, const char *boot,
                               struct event_device *event)
{
    int64_t found = state_find_device(state, event->uuid);
    const struct device *known = found >= 0 ? &state->devices.items[found] : NULL;

    if (!known || !known->boot[0] || (boot[0] && strcmp(known->boot, boot) != 0))
        return;
    event->boot = known->boot;
    event->foreign_mib = known->foreign_mib;
    event->faults = known->faults;
    event->xid = known->xid;
    if (!known->sick || event->sick[0])
        return;
    enum health_fault worst = health_worst(&(struct health){ .faults = known->faults });
    if (!known->is_gone && !known->is_occupied)
        event->sick = known->sick;
    else if (worst != FAULTS) /* it was sick before */
        event->sick = fault_words(worst);
}

void inventory_device_event(const char *node, const struct probe_device *device, uint32_t index,
                            char *name, struct event *ret)
{
    /* One that was lost before it could be named: shown, never given out. */
    if (device->uuid[0])
        snprintf(name, INVENTORY_NAME_SIZE, "%s", device->uuid);
    else
        snprintf(name, INVENTORY_NAME_SIZE, "unnamed-%.*s-%u", PROBE_UUID_SIZE, node, index);
    *ret = (struct event){
        .kind = EVENT_DEVICE,
        .device = { .node = node,
                    .uuid = name,
                    .model = device->model,
                    .product = device->product,
                    .address = device->address,
                    .vendor = device->vendor,
                    .index = index,
                    .memory_mib = device->memory_mib,
                    .numa_node = device->numa_node + 1,
                    .is_synthetic = device->is_synthetic,
                    .recorded = device->is_recorded,
                    .mig_enabled = device->mig_enabled,
                    .island = device->island,
                    .bridge = device->bridge,
                    .labels = "",
                    .kind = "",
                    .sick = device->sick,
                    .occupied = device->is_occupied },
    };
    if (!device->uuid[0] && !device->sick[0])
        ret->device.sick = "its driver reports no name";
}

static int64_t known_memory(const struct state *state, const char *uuid)
{
    int64_t found = state_find_device(state, uuid);

    return found >= 0 ? state->devices.items[found].memory_mib : 0;
}

static void forget_index(struct inventory *inventory)
{
    inventory->first.count = inventory->last.count = inventory->next.count = 0;
}

/* Devices are only added to the state; one that moved to another node, and a state that was loaded
 * again, are indexed from the beginning. */
static void index_devices(struct inventory *inventory)
{
    const struct state *state = state_of(inventory);

    if (inventory->next.count > state->devices.count)
        forget_index(inventory);
    while (inventory->next.count < state->devices.count) {
        uint32_t place = (uint32_t)inventory->next.count + 1;
        uint32_t node = state->devices.items[place - 1].node;
        while (inventory->first.count <= node) {
            list_add(&inventory->first, 0);
            list_add(&inventory->last, 0);
        }
        if (inventory->first.items[node] == 0)
            inventory->first.items[node] = place;
        else
            inventory->next.items[inventory->last.items[node] - 1] = place;
        inventory->last.items[node] = place;
        list_add(&inventory->next, 0);
    }
}

static bool has_moved(const struct state *state, const struct event_device *now)
{
    int64_t found = state_find_device(state, now->uuid);

    return found >= 0 &&
           strcmp(state->nodes.items[state->devices.items[found].node].name, now->node) != 0;
}

static void emit_device(struct inventory *inventory, const struct engine_node *node, uint32_t index)
{
    char name[INVENTORY_NAME_SIZE];
    struct event event;

    inventory_device_event(node->name, &node->devices[index], index, name, &event);
    keep_what_was_seen(state_of(inventory), or_empty(node->boot), &event.device);
    if (event.device.memory_mib <= 0) /* it may be known later than the device */
        event.device.memory_mib = known_memory(state_of(inventory), event.device.uuid);
    if (node->foreign_mib)
        event.device.foreign_mib = node->foreign_mib[index];
    if (node->notes) {
        event.device.labels = node->notes[index].labels;
        event.device.kind = node->notes[index].kind;
    }
    if (is_known_so(state_of(inventory), &event.device))
        return;
    if (has_moved(state_of(inventory), &event.device))
        forget_index(inventory);
    hub_emit(inventory->hub, &event);
}

static bool is_among(const char *uuid, const struct engine_node *node)
{
    for (uint32_t i = 0; i < node->device_count; i++) {
        if (strcmp(node->devices[i].uuid, uuid) == 0)
            return true;
    }
    return false;
}

static void emit_missing(struct inventory *inventory, const struct engine_node *node)
{
    const struct state *state = state_of(inventory);
    int64_t number = state_find_node(state, node->name);

    index_devices(inventory);
    if (number < 0 || (size_t)number >= inventory->first.count)
        return;
    for (uint32_t at = inventory->first.items[number]; at > 0; at = inventory->next.items[at - 1]) {
        const struct device *known = &state->devices.items[at - 1];
        struct event event = { .kind = EVENT_DEVICE };
        uint32_t described;
        if (known->node != number || known->is_gone || is_among(known->uuid, node) ||
            state_device_type(state, known->uuid, &described) ||
            string_starts(known->uuid, "unnamed-"))
            continue;
        state_describe_device(state, known, &event.device);
        event.device.gone = 1;
        event.device.sick = DEVICE_GONE;
        hub_emit(inventory->hub, &event);
    }
}

static bool was_said(const struct inventory *inventory, const char *name)
{
    uint64_t ignored;

    return map_get(&inventory->said, map_hash(name, strlen(name)), &ignored);
}

void inventory_note(struct inventory *inventory, const struct engine_node *node)
{
    map_set(&inventory->said, map_hash(node->name, strlen(node->name)), 1);
    emit_node(inventory, node);
    for (uint32_t i = 0; i < node->device_count; i++)
        emit_device(inventory, node, i);
    emit_missing(inventory, node);
}

void inventory_complete(struct inventory *inventory)
{
    const struct state *state = state_of(inventory);

    inventory->is_complete = true;
    for (size_t i = 0; i < state->nodes.count; i++) {
        const struct node *node = &state->nodes.items[i];
        struct event event = { .kind = EVENT_NODE };
        if (node->state == NODE_DOWN || was_said(inventory, node->name))
            continue;
        state_describe_node(node, &event.node);
        event.node.state = NODE_DOWN;
        event.node.reason = "no longer one of the nodes of the engine";
        event.node.going_at = 0;
        hub_emit(inventory->hub, &event);
    }
}

bool inventory_is_complete(const struct inventory *inventory)
{
    return inventory->is_complete;
}

static void describe_one(struct inventory *inventory, const char *node,
                         const struct device_type *type, uint32_t number, uint32_t index)
{
    char name[PROBE_UUID_SIZE];
    device_kind kind;

    snprintf(name, sizeof(name), "%s-%" PRIu32, type->name, number);
    struct event event = { .kind = EVENT_DEVICE,
                           .device = { .node = node,
                                       .uuid = name,
                                       .model = type->model,
                                       .product = type->model,
                                       .address = "",
                                       .vendor = type->vendor,
                                       .index = index,
                                       .memory_mib = type->memory_mib,
                                       .labels = type->labels,
                                       .kind = device_type_kind(type, kind),
                                       .boot = "",
                                       .sick = "" } };
    if (!is_known_so(state_of(inventory), &event.device))
        hub_emit(inventory->hub, &event);
}

void inventory_describe(struct inventory *inventory, const struct engine_node *node)
{
    uint32_t index = node->device_count;

    for (size_t i = 0; i < state_of(inventory)->device_types.count; i++) {
        const struct device_type type = state_of(inventory)->device_types.items[i];
        for (uint32_t k = 0; k < type.count; k++)
            describe_one(inventory, node->name, &type, k, index++);
    }
    emit_missing(inventory, node);
}

/* ---- what an engine reports, as a change of its own ---- */

struct news {
    struct change change;
    struct inventory *inventory;
    struct engine_node node;
    bool is_last;
};

static int run_news(struct change *change, struct error *err)
{
    struct news *news = CONTAINER_OF(change, struct news, change);

    (void)err;
    if (news->node.name)
        inventory_note(news->inventory, &news->node);
    if (news->is_last)
        inventory_complete(news->inventory);
    return 0;
}

static void done_news(struct change *change, int code, const struct error *err)
{
    struct news *news = CONTAINER_OF(change, struct news, change);
    struct inventory *inventory = news->inventory;
    struct engine_node *node = &news->node;

    if (code < 0) /* a full disk: the engine says it again (core/engine.h) */
        forget_index(inventory);
    (void)err;
    free((char *)node->name);
    free((char *)node->rack);
    free((char *)node->block);
    free((char *)node->boot);
    free((char *)node->reason);
    free((char *)node->labels);
    free((struct probe_device *)node->devices);
    free((int64_t *)node->foreign_mib);
    for (uint32_t i = 0; node->notes && i < node->device_count; i++) {
        free((char *)node->notes[i].labels);
        free((char *)node->notes[i].kind);
    }
    free((struct engine_device_note *)node->notes);
    free(news);
    if (!inventory->is_complete || inventory->is_told)
        return;
    inventory->is_told = true;
    inventory->completed(inventory->user);
}

static void *copy_of(const void *items, size_t count, size_t size)
{
    void *copy = items ? mem_zero(count + 1, size) : NULL;

    if (copy)
        memcpy(copy, items, count * size);
    return copy;
}

static struct engine_device_note *copy_of_notes(const struct engine_node *node)
{
    struct engine_device_note *copy =
        copy_of(node->notes, node->device_count, sizeof(node->notes[0]));

    for (uint32_t i = 0; copy && i < node->device_count; i++) {
        copy[i].labels = mem_string(copy[i].labels);
        copy[i].kind = mem_string(copy[i].kind);
    }
    return copy;
}

static void note_on_call(struct inventory *inventory, const struct engine_node *node)
{
    for (size_t i = 0; i < inventory->on_call.count; i++) {
        if (strcmp(inventory->on_call.items[i], node->name) != 0)
            continue;
        if (!node->is_on_call) {
            free(inventory->on_call.items[i]);
            list_remove(&inventory->on_call, i);
        }
        return;
    }
    if (node->is_on_call)
        list_add(&inventory->on_call, mem_string(node->name));
}

const char *const *inventory_on_call(const struct inventory *inventory, size_t *ret_count)
{
    *ret_count = inventory->on_call.count;
    return (const char *const *)inventory->on_call.items;
}

void inventory_report(struct inventory *inventory, const struct engine_node *node, bool is_last)
{
    struct news *news = mem_zero(1, sizeof(*news));

    news->change.run = run_news;
    news->change.done = done_news;
    news->inventory = inventory;
    news->is_last = is_last;
    if (node)
        note_on_call(inventory, node);
    if (node) {
        news->node = *node;
        news->node.name = mem_string(node->name);
        news->node.rack = mem_string(node->rack);
        news->node.block = mem_string(node->block);
        news->node.boot = mem_string(node->boot);
        news->node.reason = mem_string(node->reason);
        news->node.labels = mem_string(node->labels);
        news->node.devices = copy_of(node->devices, node->device_count, sizeof(node->devices[0]));
        news->node.foreign_mib =
            copy_of(node->foreign_mib, node->device_count, sizeof(node->foreign_mib[0]));
        news->node.notes = copy_of_notes(node);
    }
    hub_enqueue(inventory->hub, &news->change);
}

struct inventory *inventory_create(struct hub *hub, void *user, void (*completed)(void *user))
{
    struct inventory *inventory = mem_zero(1, sizeof(*inventory));

    inventory->hub = hub;
    inventory->user = user;
    inventory->completed = completed;
    return inventory;
}

void inventory_destroy(struct inventory *inventory)
{
    if (!inventory)
        return;
    for (size_t i = 0; i < inventory->on_call.count; i++)
        free(inventory->on_call.items[i]);
    map_release(&inventory->said);
    list_release(&inventory->first);
    list_release(&inventory->last);
    list_release(&inventory->next);
    list_release(&inventory->on_call);
    free(inventory);
}
