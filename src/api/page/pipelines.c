/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/pipelines, /v1/pipelines/ID: stages, their order, progress and the critical path. */
#include <inttypes.h>

#include "api/estimates.h"
#include "api/routes.h"
#include "api/view/view.h"
#include "base/mem.h"

enum { LIMIT_DEFAULT = 100 };

json_t *handle_pipelines(struct call *call)
{
    uint64_t left = query_number(call, "limit", LIMIT_DEFAULT);
    json_t *list = json_array();
    bool has_older = false;

    for (const struct group *group = api_state(call->api)->last_group; group && !has_older;
         group = group->previous) {
        if (group->kind != GROUP_PIPELINE)
            continue;
        has_older = left == 0;
        if (left-- > 0)
            json_array_append_new(list, view_group(call->api, group));
    }
    return json_pack("{s:o, s:b}", "pipelines", list, "older", has_older);
}

/* ---- one pipeline ---- */

struct stage {
    const struct group *group;
    uint32_t states[JOB_STATE_COUNT], results[RESULT_COUNT];
    usec_t started;      /* 0: none of its jobs has started */
    usec_t begins, ends; /* as it was, or as expected; ends may be USEC_NEVER */
    struct end_estimate end;
    bool has_end, is_critical;
};

struct pipeline {
    const struct api *api;
    LIST(struct stage) stages; /* a stage follows those that it needs */
};

static struct stage *find_stage(struct pipeline *pipeline, uint64_t id)
{
    LIST_EACH (struct stage, stage, &pipeline->stages) {
        if (stage->group->id == id)
            return stage;
    }
    return NULL;
}

static void count_jobs(const struct state *state, struct stage *stage)
{
    for (uint64_t id = stage->group->id + 1; id <= stage->group->last; id++) {
        const struct job *job = state_job(state, id);
        if (!job)
            continue;
        stage->states[job->state]++;
        if (job->state == JOB_ENDED)
            stage->results[job->result]++;
        if (job->run->started > 0 && (stage->started == 0 || job->run->started < stage->started))
            stage->started = job->run->started;
    }
}

/* Its begin is its first start, or the end of the last stage that it needs. */
static void find_times(struct pipeline *pipeline, struct stage *stage)
{
    usec_t now = api_now(pipeline->api);

    stage->has_end = !group_is_over(stage->group) &&
                     api_end(pipeline->api, stage->group->id, &stage->end) &&
                     stage->end.median != USEC_NEVER;
    stage->begins = stage->started > 0 ? stage->started : stage->group->submitted;
    for (uint32_t i = 0; i < stage->group->needs_count && stage->started == 0; i++) {
        const struct stage *before = find_stage(pipeline, stage->group->needs[i].on);
        if (before && before->ends != USEC_NEVER && before->ends > stage->begins)
            stage->begins = before->ends;
    }
    stage->ends = group_is_over(stage->group) ? stage->group->ended
                  : stage->has_end            ? stage->end.median
                                              : USEC_NEVER;
    if (stage->ends != USEC_NEVER && stage->ends < stage->begins)
        stage->ends = stage->begins;
    if (stage->ends == USEC_NEVER && stage->begins > now)
        stage->begins = now;
}

/* From the stage that ends last, back over those that ended last before it. */
static usec_t mark_critical(struct pipeline *pipeline, usec_t from)
{
    struct stage *last = NULL;
    usec_t now = api_now(pipeline->api), ends;

    LIST_EACH (struct stage, stage, &pipeline->stages)
        last = !last || stage->ends >= last->ends ? stage : last;
    ends = !last ? from : last->ends == USEC_NEVER ? now : last->ends;
    while (last) {
        struct stage *before = NULL;
        last->is_critical = true;
        for (uint32_t i = 0; i < last->group->needs_count; i++) {
            struct stage *one = find_stage(pipeline, last->group->needs[i].on);
            before = one && (!before || one->ends > before->ends) ? one : before;
        }
        last = before;
    }
    return ends > from ? ends - from : 0;
}

static json_t *view_needs(const struct group *group)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < group->needs_count; i++)
        json_array_append_new(list, json_pack("{s:I, s:s}", "stage", (json_int_t)group->needs[i].on,
                                              "when", need_kind_name(group->needs[i].kind)));
    return list;
}

static json_t *view_pipeline_stage(const struct api *api, const struct stage *stage)
{
    json_t *view = view_group(api, stage->group), *states = json_object(), *results = json_object();
    usec_t until = stage->ends == USEC_NEVER ? api_now(api) : stage->ends;

    for (size_t i = 0; i < JOB_STATE_COUNT; i++) {
        if (stage->states[i] > 0)
            json_object_set_new(states, job_state_name((enum job_state)i),
                                json_integer(stage->states[i]));
    }
    for (size_t i = RESULT_NONE + 1; i < RESULT_COUNT; i++) {
        if (stage->results[i] > 0)
            json_object_set_new(results, job_result_name((enum job_result)i),
                                json_integer(stage->results[i]));
    }
    json_object_set_new(view, "needs", view_needs(stage->group));
    json_object_set_new(view, "states", states);
    json_object_set_new(view, "results", results);
    json_object_set_new(view, "started", view_time(api, stage->started));
    json_object_set_new(view, "length_seconds",
                        view_seconds(until > stage->begins ? until - stage->begins : 0));
    json_object_set_new(view, "critical", json_boolean(stage->is_critical));
    json_object_set_new(view, "end", stage->has_end ? view_end(api, &stage->end) : json_null());
    return view;
}

json_t *handle_pipeline(struct call *call)
{
    const struct group *group = call_group(call);
    struct pipeline pipeline = { .api = call->api };
    json_t *stages = json_array();
    struct end_estimate end;

    if (!group || group->kind != GROUP_PIPELINE) {
        json_decref(stages);
        return refuse(call, error_set(&call->err, REFUSED_NOT_FOUND,
                                      "pipeline %" PRIu64 ": there is none", call->id));
    }
    for (const struct group *at = group->next; at && at->id <= group->last; at = at->next) {
        struct stage stage = { .group = at };
        if (at->parent != group->id)
            continue;
        count_jobs(api_state(call->api), &stage);
        find_times(&pipeline, &stage);
        list_add(&pipeline.stages, stage);
    }
    usec_t length = mark_critical(&pipeline, group->submitted);
    LIST_EACH (const struct stage, stage, &pipeline.stages)
        json_array_append_new(stages, view_pipeline_stage(call->api, stage));
    list_release(&pipeline.stages);
    json_t *view = view_group(call->api, group);
    bool has_end =
        !group_is_over(group) && api_end(call->api, group->id, &end) && end.median != USEC_NEVER;
    json_object_set_new(view, "stages", stages);
    json_object_set_new(view, "critical_seconds", view_seconds(length));
    json_object_set_new(view, "end", has_end ? view_end(call->api, &end) : json_null());
    return view;
}
