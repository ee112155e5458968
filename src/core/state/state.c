/* SPDX-License-Identifier: Apache-2.0 */
#include "core/state/state.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/job/role.h"
#include "core/state/fold.h"

static struct queue builtin_queue(const char *name, uint32_t child_count, uint32_t payer)
{
    struct queue queue = {
        .name = mem_string(name), .child_count = child_count, .weight = 1, .payer = payer
    };

    for (size_t i = 0; i < RESOURCES_MAX; i++)
        queue.base[i] = queue.quota[i] = QUOTA_OPEN;
    return queue;
}

uint32_t state_add_payer(struct state *state, uint32_t queue, uint32_t user)
{
    struct payer payer = { .queue = queue,
                           .user = user,
                           .charged_at = state->now,
                           .charged_clock = agenda_clock(&state->agenda, state->now) };

    for (size_t i = 0; i < ACCOUNTS; i++)
        payer.accounts[i].most = ACCOUNT_NO_BUDGET;
    return payers_add(&state->payers, &payer);
}

static void add_builtin(struct state *state)
{
    static const char *const resources[RESOURCE_MODELS] = { "gpus", "cpus", "memory" };

    for (size_t i = 0; i < COUNT_OF(resources); i++)
        resource_claim(&state->resources, resources[i]);
    list_add(&state->pools, (struct pool){ .name = mem_string("default"),
                                           .queue = mem_string(""),
                                           .model = mem_string("") });
    list_add(&state->room.pools, 0);
    list_add(&state->queues,
             builtin_queue("root", 1, state_add_payer(state, QUEUE_ROOT, PAYER_ALL)));
    list_add(&state->queues,
             builtin_queue("default", 0, state_add_payer(state, QUEUE_DEFAULT, PAYER_ALL)));
}

struct state *state_create(void)
{
    struct state *state = mem_zero(1, sizeof(*state));

    state->next_id = 1;
    state->speeds.is_learning = true;
    state->charges_nodes = true;
    state->next_begin = USEC_NEVER;
    state->next_spot = USEC_NEVER;
    settings_default(&state->settings);
    agenda_init(&state->agenda);
    add_builtin(state);
    return state;
}

void state_destroy(struct state *state)
{
    if (!state)
        return;
    for (struct job *job = state->first_job, *next; job; job = next) {
        next = job->next;
        job_destroy(job);
    }
    for (struct group *group = state->first_group, *next; group; group = next) {
        next = group->next;
        group_destroy(group);
    }
    for (size_t i = 0; i < state->nodes.count; i++)
        node_release(&state->nodes.items[i]);
    for (size_t i = 0; i < state->devices.count; i++)
        device_release(&state->devices.items[i]);
    for (size_t i = 0; i < state->pools.count; i++)
        pool_release(&state->pools.items[i]);
    for (size_t i = 0; i < state->queues.count; i++)
        queue_release(&state->queues.items[i]);
    for (size_t i = 0; i < state->users.count; i++)
        free(state->users.items[i]);
    list_release(&state->nodes);
    list_release(&state->devices);
    list_release(&state->models);
    list_release(&state->pools);
    list_release(&state->queues);
    payers_release(&state->payers);
    list_release(&state->users);
    for (size_t i = 0; i < COUNT_OF(state->unended); i++)
        id_set_release(&state->unended[i]);
    list_release(&state->allowances);
    list_release(&state->unfinished);
    list_release(&state->node_types);
    list_release(&state->device_types);
    list_release(&state->node_settings);
    map_release(&state->node_names);
    map_release(&state->device_names);
    resources_release(&state->resources);
    agenda_release(&state->agenda);
    holdings_release(&state->holdings);
    room_release(&state->room);
    demand_release(&state->demand);
    history_release(&state->history);
    speeds_release(&state->speeds);
    class_table_release(&state->classes);
    need_table_release(&state->needs);
    pages_release(&state->jobs);
    map_release(&state->groups);
    map_release(&state->externals);
    map_release(&state->submitted);
    config_log_release(&state->config_log);
    token_list_release(&state->tokens);
    receipt_log_release(&state->receipts);
    free(state);
}

void state_add_node_type(struct state *state, const struct node_type *type)
{
    if (type->gpus <= NODE_TYPE_GPUS_MAX && type->cpu_milli >= 0 && type->memory_mib >= 0 &&
        type->boot >= 0 && type->idle >= 0 && type->most <= NODE_TYPE_MOST_MAX)
        list_add(&state->node_types, *type);
}

void state_add_device_type(struct state *state, const struct device_type *type)
{
    if (type->count <= DEVICE_TYPE_COUNT_MAX && type->memory_mib >= 0 &&
        state->device_types.count < DEVICE_TYPES_MAX)
        list_add(&state->device_types, *type);
}

const struct node_settings *state_node_settings(const struct state *state, const char *name)
{
    LIST_EACH (const struct node_settings, settings, &state->node_settings) {
        if (strcmp(settings->name, name) == 0)
            return settings;
    }
    return NULL;
}

void state_note_node_prices(struct state *state)
{
    int64_t least = INT64_MAX;

    LIST_EACH (const struct node, node, &state->nodes) {
        if (state->charges_nodes && node->price_micro > 0 && node->price_micro < least)
            least = node->price_micro;
    }
    state->node_price_least = least == INT64_MAX ? 0 : least;
}

void state_settle_nodes(struct state *state)
{
    LIST_EACH (struct node, node, &state->nodes)
        node_settle(node, NULL);
    LIST_EACH (const struct node_settings, settings, &state->node_settings) {
        int64_t found = state_find_node(state, settings->name);
        if (found >= 0)
            node_settle(&state->nodes.items[found], settings);
    }
    LIST_EACH (struct device, device, &state->devices)
        device_settle_labels(device,
                             state_node_settings(state, state->nodes.items[device->node].name));
    state_note_node_prices(state);
}

const char *state_kind_of_ask(const struct state *state, const struct gpu_ask *ask)
{
    if (ask->accelerator[0] || !ask->model[0] || !state->has_others)
        return ask->accelerator;
    LIST_EACH (const struct device, device, &state->devices) {
        if (strcmp(device->model, ask->model) == 0)
            return device_is_gpu(device) ? "" : device->kind;
    }
    return "";
}

const struct device_type *state_device_type(const struct state *state, const char *uuid,
                                            uint32_t *ret_number)
{
    for (size_t i = 0; i < state->device_types.count; i++) {
        if (device_type_is(&state->device_types.items[i], uuid, ret_number))
            return &state->device_types.items[i];
    }
    return NULL;
}

void state_describe_node(const struct node *node, struct event_node *ret)
{
    *ret = (struct event_node){
        .name = node->name,
        .cpu_milli = node->cpu_milli,
        .memory_mib = node->memory_mib,
        .state = node->state,
        .reason = node->reason,
        .drained = node->drained,
        .rack = node->reported.rack,
        .block = node->reported.block,
        .spot = node->reported.is_spot,
        .type = node->reported.type,
        .labels = node->reported.labels,
        .price_micro = node->reported.price_micro,
        .going_at = node->going_at,
    };
}

void state_describe_device(const struct state *state, const struct device *device,
                           struct event_device *ret)
{
    *ret = (struct event_device){
        .node = state->nodes.items[device->node].name,
        .uuid = device->uuid,
        .model = device->model,
        .product = device->product,
        .address = device->address,
        .vendor = device->vendor,
        .index = device->index,
        .memory_mib = device->memory_mib > 0 ? device->memory_mib : -1,
        .numa_node = device->numa_node,
        .is_synthetic = device->is_synthetic,
        .mig_enabled = device->mig_now,
        .sick = device->sick,
        .island = device->island,
        .bridge = device->bridge,
        .foreign_mib = device->foreign_mib,
        .faults = device->faults,
        .xid = device->xid,
        .boot = device->boot,
        .harm = device->harm,
        .labels = device->said_labels,
        .kind = device->kind,
        .gone = device->is_gone,
        .occupied = device->is_occupied,
        .recorded = device->is_recorded,
    };
}

usec_t state_grace(const struct state *state, const struct job *job)
{
    usec_t grace = job->grace;

    for (uint32_t i = 0; job->run->lease && i < job->run->lease->members_count; i++) {
        const struct node *node = &state->nodes.items[job->run->lease->members[i].node];
        usec_t left = node->going_at > state->now ? node->going_at - state->now : 0;
        if (node->going_at > 0 && left < grace)
            grace = left;
    }
    return grace;
}

usec_t state_mtbf(const struct state *state, const struct job *job)
{
    assert(job->run->lease);

    const struct lease *lease = job->run->lease;
    uint32_t counts[MTBF_KINDS] = { 0 };

    for (uint32_t i = 0; i < lease->members_count; i++) {
        uint32_t node = lease->members[i].node;
        bool is_new = true;
        for (uint32_t k = 0; k < i && is_new; k++)
            is_new = lease->members[k].node != node;
        if (is_new)
            counts[state->nodes.items[node].is_spot ? MTBF_SPOT : MTBF_OWN]++;
    }
    return mtbf_of_gang(&state->mtbf, counts, state->now);
}

struct job *state_job(const struct state *state, uint64_t id)
{
    return pages_get(&state->jobs, id);
}

struct group *state_group(const struct state *state, uint64_t id)
{
    uint64_t value = 0;

    map_get(&state->groups, id, &value);
    return (struct group *)(uintptr_t)value;
}

const struct request *state_request(const struct state *state, const struct job *job)
{
    return class_request(&state->classes, job->class);
}

void job_describe(const struct job *job, const struct request *request, struct history_job *ret)
{
    int64_t milli = request_milli(request, 0, 0);
    int64_t size = milli > 0 ? milli : request_cpus(request);

    *ret = (struct history_job){ .user = job->user,
                                 .queue = job->queue,
                                 .size = (uint32_t)(size < UINT32_MAX ? size : UINT32_MAX),
                                 .name = history_name(job->name),
                                 .limit = job->max_duration };
}

void state_describe(const struct state *state, const struct job *job, struct history_job *ret)
{
    job_describe(job, state_request(state, job), ret);
}

const char *state_user(const struct state *state, uint32_t user)
{
    return user < state->users.count ? state->users.items[user] : "unknown";
}

/* Few users, asked for once a job: a list will do. */
int64_t state_find_user(const struct state *state, const char *name)
{
    for (size_t i = 0; i < state->users.count; i++) {
        if (strcmp(state->users.items[i], name) == 0)
            return (int64_t)i;
    }
    return -1;
}

uint32_t state_claim_user(struct state *state, const char *name)
{
    int64_t known = state_find_user(state, name);

    if (known >= 0)
        return (uint32_t)known;
    list_add(&state->users, mem_string(name));
    return (uint32_t)state->users.count - 1;
}

int state_window_of(struct state *state, const char *name, uint32_t *ret, struct error *err)
{
    int64_t found = agenda_claim_window(&state->agenda, name ? name : "");

    if (found < 0)
        return error_set(err, -EBADMSG, "window %s: more than %d windows", name,
                         AGENDA_WINDOWS_MAX);
    *ret = (uint32_t)found;
    return 0;
}

void string_put(char **where, char *string)
{
    free(*where);
    *where = string;
}

void state_mark_lease(struct state *state, struct job *job)
{
    const struct class *class = state->classes.classes.items[job->class];
    struct lease *lease = job_claim_run(job)->lease;

    lease->labels = class->labels;
    lease->apart = class->apart;
}

void string_set(char **where, const char *string)
{
    string_put(where, mem_string(string ? string : "")); /* it may be the same */
}

char *string_or_null(const char *string)
{
    return string && string[0] ? mem_string(string) : NULL;
}

char *string_clean_or_null(const char *string)
{
    return string && string[0] ? string_copy_clean(string) : NULL;
}

static uint64_t name_hash(const char *name)
{
    return map_hash(name, strlen(name));
}

void state_name_node(struct state *state, uint32_t number)
{
    map_set(&state->node_names, name_hash(state->nodes.items[number].name), (uint64_t)number + 1);
}

void state_name_device(struct state *state, uint32_t number)
{
    map_set(&state->device_names, name_hash(state->devices.items[number].uuid),
            (uint64_t)number + 1);
}

/* Two names of one hash are as good as impossible; then the list is searched. */
int64_t state_find_node(const struct state *state, const char *name)
{
    uint64_t found = 0;

    if (!map_get(&state->node_names, name_hash(name), &found))
        return -1;
    assert(found > 0 && found <= state->nodes.count);
    if (strcmp(state->nodes.items[found - 1].name, name) == 0)
        return (int64_t)found - 1;
    for (size_t i = 0; i < state->nodes.count; i++) {
        if (strcmp(state->nodes.items[i].name, name) == 0)
            return (int64_t)i;
    }
    return -1;
}

int64_t state_find_device(const struct state *state, const char *uuid)
{
    uint64_t found = 0;

    if (!map_get(&state->device_names, name_hash(uuid), &found))
        return -1;
    assert(found > 0 && found <= state->devices.count);
    if (strcmp(state->devices.items[found - 1].uuid, uuid) == 0)
        return (int64_t)found - 1;
    for (size_t i = 0; i < state->devices.count; i++) {
        if (strcmp(state->devices.items[i].uuid, uuid) == 0)
            return (int64_t)i;
    }
    return -1;
}

const struct group *state_pipeline_of(const struct state *state, const struct job *job)
{
    const struct group *group = state_group(state, job->group);

    while (group && group->kind != GROUP_PIPELINE)
        group = state_group(state, group->parent);
    return group;
}

struct job *state_submitted(const struct state *state, uint64_t by_job)
{
    uint64_t id;

    return map_get(&state->submitted, by_job, &id) ? state_job(state, id) : NULL;
}

struct job *state_external(const struct state *state, const char *name)
{
    uint64_t id;

    if (!map_get(&state->externals, map_hash(name, strlen(name)), &id))
        return NULL;
    struct job *job = state_job(state, id);
    return job && strcmp(job->run->external, name) == 0 ? job : NULL;
}

int64_t state_find_pool(const struct state *state, const char *name)
{
    for (size_t i = 0; i < state->pools.count; i++) {
        if (!state->pools.items[i].is_removed && strcmp(state->pools.items[i].name, name) == 0)
            return (int64_t)i;
    }
    return -1;
}

int64_t state_find_queue(const struct state *state, const char *name)
{
    for (size_t i = 0; i < state->queues.count; i++) {
        if (!state->queues.items[i].is_removed && strcmp(state->queues.items[i].name, name) == 0)
            return (int64_t)i;
    }
    return -1;
}

bool state_is_below(const struct state *state, uint32_t queue, uint32_t above)
{
    for (; queue != above; queue = state->queues.items[queue].parent) {
        if (queue == QUEUE_ROOT)
            return false;
    }
    return true;
}

int64_t state_node_price(const struct state *state, const struct device *device)
{
    return state->charges_nodes ? state->nodes.items[device->node].price_micro : 0;
}

/* Of its model, or of its kind. */
static int64_t own_price(const struct state *state, const struct device *device)
{
    const struct resource_name *resources = state->resources.items;
    int64_t price = device->resource > 0 ? resources[device->resource].price_micro : 0;

    return price > 0                   ? price
           : device->kind_resource > 0 ? resources[device->kind_resource].price_micro
                                       : 0;
}

int64_t state_worth(const struct state *state, uint32_t device)
{
    assert(device < state->devices.count);

    const struct device *of = &state->devices.items[device];
    int64_t node = state_node_price(state, of), price = node > 0 ? node : own_price(state, of);

    return price > 0 ? price : 1000000;
}

int64_t state_model_price(const struct state *state, const struct device *device)
{
    int64_t own = own_price(state, device);

    return own > 0 || !device_is_gpu(device) ? own
                                             : state->resources.items[RESOURCE_GPUS].price_micro;
}

int64_t state_price(const struct state *state, const struct device *device)
{
    int64_t node = state_node_price(state, device);

    return node > 0 ? node : state_model_price(state, device);
}

int64_t state_capacity(const struct state *state, uint32_t resource)
{
    assert(resource < RESOURCES_MAX);
    switch (resource) {
    case RESOURCE_GPUS:
        return state->capacity.milli;
    case RESOURCE_CPUS:
        return state->capacity.cpu_milli;
    case RESOURCE_MEMORY:
        return state->capacity.memory_mib;
    default:
        return state->capacity.models[resource];
    }
}

bool device_is_usable(const struct state *state, const struct device *device)
{
    return !device->sick && !device->drained && device->mig_now == device->mig_enabled &&
           node_is_usable(&state->nodes.items[device->node]);
}

struct group *state_stage_of(const struct state *state, const struct job *job)
{
    struct group *group = state_group(state, job->group);

    while (group && group->kind != GROUP_STAGE)
        group = state_group(state, group->parent);
    return group;
}

static enum need_answer answer(bool is_over, bool is_bad, bool has_started, enum need_kind kind)
{
    switch (kind) {
    case NEED_OK:
        return !is_over ? NEED_OPEN : is_bad ? NEED_BROKEN : NEED_MET;
    case NEED_FAILED:
        return !is_over ? NEED_OPEN : is_bad ? NEED_MET : NEED_BROKEN;
    case NEED_ENDED:
        return is_over ? NEED_MET : NEED_OPEN;
    case NEED_STARTED:
        return has_started || is_over ? NEED_MET : NEED_OPEN;
    }
    return NEED_OPEN;
}

enum need_answer state_need_answer(const struct state *state, uint64_t on, enum need_kind kind)
{
    const struct job *job = state_job(state, on);
    if (job)
        return answer(job->state == JOB_ENDED, job->result != RESULT_OK,
                      job->state == JOB_RUNNING || job->run->started > 0, kind);

    const struct group *group = state_group(state, on);
    if (group)
        return answer(group_is_over(group), group->bad_count > 0,
                      group->started_count >= group->job_count, kind);
    return NEED_BROKEN; /* forgotten: it can't be told any more */
}

struct payer_walk payers_first(const struct state *state, const struct job *job)
{
    return (struct payer_walk){ state->queues.items[job->queue].payer, job->queue, job->user,
                                false };
}

void payers_next(const struct state *state, struct payer_walk *at)
{
    const struct queue *queues = state->queues.items;

    if (!at->is_user) {
        at->is_user = true;
        at->payer = payers_find_user(&state->payers, at->queue, at->user);
        if (at->payer != PAYER_NONE)
            return;
    }
    at->is_user = false;
    at->queue = queue_above(queues, at->queue);
    at->payer = at->queue == QUEUE_NONE ? PAYER_NONE : queues[at->queue].payer;
}

bool state_is_paid_by(const struct state *state, const struct job *job, const struct payer *payer)
{
    return (payer->user == PAYER_ALL || payer->user == job->user) &&
           state_is_below(state, job->queue, payer->queue);
}

struct event_submit state_submission(const struct state *state, const struct job *job)
{
    bool has_interval = job_has_interval(job) && !job->checkpoint_is_auto;
    struct event_submit submit = {
        .id = state->next_id,
        .name = job->name,
        .external = "",
        .user = state_user(state, job->user),
        .uid = job->uid,
        .gid = job->gid,
        .queue = state->queues.items[job->queue].name,
        .request = *state_request(state, job),
        .priority = job->priority,
        .begin = job->begin,
        .wall_times = job->wall_times,
        .retry = job->retry_max,
        .launch = job->launch,
        .grace = job->grace,
        .no_requeue = job->no_requeue,
        .estimate = job->estimate,
        .deadline = job->deadline,
        .preemptible = job->is_preemptible,
        .restart_cost = job->restart_cost,
        .checkpoint_every = has_interval ? job->checkpoint_every : 0,
        .checkpoint_auto = job->checkpoint_is_auto,
        .checkpoint_takes = (int64_t)job->checkpoint_takes_ms * USEC_PER_MS,
        .heals = job->heal_max,
        .goes_on = job->goes_on,
        .resize = job->resize,
        .oom_factor = job->oom_factor,
        .tariff_most = job->tariff_most,
    };

    submit.request.max_duration = job->max_duration;
    submit.request.spot = job->spot;
    return submit;
}
