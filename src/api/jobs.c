/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/jobs/ID */

#include "api/routes.h"
#include "api/view/view.h"
#include "control/queue_policy.h"
#include "wire/job/job_launch.h"

enum { STAGE_JOBS_MAX = 10000 };

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

    if (!identity_may(call->request->who, job->uid) ||
        !queue_policy_reaches(api_state(call->api), call->request->who, job->queue))
        return json_null();
    if (blobs->get(blobs->user, job->launch, &bytes, NULL) < 0 ||
        launch_from_json(text_string(&bytes), bytes.length, &launch, NULL) < 0)
        return json_null();
    size_t count = 0;
    if (blobs->get(blobs->user, launch->environment, &environment, NULL) == 0) {
        for (size_t i = 0; i < environment.length; i++)
            count += environment.bytes[i] == '\0';
    }
    static const char *const attached[] = { [ENGINE_ATTACH_NONE] = "none",
                                            [ENGINE_ATTACH_STDIN] = "stdin",
                                            [ENGINE_ATTACH_TERMINAL] = "terminal" };
    json_t *command = strings(launch->argv);
    if (launch->script && launch->script_path)
        json_array_set_new(command, launch->script_at, json_string(launch->script_path));
    return json_pack(
        "{s:o, s:s?, s:s, s:o, s:o, s:I, s:s, s:I}", "command", command, "script_path",
        launch->script_path, "cwd", launch->cwd, "output", path_of(call->api, job, false), "error",
        launch->error ? path_of(call->api, job, true) : json_null(), "env_count", (json_int_t)count,
        "attach", launch->attach < COUNT_OF(attached) ? attached[launch->attach] : "none", "tasks",
        (json_int_t)launch->tasks);
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

    for (uint64_t id = stage->id; id <= stage->last && json_array_size(jobs) < STAGE_JOBS_MAX;
         id++) {
        const struct job *job = state_job(state, id);
        if (job)
            json_array_append_new(jobs, view_job(api, job, false));
    }
    for (uint32_t i = 0; i < stage->needs_count; i++) {
        const struct group *on = state_group(state, stage->needs[i].on);
        if (on)
            json_array_append_new(needs, json_string(on->name));
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
