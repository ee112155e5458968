/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/jobs and /v1/jobs/ID */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "api/routes.h"
#include "api/view/view.h"
#include "wire/job/job_launch.h"

enum { LIMIT_DEFAULT = 1000, LIMIT_MAX = 10000 };

struct filter {
    const char *queue, *user, *name;
    const struct group *group;
    uint32_t states; /* bit i: state i */
    uint64_t after;
    uint64_t limit;
    bool is_newest; /* the last ones instead of the first */
};

static int read_states(const char *names, uint32_t *ret, struct error *err)
{
    uint32_t states = 0;

    while (*names) {
        size_t length = strcspn(names, ","), i = 0;
        while (i < JOB_STATE_COUNT &&
               (strlen(job_state_name((enum job_state)i)) != length ||
                strncmp(job_state_name((enum job_state)i), names, length) != 0))
            i++;
        if (i == JOB_STATE_COUNT)
            return error_set(
                err, -EINVAL,
                "state '%.*s': expected held, waiting, queued, granted, running, stopping or ended",
                (int)(length < 40 ? length : 40), names);
        states |= 1u << i;
        names += length + (names[length] == ',');
    }
    *ret = states;
    return 0;
}

static int read_filter(struct call *call, struct filter *filter, struct error *err)
{
    const char *states = http_query(call->request, "state");
    uint64_t group = 0;

    filter->queue = http_query(call->request, "queue");
    filter->user = http_query(call->request, "user");
    filter->name = http_query(call->request, "name");
    filter->is_newest = query_is_on(call->request, "newest");
    filter->limit = LIMIT_DEFAULT;
    filter->states = query_is_on(call->request, "all") ? UINT32_MAX : ~(1u << JOB_ENDED);
    int code = states ? read_states(states, &filter->states, err) : 0;
    if (code == 0)
        code = query_number(call->request, "after", 0, UINT64_MAX - 1, &filter->after, err);
    if (code == 0)
        code = query_number(call->request, "limit", 1, LIMIT_MAX, &filter->limit, err);
    if (code == 0)
        code = query_number(call->request, "group", 0, UINT64_MAX - 1, &group, err);
    if (code < 0)
        return code;
    filter->group = group ? state_group(api_state(call->api), group) : NULL;
    if (group && !filter->group)
        return error_set(err, -ENOENT, "group %" PRIu64 ": no such array, stage or pipeline",
                         group);
    return 0;
}

static bool passes(const struct state *state, const struct filter *filter, const struct job *job)
{
    if (!(filter->states >> job->state & 1))
        return false;
    if (filter->group && (job->id <= filter->group->id || job->id > filter->group->last))
        return false;
    if (filter->queue && strcmp(filter->queue, state->queues.items[job->queue].name) != 0)
        return false;
    if (filter->name && strcmp(filter->name, job->name) != 0)
        return false;
    return !filter->user || strcmp(filter->user, state_user(state, job->user)) == 0;
}

/* The first job after that number; without a walk if that job still exists. */
static const struct job *start_after(const struct state *state, uint64_t after)
{
    const struct job *known = after ? state_job(state, after) : NULL;

    if (known)
        return known->next;
    const struct job *job = state->first_job;
    while (job && job->id <= after)
        job = job->next;
    return job;
}

/* GPUs that jobs may get or have: those of a drained node count while jobs hold them. */
static json_t *view_gpus_given(const struct state *state)
{
    int64_t total = state->capacity.milli;

    for (size_t i = 0; i < state->devices.count; i++) {
        if (!device_is_usable(state, &state->devices.items[i]))
            total += GPU_MILLI - state->room.devices.items[i].milli;
    }
    return json_pack("{s:o, s:o}", "total", view_milli(total), "given",
                     view_milli(state->queues.items[QUEUE_ROOT].used.of[RESOURCE_GPUS]));
}

static json_t *view_counts(const struct state *state)
{
    json_t *counts = json_object();

    for (size_t i = 0; i < JOB_STATE_COUNT; i++)
        json_object_set_new(counts, job_state_name((enum job_state)i),
                            json_integer(state->job_counts[i]));
    return counts;
}

/* From the end. ret_older: whether older jobs were left out. */
static json_t *list_newest(struct call *call, const struct filter *filter, bool *ret_older)
{
    const struct state *state = api_state(call->api);
    json_t *backwards = json_array(), *jobs = json_array();

    *ret_older = false;
    for (const struct job *job = state->last_job; job && !*ret_older; job = job->previous) {
        if (!passes(state, filter, job))
            continue;
        *ret_older = json_array_size(backwards) == filter->limit;
        if (!*ret_older)
            json_array_append_new(backwards, view_job(call->api, job, false));
    }
    for (size_t i = json_array_size(backwards); i-- > 0;)
        json_array_append(jobs, json_array_get(backwards, i));
    json_decref(backwards);
    return jobs;
}

json_t *handle_list(struct call *call)
{
    const struct state *state = api_state(call->api);
    struct filter filter = { 0 };

    int code = read_filter(call, &filter, &call->err);
    if (code < 0)
        return refuse(call, code);
    bool has_older = false;
    json_t *jobs = filter.is_newest ? list_newest(call, &filter, &has_older) : json_array();
    json_t *next = NULL;
    const struct job *first = filter.is_newest ? NULL : start_after(state, filter.after);
    for (const struct job *job = first; job; job = job->next) {
        if (!passes(state, &filter, job))
            continue;
        if (json_array_size(jobs) == filter.limit) {
            const json_t *last = json_array_get(jobs, json_array_size(jobs) - 1);
            next = json_incref(json_object_get(last, "id"));
            break;
        }
        json_array_append_new(jobs, view_job(call->api, job, false));
    }
    return json_pack("{s:o, s:b, s:o, s:o, s:o}", "jobs", jobs, "older", has_older, "next",
                     next ? next : json_null(), "counts", view_counts(state), "gpus",
                     view_gpus_given(state));
}

static json_t *strings(char *const *list)
{
    json_t *array = json_array();

    for (size_t i = 0; list[i]; i++)
        json_array_append_new(array, json_string(list[i]));
    return array;
}

static json_t *path_of(const struct api *api, const struct job *job, bool is_error)
{
    const struct api_attempts *attempts = &api->ports.attempts;
    AUTO_RELEASE(text) struct text path = { 0 };

    if (attempts->output_path(attempts->user, job, 0, is_error, &path, NULL) < 0)
        return json_null();
    return json_string(path.bytes);
}

/* Commands and paths are shown to the owner and administrators only. */
static json_t *view_launch(struct call *call, const struct job *job)
{
    const struct control_blobs *blobs = &api_control(call->api)->blobs;
    AUTO_RELEASE(text) struct text bytes = { 0 }, environment = { 0 };
    AUTO(launch) struct launch *launch = NULL;

    if (!identity_may(call->request->who, job->uid))
        return json_null();
    if (blobs->get(blobs->user, job->launch, &bytes, NULL) < 0 ||
        launch_from_json(text_string(&bytes), bytes.length, &launch, NULL) < 0)
        return json_null();
    size_t count = 0;
    if (blobs->get(blobs->user, launch->environment, &environment, NULL) == 0) {
        for (size_t i = 0; i < environment.length; i++)
            count += environment.bytes[i] == '\0';
    }
    return json_pack("{s:o, s:s, s:o, s:o, s:I}", "command", strings(launch->argv), "cwd",
                     launch->cwd, "output", path_of(call->api, job, false), "error",
                     launch->error ? path_of(call->api, job, true) : json_null(), "env_count",
                     (json_int_t)count);
}

static json_t *show_job(struct call *call, const struct job *job)
{
    json_t *view = view_job(call->api, job, true);

    json_object_set_new(view, "launch", view_launch(call, job));
    return view;
}

static json_t *view_stage(const struct api *api, const struct group *stage)
{
    const struct state *state = api_state(api);
    json_t *view = view_group(api, stage), *jobs = json_array(), *needs = json_array();

    for (uint64_t id = stage->id; id <= stage->last && json_array_size(jobs) < LIMIT_MAX; id++) {
        const struct job *job = state_job(state, id);
        if (job)
            json_array_append_new(jobs, view_job(api, job, false));
    }
    const struct need *need;
    for (uint32_t at = need_first_of(&state->needs, stage->id + 1); at != 0;
         at = need->next_of_job) {
        need = &state->needs.needs.items[at - 1];
        const struct group *on = state_group(state, need->on);
        if (on)
            json_array_insert_new(needs, 0, json_string(on->name));
    }
    json_object_set_new(view, "needs", needs);
    json_object_set_new(view, "jobs", jobs);
    return view;
}

static json_t *show_group(struct call *call, const struct group *group)
{
    const struct state *state = api_state(call->api);
    json_t *stages = json_array();

    if (group->kind != GROUP_PIPELINE)
        json_array_append_new(stages, view_stage(call->api, group));
    for (const struct group *part = group->next; part && part->id <= group->last;
         part = part->next) {
        if (part->parent == group->id && part->kind == GROUP_STAGE)
            json_array_append_new(stages, view_stage(call->api, part));
    }
    json_t *view = view_group(call->api, group);
    json_object_set_new(view, "stages", stages);
    json_object_set_new(view, "gpus", view_gpus_given(state));
    return view;
}

json_t *handle_show(struct call *call)
{
    const struct group *group = call_group(call);

    if (group)
        return show_group(call, group);
    const struct job *job = call_job(call);
    return job ? show_job(call, job) : NULL;
}
