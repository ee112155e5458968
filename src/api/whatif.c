/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/whatif and POST /v1/rehearsal: what would be, worked out beside the daemon.
 *
 * A what-if changes the state of a copy of the daemon (daemon/study/study.h) by what would change
 * it here: what is refused there would be refused here, in the same words.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/asked.h"
#include "api/submit.h"
#include "base/mem.h"
#include "control/configure.h"
#include "wire/json.h"
#include "wire/whatif_request.h"

enum { REHEARSAL_DAYS_MAX = 366 };

static const int64_t plenty_cpu_milli = INT64_C(1000000000);
static const int64_t plenty_memory_mib = INT64_C(1) << 40;

struct question {
    struct asked asked;
    struct whatif *whatif; /* NULL: a rehearsal */
};

/* ---- what a what-if changes, in the copy ---- */

static void emit(const struct question *question, struct event *event)
{
    question->asked.api->ports.emit(question->asked.api->ports.user, event);
}

static uint32_t devices_of(const struct state *state, uint32_t node, const char *model)
{
    uint32_t count = 0;

    for (size_t i = 0; i < state->devices.count; i++)
        count += state->devices.items[i].node == node &&
                 strcmp(state->devices.items[i].model, model) == 0;
    return count;
}

/* A device like those of a new machine, best one of a machine that has as many; -1: none. */
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

static void add_device(const struct question *question, const struct whatif_nodes *nodes,
                       const char *node, uint32_t index, int64_t like)
{
    const struct state *state = api_state(question->asked.api);
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
    emit(question, &event);
}

/* CPUs and memory of a machine with the same GPUs; where there is none, it is never short of them.
 */
static void add_node(const struct question *question, const struct whatif_nodes *nodes)
{
    const struct state *state = api_state(question->asked.api);
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
                                     .reason = "",
                                     .rack = "",
                                     .block = "" } };
    if (like >= 0) {
        const struct node *node = &state->nodes.items[state->devices.items[like].node];
        event.node.cpu_milli = node->cpu_milli;
        event.node.memory_mib = node->memory_mib;
    }
    emit(question, &event);
    for (uint32_t i = 0; i < nodes->gpus; i++)
        add_device(question, nodes, name, i, like);
}

/* Who has a member there loses it. The last first: who goes on without has a smaller lease then. */
static void lose_members(const struct question *question, uint32_t node)
{
    const struct state *state = api_state(question->asked.api);

    for (const struct job *job = state->first_job; job; job = job->next) {
        uint32_t place = job_is_active(job) ? job->run->lease->members_count : 0;
        while (place-- > 0 && job_is_active(job)) {
            struct event event = { .kind = EVENT_ENDED,
                                   .ended = { .job = job->id,
                                              .attempt = job->run->attempt,
                                              .rank = lease_rank(job->run->lease, place),
                                              .kind = ENGINE_LOST,
                                              .exit_code = -1,
                                              .reason = "its machine is gone" } };
            if (job->run->lease->members[place].node == node)
                emit(question, &event);
        }
    }
}

static int put_node(const struct question *question, const char *name, enum node_state to,
                    struct error *err)
{
    const struct state *state = api_state(question->asked.api);
    int64_t number = state_find_node(state, name);

    if (number < 0)
        return error_set(err, -ENOENT, "node %.80s: no such machine; tarn nodes lists them", name);
    AUTO_FREE char *rack = mem_string(state->nodes.items[number].rack);
    AUTO_FREE char *block = mem_string(state->nodes.items[number].block);
    struct event event = { .kind = EVENT_NODE,
                           .node = { .name = name,
                                     .cpu_milli = state->nodes.items[number].cpu_milli,
                                     .memory_mib = state->nodes.items[number].memory_mib,
                                     .state = (uint8_t)to,
                                     .reason = "what if",
                                     .rack = rack,
                                     .block = block } };
    emit(question, &event);
    if (to == NODE_DOWN)
        lose_members(question, (uint32_t)number);
    return 0;
}

static int put_nodes(const struct question *question, struct error *err)
{
    const struct whatif *whatif = question->whatif;
    const json_t *name;
    int code = 0;
    size_t i;

    for (i = 0; i < whatif->node_count; i++) {
        for (uint32_t k = 0; k < whatif->nodes[i].count; k++)
            add_node(question, &whatif->nodes[i]);
    }
    for (i = 0; i < json_array_size(whatif->drain) && code == 0; i++) {
        name = json_array_get(whatif->drain, i);
        code = put_node(question, json_string_value(name), NODE_DRAINED, err);
    }
    for (i = 0; i < json_array_size(whatif->remove) && code == 0; i++) {
        name = json_array_get(whatif->remove, i);
        code = put_node(question, json_string_value(name), NODE_DOWN, err);
    }
    return code;
}

static void cancel(const struct question *question, const struct job *job)
{
    struct event event = { .kind = EVENT_CANCEL,
                           .cancel = { .job = job->id, .user = question->asked.study.who->name } };

    if (job->state != JOB_ENDED)
        emit(question, &event);
}

/* "7", "7_3"; of a group all. */
static int cancel_by_label(const struct question *question, const char *label, struct error *err)
{
    const struct state *state = api_state(question->asked.api);
    char *end;
    uint64_t id = strtoull(label, &end, 10);
    const struct group *group = state_group(state, id);
    const struct job *job = state_job(state, id);

    if (*end == '_' && group)
        job = find_task(state, group, (uint32_t)strtoul(end + 1, &end, 10));
    if (label[0] < '0' || label[0] > '9' || *end || (!job && !group))
        return error_set(err, -ENOENT, "job %.40s: no such job", label);
    if (job) {
        cancel(question, job);
        return 0;
    }
    for (id = group->id + 1; id <= group->last; id++) {
        job = state_job(state, id);
        if (job)
            cancel(question, job);
    }
    return 0;
}

static int cancel_all(const struct question *question, struct error *err)
{
    const json_t *label;
    size_t i;

    json_array_foreach(question->whatif->cancel, i, label)
    {
        int code = cancel_by_label(question, json_string_value(label), err);
        if (code < 0)
            return error_prefix(err, code, "cancel");
    }
    return 0;
}

/* The one given, or the one in force, with what is set. */
static int put_config(const struct question *question, struct error *err)
{
    const struct whatif *whatif = question->whatif;
    const struct state *state = api_state(question->asked.api);
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
        configure_emit(question->asked.api, config);
    return code;
}

static int change(struct api_study *study, const struct api_ports *copy, struct error *err)
{
    struct question *question = CONTAINER_OF(study, struct question, asked.study);

    question->asked.api->ports = *copy; /* of the copy: ours has its own */
    int code = put_nodes(question, err);
    if (code == 0)
        code = cancel_all(question, err);
    if (code == 0)
        code = put_config(question, err);
    if (code == 0 && question->whatif->submit)
        code = submit_all(question->asked.api, question->asked.study.who, question->whatif->submit,
                          err);
    return code;
}

/* ---- the question and its answer ---- */

static void destroy(struct asked *asked)
{
    struct question *question = CONTAINER_OF(asked, struct question, asked);

    whatif_destroy(question->whatif);
    json_decref(asked->study.old_config);
    json_decref(asked->study.new_config);
    free(question);
}

static struct question *create_question(struct call *call)
{
    struct question *question = mem_zero(1, sizeof(*question));

    asked_init(&question->asked, call, destroy);
    return question;
}

/* What the answer does not know of. */
static const char *note_of(const struct whatif *whatif)
{
    for (size_t i = 0; i < whatif->node_count; i++) {
        if (whatif->nodes[i].is_spot)
            return "spot nodes are taken to stay: how often they would be taken away is not known";
    }
    return NULL;
}

void handle_whatif(struct call *call)
{
    struct error err = { "" };
    json_t *body = read_body(call->request);

    if (!body)
        return;
    struct question *question = create_question(call);
    int code = whatif_parse(body, &question->whatif, &err);
    json_decref(body);
    if (code == 0) {
        question->asked.study.change = change;
        question->asked.study.shown = question->whatif->shown;
        question->asked.study.note = note_of(question->whatif);
    }
    asked_begin(&question->asked, code, &err);
}

static int read_rehearsal(struct question *question, const json_t *body, struct error *err)
{
    static const char *const keys[] = { "config", "last", "shown", NULL };
    struct reader reader = { .where = "rehearsal", .err = err };
    const struct state *state = api_state(question->asked.api);
    AUTO(config) struct config *old = config_of_state(state);
    AUTO(config) struct config *new = NULL;
    struct api_study *study = &question->asked.study;
    int64_t shown = WHATIF_SHOWN;

    study->last = 7 * USEC_PER_DAY;
    int code = reader_check_keys(&reader, body, keys);
    if (code == 0)
        code = reader_duration(&reader, body, "last", &study->last);
    if (code == 0 && (study->last <= 0 || study->last > REHEARSAL_DAYS_MAX * USEC_PER_DAY))
        code = reader_fail(&reader, -ERANGE, body, "last", "expected up to %d days, like 7d",
                           REHEARSAL_DAYS_MAX);
    if (code == 0)
        code = reader_integer(&reader, body, "shown", 0, WHATIF_SHOWN_MAX, &shown);
    if (code == 0)
        code = config_parse(reader_get(body, "config"), NULL, NULL, &new, err);
    if (code == 0)
        code = configure_settle(new, err);
    if (code == 0)
        code = configure_check(state, new, err);
    if (code < 0)
        return code;
    study->shown = (uint32_t)shown;
    study->old_config = config_to_json(old);
    study->new_config = config_to_json(new);
    if (!study->who->is_admin)
        study->hides_from = study->who->name;
    return 0;
}

void handle_rehearsal(struct call *call)
{
    struct error err = { "" };
    json_t *body = read_body(call->request);

    if (!body)
        return;
    struct question *question = create_question(call);
    int code = read_rehearsal(question, body, &err);
    json_decref(body);
    asked_begin(&question->asked, code, &err);
}
