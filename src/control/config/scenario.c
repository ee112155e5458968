/* SPDX-License-Identifier: Apache-2.0 */
#include "control/config/scenario.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "control/config/configure.h"
#include "control/phrases.h"
#include "control/submit.h"
#include "core/engine.h"
#include "wire/json.h"
#include "wire/whatif_request.h"

static const int64_t plenty_cpu_milli = INT64_C(1000000000);
static const int64_t plenty_memory_mib = INT64_C(1) << 40;

struct scenario {
    const struct control *control;
    const struct whatif *whatif;
    const struct identity *who;
};

static uint32_t devices_of(const struct state *state, uint32_t node, const char *model)
{
    uint32_t count = 0;

    for (size_t i = 0; i < state->devices.count; i++)
        count += state->devices.items[i].node == node &&
                 strcmp(state->devices.items[i].model, model) == 0;
    return count;
}

/* A device of the same model, if possible on a node with the same number of GPUs; -1: none. */
static int64_t find_like(const struct state *state, const struct whatif_nodes *nodes)
{
    int64_t found = -1;

    for (size_t i = 0; i < state->devices.count; i++) {
        if (strcmp(state->devices.items[i].model, nodes->model) != 0)
            continue;
        if (devices_of(state, state->devices.items[i].node, nodes->model) == nodes->gpus)
            return (int64_t)i;
        if (found < 0)
            found = (int64_t)i;
    }
    return found;
}

/* The n-th device of the machine that a device is on. */
static const struct device *sibling(const struct state *state, const struct device *first,
                                    uint32_t n)
{
    for (const struct device *at = first; at < state->devices.items + state->devices.count; at++) {
        if (at->node == first->node && strcmp(at->model, first->model) == 0 && n-- == 0)
            return at;
    }
    return first;
}

static void add_device(const struct scenario *scenario, const struct whatif_nodes *nodes,
                       const char *node, uint32_t index, int64_t like)
{
    const struct state *state = control_state(scenario->control);
    AUTO_FREE char *uuid = mem_printf("%s.%" PRIu32, node, index);
    struct event event = { .kind = EVENT_DEVICE,
                           .device = { .node = node,
                                       .uuid = uuid,
                                       .model = nodes->model,
                                       .product = nodes->model,
                                       .vendor = "",
                                       .address = "",
                                       .sick = "",
                                       .index = index,
                                       .memory_mib = -1,
                                       .is_synthetic = true } };

    if (like >= 0) {
        const struct device *device = sibling(state, &state->devices.items[like], index);
        event.device.memory_mib = device->memory_mib;
        event.device.numa_node = device->numa_node;
        event.device.island = device->island;
        event.device.bridge = device->bridge;
        event.device.mig_enabled = device->mig_enabled;
    }
    control_emit(scenario->control, event);
}

/* The type of such nodes, as `tarn scale` advises it; NULL: none. */
static const struct node_type *find_type(const struct state *state,
                                         const struct whatif_nodes *nodes)
{
    LIST_EACH (const struct node_type, type, &state->node_types) {
        if (nodes->type[0] ? strcmp(type->name, nodes->type) == 0
                           : type->gpus == nodes->gpus && strcmp(type->model, nodes->model) == 0)
            return type;
    }
    return NULL;
}

/* CPUs and memory are those of their type, or of a node with the same GPUs; without one they are
 * unlimited. */
static void add_node(const struct scenario *scenario, const struct whatif_nodes *nodes)
{
    const struct state *state = control_state(scenario->control);
    const struct node_type *type = find_type(state, nodes);
    int64_t like = find_like(state, nodes);
    AUTO_FREE char *name = NULL;
    uint32_t number = 1;

    do {
        free(name);
        name = mem_printf("new-%" PRIu32, number++);
    } while (state_find_node(state, name) >= 0);
    struct event event = { .kind = EVENT_NODE,
                           .node = { .name = name,
                                     .cpu_milli = plenty_cpu_milli,
                                     .memory_mib = plenty_memory_mib,
                                     .spot = nodes->is_spot,
                                     .reason = "",
                                     .rack = "",
                                     .block = "" } };
    if (like >= 0) {
        const struct node *node = &state->nodes.items[state->devices.items[like].node];
        event.node.cpu_milli = node->cpu_milli;
        event.node.memory_mib = node->memory_mib;
        event.node.price_micro = node->price_micro;
    }
    if (type) {
        event.node.type = type->name;
        event.node.cpu_milli = type->cpu_milli;
        event.node.memory_mib = type->memory_mib;
    }
    control_emit(scenario->control, event);
    for (uint32_t i = 0; i < nodes->gpus; i++)
        add_device(scenario, nodes, name, i, like);
}

int64_t scenario_rate(const struct state *state, const struct whatif *whatif)
{
    int64_t rate = 0;

    for (size_t i = 0; i < whatif->node_count; i++) {
        const struct whatif_nodes *nodes = &whatif->nodes[i];
        const struct node_type *type = find_type(state, nodes);
        int64_t like = find_like(state, nodes), each = 0;
        if (type)
            each = nodes->is_spot && type->spot_micro > 0 ? type->spot_micro : type->price_micro;
        else if (like >= 0)
            each = nodes->gpus * state_price(state, &state->devices.items[like]);
        rate += nodes->count * each;
    }
    return rate;
}

/* Jobs lose their members on that node. Last member first: a lease shrinks when one is lost. */
static void lose_members(const struct scenario *scenario, uint32_t node)
{
    const struct state *state = control_state(scenario->control);

    for (const struct job *job = state->first_job; job; job = job->next) {
        uint32_t place = job_is_active(job) ? job->run->lease->members_count : 0;
        while (place-- > 0 && job_is_active(job)) {
            struct event event = { .kind = EVENT_ENDED,
                                   .ended = { .job = job->id,
                                              .attempt = job->run->attempt,
                                              .rank = lease_rank(job->run->lease, place),
                                              .kind = ENGINE_LOST,
                                              .exit_code = -1,
                                              .reason = "its node was removed" } };
            if (job->run->lease->members[place].node == node)
                control_emit(scenario->control, event);
        }
    }
}

static int put_node(const struct scenario *scenario, const char *name, enum node_state to,
                    struct error *err)
{
    const struct state *state = control_state(scenario->control);
    int64_t number = state_find_node(state, name);
    struct event event = { .kind = EVENT_NODE };

    if (number < 0)
        return error_set(err, REFUSED_NOT_FOUND, "node %.80s: no such node; tarn nodes lists them",
                         name);
    state_describe_node(&state->nodes.items[number], &event.node);
    event.node.state = (uint8_t)to;
    event.node.reason = "what if";
    control_emit(scenario->control, event);
    if (to == NODE_DOWN)
        lose_members(scenario, (uint32_t)number);
    return 0;
}

static int put_nodes(const struct scenario *scenario, struct error *err)
{
    const struct whatif *whatif = scenario->whatif;
    const json_t *name;
    int code = 0;
    size_t i;

    for (i = 0; i < whatif->node_count; i++) {
        for (uint32_t k = 0; k < whatif->nodes[i].count; k++)
            add_node(scenario, &whatif->nodes[i]);
    }
    for (i = 0; i < json_array_size(whatif->drain) && code == 0; i++) {
        name = json_array_get(whatif->drain, i);
        code = put_node(scenario, json_string_value(name), NODE_DRAINED, err);
    }
    for (i = 0; i < json_array_size(whatif->remove) && code == 0; i++) {
        name = json_array_get(whatif->remove, i);
        code = put_node(scenario, json_string_value(name), NODE_DOWN, err);
    }
    return code;
}

static void cancel(const struct scenario *scenario, const struct job *job)
{
    if (job->state != JOB_ENDED)
        control_emit(scenario->control,
                     (struct event){ .kind = EVENT_CANCEL,
                                     .cancel = { .job = job->id, .user = scenario->who->name } });
}

/* "7", "7_3"; a group means all of its jobs. */
static int cancel_by_label(const struct scenario *scenario, const char *label, struct error *err)
{
    const struct state *state = control_state(scenario->control);
    char *end;
    uint64_t id = strtoull(label, &end, 10);
    const struct group *group = state_group(state, id);
    const struct job *job = state_job(state, id);

    if (*end == '_' && group)
        job = find_task(state, group, (uint32_t)strtoul(end + 1, &end, 10));
    if (label[0] < '0' || label[0] > '9' || *end || (!job && !group))
        return error_set(err, REFUSED_NOT_FOUND, "job %.40s: no such job", label);
    if (job) {
        cancel(scenario, job);
        return 0;
    }
    for (id = group->id + 1; id <= group->last; id++) {
        job = state_job(state, id);
        if (job)
            cancel(scenario, job);
    }
    return 0;
}

static int cancel_all(const struct scenario *scenario, struct error *err)
{
    const json_t *label;
    size_t i;

    json_array_foreach(scenario->whatif->cancel, i, label)
    {
        int code = cancel_by_label(scenario, json_string_value(label), err);
        if (code < 0)
            return error_prefix(err, code, "cancel");
    }
    return 0;
}

/* The given configuration, or the one in force with the assignments of `set`. */
static int put_config(const struct scenario *scenario, struct error *err)
{
    const struct whatif *whatif = scenario->whatif;
    const struct state *state = control_state(scenario->control);
    AUTO(config) struct config *config = NULL;
    AUTO(json) json_t *document = NULL;
    const json_t *assignment;
    int code = 0;
    size_t i;

    if (!whatif->config && !whatif->set)
        return 0;
    if (whatif->config)
        document = json_deep_copy(whatif->config);
    else {
        AUTO(config) struct config *present = config_of_state(state);
        document = config_to_json(present);
    }
    json_array_foreach(whatif->set, i, assignment)
    {
        if (code == 0)
            code = json_assign(document, json_string_value(assignment), err);
    }
    if (code == 0)
        code = config_parse(document, NULL, NULL, &config, err);
    if (code == 0)
        code = configure_settle(config, err);
    if (code == 0)
        code = configure_check(state, config, err);
    if (code == 0)
        configure_emit(scenario->control, config);
    return code;
}

int scenario_apply(const struct control *control, const struct whatif *whatif,
                   const struct identity *who, struct error *err)
{
    const struct scenario scenario = { control, whatif, who };

    int code = put_nodes(&scenario, err);
    if (code == 0)
        code = cancel_all(&scenario, err);
    if (code == 0)
        code = put_config(&scenario, err);
    if (code == 0 && whatif->submit)
        code = submit_all(control, who, whatif->submit, err);
    return code;
}
