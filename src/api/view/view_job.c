/* SPDX-License-Identifier: Apache-2.0 */
/* The state as JSON: jobs, groups, times. Shapes: api/contract/schemas.def. */
#include <inttypes.h>
#include <string.h>

#include "api/view/view.h"
#include "core/job/checkpoint_interval.h"
#include "core/job/gang_size.h"
#include "core/job/own_speed.h"
#include "core/job/role.h"
#include "wire/where_text.h"

usec_t view_waited(const struct api *api, const struct job *job)
{
    usec_t until = job->state == JOB_ENDED                                  ? job->run->ended
                   : job_is_active(job) && job->run->granted >= job->queued ? job->run->granted
                                                                            : api_now(api);

    if (job->state == JOB_ENDED && job->run->granted > 0)
        until = job->run->granted;
    usec_t from = job->queued > 0 ? job->queued : job->submitted;
    return until > from ? until - from : 0;
}

usec_t view_ran(const struct api *api, const struct job *job)
{
    bool is_running = job->state == JOB_RUNNING || job->state == JOB_STOPPING;

    if (job->run->started == 0 || (job->state != JOB_ENDED && !is_running))
        return USEC_NEVER;
    usec_t end = job->state == JOB_ENDED ? job->run->ended : api_now(api);
    return end > job->run->started ? end - job->run->started : 0;
}

/* The devices of an ended job are not kept; synthetic and real ones are never mixed. */
bool view_is_synthetic(const struct state *state, const struct job *job)
{
    const struct lease *lease = job->run->lease;

    if (!lease)
        return job->run->gpus_milli_last > 0 && state->devices.count > 0 &&
               state->devices.items[0].is_synthetic;
    return lease->slices_count > 0 && state->devices.items[lease->slices[0].device].is_synthetic;
}

json_t *view_gpu_indices(const struct state *state, const struct job *job)
{
    json_t *indices = json_array();

    for (uint32_t i = 0; job->run->lease && i < job->run->lease->slices_count; i++) {
        uint32_t device = job->run->lease->slices[i].device;
        json_array_append_new(indices, json_integer(state->devices.items[device].index));
    }
    return indices;
}

static json_t *view_devices(const struct api *api, const struct job *job)
{
    const struct state *state = api_state(api);
    json_t *devices = json_array();

    for (uint32_t i = 0; job->run->lease && i < job->run->lease->slices_count; i++) {
        const struct slice *slice = &job->run->lease->slices[i];
        const struct device *device = &state->devices.items[slice->device];
        json_array_append_new(
            devices,
            json_pack("{s:s, s:i, s:s, s:s, s:o, s:I, s:b, s:i}", "uuid", device->uuid, "index",
                      (int)device->index, "model", device->model, "node",
                      state->nodes.items[device->node].name, "share", view_milli(slice->milli),
                      "memory", (json_int_t)slice->memory_mib, "synthetic", device->is_synthetic,
                      "rank", (int)lease_rank(job->run->lease, slice->rank)));
    }
    return devices;
}

static json_t *view_needs(const struct api *api, const struct job *job)
{
    const struct need_table *needs = &api_state(api)->needs;
    json_t *list = json_array();
    const struct need *need;

    for (uint32_t at = need_first_of(needs, job->id); at != 0; at = need->next_of_job) {
        need = &needs->needs.items[at - 1];
        if (need->is_broken)
            continue;
        json_array_insert_new(list, 0,
                              json_pack("{s:I, s:s}", "on", (json_int_t)need->on, "when",
                                        need_kind_name(need->kind)));
    }
    return list;
}

static const struct need *broken_need(const struct need_table *needs, uint64_t job)
{
    const struct need *need;

    for (uint32_t at = need_first_of(needs, job); at != 0; at = need->next_of_job) {
        need = &needs->needs.items[at - 1];
        if (need->is_broken)
            return need;
    }
    return NULL;
}

/* "failed with exit code 3" */
static void say_result(const struct job *job, struct text *text)
{
    const struct job_end *end = &job->run->end;

    if (job->result == RESULT_OK || job->result == RESULT_CANCELLED)
        text_add(text, job->result == RESULT_OK ? "succeeded" : "was cancelled");
    else if (job->result == RESULT_FAILED && end->signal != 0)
        text_printf(text, "was ended by signal %" PRIu32, end->signal);
    else if (job->result == RESULT_FAILED && end->exit_code > 0)
        text_printf(text, "failed with exit code %" PRId32, end->exit_code);
    else
        text_printf(text, "ended: %s", job_result_name((enum job_result)job->result));
}

/* Which job decided that this one cannot run any more, and how that one ended. */
static json_t *view_reason(const struct api *api, const struct job *job)
{
    static const char *const ends[] = { "to succeed", "to end", "to fail", "to start" };
    const struct state *state = api_state(api);
    const struct need *need = job->state == JOB_ENDED && job->result == RESULT_CANCELLED
                                  ? broken_need(&state->needs, job->id)
                                  : NULL;
    AUTO_RELEASE(text) struct text text = { 0 };

    if (!need || job->run->cancelled_by)
        return text_or_null(job_end_reason(job->run));
    const struct job *on = state_job(state, need->on);
    text_add(&text, "needs job ");
    if (on)
        say_job(state, on, &text);
    else
        text_printf(&text, "%" PRIu64, need->on);
    if (on)
        text_printf(&text, " (%s)", on->name);
    text_printf(&text, " %s, but that job ", ends[need->kind < COUNT_OF(ends) ? need->kind : 0]);
    if (on)
        say_result(on, &text);
    else
        text_add(&text, "did not");
    return json_string(text_string(&text));
}

/* Roles of a gang and the nodes of their members; null without roles. */
static json_t *view_roles(const struct api *api, const struct job *job)
{
    const struct state *state = api_state(api);
    const struct request *request = state_request(state, job);
    const struct lease *lease = job->run->lease;
    json_t *roles = json_array();
    uint32_t rank = 0;

    for (uint32_t i = 0; i < request->roles_count; i++) {
        const struct request *part = &request->roles[i].request;
        json_t *nodes = json_array();
        for (uint32_t k = 0; lease && k < lease->members_count; k++) {
            if (lease->members[k].role == i)
                json_array_append_new(nodes,
                                      json_string(state->nodes.items[lease->members[k].node].name));
        }
        AUTO_RELEASE(text) struct text gpus = { 0 };
        request_format_gpus(part, &gpus);
        json_array_append_new(
            roles, json_pack("{s:s, s:i, s:i, s:s, s:o, s:o, s:o}", "name", request->roles[i].name,
                             "first_rank", (int)rank, "ranks", (int)part->members, "gpus",
                             text_string(&gpus), "cpus", view_milli(part->cpu_milli), "memory",
                             number_or_null(part->memory_mib), "nodes", nodes));
        rank += part->members;
    }
    if (request->roles_count > 0)
        return roles;
    json_decref(roles);
    return json_null();
}

/* A job that was submitted to the engine has labels of the engine only. */
static json_t *view_labels(const struct job *job, const struct job_label *labels, uint32_t count)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < count && !job->run->external; i++)
        json_array_append_new(list, json_string(labels[i].name));
    return list;
}

static json_t *view_request(const struct api *api, const struct job *job)
{
    const struct request *request = state_request(api_state(api), job);
    AUTO_RELEASE(text) struct text gpus = { 0 };
    json_t *where = where_to_json(request->where, request->where_count), *speeds = json_object();

    for (uint32_t i = 0; i < request->speeds_count; i++)
        json_object_set_new(speeds, request->speeds[i].model, view_milli(request->speeds[i].milli));
    view_own(api, where);
    request_format_gpus(request, &gpus);
    return json_pack("{s:s, s:o, s:o, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "gpus",
                     text_string(&gpus), "cpus", view_milli(request->cpu_milli), "memory",
                     number_or_null(request->memory_mib), "members", (int)request->members, "nodes",
                     (int)request->nodes_min, "max_duration", view_seconds(job->max_duration),
                     "pool", text_or_null(request->pool), "where", where, "labels",
                     view_labels(job, request->labels, request->label_count), "anti_affinity",
                     view_labels(job, request->apart, request->apart_count), "speeds", speeds);
}

static json_t *view_job_end(const struct job *job, const char *key)
{
    if (job->run->end.kind != ENGINE_ENDED)
        return json_null();
    if (strcmp(key, "signal") == 0)
        return number_or_null(job->run->end.signal);
    return job->run->end.signal ? json_null() : json_integer(job->run->end.exit_code);
}

/* Checkpoint settings and state; null if the job has none. */
static json_t *view_checkpoint(const struct api *api, const struct job *job)
{
    const struct state *state = api_state(api);
    usec_t every = job->checkpoint_every;
    json_t *waste = json_null();

    if (every == 0 && !job->checkpoint_is_auto && job->run->checkpointed == 0)
        return json_null();
    if (job_has_interval(job) && job->run->lease) {
        json_decref(waste);
        waste =
            json_real((double)daly_waste(job_checkpoint_takes(job), every, state_mtbf(state, job)) /
                      DALY_WASTE_ONE);
    }
    return json_pack(
        "{s:o, s:b, s:b, s:o, s:o, s:o, s:o}", "every",
        job_has_interval(job) ? view_seconds(every) : json_null(), "auto", job->checkpoint_is_auto,
        "never", every == USEC_NEVER, "takes", view_seconds(job_checkpoint_takes(job)), "last",
        view_time(api, job->run->checkpointed), "unsaved_seconds",
        job_is_active(job) ? view_seconds(job_unsaved(job, api_now(api))) : json_null(),
        "expected_waste", waste);
}

/* The time or budget rule that stopped the last attempt; null: none. */
static json_t *view_stop_rule(const struct job *job)
{
    switch (job->run->stop_rule) {
    case STOP_FOR_RESERVATION:
        return json_string("reservation");
    case STOP_FOR_WINDOW:
        return json_string("window");
    case STOP_FOR_BUDGET:
        return json_string("budget");
    default:
        return json_null();
    }
}

/* Warnings of this attempt; null: none. */
static json_t *view_warned(const struct api *api, const struct job *job)
{
    const struct job_run *run = job->run;

    if (run->idle_warnings == 0 && run->memory_warnings == 0)
        return json_null();
    return json_pack("{s:i, s:i, s:o}", "idle", (int)run->idle_warnings, "memory",
                     (int)run->memory_warnings, "at", view_time(api, run->warned));
}

static void add_details(const struct api *api, const struct job *job, json_t *view)
{
    json_object_set_new(view, "request", view_request(api, job));
    json_object_set_new(view, "grace", view_seconds(job->grace));
    json_object_set_new(view, "retry", json_integer(job->retry_max));
    if (job->oom_factor > 0)
        json_object_set_new(view, "oom_factor", json_real((double)job->oom_factor / 1000));
    json_object_set_new(view, "heals_most", json_integer(job->heal_max));
    json_object_set_new(view, "retries", json_integer(job->run->retries));
    json_object_set_new(view, "begin", view_time(api, job->begin));
    json_object_set_new(view, "estimate",
                        job->estimate > 0 ? view_seconds(job->estimate) : json_null());
    json_object_set_new(view, "deadline", view_time(api, job->deadline));
    usec_t now = api_now(api);
    json_object_set_new(view, "cost",
                        json_real((double)state_cost(api_state(api), job, now) / 1e6));
    json_object_set_new(view, "tariff",
                        job->tariff_most > 0 ? json_real((double)(job->tariff_most - 1) / 1000)
                                             : json_null());
    json_object_set_new(view, "stopped_by", view_stop_rule(job));
    json_object_set_new(view, "preemptible", json_boolean(job->is_preemptible));
    json_object_set_new(view, "restart_cost", view_seconds(job->restart_cost));
    json_object_set_new(view, "spot", json_string(spot_rule_name(job->spot)));
    json_object_set_new(view, "spot_now",
                        json_string(spot_rule_name(state_request(api_state(api), job)->spot)));
    json_object_set_new(view, "checkpoint", view_checkpoint(api, job));
    json_object_set_new(view, "devices", view_devices(api, job));
    json_object_set_new(view, "ran_on",
                        text_or_null(job->state == JOB_ENDED ? job->run->place : NULL));
    json_object_set_new(view, "gpu_usage", view_usage(api, job));
    json_object_set_new(view, "warned", view_warned(api, job));
    json_object_set_new(view, "isolation",
                        job->run->started == 0 ? json_null()
                                               : view_isolation(&job->run->isolation));
    json_object_set_new(view, "needs", view_needs(api, job));
    json_object_set_new(view, "by_job",
                        job->run->by_job ? json_integer((json_int_t)job->run->by_job)
                                         : json_null());
    json_object_set_new(view, "members_ended", json_integer(job->run->members_ended));
    json_object_set_new(view, "backfilled", json_boolean(job->run->is_backfill));
    json_object_set_new(view, "cancelled_by", text_or_null(job->run->cancelled_by));
    json_object_set_new(view, "cancel_reason", text_or_null(job->run->cancel_reason));
    bool has_usage = job->run->end.kind == ENGINE_ENDED;
    json_object_set_new(view, "usage",
                        !has_usage
                            ? json_null()
                            : json_pack("{s:o, s:o, s:o}", "user_seconds",
                                        view_seconds(job->run->end.user_us), "system_seconds",
                                        view_seconds(job->run->end.system_us), "memory_mib_max",
                                        job->run->end.memory_kib_max
                                            ? json_integer(job->run->end.memory_kib_max / 1024)
                                            : json_null()));
}

/* The member of a gang that did not end well before any other did. */
json_t *view_failed_rank(const struct api *api, const struct job *job)
{
    const struct job_end *end = &job->run->end;
    bool is_good = end->kind == ENGINE_ENDED && end->exit_code == 0 && end->signal == 0;

    if (job->state != JOB_ENDED || end->kind == 0 || is_good || end->was_stopped ||
        request_most(state_request(api_state(api), job)) < 2)
        return json_null();
    return json_integer(end->rank);
}

int64_t view_gpu_milli(const struct state *state, const struct job *job)
{
    const struct request *request = state_request(state, job);
    int64_t sum = 0;

    if (job->run->lease)
        return job->run->lease->milli;
    if (job->state == JOB_ENDED && job->run->granted > 0)
        return job->run->gpus_milli_last;
    for (uint32_t i = 0; i < request_parts(request); i++) {
        const struct request *part = request_part(request, i);
        const struct gpu_ask *ask = &part->gpus[0];
        int64_t milli = ask->kind == SHARE_WHOLE ? GPU_MILLI : ask->milli;
        sum += part->gpu_alternatives > 0 ? milli * ask->count * part->members : 0;
    }
    return sum;
}

/* The last preemption: for which job, by which rule; null: never. */
json_t *view_preempted_for(const struct api *api, const struct job *job)
{
    const struct state *state = api_state(api);
    const struct job *taker =
        job->run->stopped_for ? state_job(state, job->run->stopped_for) : NULL;

    if (job->run->stopped_for == 0 && job->run->stop_rule != STOP_FOR_MACHINE)
        return json_null();
    return json_pack("{s:o, s:s*, s:s, s:s}", "job", number_or_null((int64_t)job->run->stopped_for),
                     "queue", taker ? state->queues.items[taker->queue].name : NULL, "rule",
                     stop_rule_name(job->run->stop_rule), "text",
                     stop_rule_meaning(job->run->stop_rule));
}

static json_t *indices_of_node(json_t *nodes, const char *name)
{
    json_t *node;
    size_t i;

    json_array_foreach(nodes, i, node)
    {
        if (strcmp(json_string_value(json_object_get(node, "node")), name) == 0)
            return json_object_get(node, "indices");
    }
    node = json_pack("{s:s, s:[]}", "node", name, "indices");
    json_array_append_new(nodes, node);
    return json_object_get(node, "indices");
}

json_t *view_lease_nodes(const struct state *state, const struct lease *lease)
{
    json_t *nodes = json_array();

    for (uint32_t i = 0; lease && i < lease->slices_count; i++) {
        const struct device *device = &state->devices.items[lease->slices[i].device];
        json_array_append_new(indices_of_node(nodes, state->nodes.items[device->node].name),
                              json_integer(device->index));
    }
    return nodes;
}

/* Its devices by node; nothing where there is one node. */
json_t *view_gpu_nodes(const struct api *api, const struct job *job)
{
    const struct state *state = api_state(api);
    bool is_shown = job_is_active(job) && state->nodes.count > 1;

    return view_lease_nodes(state, is_shown ? job->run->lease : NULL);
}

json_t *view_job(const struct api *api, const struct job *job, bool is_whole)
{
    const struct state *state = api_state(api);
    const struct request *request = state_request(state, job);
    const struct group *group = state_group(state, job->group);
    AUTO_RELEASE(text) struct text label = { 0 }, gpus = { 0 };
    struct why why;
    uint32_t ahead = 0;

    say_job(api_state(api), job, &label);
    request_format_gpus(request, &gpus);
    json_t *view = json_pack(
        "{s:I, s:s, s:s, s:s, s:s, s:o, s:i, s:s, s:o, s:s, s:o, s:o, s:b, s:o, s:o, s:i, s:o}",
        "id", (json_int_t)job->id, "label", label.bytes, "name", job->name, "user",
        state_user(state, job->user), "queue", state->queues.items[job->queue].name, "pool",
        text_or_null(request->pool), "priority", (int)job->priority, "state",
        job_state_name(job->state), "result", text_or_null(job_result_name(job->result)), "gpus",
        text_string(&gpus), "gpu_count", view_milli(view_gpu_milli(state, job)), "gpu_indices",
        view_gpu_indices(state, job), "synthetic", view_is_synthetic(state, job), "cpus",
        view_milli(request->cpu_milli), "memory", number_or_null(request->memory_mib), "members",
        (int)request->members, "group", number_or_null((int64_t)job->group));
    json_object_set_new(view, "gpu_nodes", view_gpu_nodes(api, job));
    json_object_set_new(view, "array_index",
                        group && group->kind == GROUP_ARRAY ? json_integer(job->index)
                                                            : json_null());
    json_object_set_new(view, "attempt", json_integer(job->run->attempt));
    json_object_set_new(view, "preemptions", json_integer(job->run->preemptions));
    json_object_set_new(view, "preempted_for", view_preempted_for(api, job));
    json_object_set_new(view, "model_choice", view_model_choice(api, job));
    json_object_set_new(view, "elastic", view_elastic(api, job));
    json_object_set_new(view, "resized", view_resized(api, job));
    json_object_set_new(view, "moved", view_moved(api, job));
    json_object_set_new(view, "rescued", view_rescued(api, job));
    json_object_set_new(view, "restarted", text_or_null(job->run->restarted));
    json_object_set_new(view, "roles", view_roles(api, job));
    json_object_set_new(view, "heals", json_integer(job->run->heals));
    json_object_set_new(view, "lost_seconds", view_seconds(job->run->lost));
    json_object_set_new(view, "attained_seconds", view_seconds(job->run->attained));
    json_object_set_new(view, "submitted", view_time(api, job->submitted));
    json_object_set_new(view, "started", view_time(api, job->run->started));
    json_object_set_new(view, "ended", view_time(api, job->run->ended));
    json_object_set_new(view, "wait_seconds", view_seconds(view_waited(api, job)));
    json_object_set_new(view, "run_seconds", view_seconds(view_ran(api, job)));
    json_object_set_new(view, "exit_code", view_job_end(job, "exit_code"));
    json_object_set_new(view, "signal", view_job_end(job, "signal"));
    json_object_set_new(view, "reason", view_reason(api, job));
    json_object_set_new(view, "failed_rank", view_failed_rank(api, job));
    json_object_set_new(view, "warnings", view_warnings(api, job));
    sched_why(api_brain(api), api->inquiry, job, &why, is_whole ? &ahead : NULL);
    json_object_set_new(view, "why",
                        why.kind == WHY_NONE ? json_null() : view_why(api, job, &why, ahead));
    if (is_whole)
        add_details(api, job, view);
    return view;
}

/* Cancelled if that is all that went wrong; "": a job has not ended. */
static const char *group_result(const struct state *state, const struct group *group)
{
    uint32_t cancelled = 0;

    if (!group_is_over(group))
        return "";
    for (uint64_t id = group->id + 1; group->bad_count > 0 && id <= group->last; id++) {
        const struct job *job = state_job(state, id);
        cancelled += job && job->result == RESULT_CANCELLED;
    }
    return group->bad_count == 0 ? "ok" : group->bad_count > cancelled ? "failed" : "cancelled";
}

json_t *view_group(const struct api *api, const struct group *group)
{
    const struct state *state = api_state(api);
    const char *result = group_result(state, group);

    return json_pack("{s:I, s:s, s:s, s:s, s:o, s:o, s:i, s:i, s:i, s:i, s:o, s:o}", "id",
                     (json_int_t)group->id, "kind", group_kind_name(group->kind), "name",
                     group->name, "user", state_user(state, group->user), "submitted",
                     view_time(api, group->submitted), "ended", view_time(api, group->ended),
                     "job_count", (int)group->job_count, "ended_count", (int)group->ended_count,
                     "bad_count", (int)group->bad_count, "active_count", (int)group->active_count,
                     "result", text_or_null(result), "parent",
                     number_or_null((int64_t)group->parent));
}

/* GPUs that jobs may get or have: those of a drained node count while jobs hold them. */
json_t *view_gpus_given(const struct state *state)
{
    int64_t total = state->capacity.milli;

    for (size_t i = 0; i < state->devices.count; i++) {
        if (!device_is_usable(state, &state->devices.items[i]))
            total += GPU_MILLI - state->room.devices.items[i].milli;
    }
    return json_pack("{s:o, s:o}", "total", view_milli(total), "given",
                     view_milli(state->queues.items[QUEUE_ROOT].used.of[RESOURCE_GPUS]));
}

json_t *view_counts(const struct state *state)
{
    json_t *counts = json_object();

    for (size_t i = 0; i < JOB_STATE_COUNT; i++)
        json_object_set_new(counts, job_state_name((enum job_state)i),
                            json_integer(state->job_counts[i]));
    return counts;
}
