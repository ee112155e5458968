/* SPDX-License-Identifier: Apache-2.0 */
#include "core/state/state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/wide.h"
#include "core/job/deadline_start.h"
#include "core/job/role.h"

static struct queue builtin_queue(const char *name, uint32_t child_count)
{
    struct queue queue = { .name = mem_string(name), .child_count = child_count, .weight = 1 };

    for (size_t i = 0; i < RESOURCES_MAX; i++)
        queue.base[i] = queue.quota[i] = QUOTA_OPEN;
    for (size_t i = 0; i < ACCOUNTS; i++)
        queue.accounts[i].most = ACCOUNT_NO_BUDGET;
    return queue;
}

static void add_builtin(struct state *state)
{
    static const char *const resources[RESOURCE_MODELS] = { "gpus", "cpus", "memory" };

    for (size_t i = 0; i < COUNT_OF(resources); i++)
        resource_claim(&state->resources, resources[i]);
    list_add(&state->pools, (struct pool){ .name = mem_string("default"),
                                           .queue = mem_string(""),
                                           .model = mem_string(""),
                                           .nodes = mem_string("") });
    list_add(&state->room.pools, 0);
    list_add(&state->queues, builtin_queue("root", 1));
    list_add(&state->queues, builtin_queue("default", 0));
}

struct state *state_create(void)
{
    struct state *state = mem_zero(1, sizeof(*state));

    state->next_id = 1;
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
        free(group->name);
        free(group);
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
    list_release(&state->pools);
    list_release(&state->queues);
    list_release(&state->users);
    list_release(&state->unfinished);
    list_release(&state->node_types);
    list_release(&state->device_types);
    map_release(&state->node_names);
    map_release(&state->device_names);
    resources_release(&state->resources);
    agenda_release(&state->agenda);
    holdings_release(&state->holdings);
    room_release(&state->room);
    demand_release(&state->demand);
    history_release(&state->history);
    class_table_release(&state->classes);
    need_table_release(&state->needs);
    pages_release(&state->jobs);
    map_release(&state->groups);
    config_log_release(&state->config_log);
    free(state);
}

int state_apply(struct state *state, const struct event *event, struct error *err)
{
    if (event->at >= state->agenda.next_edge)
        state_pass_time(state, event->at);
    if (event->at > state->now)
        state->now = event->at;
    if (event->kind == EVENT_CHANGE)
        return config_log_note(&state->config_log, &event->change, state->now, err);
    return event_is_of_world(event->kind) ? fold_world(state, event, err)
                                          : fold_job(state, event, err);
}

uint32_t state_settle_spot(struct state *state, struct job *job)
{
    const struct request *request = state_request(state, job);
    struct progress progress = { .submitted = job->submitted,
                                 .deadline = job->deadline,
                                 .estimate = job->estimate,
                                 .attained = job->run->attained,
                                 .restart_cost = job->restart_cost };
    usec_t until;

    if (job->spot != SPOT_PREFER || !job->is_preemptible || job->estimate == 0 ||
        job->deadline <= job->submitted)
        return 0;
    enum spot_rule rule = progress_rule(&progress, state->now, &until);
    state->next_spot = until < state->next_spot ? until : state->next_spot;
    if (request->spot == rule)
        return 0;
    struct request other = *request;
    uint32_t old = job->class;
    other.spot = (uint8_t)rule;
    job->class = class_claim(&state->classes, &other);
    return old + 1;
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
        .rack = node->rack,
        .block = node->block,
        .spot = node->is_spot,
        .type = node->type,
        .price_micro = node->price_micro,
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
        .labels = device->labels,
        .gone = device->is_gone,
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
uint32_t state_claim_user(struct state *state, const char *name)
{
    for (size_t i = 0; i < state->users.count; i++) {
        if (strcmp(state->users.items[i], name) == 0)
            return (uint32_t)i;
    }
    list_add(&state->users, mem_string(name));
    return (uint32_t)state->users.count - 1;
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
    if (strcmp(state->devices.items[found - 1].uuid, uuid) == 0)
        return (int64_t)found - 1;
    for (size_t i = 0; i < state->devices.count; i++) {
        if (strcmp(state->devices.items[i].uuid, uuid) == 0)
            return (int64_t)i;
    }
    return -1;
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

int64_t state_worth(const struct state *state, uint32_t device)
{
    uint32_t resource = state->devices.items[device].resource;
    int64_t price = resource > 0 ? state->resources.items[resource].price_micro : 0;

    return price > 0 ? price : 1000000;
}

int64_t state_capacity(const struct state *state, uint32_t resource)
{
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

/* A list in order of id; new ones are nearly always the last. */
#define LINK_BY_ID(first, last, item)                                                              \
    do {                                                                                           \
        __typeof__(item) before_ = (last);                                                         \
        while (before_ && before_->id > (item)->id)                                                \
            before_ = before_->previous;                                                           \
        (item)->previous = before_;                                                                \
        (item)->next = before_ ? before_->next : (first);                                          \
        *(before_ ? &before_->next : &(first)) = (item);                                           \
        *((item)->next ? &(item)->next->previous : &(last)) = (item);                              \
    } while (0)

static void link_active(struct state *state, struct job *job)
{
    struct job_run *run = job_claim_run(job);
    struct job *before = state->last_active;

    while (before && before->id > job->id)
        before = before->run->active_previous;
    run->active_previous = before;
    run->active_next = before ? before->run->active_next : state->first_active;
    *(before ? &job_claim_run(before)->active_next : &state->first_active) = job;
    *(run->active_next ? &job_claim_run(run->active_next)->active_previous : &state->last_active) =
        job;
}

static void unlink_active(struct state *state, struct job *job)
{
    struct job_run *run = job_claim_run(job);
    struct job *before = run->active_previous, *after = run->active_next;

    *(before ? &job_claim_run(before)->active_next : &state->first_active) = after;
    *(after ? &job_claim_run(after)->active_previous : &state->last_active) = before;
    run->active_previous = run->active_next = NULL;
}

void state_note_state(struct state *state, struct job *job, enum job_state from, enum job_state to)
{
    bool was_active = job_state_is_active(from), is_active = job_state_is_active(to);

    while (state->unfinished.count <= job->user)
        list_add(&state->unfinished, 0);
    if (from != to && from == JOB_ENDED)
        state->unfinished.items[job->user]++;
    if (from != to && to == JOB_ENDED) {
        assert(state->unfinished.items[job->user] > 0);
        state->unfinished.items[job->user]--;
    }
    if (is_active && !was_active)
        link_active(state, job);
    if (was_active && !is_active)
        unlink_active(state, job);
}

void state_link_job(struct state *state, struct job *job)
{
    LINK_BY_ID(state->first_job, state->last_job, job);
    pages_set(&state->jobs, job->id, job);
    state->job_counts[job->state]++;
    state_note_state(state, job, JOB_ENDED, job->state);
    if (job->id >= state->next_id)
        state->next_id = job->id + 1;
}

void state_link_group(struct state *state, struct group *group)
{
    LINK_BY_ID(state->first_group, state->last_group, group);
    map_set(&state->groups, group->id, (uintptr_t)group);
    if (group->last >= state->next_id)
        state->next_id = group->last + 1;
}

static uint64_t worth_of(const struct state *state, const struct lease *lease)
{
    uint64_t worth = 0;

    for (uint32_t i = 0; i < lease->slices_count; i++)
        worth += wide_scale((uint64_t)state_worth(state, lease->slices[i].device),
                            lease->slices[i].milli, GPU_MILLI);
    return worth;
}

static uint32_t part_of(uint32_t share, uint64_t part, uint64_t whole)
{
    return whole > 0 ? (uint32_t)wide_scale(share, part, whole) : 0;
}

void state_scale_shares(const struct state *state, struct lease *lease, const struct lease *from)
{
    uint64_t of_gpus[2] = { worth_of(state, lease), worth_of(state, from) };

    lease->share = 0;
    for (size_t i = 0; i < SHARES; i++) {
        lease->shares[i] = i == SHARE_OF_GPUS ? part_of(from->shares[i], of_gpus[0], of_gpus[1])
                                              : part_of(from->shares[i], lease->members_count,
                                                        from->members_count);
        lease->share = lease->shares[i] > lease->share ? lease->shares[i] : lease->share;
    }
}

void state_charge(struct state *state, struct job *job, int sign)
{
    for (uint32_t at = job->queue;; at = state->queues.items[at].parent) {
        queue_advance(&state->queues.items[at], state->now, state->settings.half_life);
        state_charge_queue(state, at);
        if (at == QUEUE_ROOT)
            break;
    }
    state_charge_job(state, job, sign > 0);
    state_count(state, job, sign);
    if (sign < 0)
        job_claim_run(job)->cost.rate = 0;
}

void state_count_wanted(struct state *state, const struct job *job, int sign)
{
    state->pressure.wanted_milli += sign * request_milli(state_request(state, job), 0, 0);
}

void state_want(struct state *state, const struct job *job, int sign)
{
    pressure_advance(&state->pressure, state->now, state->capacity.milli);
    state_count_wanted(state, job, sign);
}

static void count_amounts(struct state *state, const struct job *job, int sign)
{
    struct amounts amounts;

    amounts_of_lease(state, job->run->lease, &amounts);
    for (uint32_t at = job->queue;; at = state->queues.items[at].parent) {
        amounts_add(&state->queues.items[at].used, &amounts, sign);
        if (!job->is_preemptible)
            amounts_add(&state->queues.items[at].firm, &amounts, sign);
        state->queues.items[at].rate += sign * job->run->cost.rate;
        holding_add(&state->holdings, at, SUBJECT_USER, job->user, &amounts, sign);
        holding_add(&state->holdings, at, SUBJECT_GROUP, job->gid, &amounts, sign);
        if (at == QUEUE_ROOT)
            return;
    }
}

void state_recount(struct state *state)
{
    for (size_t i = 0; i < state->queues.count; i++) {
        struct queue *queue = &state->queues.items[i];
        queue->used = queue->firm = (struct amounts){ 0 };
        queue->rate = 0;
    }
    holdings_release(&state->holdings);
    for (const struct job *job = state->first_active; job; job = job->run->active_next)
        count_amounts(state, job, 1);
}

void state_count(struct state *state, struct job *job, int sign)
{
    const struct lease *lease = job->run->lease;

    room_add(&state->room, lease, -sign);
    if (state->on_lease)
        state->on_lease(state->on_lease_user, job, sign);
    count_amounts(state, job, sign);
    for (uint32_t at = job->queue;; at = state->queues.items[at].parent) {
        for (size_t i = 0; i < SHARES; i++)
            state->queues.items[at].share[i] += sign * (int64_t)lease->shares[i];
        if (at == QUEUE_ROOT)
            break;
    }
    for (struct group *group = state_group(state, job->group); group;
         group = state_group(state, group->parent))
        group->active_count += (uint32_t)sign;
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
