/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/jobs/ID/when and POST /v1/when: when a job will start. */
#include <inttypes.h>
#include <string.h>

#include "api/deferred.h"
#include "api/estimates.h"
#include "api/routes.h"
#include "api/sooner.h"
#include "api/view/view.h"
#include "control/device_shares.h"
#include "control/lookup.h"
#include "control/queue_policy.h"
#include "control/slurm_terms.h"
#include "control/submit.h"
#include "sched/explain/model_offers.h"
#include "wire/job/submission.h"

static void say_state(const struct job *job, struct text *text)
{
    switch (job->state) {
    case JOB_HELD:
        text_add(text, "is held: it does not start before it is released");
        break;
    case JOB_WAITING:
    case JOB_QUEUED:
        text_add(text, "can never start under the present conditions; tarn why gives the reason");
        break;
    case JOB_ENDED:
        text_add(text, "has ended");
        break;
    default:
        text_add(text, "has started");
        break;
    }
}

/* A group starts when its first job does, and ends with its last. */
static json_t *when_of_group(const struct api *api, const struct group *group)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    struct end_estimate end;
    bool is_known = !group_is_over(group) && api_end(api, group->id, &end);

    text_printf(&text, "%s %" PRIu64 " ", group_kind_name(group->kind), group->id);
    if (group_is_over(group))
        text_add(&text, "has ended");
    else if (!is_known)
        text_add(&text, "waits: its end time is not known");
    else {
        text_add(&text, "ends ");
        say_end(api, &end, &text);
    }
    return json_pack("{s:I, s:o, s:s, s:b, s:n, s:o, s:s, s:[], s:n}", "id", (json_int_t)group->id,
                     "label", json_sprintf("%" PRIu64, group->id), "state",
                     group_is_over(group) ? "ended" : "running", "waits", false, "start", "end",
                     is_known ? view_end(api, &end) : json_null(), "text", text.bytes, "sooner",
                     "why");
}

json_t *handle_when(struct call *call)
{
    const struct api *api = call->api;
    const struct group *group = call_group(call);
    AUTO_RELEASE(text) struct text label = { 0 }, text = { 0 };
    struct start_estimate start;
    struct end_estimate end;

    if (group)
        return when_of_group(api, group);
    const struct job *job = call_job(call);
    if (!job)
        return NULL;
    say_job(api_state(api), job, &label);
    bool waits = api_start(api, job, &start);
    struct why why;
    sched_why(api_brain(api), api->inquiry, job, &why, NULL);
    bool is_beyond = waits && why_is_beyond_budget(&why);
    text_printf(&text, "job %s ", label.bytes);
    if (!waits)
        say_state(job, &text);
    else if (is_beyond) {
        text_add(&text, "waits: ");
        why_say(api, job, &why, 0, &text);
    } else {
        text_add(&text, start.median == USEC_NEVER ? "starts at an unknown time; " : "starts ");
        say_start(api, &start, &text);
    }
    bool has_end = !is_beyond && (waits || job_is_active(job)) && api_end(api, job->id, &end);
    if (has_end && end.median != USEC_NEVER) {
        text_add(&text, waits ? "; it ends " : " and ends ");
        say_end(api, &end, &text);
    }
    json_t *view =
        json_pack("{s:I, s:s, s:s, s:b, s:o, s:o, s:s, s:[], s:o}", "id", (json_int_t)job->id,
                  "label", label.bytes, "state", job_state_name(job->state), "waits", waits,
                  "start", waits && !is_beyond ? view_start(api, &start) : json_null(), "end",
                  has_end ? view_end(api, &end) : json_null(), "text", text.bytes, "sooner", "why",
                  why.kind == WHY_NONE ? json_null() : view_why(api, job, &why, 0));
    return is_beyond ? view : sooner_answer(call, job, view);
}

/* A job that is not submitted, from a document with one job. */
static int settle_like(struct call *call, struct submission *submission, struct job *ret_job,
                       struct error *err)
{
    const struct api *api = call->api;
    const struct state *state = api_state(api);

    if (submission->is_pipeline || submission->job_count != 1)
        return error_set(err, REFUSED_BAD, "body: expected one job, no array, matrix or pipeline");
    struct job_draft *draft = &submission->stages[0].jobs[0];
    uint32_t queue;
    int code = slurm_terms_settle(api_control(api), call->request->who, submission, draft, err);
    if (code == 0)
        code = admit_find_queue(state, draft->queue ? draft->queue : "default", &queue, err);
    if (code == 0)
        code = queue_policy_settle(state, call->request->who, queue, draft, err);
    if (code == 0)
        code = device_shares_settle(api_control(api), draft, err);
    if (code == 0)
        code = admit_check(state, &draft->request, queue, draft->preemptible, err);
    if (code < 0)
        return code;
    *ret_job = (struct job){
        .id = state->next_id,
        .name = draft->name,
        .run = &job_no_run,
        .submitted = state->now,
        .queued = state->now,
        .begin = draft->begin_delay > 0 ? api_now(api) + draft->begin_delay : 0,
        .max_duration = draft->request.max_duration,
        .estimate = draft->estimate,
        .deadline = draft->deadline_delay > 0 ? api_now(api) + draft->deadline_delay : 0,
        .checkpoint_every = draft->checkpoint_every,
        .checkpoint_is_auto = draft->checkpoint_auto,
        .priority = draft->priority,
        .queue = queue,
        .user = UINT32_MAX,
        .state = JOB_QUEUED,
    };
    for (uint32_t i = 0; i < state->users.count; i++) {
        if (strcmp(state->users.items[i], call->request->who->name) == 0)
            ret_job->user = i;
    }
    if (ret_job->user == UINT32_MAX)
        ret_job->user = 0; /* an unknown user has no history: use any */
    return 0;
}

/* ---- of one that is not submitted: in a copy, it is ---- */

struct like {
    struct asked asked;
    json_t *body;
    uint64_t id; /* of a job or a group, in the copy */
};

static int submit_like(struct api_study *study, const struct control *copy, struct error *err)
{
    struct like *like = CONTAINER_OF(study, struct like, asked.study);
    struct submit submit = { 0 };

    int code = submit_read(&submit, study->who, json_incref(like->body), err);
    if (code == 0 && !submit_is_one_job(&submit))
        code = error_set(err, REFUSED_BAD,
                         "body: expected one job, no list, array, pipeline or schedule");
    if (code == 0)
        code = submit_run(copy, &submit, err);
    if (code == 0)
        like->id = submit.ids[0];
    submit_release(&submit);
    return code;
}

static json_t *answer_like(struct api_study *study)
{
    const struct like *like = CONTAINER_OF(study, struct like, asked.study);
    const struct api *api = like->asked.api;
    const struct job *job = state_job(api_state(api), like->id);
    AUTO_RELEASE(text) struct text text = { 0 };
    struct start_estimate start;
    struct end_estimate end;
    struct why why = { .kind = WHY_NONE };

    bool waits = job && api_start(api, job, &start);
    bool is_now = waits && start.median <= api_now(api);
    text_add(&text, "a job like this would ");
    if (is_now)
        text_add(&text, "start now");
    else if (waits) {
        text_add(&text, start.median == USEC_NEVER ? "start at an unknown time; " : "start ");
        say_start(api, &start, &text);
    } else {
        text_add(&text, "not start under the present conditions: ");
        if (job)
            sched_why(api_brain(api), api->inquiry, job, &why, NULL);
        if (why.is_forever)
            why_say(api, job, &why, 0, &text);
        else
            text_add(&text, "it would be held, or its wait has no known end");
    }
    bool has_end = waits && api_end(api, like->id, &end) && end.median != USEC_NEVER;
    if (has_end) {
        text_add(&text, is_now ? " and end " : "; it would end ");
        say_end(api, &end, &text);
    }
    return json_pack("{s:b, s:b, s:o, s:o, s:s, s:[]}", "waits", !is_now, "now", is_now, "start",
                     waits ? view_start(api, &start) : json_null(), "end",
                     has_end ? view_end(api, &end) : json_null(), "text", text.bytes, "sooner");
}

static void release_like(struct asked *asked)
{
    json_decref(CONTAINER_OF(asked, struct like, asked)->body);
}

json_t *handle_when_like(struct call *call)
{
    struct like *like = asked_create(call, sizeof(*like), release_like);

    int code = read_body(call);
    if (code == 0) {
        like->body = json_incref(call->body);
        like->asked.study.change = submit_like;
        like->asked.study.answer = answer_like;
    }
    return asked_begin(call, &like->asked, code);
}

/* A preview of the choice of a model for one job; roles choose for themselves. */
json_t *handle_choose(struct call *call)
{
    static const char *const texts[MODEL_RULES] = {
        [MODEL_RULE_NONE] = "models are not compared by price; tarn takes the best placement",
        [MODEL_RULE_CHEAPEST] =
            "tarn takes the first model with room, in order of price per unit of speed",
        [MODEL_RULE_FASTEST] = "tarn takes the first model with room, fastest first",
        [MODEL_RULE_DEADLINE] =
            "the first model with room is chosen that is fast enough for the limit or deadline",
    };
    const struct api *api = call->api;
    AUTO(submission) struct submission *submission = NULL;
    struct model_offer offers[SPEED_MODELS];
    enum model_rule rule;
    struct job like;

    int code = read_body(call);
    if (code == 0)
        code = submission_parse(call->body, NULL, NULL, &submission, &call->err);
    if (code == 0)
        code = settle_like(call, submission, &like, &call->err);
    if (code < 0)
        return refuse(call, code);
    const struct request *request = &submission->stages[0].jobs[0].request;
    const struct gpu_ask *ask = &request->gpus[0];
    if (request->gpu_alternatives != 1 || request->roles_count > 0 || ask->kind == SHARE_MIG) {
        code = error_set(
            &call->err, REFUSED_BAD,
            "gpus: expected one request for GPUs, like --gpus 1; no alternatives, roles or "
            "mig");
        return refuse(call, code);
    }
    uint32_t count =
        sched_model_offers(api_brain(api), api->inquiry, &like, request, offers, &rule);
    json_t *models = json_array();
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(models, view_model_offer(&offers[i]));
    return json_pack("{s:o, s:s, s:s, s:s}", "models", models, "work",
                     work_name((uint8_t)model_work(&like, request)), "rule",
                     model_rule_name((uint8_t)rule), "text", texts[rule]);
}
