/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/jobs/ID/when and POST /v1/when: when a job will start, how sure that is, and what would
 * make it start sooner. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "api/inside.h"
#include "base/mem.h"
#include "sched/explain/advice.h"
#include "sched/explain/wanted_nodes.h"
#include "wire/job/submission.h"

static usec_t now_of(const struct api *api)
{
    return api->ports.now(api->ports.user);
}

/* "25s", "12 min", "1 h 10 min", "2 d 3 h": as exact as an estimate may look. */
static void say_wait(struct text *text, usec_t wait)
{
    int64_t seconds = (wait + USEC_PER_SEC / 2) / USEC_PER_SEC, minutes = (seconds + 30) / 60;

    if (seconds < 100)
        text_printf(text, "%" PRId64 " s", seconds);
    else if (minutes < 60)
        text_printf(text, "%" PRId64 " min", minutes);
    else if (minutes < 24 * 60)
        text_printf(text, "%" PRId64 " h %02" PRId64 " min", minutes / 60, minutes % 60);
    else
        text_printf(text, "%" PRId64 " d %" PRId64 " h", minutes / (24 * 60), minutes / 60 % 24);
}

static usec_t from_now(const struct api *api, usec_t at)
{
    return at == USEC_NEVER ? at : at > now_of(api) ? at - now_of(api) : 0;
}

static json_t *view_wait_seconds(usec_t wait)
{
    return wait == USEC_NEVER ? json_null() : json_real((double)(wait / 1000) / 1000);
}

json_t *view_start(const struct api *api, const struct start_estimate *start)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o}", "expected",
                     view_time(api, start->median), "low", view_time(api, start->low), "high",
                     view_time(api, start->high), "limits_only", view_time(api, start->limits_only),
                     "open", start->is_open, "in_seconds",
                     view_wait_seconds(from_now(api, start->median)), "low_seconds",
                     view_wait_seconds(from_now(api, start->low)), "high_seconds",
                     view_wait_seconds(from_now(api, start->high)));
}

/* The first that could go on for ever. */
static const struct job *endless(const struct state *state)
{
    for (const struct job *job = state->first_job; job; job = job->next) {
        if (job_is_active(job) && job->max_duration == USEC_NEVER)
            return job;
    }
    return NULL;
}

static void say_open(const struct api *api, struct text *text)
{
    const struct job *job = endless(api_state(api));
    AUTO_RELEASE(text) struct text label = { 0 };

    if (!job) {
        text_add(text, "open-ended: nobody can say when what it needs is free and well again");
        return;
    }
    view_id(api, job, &label);
    text_printf(text, "open-ended: job %s (%s) has no time limit", label.bytes,
                state_user(api_state(api), job->user));
}

void say_start(const struct api *api, const struct start_estimate *start, struct text *text)
{
    if (start->median == USEC_NEVER) {
        say_open(api, text);
        return;
    }
    text_add(text, "in about ");
    say_wait(text, from_now(api, start->median));
    if (start->high > start->low) {
        text_add(text, " (between ");
        if (start->low <= now_of(api))
            text_add(text, "now");
        else
            say_wait(text, from_now(api, start->low));
        text_add(text, " and ");
        say_wait(text, from_now(api, start->high));
        text_add(text, ", 8 of 10 times)");
    }
    if (start->is_open) {
        text_add(text, "; ");
        say_open(api, text);
    }
}

/* ---- what would make it start sooner ---- */

static void say_gpus_option(const struct advice *advice, struct text *text)
{
    AUTO_RELEASE(text) struct text gpus = { 0 };

    request_format_gpus(&advice->request, &gpus);
    text_printf(text, strchr(text_string(&gpus), '|') ? "--gpus '%s'" : "--gpus %s",
                text_string(&gpus));
}

static void say_change(const struct state *state, const struct advice *advice, struct text *text)
{
    char number[UNITS_TEXT_SIZE];

    switch (advice->kind) {
    case ADVICE_GPUS:
    case ADVICE_MODEL:
        say_gpus_option(advice, text);
        break;
    case ADVICE_LIMIT:
        text_printf(text, "--max-duration %" PRId64 "s", advice->max_duration / USEC_PER_SEC);
        break;
    case ADVICE_NODES:
        text_printf(text, "--nodes %" PRIu32, advice->request.nodes_min);
        if (advice->request.members != advice->request.nodes_min)
            text_printf(text, " --ranks %" PRIu32, advice->request.members);
        break;
    case ADVICE_CPUS:
        text_printf(text, "--cpus %s", units_format_milli(number, advice->request.cpu_milli));
        break;
    case ADVICE_MEMORY:
        text_printf(text, "--memory %" PRId64 "M", advice->request.memory_mib);
        break;
    case ADVICE_POOL:
        if (advice->request.pool[0])
            text_printf(text, "--pool %s", advice->request.pool);
        else
            text_add(text, "no --pool");
        break;
    case ADVICE_QUEUE:
        text_printf(text, "--queue %s", state->queues.items[advice->queue].name);
        break;
    }
}

static const char *advice_name(enum advice_kind kind)
{
    static const char *const names[] = { "gpus", "limit",  "model", "nodes",
                                         "cpus", "memory", "pool",  "queue" };

    return names[kind];
}

static void say_advice(const struct api *api, const struct advice *advice, struct text *text)
{
    text_add(text, "with ");
    say_change(api_state(api), advice, text);
    if (advice->is_now) {
        text_add(text, " it would start now");
        return;
    }
    text_add(text, " it would start in about ");
    say_wait(text, from_now(api, advice->start));
}

/* "with one more h100x8 (20.00 an hour)" */
static void add_wish(const struct api *api, const struct job *job, json_t *list)
{
    const struct state *state = api_state(api);
    struct scale_plan plan;

    if (state->node_types.count == 0)
        return;
    sched_scale(api->ports.brain(api->ports.user), api->inquiry, api->ports.now(api->ports.user),
                &plan);
    for (size_t i = 0; i < plan.unblocked.count; i++) {
        const struct scale_wish *wish = &plan.wishes.items[plan.unblocked_by.items[i]];
        const struct node_type *type = &state->node_types.items[wish->type];
        if (plan.unblocked.items[i] != job->id)
            continue;
        AUTO_RELEASE(text) struct text text = { 0 }, words = { 0 };
        if (wish->count == 1)
            text_add(&text, "one");
        else
            text_printf(&text, "%" PRIu32, wish->count);
        text_printf(&text, " more %s%s (%.2f an hour)", wish->is_spot ? "spot " : "", type->name,
                    (double)wish->price_micro / 1e6);
        text_printf(&words, "with %s it would start", text.bytes);
        json_array_append_new(list, json_pack("{s:s, s:s, s:b, s:o, s:s}", "kind", "node_type",
                                              "change", text_string(&text), "now", 0, "start",
                                              view_time(api, usec_after(state->now, type->boot)),
                                              "text", words.bytes));
    }
    scale_release(&plan);
}

json_t *view_sooner(const struct api *api, const struct job *job)
{
    struct advice advices[ADVICES_MAX];
    json_t *list = json_array();

    size_t count = sched_advise(api->ports.brain(api->ports.user), api->inquiry, job, advices);
    for (size_t i = 0; i < count; i++) {
        AUTO_RELEASE(text) struct text text = { 0 }, change = { 0 };
        say_advice(api, &advices[i], &text);
        say_change(api_state(api), &advices[i], &change);
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:b, s:o, s:s}", "kind", advice_name(advices[i].kind),
                            "change", text_string(&change), "now", advices[i].is_now, "start",
                            view_time(api, advices[i].start), "text", text_string(&text)));
    }
    add_wish(api, job, list);
    return list;
}

/* ---- the replies ---- */

static void say_state(const struct job *job, struct text *text)
{
    switch (job->state) {
    case JOB_HELD:
        text_add(text, "is held: it does not start before somebody releases it");
        break;
    case JOB_WAITING:
        text_add(text, "waits for other jobs: when they end well is not known");
        break;
    case JOB_QUEUED:
        text_add(text, "can never start as things are; tarn why says what keeps it");
        break;
    case JOB_ENDED:
        text_add(text, "has ended");
        break;
    default:
        text_add(text, "has started");
        break;
    }
}

void handle_when(struct call *call)
{
    const struct api *api = call->api;
    const struct job *job = find_job(call);
    AUTO_RELEASE(text) struct text label = { 0 }, text = { 0 };
    struct start_estimate start;

    if (!job)
        return;
    view_id(api, job, &label);
    bool waits = sched_estimate_start(api->ports.brain(api->ports.user), api->inquiry, job, &start);
    text_printf(&text, "job %s ", label.bytes);
    if (!waits)
        say_state(job, &text);
    else {
        text_add(&text, "starts ");
        say_start(api, &start, &text);
    }
    struct why why;
    sched_why(api->ports.brain(api->ports.user), api->inquiry, job, &why, NULL);
    reply_json(call->request, 200,
               json_pack("{s:I, s:s, s:s, s:b, s:o, s:s, s:o, s:o}", "id", (json_int_t)job->id,
                         "label", label.bytes, "state", job_state_name(job->state), "waits", waits,
                         "start", waits ? view_start(api, &start) : json_null(), "text", text.bytes,
                         "sooner", view_sooner(api, job), "why",
                         why.kind == WHY_NONE ? json_null() : view_why(api, job, &why, 0)));
}

/* The job that nobody submitted, out of a document with one. */
static int settle_like(struct call *call, struct submission *submission, struct job *ret_job,
                       struct error *err)
{
    const struct api *api = call->api;
    const struct state *state = api_state(api);
    AUTO_RELEASE(text) struct text text = { 0 };
    struct why why;

    if (submission->is_pipeline || submission->job_count != 1)
        return error_set(err, -EINVAL, "body: expected one job, no array, matrix or pipeline");
    const struct job_draft *draft = &submission->stages[0].jobs[0];
    const char *name = draft->queue ? draft->queue : "default";
    int64_t queue = state_find_queue(state, name);
    if (queue <= QUEUE_ROOT || state->queues.items[queue].child_count > 0)
        return error_set(err, -ENOENT, "queue %s: no such queue that takes jobs", name);
    sched_admit(state, &draft->request, (uint32_t)queue, draft->preemptible, &why);
    if (why_is_never(why.kind)) {
        never_say(state, &draft->request, &why, &text);
        return error_set(err, -EDOM, "%s", text_string(&text));
    }
    *ret_job = (struct job){
        .id = state->next_id,
        .name = draft->name,
        .run = &job_no_run,
        .submitted = state->now,
        .queued = state->now,
        .begin = draft->begin_delay > 0 ? now_of(api) + draft->begin_delay : 0,
        .max_duration = draft->request.max_duration,
        .estimate = draft->estimate,
        .priority = draft->priority,
        .queue = (uint32_t)queue,
        .user = UINT32_MAX,
        .state = JOB_QUEUED,
    };
    for (uint32_t i = 0; i < state->users.count; i++) {
        if (strcmp(state->users.items[i], call->user_name) == 0)
            ret_job->user = i;
    }
    if (ret_job->user == UINT32_MAX)
        ret_job->user = 0; /* somebody new: what holds for the first one is as good as any */
    return 0;
}

void handle_when_like(struct call *call)
{
    const struct api *api = call->api;
    AUTO(submission) struct submission *submission = NULL;
    AUTO_RELEASE(text) struct text text = { 0 };
    struct error err = { "" };
    struct start_estimate start;
    struct job like;
    char user[64];

    json_t *body = read_body(call->request);
    if (!body)
        return;
    call->user_name = user_name_of(call->request->uid, user, sizeof(user));
    int code = submission_parse(body, NULL, NULL, &submission, &err);
    if (code == 0)
        code = settle_like(call, submission, &like, &err);
    json_decref(body);
    if (code < 0) {
        reply_error(call->request, code, &err);
        return;
    }
    bool is_now = sched_estimate_like(api->ports.brain(api->ports.user), api->inquiry, &like,
                                      &submission->stages[0].jobs[0].request, &start);
    text_add(&text, "a job like this would start ");
    if (is_now)
        text_add(&text, "now");
    else
        say_start(api, &start, &text);
    reply_json(call->request, 200,
               json_pack("{s:b, s:b, s:o, s:s, s:[]}", "waits", !is_now, "now", is_now, "start",
                         view_start(api, &start), "text", text.bytes, "sooner"));
}
