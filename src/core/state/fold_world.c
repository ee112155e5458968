/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the fold that is about machines, devices, pools, queues and settings. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "core/health/health.h"
#include "core/state/fold.h"

/* A machine went down, or its provider announced it: counted once, with or without the notice. */
static void note_interruption(struct state *state, const struct node *node,
                              const struct event_node *event, bool is_new)
{
    bool was_there = !is_new && node->state == NODE_UP && node->going_at == 0;

    if (was_there && (event->state == NODE_DOWN || event->going_at > 0))
        state->mtbf.interruptions[node->is_spot ? MTBF_SPOT : MTBF_OWN]++;
}

static int fold_node(struct state *state, const struct event_node *event)
{
    int64_t found = state_find_node(state, event->name);
    bool is_new = found < 0;

    if (is_new) {
        found = (int64_t)state->nodes.count;
        list_add(&state->nodes, (struct node){ .name = mem_string(event->name) });
        list_add(&state->room.nodes, (struct room_node){ 0 });
        state_name_node(state, (uint32_t)found);
    }
    assert(state->room.nodes.count == state->nodes.count);
    struct node *node = &state->nodes.items[found];
    struct room_node *room = &state->room.nodes.items[found];
    note_interruption(state, node, event, is_new);
    room->cpu_milli += event->cpu_milli - node->cpu_milli;
    room->memory_mib += event->memory_mib - node->memory_mib;
    node->cpu_milli = event->cpu_milli;
    node->memory_mib = event->memory_mib;
    node->state = event->state;
    string_put(&node->reason, string_or_null(event->reason));
    string_put(&node->drained, string_or_null(event->drained));
    string_set(&node->reported.rack, event->rack);
    string_set(&node->reported.block, event->block);
    string_set(&node->reported.type, event->type);
    string_set(&node->reported.labels, event->labels);
    node->reported.price_micro = event->price_micro > 0 ? event->price_micro : 0;
    node->reported.is_spot = event->spot;
    node->going_at = event->going_at > 0 ? event->going_at : 0;
    int64_t price = node->price_micro;
    node_settle(node, state_node_settings(state, node->name));
    state_note_node_prices(state);
    node->used_at = is_new ? state->now : node->used_at;
    if (is_new && node_is_usable(node)) { /* nothing stands on it yet */
        state->capacity.cpu_milli += event->cpu_milli;
        state->capacity.memory_mib += event->memory_mib;
        mtbf_advance(&state->mtbf, state->now);
        state->mtbf.up[node->is_spot ? MTBF_SPOT : MTBF_OWN]++;
    } else
        state_measure(state);
    if (node->price_micro != price)
        state_reprice(state);
    return 0;
}

static int fold_device(struct state *state, const struct event_device *event, struct error *err)
{
    int64_t node = state_find_node(state, event->node ? event->node : "");
    if (node < 0)
        return error_set(err, -EBADMSG, "device %s: no node '%s'", event->uuid, event->node);

    int64_t found = state_find_device(state, event->uuid);
    if (found < 0) {
        found = (int64_t)state->devices.count;
        list_add(&state->devices, (struct device){ .uuid = mem_string(event->uuid) });
        list_add(&state->room.devices, (struct room_device){ .milli = GPU_MILLI });
        state_name_device(state, (uint32_t)found);
        state->devices.items[found].sick = mem_string("not yet known");
    }
    assert(state->room.devices.count == state->devices.count);
    struct device *device = &state->devices.items[found];
    state_remove_device(state, (uint32_t)found);
    int64_t memory_mib = event->memory_mib > 0 ? event->memory_mib : 0;
    int64_t foreign_mib = event->foreign_mib < memory_mib ? event->foreign_mib : memory_mib;
    state->room.devices.items[found].memory_mib +=
        memory_mib - foreign_mib - (device->memory_mib - device->foreign_mib);
    device->memory_mib = memory_mib;
    device->foreign_mib = foreign_mib;
    device->faults = event->faults;
    device->xid = event->xid;
    device->harm = event->harm < HARMS ? event->harm : HARM_NONE;
    device->node = (uint32_t)node;
    device->index = event->index;
    device->numa_node = event->numa_node;
    device->is_synthetic = event->is_synthetic;
    device->mig_now = event->mig_enabled;
    device->island = event->island;
    device->bridge = event->bridge;
    string_set(&device->model, event->model);
    string_set(&device->product, event->product);
    string_set(&device->address, event->address);
    string_set(&device->vendor, event->vendor);
    string_set(&device->boot, event->boot);
    string_set(&device->said_labels, event->labels);
    device_settle_labels(device, state_node_settings(state, event->node));
    string_set(&device->kind, event->kind);
    string_put(&device->sick, string_clean_or_null(event->sick));
    device->is_gone = event->gone;
    device->is_occupied = event->occupied;
    device->is_recorded = event->recorded;
    device_settle(device);
    state_insert_device(state, (uint32_t)found);
    return 0;
}

static int set_pool_during(struct state *state, struct pool *pool, const struct event_pool *event,
                           struct error *err)
{
    pool->during.count = 0;
    for (uint32_t i = 0; i < event->during_count; i++) {
        struct pool_during during = { .milli_min = event->during[i].milli_min,
                                      .milli_max = event->during[i].milli_max };
        int code = state_window_of(state, event->during[i].window, &during.window, err);
        if (code < 0)
            return code;
        list_add(&pool->during, during);
    }
    return 0;
}

static int fold_pool(struct state *state, const struct event_pool *event, struct error *err)
{
    int64_t found = state_find_pool(state, event->name);

    if (found < 0) {
        found = (int64_t)state->pools.count;
        list_add(&state->pools, (struct pool){ .name = mem_string(event->name) });
        list_add(&state->room.pools, 0);
    }
    assert(state->room.pools.count == state->pools.count);
    struct pool *pool = &state->pools.items[found];
    pool->is_static = event->is_static;
    pool->gpus = event->gpus;
    pool->base_min = event->milli_min;
    pool->base_max = event->milli_max;
    pool->devices = event->devices;
    pool->mig = event->mig <= POOL_MIG_ON ? event->mig : POOL_MIG_ANY;
    string_set(&pool->queue, event->queue);
    string_set(&pool->model, event->model);
    if (!where_assign(&pool->where, event->nodes, event->labels, event->where, event->where_count))
        return error_set(err, -EBADMSG, "pool %s: invalid conditions", event->name);
    return set_pool_during(state, pool, event, err);
}

static int resource_of(struct state *state, const char *name, const char *queue, struct error *err)
{
    int number = resource_claim(&state->resources, name);

    return number >= 0 ? number
                       : error_set(err, -EBADMSG, "queue %s: %s: more than %d models with quotas",
                                   queue, name, RESOURCES_MAX - RESOURCE_MODELS);
}

static int set_quotas(struct state *state, struct queue *queue, const struct event_queue *event,
                      struct error *err)
{
    for (size_t i = 0; i < RESOURCES_MAX; i++)
        queue->base[i] = QUOTA_OPEN;
    queue->base[RESOURCE_GPUS] = event->gpus;
    for (uint32_t i = 0; i < event->quotas_count; i++) {
        const struct event_quota *quota = &event->quotas[i];
        int number = resource_of(state, quota->resource, event->name, err);
        if (number < 0)
            return number;
        queue->base[number] = quota->quota;
    }
    return 0;
}

static int set_during(struct state *state, struct queue *queue, const struct event_queue *event,
                      struct error *err)
{
    queue->during.count = 0;
    for (uint32_t i = 0; i < event->during_count; i++) {
        const struct event_during *said = &event->during[i];
        struct queue_during during = { .quota = said->quota };
        int number = resource_of(state, said->resource, event->name, err);
        int code = number < 0 ? number : state_window_of(state, said->window, &during.window, err);
        if (code < 0)
            return code;
        during.resource = (uint8_t)number;
        list_add(&queue->during, during);
    }
    return 0;
}

static int set_budgets(struct state *state, uint32_t number, const struct event_queue *event,
                       struct error *err)
{
    struct queue *queue = &state->queues.items[number];

    queue->budgets.count = 0;
    for (uint32_t i = 0; i < event->budgets_count && i < BUDGETS_MAX; i++) {
        const struct event_budget *said = &event->budgets[i];
        struct budget budget = { .user = PAYER_ALL, .account = said->account, .most = said->most };
        uint32_t window = 0;
        bool has_period = said->window && said->window[0];
        int code = has_period ? state_window_of(state, said->window, &window, err) : 0;
        if (code < 0)
            return code;
        if (said->account >= ACCOUNTS)
            continue;
        if (said->user && said->user[0])
            budget.user = strcmp(said->user, EACH_USER) == 0 ? PAYER_EACH
                                                             : state_claim_user(state, said->user);
        budget.firmness = said->firmness < FIRMNESSES ? said->firmness : 0;
        budget.window = has_period ? window + 1 : 0;
        list_add(&queue->budgets, budget);
    }
    state_follow_budgets(state, number);
    return 0;
}

static int set_subjects(struct state *state, struct queue *queue, const struct event_queue *event,
                        struct error *err)
{
    queue->subjects.count = 0;
    for (uint32_t i = 0; i < event->subjects_count && i < SUBJECTS_MAX; i++) {
        const struct event_subject *subject = &event->subjects[i];
        int number = resource_of(state, subject->resource, event->name, err);
        if (number < 0)
            return number;
        uint32_t id = subject->kind == SUBJECT_GROUP  ? subject->gid
                      : subject->kind == SUBJECT_USER ? state_claim_user(state, subject->name)
                                                      : 0;
        list_add(&queue->subjects, (struct subject_limit){ .kind = subject->kind,
                                                           .resource = (uint8_t)number,
                                                           .id = id,
                                                           .limit = subject->limit });
    }
    return 0;
}

static int set_cells(struct queue *queue, const struct event_queue *event, struct error *err)
{
    queue->cells.count = 0;
    for (uint32_t i = 0; i < event->cells_count; i++) {
        const struct cell_quota *cell = &event->cells[i];
        if (cell->level >= CELL_LEVELS || cell->gpus == 0 || i == QUEUE_CELLS_MAX)
            return error_set(err, -EBADMSG, "queue %s: cells that are invalid", event->name);
        list_add(&queue->cells, *cell);
    }
    return 0;
}

static void set_names(struct queue *queue, const struct event_queue *event)
{
    queue->names.count = 0;
    for (uint32_t i = 0; i < event->names_count && i < QUEUE_NAMES_MAX; i++)
        list_add(&queue->names, event->names[i]);
}

/* Jobs of a removed queue keep its number. */
static int fold_queue(struct state *state, const struct event_queue *event, struct error *err)
{
    int64_t parent =
        event->parent && event->parent[0] ? state_find_queue(state, event->parent) : QUEUE_ROOT;
    if (parent < 0)
        return error_set(err, -EBADMSG, "queue %s: no parent '%s'", event->name, event->parent);

    int64_t found = state_find_queue(state, event->name);
    if (found < 0) {
        found = (int64_t)state->queues.count;
        list_add(&state->queues,
                 (struct queue){ .name = mem_string(event->name),
                                 .parent = (uint32_t)parent,
                                 .usage_at = state->now,
                                 .payer = state_add_payer(state, (uint32_t)found, PAYER_ALL) });
        state->queues.items[parent].child_count++;
    }
    struct queue *queue = &state->queues.items[found];
    if (queue->parent != (uint32_t)parent && found != QUEUE_ROOT)
        return error_set(err, -EBADMSG, "queue %s: moved to another parent", event->name);
    queue->weight = event->weight ? event->weight : 1;
    queue->min_runtime = event->min_runtime > 0 ? event->min_runtime : 0;
    queue->firm_within = event->firm_within;
    queue->rules = event->rules;
    set_names(queue, event);
    int code = set_quotas(state, queue, event, err);
    if (code == 0)
        code = set_during(state, queue, event, err);
    if (code == 0)
        code = set_budgets(state, (uint32_t)found, event, err);
    if (code == 0)
        code = set_subjects(state, queue, event, err);
    return code < 0 ? code : set_cells(queue, event, err);
}

static int fold_queue_remove(struct state *state, const struct event_queue_remove *event,
                             struct error *err)
{
    int64_t found = state_find_queue(state, event->name);

    if (found <= QUEUE_DEFAULT)
        return error_set(err, -EBADMSG, "queue %s: cannot be removed", event->name);
    state->queues.items[found].is_removed = true;
    state->queues.items[state->queues.items[found].parent].child_count--;
    return 0;
}

static int fold_pool_remove(struct state *state, const struct event_pool_remove *event,
                            struct error *err)
{
    int64_t found = state_find_pool(state, event->name);

    if (found <= 0)
        return error_set(err, -EBADMSG, "pool %s: cannot be removed", event->name);
    state->pools.items[found].is_removed = true;
    return 0;
}

/* Of nodes that are there, and of those that come later. The configuration refuses more than
 * NODE_SETTINGS_MAX; a damaged journal must not make the state larger than a snapshot may be. */
static void set_nodes(struct state *state, const struct event_settings *event)
{
    bool is_any = state->node_settings.count > 0 || event->nodes_count > 0;

    state->node_settings.count = 0;
    for (uint32_t i = 0; i < event->nodes_count && i < NODE_SETTINGS_MAX; i++)
        list_add(&state->node_settings, event->nodes[i]);
    if (!is_any)
        return;
    bool had_prices = state->node_price_least > 0;
    state_settle_nodes(state);
    state_measure(state);
    if (had_prices || state->node_price_least > 0)
        state_reprice(state);
}

static void fold_settings(struct state *state, const struct event_settings *event)
{
    for (size_t i = 0; i < state->queues.count; i++)
        queue_advance(&state->queues.items[i], state->now, state->settings.half_life);
    settings_take(&state->settings, event);
    string_set(&state->agenda.timezone, event->timezone);
    state->node_types.count = 0;
    for (uint32_t i = 0; i < event->node_types_count && i < NODE_TYPES_MAX; i++)
        state_add_node_type(state, &event->node_types[i]);
    state->device_types.count = 0;
    for (uint32_t i = 0; i < event->device_types_count; i++)
        state_add_device_type(state, &event->device_types[i]);
    set_nodes(state, event);
}

static int fold_drain(struct state *state, const struct event_drain *event, struct error *err)
{
    int64_t device = state_find_device(state, event->uuid);

    if (device < 0)
        return error_set(err, -EBADMSG, "drain: no device '%s'", event->uuid);
    string_put(&state->devices.items[device].drained, string_or_null(event->reason));
    return 0;
}

static int fold_price(struct state *state, const struct event_price *event, struct error *err)
{
    int number = resource_claim(&state->resources, event->resource);

    if (number < 0)
        return error_set(err, -EBADMSG, "price of %s: more than %d models with quotas or prices",
                         event->resource, RESOURCES_MAX - RESOURCE_MODELS);
    state->resources.items[number].price_micro = event->price_micro > 0 ? event->price_micro : 0;
    state->resources.items[number].training_milli = event->training_milli;
    state->resources.items[number].inference_milli = event->inference_milli;
    return 0;
}

/* What the brain that follows knows: events of an older one mean what they meant to it. */
static void fold_boot(struct state *state, const struct event_boot *event)
{
    bool charged_nodes = state->charges_nodes;

    state->speeds.is_learning = event->brain >= SPEED_BRAIN;
    state->charges_nodes = event->brain >= NODE_PRICE_BRAIN;
    if (state->charges_nodes == charged_nodes)
        return;
    state_note_node_prices(state);
    state_measure(state);
    state_reprice(state);
}

int fold_world(struct state *state, const struct event *event, struct error *err)
{
    int code = 0;

    switch (event->kind) {
    case EVENT_NODE:
        return fold_node(state, &event->node);
    case EVENT_DEVICE:
        return fold_device(state, &event->device, err);
    case EVENT_POOL:
        code = fold_pool(state, &event->pool, err);
        break;
    case EVENT_POOL_REMOVE:
        code = fold_pool_remove(state, &event->pool_remove, err);
        break;
    case EVENT_QUEUE:
        code = fold_queue(state, &event->queue, err);
        break;
    case EVENT_PRICE:
        code = fold_price(state, &event->price, err);
        break;
    case EVENT_QUEUE_REMOVE:
        code = fold_queue_remove(state, &event->queue_remove, err);
        break;
    case EVENT_SETTINGS:
        fold_settings(state, &event->settings);
        return 0;
    case EVENT_DRAIN:
        code = fold_drain(state, &event->drain, err);
        break;
    case EVENT_BOOT:
        fold_boot(state, &event->boot);
        return 0;
    default:
        return fold_agenda(state, event, err);
    }
    state_measure(state);
    if (event->kind == EVENT_PRICE)
        state_reprice(state);
    state_set_times(state);
    return code;
}
