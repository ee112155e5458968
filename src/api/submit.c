/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/jobs: documents become groups and jobs with numbers, all of them or none. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/submit.h"
#include "api/times.h"
#include "api/when.h"
#include "base/mem.h"
#include "wire/job/job_launch.h"
#include "wire/job/submission.h"
#include "wire/json.h"

enum {
    DOCUMENTS_MAX = 10000, /* of a request */
    JOBS_MAX = 100000,     /* of a request */
    UNFINISHED_MAX = 2000000,
    UNFINISHED_USER_MAX = 200000,
    NEEDS_MAX = 200000, /* of a request: each job's dependencies, counted for each job */
    LISTED_MAX = 100,   /* numbers of jobs in a reply, for each document */
};

struct submit {
    struct api_change change;
    struct api *api;
    struct http_request *request;
    json_t *body;
    struct submission **submissions;
    uint64_t *ids; /* what each became */
    size_t count;
    uid_t uid;
    gid_t gid;
    char user[64], home[512];
    bool is_dry_run;
};

static struct api_ports *ports_of(struct submit *submit)
{
    return &submit->api->ports;
}

static const char *queue_of(const struct job_draft *draft)
{
    return draft->queue ? draft->queue : "default";
}

static int check_queue(const struct state *state, const struct job_draft *draft,
                       uint32_t *ret_queue, struct error *err)
{
    const char *name = queue_of(draft);
    int64_t queue = state_find_queue(state, name);

    if (queue == QUEUE_ROOT)
        queue = -1;
    if (queue < 0) {
        const char **names = mem_zero(state->queues.count + 1, sizeof(char *));
        size_t count = 0;
        for (size_t i = QUEUE_DEFAULT; i < state->queues.count; i++) {
            if (!state->queues.items[i].is_removed)
                names[count++] = state->queues.items[i].name;
        }
        const char *nearest = string_nearest(name, names);
        int code = error_set(err, -ENOENT, "queue %s: no such queue%s%s%s", name,
                             nearest ? "; did you mean '" : "", nearest ? nearest : "",
                             nearest ? "'?" : "");
        free(names);
        return code;
    }
    if (state->queues.items[queue].child_count > 0)
        return error_set(err, -EINVAL, "queue %s: has queues below it; name one of them", name);
    *ret_queue = (uint32_t)queue;
    return 0;
}

/* Slurm's partition is a pool or a queue: whatever there is one of by that name. */
static void settle_partition(const struct state *state, struct job_draft *draft)
{
    char *pool = draft->request.pool;

    if (pool[0] && !draft->queue && state_find_pool(state, pool) < 0 &&
        state_find_queue(state, pool) > 0) {
        draft->queue = mem_string(pool);
        memset(pool, 0, sizeof(draft->request.pool));
    }
}

static int check_draft(struct submit *submit, struct job_draft *draft, struct error *err)
{
    const struct state *state = api_state(submit->api);
    AUTO_RELEASE(text) struct text text = { 0 };
    struct why why;
    uint32_t queue = QUEUE_DEFAULT;

    settle_partition(state, draft);
    int code = check_queue(state, draft, &queue, err);
    if (code < 0)
        return code;
    if (draft->priority > 0 && !is_admin(submit->api, submit->uid))
        return error_set(err, -EACCES, "priority %d: only administrators give one above 0",
                         (int)draft->priority);
    for (size_t i = 0; i < draft->depend_count; i++) {
        if (!state_job(state, draft->depends[i].on) && !state_group(state, draft->depends[i].on))
            return error_set(err, -ENOENT, "depends: job %" PRIu64 ": no such job",
                             draft->depends[i].on);
        if (state_need_answer(state, draft->depends[i].on, draft->depends[i].when) == NEED_BROKEN)
            return error_set(err, -EDOM,
                             "depends: %" PRIu64
                             " has ended, and will not be '%s' any more: this could never run",
                             draft->depends[i].on, need_kind_name(draft->depends[i].when));
    }
    sched_admit(state, &draft->request, queue, draft->preemptible, &why);
    if (!why_is_never(why.kind))
        return 0;
    never_say(state, &draft->request, &why, &text);
    return error_set(err, -EDOM, "%s", text_string(&text));
}

static int settle_begin(struct submit *submit, struct job_draft *draft, struct error *err)
{
    usec_t wall = ports_of(submit)->now(ports_of(submit)->user) +
                  ports_of(submit)->wall_ahead(ports_of(submit)->user);
    usec_t at;

    if (!draft->begin_at)
        return 0;
    int code = when_parse("begin", draft->begin_at, wall, &at, err);
    if (code == 0)
        draft->begin_delay = at > wall ? at - wall : 0;
    return code;
}

/* After its begin: a deadline that can't be met is refused, not missed. */
static int settle_deadline(struct submit *submit, struct job_draft *draft, struct error *err)
{
    usec_t wall = ports_of(submit)->now(ports_of(submit)->user) +
                  ports_of(submit)->wall_ahead(ports_of(submit)->user);
    char spelt[2][UNITS_TEXT_SIZE];
    usec_t at;

    if (draft->deadline_at) {
        int code = when_parse("deadline", draft->deadline_at, wall, &at, err);
        if (code < 0)
            return code;
        if (at <= wall)
            return error_set(err, -EINVAL, "deadline '%.40s': it has passed", draft->deadline_at);
        draft->deadline_delay = at - wall;
    }
    if (draft->deadline_delay == 0)
        return 0;
    if (draft->deadline_delay <= draft->begin_delay)
        return error_set(err, -EINVAL, "deadline in %s: before its begin time, in %s",
                         units_format_duration(spelt[0], draft->deadline_delay),
                         units_format_duration(spelt[1], draft->begin_delay));
    if (draft->estimate > draft->deadline_delay - draft->begin_delay)
        return error_set(err, -EINVAL, "deadline in %s: too early for an estimate of %s",
                         units_format_duration(spelt[0], draft->deadline_delay),
                         units_format_duration(spelt[1], draft->estimate));
    return 0;
}

static int check_submission(struct submit *submit, struct submission *submission, struct error *err)
{
    int code = 0;

    for (size_t i = 0; i < submission->stage_count; i++) {
        struct stage_draft *stage = &submission->stages[i];
        for (size_t k = 0; k < stage->job_count; k++) {
            code = check_draft(submit, &stage->jobs[k], err);
            if (code == 0)
                code = settle_begin(submit, &stage->jobs[k], err);
            if (code == 0)
                code = settle_deadline(submit, &stage->jobs[k], err);
            if (code < 0)
                return submission->is_pipeline ? error_prefix(err, code, "stage %s", stage->name)
                                               : code;
        }
    }
    return 0;
}

static uint64_t ids_of_job(const struct job_draft *draft)
{
    return draft->array_count > 0 ? 1 + (uint64_t)draft->array_count : 1;
}

static uint64_t ids_of_stage(const struct stage_draft *stage)
{
    uint64_t count = 1;

    for (size_t i = 0; i < stage->job_count; i++)
        count += ids_of_job(&stage->jobs[i]);
    return count;
}

static uint32_t jobs_of_stage(const struct stage_draft *stage)
{
    uint32_t count = 0;

    for (size_t i = 0; i < stage->job_count; i++)
        count += stage->jobs[i].array_count > 0 ? stage->jobs[i].array_count : 1;
    return count;
}

/* What is being emitted, and where it has come to. */
struct emitting {
    struct submit *submit;
    const struct submission *submission;
    uint64_t next_id;
    uint64_t *stage_ids;
};

static uint64_t emit_group(struct emitting *emitting, enum group_kind kind, const char *name,
                           uint64_t parent, uint64_t ids, uint32_t jobs, uint32_t max_running)
{
    struct submit *submit = emitting->submit;
    struct event event = {
        .kind = EVENT_GROUP,
        .group = { .id = emitting->next_id,
                   .last = emitting->next_id + ids - 1,
                   .kind = (uint8_t)kind,
                   .name = name,
                   .user = submit->user,
                   .parent = parent,
                   .max_running = max_running,
                   .job_count = jobs },
    };

    ports_of(submit)->emit(ports_of(submit)->user, &event);
    return emitting->next_id++;
}

static void emit_need(struct emitting *emitting, uint64_t job, uint64_t on, enum need_kind kind)
{
    struct submit *submit = emitting->submit;
    struct event event = {
        .kind = EVENT_NEED,
        .need = { .job = job, .on = on, .kind = (uint8_t)kind },
    };

    ports_of(submit)->emit(ports_of(submit)->user, &event);
}

static void emit_one(struct emitting *emitting, const struct stage_draft *stage,
                     const struct job_draft *draft, struct event_submit submitted)
{
    struct submit *submit = emitting->submit;
    struct event event = { .kind = EVENT_SUBMIT, .submit = submitted };

    event.submit.id = emitting->next_id++;
    ports_of(submit)->emit(ports_of(submit)->user, &event);
    for (size_t i = 0; i < stage->need_count; i++)
        emit_need(emitting, event.submit.id, emitting->stage_ids[stage->needs[i]],
                  stage->always ? NEED_ENDED : NEED_OK);
    for (size_t i = 0; i < draft->depend_count; i++)
        emit_need(emitting, event.submit.id, draft->depends[i].on, draft->depends[i].when);
}

static uint64_t add_launch(struct emitting *emitting, const struct stage_draft *stage,
                           const struct job_draft *draft)
{
    struct submit *submit = emitting->submit;
    AUTO_RELEASE(text) struct text environment = { 0 };
    size_t input_count = 0;

    while (draft->inputs && draft->inputs[input_count])
        input_count++;
    uint64_t *groups = mem_zero(input_count, sizeof(*groups));
    for (size_t i = 0; i < input_count; i++)
        groups[i] = emitting->stage_ids[stage->input_stages[i]];
    environment_pack(draft->env, &environment);
    uint64_t blob = ports_of(submit)->blob_add(ports_of(submit)->user, text_string(&environment),
                                               environment.length);
    json_t *launch = launch_to_json(draft, groups, blob, submit->home);
    char *bytes = json_dumps(launch, JSON_COMPACT);
    blob = ports_of(submit)->blob_add(ports_of(submit)->user, bytes ? bytes : "{}",
                                      bytes ? strlen(bytes) : 2);
    free(bytes);
    json_decref(launch);
    free(groups);
    return blob;
}

static uint64_t emit_draft(struct emitting *emitting, const struct stage_draft *stage,
                           const struct job_draft *draft, uint64_t parent)
{
    struct submit *submit = emitting->submit;
    AUTO_FREE char *name = draft->combination ? mem_printf("%s %s", draft->name, draft->combination)
                                              : mem_string(draft->name);
    usec_t now = ports_of(submit)->now(ports_of(submit)->user);
    struct event_submit submitted = {
        .name = name,
        .user = submit->user,
        .uid = submit->uid,
        .gid = submit->gid,
        .queue = queue_of(draft),
        .request = draft->request,
        .priority = draft->priority,
        .begin = draft->begin_delay > 0 ? now + draft->begin_delay : 0,
        .held = draft->hold,
        .retry = draft->retry,
        .no_requeue = !draft->requeue,
        .group = parent,
        .launch = add_launch(emitting, stage, draft),
        .grace = draft->grace >= 0 ? draft->grace : ports_of(submit)->grace,
        .need_count = (uint32_t)(stage->need_count + draft->depend_count),
        .estimate = draft->estimate,
        .deadline = draft->deadline_delay > 0 ? now + draft->deadline_delay : 0,
        .tariff_most = draft->tariff_most,
        .preemptible = draft->preemptible,
        .restart_cost = draft->restart_cost,
        .heals = draft->heals,
        .goes_on = draft->goes_on,
        .resize = (uint8_t)draft->resize,
        .checkpoint_every = draft->checkpoint_every,
        .checkpoint_auto = draft->checkpoint_auto,
        .checkpoint_takes = draft->checkpoint_takes,
    };
    uint64_t first = emitting->next_id;

    if (draft->array_count > 0)
        submitted.group = emit_group(emitting, GROUP_ARRAY, name, parent, ids_of_job(draft),
                                     draft->array_count, draft->array_max_running);
    for (uint32_t i = 0; i < draft->array_count; i++) {
        submitted.index = draft->array_indices[i];
        emit_one(emitting, stage, draft, submitted);
    }
    if (draft->array_count == 0)
        emit_one(emitting, stage, draft, submitted);
    return first;
}

static void emit_stage(struct emitting *emitting, size_t number, uint64_t parent)
{
    const struct stage_draft *stage = &emitting->submission->stages[number];

    emitting->stage_ids[number] = emit_group(emitting, GROUP_STAGE, stage->name, parent,
                                             ids_of_stage(stage), jobs_of_stage(stage), 0);
    for (size_t i = 0; i < stage->job_count; i++)
        emit_draft(emitting, stage, &stage->jobs[i], emitting->stage_ids[number]);
}

static uint64_t emit_submission(struct submit *submit, const struct submission *submission)
{
    struct emitting emitting = {
        .submit = submit,
        .submission = submission,
        .next_id = api_state(submit->api)->next_id,
        .stage_ids = mem_zero(submission->stage_count, sizeof(uint64_t)),
    };
    uint64_t first = emitting.next_id, ids = 1;

    if (!submission->is_pipeline && submission->stages[0].job_count == 1)
        emit_draft(&emitting, &submission->stages[0], &submission->stages[0].jobs[0], 0);
    else if (!submission->is_pipeline)
        emit_stage(&emitting, 0, 0);
    else {
        for (size_t i = 0; i < submission->stage_count; i++)
            ids += ids_of_stage(&submission->stages[i]);
        uint64_t pipeline = emit_group(&emitting, GROUP_PIPELINE, submission->name, 0, ids,
                                       (uint32_t)submission->job_count, 0);
        for (size_t i = 0; i < submission->stage_count; i++)
            emit_stage(&emitting, i, pipeline);
    }
    free(emitting.stage_ids);
    return first;
}

static size_t needs_of(const struct submission *submission)
{
    size_t needs = 0;

    for (size_t i = 0; i < submission->stage_count; i++) {
        const struct stage_draft *stage = &submission->stages[i];
        for (size_t k = 0; k < stage->job_count; k++) {
            size_t tasks = stage->jobs[k].array_count > 0 ? stage->jobs[k].array_count : 1;
            needs += tasks * (stage->need_count + stage->jobs[k].depend_count);
        }
    }
    return needs;
}

static size_t unfinished_of(const struct state *state, const char *user)
{
    size_t count = 0;

    for (const struct job *job = state->first_job; job; job = job->next)
        count += job->state != JOB_ENDED && strcmp(state_user(state, job->user), user) == 0;
    return count;
}

static int check_count(const struct submit *submit, struct error *err)
{
    const struct state *state = api_state(submit->api);
    size_t jobs = 0, needs = 0;

    for (size_t i = 0; i < submit->count; i++) {
        jobs += submit->submissions[i]->job_count;
        needs += needs_of(submit->submissions[i]);
    }
    if (needs > NEEDS_MAX)
        return error_set(err, -EDQUOT, "%zu dependencies of single jobs, not up to %d", needs,
                         NEEDS_MAX);
    if (!is_admin(submit->api, submit->uid) &&
        unfinished_of(state, submit->user) + jobs > UNFINISHED_USER_MAX)
        return error_set(err, -EDQUOT, "more than %d jobs of yours would be waiting or running",
                         UNFINISHED_USER_MAX);
    for (size_t i = 0; i < JOB_ENDED; i++)
        jobs += state->job_counts[i];
    if (jobs > UNFINISHED_MAX)
        return error_set(err, -EDQUOT, "more than %d jobs would be waiting or running",
                         UNFINISHED_MAX);
    return 0;
}

static json_t *document_of(const struct submit *submit, size_t number)
{
    return json_is_array(submit->body) ? json_array_get(submit->body, number) : submit->body;
}

static int check_schedules(const struct submit *submit, struct error *err)
{
    size_t count = api_state(submit->api)->agenda.crons.count;

    for (size_t i = 0; i < submit->count; i++)
        count += submit->submissions[i]->schedule != NULL;
    return count <= AGENDA_CRONS_MAX
               ? 0
               : error_set(err, -EDQUOT, "more than %d repeating jobs", AGENDA_CRONS_MAX);
}

/* It is kept as it was sent, with the sender's environment, and submitted at each time. */
static uint64_t emit_schedule(struct submit *submit, size_t number)
{
    struct api_ports *ports = ports_of(submit);
    const struct submission *submission = submit->submissions[number];
    json_t *document = json_copy(document_of(submit, number));

    json_object_del(document, "schedule");
    char *bytes = json_dumps(document, JSON_COMPACT);
    json_decref(document);
    usec_t wall = ports->now(ports->user) + ports->wall_ahead(ports->user);
    struct event event = {
        .kind = EVENT_CRON,
        .cron = { .id = api_state(submit->api)->agenda.next_cron,
                  .name = submission->name,
                  .user = submit->user,
                  .uid = submit->uid,
                  .gid = submit->gid,
                  .schedule = submission->schedule,
                  .document =
                      ports->blob_add(ports->user, bytes ? bytes : "{}", bytes ? strlen(bytes) : 2),
                  .next = cron_next_after(submit->api, submission->schedule, wall) },
    };
    free(bytes);
    ports->emit(ports->user, &event);
    return event.cron.id;
}

static int run_submit(struct api_change *change, struct error *err)
{
    struct submit *submit = CONTAINER_OF(change, struct submit, change);

    if (check_count(submit, err) < 0)
        return -EDQUOT;

    for (size_t i = 0; i < submit->count; i++) {
        int code = check_submission(submit, submit->submissions[i], err);
        if (code < 0)
            return submit->count > 1 ? error_prefix(err, code, "document %zu", i + 1) : code;
    }
    if (!submit->is_dry_run && check_schedules(submit, err) < 0)
        return -EDQUOT;
    for (size_t i = 0; !submit->is_dry_run && i < submit->count; i++)
        submit->ids[i] = submit->submissions[i]->schedule
                             ? emit_schedule(submit, i)
                             : emit_submission(submit, submit->submissions[i]);
    return 0;
}

static json_t *view_submitted(const struct submit *submit, size_t number)
{
    static const char *const times[] = { "expected_start", "low", "high" };
    const struct state *state = api_state(submit->api);
    const struct submission *submission = submit->submissions[number];
    const struct group *group = state_group(state, submit->ids[number]);
    const struct job *job = state_job(state, submit->ids[number]);
    json_t *jobs = json_array(), *waits = json_null(), *why_view = NULL;

    for (uint64_t id = submit->ids[number]; id <= (group ? group->last : id); id++) {
        const struct job *part = state_job(state, id);
        if (part && json_array_size(jobs) < LISTED_MAX)
            json_array_append_new(jobs, json_integer((json_int_t)id));
        if (!group || json_array_size(jobs) == LISTED_MAX)
            break;
    }
    if (job && job->state != JOB_ENDED && !job_is_active(job)) {
        AUTO_RELEASE(text) struct text text = { 0 };
        struct why why;
        uint32_t ahead;
        sched_why(submit->api->ports.brain(submit->api->ports.user), submit->api->inquiry, job,
                  &why, &ahead);
        why_say(submit->api, job, &why, ahead, &text);
        json_decref(waits);
        waits = json_string(text_string(&text));
        why_view = view_why(submit->api, job, &why, ahead);
    }
    json_t *view =
        json_pack("{s:I, s:s, s:s, s:o, s:I, s:o}", "id", (json_int_t)submit->ids[number], "kind",
                  group ? group_kind_name(group->kind) : "job", "name",
                  submission->name ? submission->name : "", "jobs", jobs, "job_count",
                  (json_int_t)submission->job_count, "waits", waits);
    for (size_t i = 0; why_view && i < COUNT_OF(times); i++)
        json_object_set(view, times[i], json_object_get(why_view, times[i]));
    json_decref(why_view);
    return view;
}

static json_t *view_scheduled(const struct submit *submit, size_t number)
{
    const struct submission *submission = submit->submissions[number];
    const struct cron_entry *entry =
        agenda_find_cron(&api_state(submit->api)->agenda, submit->ids[number]);

    return json_pack("{s:I, s:s, s:s, s:[], s:I, s:n, s:s, s:o}", "id",
                     (json_int_t)submit->ids[number], "kind", "cron", "name",
                     submission->name ? submission->name : "", "jobs", "job_count",
                     (json_int_t)submission->job_count, "waits", "schedule", submission->schedule,
                     "next", entry ? view_edge(submit->api, entry->next) : json_null());
}

static json_t *view_checked(const struct submission *submission)
{
    return json_pack("{s:n, s:s, s:s, s:[], s:I, s:n}", "id", "kind",
                     submission->is_pipeline     ? "pipeline"
                     : submission->job_count > 1 ? "array"
                                                 : "job",
                     "name", submission->name ? submission->name : "", "jobs", "job_count",
                     (json_int_t)submission->job_count, "waits");
}

static void destroy_submit(struct submit *submit)
{
    for (size_t i = 0; i < submit->count; i++)
        submission_destroy(submit->submissions[i]);
    free(submit->submissions);
    free(submit->ids);
    json_decref(submit->body);
    free(submit);
}

static void done_submit(struct api_change *change, int code, const struct error *err)
{
    struct submit *submit = CONTAINER_OF(change, struct submit, change);

    if (code < 0) {
        reply_error(submit->request, code, err);
        destroy_submit(submit);
        return;
    }
    json_t *submitted = json_array(), *notes = json_array();
    for (size_t i = 0; i < submit->count; i++) {
        json_array_append_new(submitted, submit->is_dry_run ? view_checked(submit->submissions[i])
                                         : submit->submissions[i]->schedule
                                             ? view_scheduled(submit, i)
                                             : view_submitted(submit, i));
        for (char **note = submit->submissions[i]->notes; note && *note; note++)
            json_array_append_new(notes, json_string(*note));
    }
    reply_json(submit->request, submit->is_dry_run ? 200 : 201,
               json_pack("{s:o, s:o}", "submitted", submitted, "notes", notes));
    submit->api->ports.tend_soon(submit->api->ports.user);
    destroy_submit(submit);
}

static int parse_all(struct submit *submit, struct error *err)
{
    size_t count = json_is_array(submit->body) ? json_array_size(submit->body) : 1;
    size_t jobs = 0;

    if (count == 0 || count > DOCUMENTS_MAX)
        return error_set(err, -EINVAL, "body: %zu documents, not 1 to %d", count, DOCUMENTS_MAX);
    submit->submissions = mem_zero(count, sizeof(submit->submissions[0]));
    submit->ids = mem_zero(count, sizeof(submit->ids[0]));
    for (size_t i = 0; i < count; i++) {
        const json_t *document =
            json_is_array(submit->body) ? json_array_get(submit->body, i) : submit->body;
        int code = submission_parse(document, NULL, NULL, &submit->submissions[i], err);
        if (code < 0)
            return count > 1 ? error_prefix(err, code, "document %zu", i + 1) : code;
        submit->count++;
        jobs += submit->submissions[i]->job_count;
        if (jobs > JOBS_MAX)
            return error_set(err, -EINVAL, "body: more than %d jobs", JOBS_MAX);
    }
    return 0;
}

static struct submit *create_submit(struct api *api, const struct submitter *who, json_t *body)
{
    struct submit *submit = mem_zero(1, sizeof(*submit));

    *submit = (struct submit){
        .change = { .run = run_submit, .done = done_submit },
        .api = api,
        .body = body,
        .uid = who->uid,
        .gid = who->gid,
    };
    user_name_of(submit->uid, submit->user, sizeof(submit->user));
    home_of(submit->uid, submit->home, sizeof(submit->home));
    return submit;
}

int submit_all(struct api *api, const struct submitter *who, const json_t *documents,
               struct error *err)
{
    struct submit *submit = create_submit(api, who, json_deep_copy(documents));

    int code = parse_all(submit, err);
    if (code == 0)
        code = run_submit(&submit->change, err);
    destroy_submit(submit);
    return code;
}

void handle_submit(struct call *call)
{
    const struct submitter who = { .uid = call->request->uid, .gid = call->request->gid };
    struct error err = { "" };
    json_t *body = read_body(call->request);

    if (!body)
        return;
    struct submit *submit = create_submit(call->api, &who, body);
    submit->request = call->request;
    const char *dry_run = http_query(call->request, "dry_run");
    submit->is_dry_run = dry_run && strcmp(dry_run, "0") != 0;
    int code = parse_all(submit, &err);
    if (code < 0) {
        reply_error(call->request, code, &err);
        destroy_submit(submit);
        return;
    }
    call->api->ports.enqueue(call->api->ports.user, &submit->change);
}

/* ---- what is submitted again and again ---- */

struct firing {
    struct api_change change;
    struct api *api;
    uint64_t id;
};

/* As its sender would, now. */
static int submit_again(struct submit *submit, const struct cron_entry *entry, struct error *err)
{
    AUTO_RELEASE(text) struct text bytes = { 0 };
    struct api_ports *ports = ports_of(submit);

    snprintf(submit->user, sizeof(submit->user), "%s", entry->user);
    home_of(submit->uid, submit->home, sizeof(submit->home));
    int code = ports->blob_get(ports->user, entry->document, &bytes, err);
    if (code == 0)
        code = json_parse(text_string(&bytes), bytes.length, HTTP_BODY_MAX, "document",
                          &submit->body, err);
    if (code == 0)
        code = parse_all(submit, err);
    return code < 0 ? code : run_submit(&submit->change, err);
}

/* The submission and the next time are one batch: however it ends, it was not submitted twice. */
static int run_fire(struct api_change *change, struct error *err)
{
    struct firing *firing = CONTAINER_OF(change, struct firing, change);
    struct api *api = firing->api;
    const struct cron_entry *entry = agenda_find_cron(&api_state(api)->agenda, firing->id);

    (void)err;
    if (!entry || entry->next > api->ports.now(api->ports.user))
        return 0;
    struct submit *submit = mem_zero(1, sizeof(*submit));
    *submit = (struct submit){ .api = api, .uid = entry->uid, .gid = entry->gid };
    struct cron_news news = { .trouble = "" };
    struct error why = { "" };
    if (submit_again(submit, entry, &why) < 0)
        news.trouble = why.text;
    else
        news.job = submit->ids[0];
    entry = agenda_find_cron(&api_state(api)->agenda, firing->id);
    cron_emit(api, entry, &news);
    destroy_submit(submit);
    return 0;
}

static void done_fire(struct api_change *change, int code, const struct error *err)
{
    struct firing *firing = CONTAINER_OF(change, struct firing, change);

    (void)err;
    if (code == 0) /* else the disk is full, and it is still due */
        firing->api->ports.tend_soon(firing->api->ports.user);
    free(firing);
}

void cron_fire(struct api *api, uint64_t id)
{
    struct firing *firing = mem_zero(1, sizeof(*firing));

    *firing =
        (struct firing){ .change = { .run = run_fire, .done = done_fire }, .api = api, .id = id };
    api->ports.enqueue(api->ports.user, &firing->change);
}
