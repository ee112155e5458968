/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the fold that is about machines, devices, pools, queues and settings. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "core/cluster/mig.h"
#include "core/state/rescue.h"
#include "core/state/state.h"

static void set_string(char **where, const char *string)
{
    char *copy = mem_string(string ? string : ""); /* it may be the same */

    free(*where);
    *where = copy;
}

static void set_reason(char **where, const char *string)
{
    char *copy = string && string[0] ? mem_string(string) : NULL;

    free(*where);
    *where = copy;
}

static void deal_static_pool(struct state *state, uint32_t number)
{
    const struct pool *pool = &state->pools.items[number];
    uint32_t dealt = 0;

    for (size_t i = 0; i < state->devices.count; i++) {
        struct device *device = &state->devices.items[i];
        if (pool->gpus > 0 && dealt == pool->gpus)
            return;
        if (device->pool == 0 && pool_matches(pool, device, &state->nodes.items[device->node])) {
            device->pool = number;
            dealt++;
        }
    }
}

/* What static pools have is their queue's, and counts with all above it. */
static void measure_owned(struct state *state)
{
    for (size_t i = 0; i < state->queues.count; i++)
        state->queues.items[i].owned = (struct amounts){ 0 };
    for (size_t i = 0; i < state->devices.count; i++) {
        const struct device *device = &state->devices.items[i];
        if (device->pool == 0 || !device_is_usable(state, device))
            continue;
        int64_t queue = state_find_queue(state, state->pools.items[device->pool].queue);
        for (int64_t at = queue; at > QUEUE_ROOT; at = state->queues.items[at].parent) {
            state->queues.items[at].owned.of[RESOURCE_GPUS] += GPU_MILLI;
            if (device->resource > 0)
                state->queues.items[at].owned.of[device->resource] += GPU_MILLI;
        }
    }
}

static void count_capacity(const struct state *state, struct capacity *capacity, uint32_t number,
                           int sign)
{
    const struct device *device = &state->devices.items[number];

    if (!device_is_usable(state, device))
        return;
    capacity->milli += sign * (int64_t)GPU_MILLI;
    capacity->worth += sign * state_worth(state, number);
    if (device->resource > 0)
        capacity->models[device->resource] += sign * (int64_t)GPU_MILLI;
}

/* The device's model may have got a number: what is held of it counts from then on. */
static bool number_model(struct state *state, struct device *device)
{
    int found = resource_find(&state->resources, device->model);
    uint32_t resource = found >= RESOURCE_MODELS ? (uint32_t)found : 0;
    bool is_other = device->resource != resource;

    device->resource = resource;
    return is_other;
}

/* The mode that its pool wants: of those that share it, the first that wants one. */
static uint8_t wanted_mig(const struct state *state, const struct device *device)
{
    const struct node *node = &state->nodes.items[device->node];

    if (device->pool != 0)
        return state->pools.items[device->pool].mig;
    for (size_t i = 0; i < state->pools.count; i++) {
        const struct pool *pool = &state->pools.items[i];
        if (pool->mig != POOL_MIG_ANY && !pool->is_removed && !pool->is_static &&
            pool_matches(pool, device, node))
            return pool->mig;
    }
    return POOL_MIG_ANY;
}

static void settle_mig(const struct state *state, struct device *device)
{
    uint8_t wanted =
        mig_board_of(device->model, device->memory_mib) ? wanted_mig(state, device) : POOL_MIG_ANY;

    device->mig_enabled = wanted == POOL_MIG_ANY ? device->mig_now : wanted == POOL_MIG_ON;
}

/* Machines whose time counts from now on. */
static void count_up(struct state *state)
{
    mtbf_advance(&state->mtbf, state->now);
    state->mtbf.up[MTBF_OWN] = state->mtbf.up[MTBF_SPOT] = 0;
    for (size_t i = 0; i < state->nodes.count; i++) {
        const struct node *node = &state->nodes.items[i];
        state->mtbf.up[node->is_spot ? MTBF_SPOT : MTBF_OWN] += node->state == NODE_UP;
    }
}

void state_measure(struct state *state)
{
    struct capacity capacity = { 0 };
    bool is_other = false;

    if (state->capacity.milli > 0) /* none: before there is anything, also of a snapshot */
        pressure_advance(&state->pressure, state->now, state->capacity.milli);
    for (size_t i = 0; i < state->devices.count; i++) {
        state->devices.items[i].pool = 0;
        is_other |= number_model(state, &state->devices.items[i]);
    }
    if (is_other)
        state_recount(state);
    for (size_t i = 1; i < state->pools.count; i++) {
        if (state->pools.items[i].is_static && !state->pools.items[i].is_removed)
            deal_static_pool(state, (uint32_t)i);
    }
    for (size_t i = 0; i < state->devices.count; i++)
        settle_mig(state, &state->devices.items[i]);
    count_up(state);
    for (size_t i = 0; i < state->nodes.count; i++) {
        if (!node_is_usable(&state->nodes.items[i]))
            continue;
        capacity.cpu_milli += state->nodes.items[i].cpu_milli;
        capacity.memory_mib += state->nodes.items[i].memory_mib;
    }
    for (uint32_t i = 0; i < state->devices.count; i++)
        count_capacity(state, &capacity, i, 1);
    state->capacity = capacity;
    measure_owned(state);
}

/* It went down, or its owner says that it will: each time once, with or without the notice. */
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
    struct node *node = &state->nodes.items[found];
    struct room_node *room = &state->room.nodes.items[found];
    note_interruption(state, node, event, is_new);
    room->cpu_milli += event->cpu_milli - node->cpu_milli;
    room->memory_mib += event->memory_mib - node->memory_mib;
    node->cpu_milli = event->cpu_milli;
    node->memory_mib = event->memory_mib;
    node->state = event->state;
    set_reason(&node->reason, event->reason);
    set_string(&node->rack, event->rack);
    set_string(&node->block, event->block);
    set_string(&node->type, event->type);
    node->price_micro = event->price_micro > 0 ? event->price_micro : 0;
    node->going_at = event->going_at > 0 ? event->going_at : 0;
    node->is_spot = event->spot;
    node->used_at = is_new ? state->now : node->used_at;
    if (is_new && node_is_usable(node)) { /* nothing stands on it yet */
        state->capacity.cpu_milli += event->cpu_milli;
        state->capacity.memory_mib += event->memory_mib;
        mtbf_advance(&state->mtbf, state->now);
        state->mtbf.up[event->spot ? MTBF_SPOT : MTBF_OWN]++;
    } else
        state_measure(state);
    return 0;
}

static bool has_static_pools(const struct state *state)
{
    for (size_t i = 1; i < state->pools.count; i++) {
        if (state->pools.items[i].is_static && !state->pools.items[i].is_removed)
            return true;
    }
    return false;
}

/* With what a program of somebody's is called, or says: older journals have its bytes as they were.
 */
static void set_sick(struct device *device, const char *words)
{
    char *copy = words && words[0] ? string_copy_clean(words) : NULL;

    free(device->sick);
    device->sick = copy;
}

static int fold_device(struct state *state, const struct event_device *event, struct error *err)
{
    int64_t node = state_find_node(state, event->node ? event->node : "");
    if (node < 0)
        return error_set(err, -EBADMSG, "device %s: no machine '%s'", event->uuid, event->node);

    int64_t found = state_find_device(state, event->uuid);
    if (found < 0) {
        found = (int64_t)state->devices.count;
        list_add(&state->devices, (struct device){ .uuid = mem_string(event->uuid) });
        list_add(&state->room.devices, (struct room_device){ .milli = GPU_MILLI });
        state_name_device(state, (uint32_t)found);
        state->devices.items[found].sick = mem_string("not yet known");
    }
    struct device *device = &state->devices.items[found];
    count_capacity(state, &state->capacity, (uint32_t)found, -1);
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
    set_string(&device->model, event->model);
    set_string(&device->product, event->product);
    set_string(&device->address, event->address);
    set_string(&device->vendor, event->vendor);
    set_string(&device->boot, event->boot);
    set_string(&device->labels, event->labels);
    set_sick(device, event->sick);
    device->is_gone = event->gone;
    device->is_recorded = event->recorded;
    device_settle(device);
    settle_mig(state, device);
    if (number_model(state, device))
        state_recount(state);
    count_capacity(state, &state->capacity, (uint32_t)found, 1);
    if (has_static_pools(state)) /* they are dealt anew */
        state_measure(state);
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
    struct pool *pool = &state->pools.items[found];
    pool->is_static = event->is_static;
    pool->gpus = event->gpus;
    pool->base_min = event->milli_min;
    pool->base_max = event->milli_max;
    pool->devices = event->devices;
    pool->mig = event->mig <= POOL_MIG_ON ? event->mig : POOL_MIG_ANY;
    set_string(&pool->queue, event->queue);
    set_string(&pool->model, event->model);
    set_string(&pool->nodes, event->nodes);
    set_string(&pool->labels, event->labels);
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

/* What was spent stays: a budget of the same period goes on in it. */
static int set_budgets(struct state *state, uint32_t number, const struct event_queue *event,
                       struct error *err)
{
    struct queue *queue = &state->queues.items[number];

    state_charge_queue(state, number);
    for (size_t i = 0; i < ACCOUNTS; i++) {
        struct account *account = &queue->accounts[i];
        const struct event_budget *budget = NULL;
        uint32_t window = 0;
        for (uint32_t k = 0; k < event->budgets_count; k++)
            budget = event->budgets[k].account == i ? &event->budgets[k] : budget;
        account->most = budget ? budget->most : ACCOUNT_NO_BUDGET;
        account->firmness = budget && budget->firmness < FIRMNESSES ? budget->firmness : 0;
        bool has_period = budget && budget->window && budget->window[0];
        int code = has_period ? state_window_of(state, budget->window, &window, err) : 0;
        if (code < 0)
            return code;
        if (account->window == (has_period ? window + 1 : 0))
            continue;
        account->window = has_period ? window + 1 : 0;
        account->since =
            has_period ? agenda_period_start(state->agenda.windows.items[window], state->now) : 0;
        account->spent = 0;
        account->rest = 0;
    }
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
            return error_set(err, -EBADMSG, "queue %s: cells that make no sense", event->name);
        list_add(&queue->cells, *cell);
    }
    return 0;
}

/* Jobs that hold something, or wait, keep a removed queue's number: nothing is lost. */
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
                                 .charged_at = state->now,
                                 .charged_clock = agenda_clock(&state->agenda, state->now) });
        state->queues.items[parent].child_count++;
    }
    struct queue *queue = &state->queues.items[found];
    if (queue->parent != (uint32_t)parent && found != QUEUE_ROOT)
        return error_set(err, -EBADMSG, "queue %s: moved to another parent", event->name);
    queue->weight = event->weight ? event->weight : 1;
    queue->min_runtime = event->min_runtime > 0 ? event->min_runtime : 0;
    queue->firm_within = event->firm_within;
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
        return error_set(err, -EBADMSG, "queue %s: can't be removed", event->name);
    state->queues.items[found].is_removed = true;
    state->queues.items[state->queues.items[found].parent].child_count--;
    return 0;
}

static int fold_pool_remove(struct state *state, const struct event_pool_remove *event,
                            struct error *err)
{
    int64_t found = state_find_pool(state, event->name);

    if (found <= 0)
        return error_set(err, -EBADMSG, "pool %s: can't be removed", event->name);
    state->pools.items[found].is_removed = true;
    return 0;
}

static void fold_settings(struct state *state, const struct event_settings *event)
{
    for (size_t i = 0; i < state->queues.count; i++)
        queue_advance(&state->queues.items[i], state->now, state->settings.half_life);
    settings_take(&state->settings, event);
    set_string(&state->agenda.timezone, event->timezone);
    state->node_types.count = 0;
    for (uint32_t i = 0; i < event->node_types_count && i < NODE_TYPES_MAX; i++)
        state_add_node_type(state, &event->node_types[i]);
    state->device_types.count = 0;
    for (uint32_t i = 0; i < event->device_types_count; i++)
        state_add_device_type(state, &event->device_types[i]);
}

static int fold_drain(struct state *state, const struct event_drain *event, struct error *err)
{
    int64_t device = state_find_device(state, event->uuid);

    if (device < 0)
        return error_set(err, -EBADMSG, "drain: no device '%s'", event->uuid);
    set_reason(&state->devices.items[device].drained, event->reason);
    return 0;
}

static int fold_price(struct state *state, const struct event_price *event, struct error *err)
{
    int number = resource_claim(&state->resources, event->resource);

    if (number < 0)
        return error_set(err, -EBADMSG, "price of %s: more than %d models with quotas or prices",
                         event->resource, RESOURCES_MAX - RESOURCE_MODELS);
    state->resources.items[number].price_micro = event->price_micro > 0 ? event->price_micro : 0;
    return 0;
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
