/* SPDX-License-Identifier: Apache-2.0 */
#include "control/submit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "control/byte_limit.h"
#include "control/depends.h"
#include "control/device_shares.h"
#include "control/lookup.h"
#include "control/queue_policy.h"
#include "control/slurm_terms.h"
#include "control/times.h"
#include "control/unix_names.h"
#include "control/when.h"
#include "core/job/own_speed.h"
#include "core/job/role.h"
#include "core/state/job_speed.h"
#include "wire/job/job_launch.h"
#include "wire/job/sender.h"
#include "wire/job/submission.h"

enum {
    DOCUMENTS_MAX = 10000, /* of a request */
    JOBS_MAX = 100000,     /* of a request */
    UNFINISHED_MAX = 2000000,
    UNFINISHED_USER_MAX = 200000,
    NEEDS_MAX = 200000, /* of a request: each job's dependencies, counted for each job */
};

/* Of records, about. */
enum {
    JOB_BYTES = 96, /* of a plain submission */
    NEED_BYTES = 32,
    ATTEMPT_BYTES = 256, /* of the lease, the start, the end and the usage of an attempt */
};

static const char *queue_of(const struct job_draft *draft)
{
    return draft->queue ? draft->queue : "default";
}

/* The job runs all the same, and the reply says that no message will come. */
static void warn_of_silence(const struct watch_rules *rules, const struct job_draft *draft,
                            struct submission *submission)
{
    bool has_mail =
        rules->alert_mail_server[0] || rules->alert_mail[0] || rules->alert_owner_mail[0];

    if (draft->mail && !has_mail)
        submission_note(submission,
                        "mail: no mail is sent from here, ignored; an administrator sets "
                        "mail_server of alerts in the configuration");
    else if (draft->notify && !draft->mail && !rules->alert_owner_command[0] &&
             !rules->alert_owner_mail[0])
        submission_note(submission,
                        "notify: there is no way to tell users, ignored; give an address with "
                        "--mail, or an administrator sets owner_mail or owner_command of alerts");
}

/* A misspelled name excludes no node. */
static void warn_of_nodes(const struct state *state, const struct request *request,
                          struct submission *submission)
{
    for (uint32_t i = 0; i < request->where_count; i++) {
        const struct where_term *term = &request->where[i];
        if (!term->is_not || !term->has_value || strcmp(term->key, "node") != 0 ||
            state_find_node(state, term->value) >= 0)
            continue;
        AUTO_FREE char *words = mem_printf("where: node %s is excluded, and there is no such node; "
                                           "tarn nodes lists them",
                                           term->value);
        submission_note(submission, words);
    }
}

/* A misspelled model would count nowhere. */
static void warn_of_models(const struct state *state, const struct request *request,
                           struct submission *submission)
{
    for (uint32_t i = 0; i < request->speeds_count; i++) {
        const char *model = request->speeds[i].model;
        bool is_there = false;
        LIST_EACH (const uint32_t, example, &state->models)
            is_there |= strcmp(state->devices.items[*example].model, model) == 0;
        LIST_EACH (const struct node_type, type, &state->node_types)
            is_there |= strcmp(type->model, model) == 0;
        if (is_there)
            continue;
        AUTO_FREE char *words =
            mem_printf("speeds: there is no %s; tarn gpus lists the models", model);
        submission_note(submission, words);
    }
}

static int check_warning(const struct control *control, const struct job_draft *draft,
                         struct submission *submission, struct error *err)
{
    if (draft->warn_signal == 0)
        return 0;
    if (control->lacks_warnings)
        return error_set(err, REFUSED_NEVER,
                         "warn: this engine sends no signal before the time limit; expected "
                         "checkpoint: {signal: ...}, which is sent when the job is stopped");
    if (draft->request.max_duration == USEC_NEVER)
        submission_note(submission, "warn: the job has no time limit, so no signal is sent");
    return 0;
}

/* Labels are bits, and those of all users together are few: one user may bring a part of them. */
static int check_labels(struct submit *submit, const struct job_draft *draft, uint32_t user,
                        struct error *err)
{
    const struct class_table *classes = &control_state(submit->control)->classes;

    submit->labels_new += class_labels_new(classes, &draft->request);
    if (submit->labels_new == 0)
        return 0;
    if (submit->labels_new > class_labels_unused(classes))
        return error_set(err, REFUSED_CONFLICT,
                         "labels: jobs have %d different labels already, no more are taken; "
                         "expected one that is used, or fewer",
                         CLASS_LABELS_MAX);
    if (class_labels_of_user(classes, user) + submit->labels_new > CLASS_LABELS_USER_MAX)
        return error_set(err, REFUSED_CONFLICT,
                         "labels: your jobs would have more than %d labels that no other user's "
                         "job had before; expected labels that are used, or fewer",
                         CLASS_LABELS_USER_MAX);
    return 0;
}

/* The whole cluster is looked at, so once for jobs that are alike: nothing changes meanwhile. */
static int check_room(struct submit *submit, const struct job_draft *draft, uint32_t queue,
                      struct error *err)
{
    const struct state *state = control_state(submit->control);
    const struct job_draft *last = submit->admitted;

    if (last && submit->admitted_queue == queue && last->preemptible == draft->preemptible &&
        class_is_same(&last->request, &draft->request))
        return 0;
    int code = admit_check(state, &draft->request, queue, draft->preemptible, err);
    if (code < 0) {
        submit->lacks_nodes = admit_lacks_nodes(state, &draft->request, queue, draft->preemptible);
        return code;
    }
    submit->admitted = draft;
    submit->admitted_queue = queue;
    return 0;
}

static int check_draft(struct submit *submit, struct submission *submission,
                       struct job_draft *draft, struct error *err)
{
    const struct state *state = control_state(submit->control);
    uint32_t queue = QUEUE_DEFAULT, user = user_find(state, submit->who->name);

    int code = slurm_terms_settle(submit->control, submit->who, submission, draft, err);
    if (code == 0)
        code = admit_find_queue(state, queue_of(draft), &queue, err);
    if (code == 0)
        code = queue_policy_settle(state, submit->who, queue, draft, err);
    if (code < 0)
        return code;
    code = check_warning(submit->control, draft, submission, err);
    if (code < 0)
        return code;
    warn_of_silence(&state->settings.watch, draft, submission);
    if (draft->singleton && submit->count > 1)
        return error_set(err, REFUSED_BAD, "singleton: expected a request with one document");
    code = depends_settle(submit->control, submit->who, draft, err);
    if (code < 0)
        return code;
    code = check_labels(submit, draft, user, err);
    if (code < 0)
        return code;
    code = device_shares_settle(submit->control, draft, err);
    if (code < 0)
        return code;
    if (submit->control->has_fixed_gangs && draft->request.members_max > 0)
        return error_set(err, REFUSED_NEVER,
                         "ranks: a range; this engine starts gangs of a fixed size only");
    if (submit->control->is_blind)
        return 0;
    warn_of_nodes(state, &draft->request, submission);
    warn_of_models(state, &draft->request, submission);
    code = check_room(submit, draft, queue, err);
    return code < 0 ? code
                    : admit_check_user(state, &draft->request, queue, user, submit->who->gid, err);
}

static int settle_begin(struct submit *submit, struct job_draft *draft, struct error *err)
{
    usec_t wall = control_wall(submit->control);
    usec_t at;

    if (!draft->begin_at)
        return 0;
    int code = when_parse("begin", draft->begin_at, wall, &at, err);
    if (code == 0)
        draft->begin_delay = at > wall ? at - wall : 0;
    return code;
}

/* A deadline that cannot be met is refused. Needs the begin time. */
static int settle_deadline(struct submit *submit, struct job_draft *draft, struct error *err)
{
    usec_t wall = control_wall(submit->control);
    char spelt[2][UNITS_TEXT_SIZE];
    usec_t at;

    if (draft->deadline_at) {
        int code = when_parse("deadline", draft->deadline_at, wall, &at, err);
        if (code < 0)
            return code;
        if (at <= wall)
            return error_set(err, REFUSED_BAD, "deadline '%.40s': it has passed",
                             draft->deadline_at);
        draft->deadline_delay = at - wall;
    }
    if (draft->deadline_delay == 0)
        return 0;
    if (draft->deadline_delay <= draft->begin_delay)
        return error_set(err, REFUSED_BAD, "deadline in %s: before its begin time, in %s",
                         units_format_duration(spelt[0], draft->deadline_delay),
                         units_format_duration(spelt[1], draft->begin_delay));
    const struct state *state = control_state(submit->control);
    usec_t run = own_speed_run(draft->estimate, job_speeds_of(state, &draft->request).most);
    if (run > draft->deadline_delay - draft->begin_delay)
        return error_set(err, REFUSED_BAD, "deadline in %s: too early for an estimate of %s",
                         units_format_duration(spelt[0], draft->deadline_delay),
                         units_format_duration(spelt[1], run));
    return 0;
}

/* The job that submits it. */
static int check_sender(const struct submit *submit, uint64_t id, struct error *err)
{
    const struct job *job = state_job(control_state(submit->control), id);

    if (id == 0)
        return 0;
    if (!job)
        return error_set(
            err, REFUSED_NOT_FOUND,
            "sender_job: job %" PRIu64 ": no such job; outside of a job, unset TARN_JOB_ID", id);
    if (!identity_owns(submit->who, job->uid))
        return error_set(
            err, REFUSED_FORBIDDEN,
            "sender_job: job %" PRIu64 ": belongs to another user; expected a job of yours", id);
    if (job->run->is_cancel_wanted && state_pipeline_of(control_state(submit->control), job))
        return error_set(err, REFUSED_CONFLICT,
                         "sender_job: job %" PRIu64
                         " is cancelled, and what it submits would be, too; with sender_job: 0 "
                         "the new job does not depend on it",
                         id);
    return 0;
}

static int check_submission(struct submit *submit, struct submission *submission, struct error *err)
{
    int code = submission->schedule ? 0 : check_sender(submit, submission->sender->job, err);

    if (code < 0)
        return code;

    for (size_t i = 0; i < submission->stage_count; i++) {
        struct stage_draft *stage = &submission->stages[i];
        for (size_t k = 0; k < stage->job_count; k++) {
            code = check_draft(submit, submission, &stage->jobs[k], err);
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

/* Progress of emitting one submission. */
struct emitting {
    struct submit *submit;
    const struct submission *submission;
    uint64_t next_id;
    uint64_t *stage_ids;
};

/* An event before that of a job, which tells what it adds. */
static void emit(struct submit *submit, const struct event *event)
{
    if (submit->control->world.written)
        submit->stored += event_size(event);
    control_emit(submit->control, *event);
}

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
                   .user = submit->who->name,
                   .parent = parent,
                   .max_running = max_running,
                   .job_count = jobs },
    };

    emit(submit, &event);
    return emitting->next_id++;
}

static void emit_need(struct emitting *emitting, uint64_t job, uint64_t on, enum need_kind kind)
{
    control_emit(emitting->submit->control,
                 (struct event){ .kind = EVENT_NEED,
                                 .need = { .job = job, .on = on, .kind = (uint8_t)kind } });
}

/* What no event has told yet. */
static uint64_t take_stored(struct submit *submit)
{
    uint64_t stored = submit->stored;

    submit->stored = 0;
    return stored;
}

/* place: of the task in its array. */
static void emit_one(struct emitting *emitting, const struct stage_draft *stage,
                     const struct job_draft *draft, uint32_t place, struct event_submit submitted)
{
    struct submit *submit = emitting->submit;
    struct event event = { .kind = EVENT_SUBMIT, .submit = submitted };

    event.submit.id = emitting->next_id++;
    if (submit->control->world.written)
        submit->stored += event_size(&event) + event.submit.need_count * NEED_BYTES + ATTEMPT_BYTES;
    event.submit.stored = take_stored(submit);
    control_emit(submit->control, event);
    for (size_t i = 0; i < stage->need_count; i++)
        emit_need(emitting, event.submit.id, emitting->stage_ids[stage->needs[i]],
                  stage->always ? NEED_ENDED : NEED_OK);
    for (size_t i = 0; i < draft->depend_count; i++)
        emit_need(emitting, event.submit.id, depends_on(draft, i, place), draft->depends[i].when);
}

/* What the journal has already costs nothing. */
static uint64_t add_blob(struct submit *submit, const void *bytes, size_t length)
{
    const struct control_blobs *blobs = &submit->control->blobs;
    uint64_t last = blobs->last ? blobs->last(blobs->user) : UINT64_MAX;
    uint64_t blob = control_blob_add(submit->control, bytes, length);

    submit->stored += blob > last ? length : 0;
    return blob;
}

static uint64_t add_json(struct submit *submit, const json_t *value)
{
    AUTO_FREE char *bytes = json_dumps(value, JSON_COMPACT);

    return add_blob(submit, bytes ? bytes : "{}", bytes ? strlen(bytes) : 2);
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
    uint64_t blob = add_blob(submit, text_string(&environment), environment.length);
    json_t *launch = launch_to_json(draft, groups, blob, submit->home);
    blob = add_json(submit, launch);
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
    usec_t now = control_now(submit->control);
    struct event_submit submitted = {
        .name = name,
        .external = submit->external,
        .by_job = emitting->submission->sender->job,
        .user = submit->who->name,
        .uid = submit->who->uid,
        .gid = submit->who->gid,
        .queue = queue_of(draft),
        .request = draft->request,
        .priority = draft->priority,
        .begin = draft->begin_delay > 0 ? now + draft->begin_delay : 0,
        .wall_times = (draft->begin_at ? WALL_BEGIN : 0) | (draft->deadline_at ? WALL_DEADLINE : 0),
        .held = draft->hold,
        .retry = draft->retry,
        .no_requeue = !draft->requeue,
        .group = parent,
        .launch = add_launch(emitting, stage, draft),
        .grace = draft->grace >= 0 ? draft->grace : submit->control->grace,
        .need_count = (uint32_t)(stage->need_count + draft->depend_count),
        .estimate = draft->estimate,
        .deadline = draft->deadline_delay > 0 ? now + draft->deadline_delay : 0,
        .tariff_most = draft->tariff_most,
        .oom_factor = draft->oom_factor,
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
        emit_one(emitting, stage, draft, i, submitted);
    }
    if (draft->array_count == 0)
        emit_one(emitting, stage, draft, 0, submitted);
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

/* Numbers that a submission takes. */
static uint64_t ids_of(const struct submission *submission)
{
    uint64_t ids = 1;

    if (!submission->is_pipeline && submission->stages[0].job_count == 1)
        return ids_of_job(&submission->stages[0].jobs[0]);
    if (!submission->is_pipeline)
        return ids_of_stage(&submission->stages[0]);
    for (size_t i = 0; i < submission->stage_count; i++)
        ids += ids_of_stage(&submission->stages[i]);
    return ids;
}

static uint64_t emit_submission(struct submit *submit, const struct submission *submission)
{
    struct emitting emitting = {
        .submit = submit,
        .submission = submission,
        .next_id = control_state(submit->control)->next_id,
        .stage_ids = mem_zero(submission->stage_count, sizeof(uint64_t)),
    };
    uint64_t first = emitting.next_id;

    if (!submission->is_pipeline && submission->stages[0].job_count == 1)
        emit_draft(&emitting, &submission->stages[0], &submission->stages[0].jobs[0], 0);
    else if (!submission->is_pipeline)
        emit_stage(&emitting, 0, 0);
    else {
        uint64_t pipeline = emit_group(&emitting, GROUP_PIPELINE, submission->name, 0,
                                       ids_of(submission), (uint32_t)submission->job_count, 0);
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

static size_t unfinished_of(const struct state *state, const char *name)
{
    uint32_t user = user_find(state, name);

    return user < state->unfinished.count ? state->unfinished.items[user] : 0;
}

static int check_count(const struct submit *submit, struct error *err)
{
    const struct state *state = control_state(submit->control);
    size_t jobs = 0, needs = 0;

    for (size_t i = 0; i < submit->count; i++) {
        jobs += submit->submissions[i]->job_count;
        needs += needs_of(submit->submissions[i]);
    }
    if (needs > NEEDS_MAX)
        return error_set(err, REFUSED_TOO_MANY, "%zu dependencies of single jobs, not up to %d",
                         needs, NEEDS_MAX);
    if (!submit->who->is_admin &&
        unfinished_of(state, submit->who->name) + jobs > UNFINISHED_USER_MAX)
        return error_set(err, REFUSED_TOO_MANY,
                         "more than %d jobs of yours would be waiting or running",
                         UNFINISHED_USER_MAX);
    for (size_t i = 0; i < JOB_ENDED; i++)
        jobs += state->job_counts[i];
    if (jobs > UNFINISHED_MAX)
        return error_set(err, REFUSED_TOO_MANY, "more than %d jobs would be waiting or running",
                         UNFINISHED_MAX);
    return 0;
}

static uint64_t length_of(char *const *words)
{
    uint64_t length = 0;

    for (char *const *word = words; word && *word; word++)
        length += strlen(*word) + 1;
    return length;
}

/* About what it adds to the journal: environments of jobs are mostly the same. */
static uint64_t bytes_of(const struct submission *submission)
{
    uint64_t bytes = submission->job_count * (uint64_t)(JOB_BYTES + ATTEMPT_BYTES);
    uint64_t environment = 0;

    bytes += needs_of(submission) * NEED_BYTES;
    for (size_t i = 0; i < submission->stage_count; i++) {
        const struct stage_draft *stage = &submission->stages[i];
        for (size_t k = 0; k < stage->job_count; k++) {
            const struct job_draft *draft = &stage->jobs[k];
            uint64_t own = length_of(draft->env);
            bytes += length_of(draft->argv) + (draft->script ? strlen(draft->script) : 0);
            environment = own > environment ? own : environment;
        }
    }
    return bytes + environment;
}

static int check_bytes(const struct submit *submit, struct error *err)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < submit->count; i++)
        bytes += bytes_of(submit->submissions[i]);
    return byte_limit_check(submit->control, submit->who, bytes, err);
}

static json_t *document_of(const struct submit *submit, size_t number)
{
    return json_is_array(submit->body) ? json_array_get(submit->body, number) : submit->body;
}

static int check_schedules(const struct submit *submit, struct error *err)
{
    size_t count = control_state(submit->control)->agenda.crons.count;

    for (size_t i = 0; i < submit->count; i++)
        count += submit->submissions[i]->schedule != NULL;
    return count <= AGENDA_CRONS_MAX
               ? 0
               : error_set(err, REFUSED_TOO_MANY, "more than %d repeating jobs", AGENDA_CRONS_MAX);
}

/* The document is stored as it was sent, with the submitter's environment. */
static uint64_t emit_schedule(struct submit *submit, size_t number)
{
    const struct submission *submission = submit->submissions[number];
    json_t *document = json_copy(document_of(submit, number));

    json_object_del(document, "schedule");
    json_object_del(document, "sender_job"); /* it repeats when that one is long over */
    struct event event = {
        .kind = EVENT_CRON,
        .cron = { .id = control_state(submit->control)->agenda.next_cron,
                  .name = submission->name,
                  .user = submit->who->name,
                  .uid = submit->who->uid,
                  .gid = submit->who->gid,
                  .schedule = submission->schedule,
                  .document = add_json(submit, document),
                  .next = times_next_cron(submit->control, submission->schedule,
                                          control_wall(submit->control)) },
    };
    json_decref(document);
    event.cron.stored = take_stored(submit) + event_size(&event);
    control_emit(submit->control, event);
    return event.cron.id;
}

bool submit_is_one_job(const struct submit *submit)
{
    const struct submission *only = submit->count == 1 ? submit->submissions[0] : NULL;

    return only && !only->is_pipeline && !only->schedule && only->job_count == 1 &&
           only->stages[0].jobs[0].array_count == 0;
}

/* ---- a key ---- */

int submit_name(struct submit *submit, const char *key, struct error *err)
{
    size_t length = strlen(key);

    if (length == 0 || length > RECEIPT_KEY_MAX)
        return error_set(err, REFUSED_BAD, "key of %zu characters; expected 1 to %d", length,
                         RECEIPT_KEY_MAX);
    for (size_t i = 0; i < length; i++) {
        if (key[i] <= ' ' || key[i] > '~')
            return error_set(err, REFUSED_BAD,
                             "key: expected printable characters of ASCII, without spaces");
    }
    submit->key = key;
    return 0;
}

/* The numbers of then: they follow each other. */
static int recall(struct submit *submit, const struct receipt *receipt, struct error *err)
{
    uint64_t job = receipt->job, cron = receipt->cron;

    if (receipt->fingerprint != submit->fingerprint)
        return error_set(
            err, REFUSED_CONFLICT,
            "key '%s': another submission of yours had it; expected the same documents",
            submit->key);
    submit->is_repeated = true;
    for (size_t i = 0; i < submit->count; i++) {
        bool is_cron = submit->submissions[i]->schedule != NULL;
        submit->ids[i] = is_cron ? cron++ : job;
        job += is_cron ? 0 : ids_of(submit->submissions[i]);
    }
    return 0;
}

static void emit_receipt(struct submit *submit)
{
    const struct state *state = control_state(submit->control);
    struct event event = { .kind = EVENT_RECEIPT,
                           .receipt = { .user = submit->who->name,
                                        .key = submit->key,
                                        .fingerprint = submit->fingerprint,
                                        .job = state->next_id,
                                        .cron = state->agenda.next_cron } };

    emit(submit, &event);
}

int submit_run(const struct control *control, struct submit *submit, struct error *err)
{
    const struct receipt *receipt =
        submit->key ? receipt_log_find(&control_state(control)->receipts, submit->who->name,
                                       submit->key, control_now(control))
                    : NULL;

    submit->control = control;
    if (receipt)
        return recall(submit, receipt, err);
    if (check_count(submit, err) < 0 || check_bytes(submit, err) < 0)
        return REFUSED_TOO_MANY;

    for (size_t i = 0; i < submit->count; i++) {
        int code = check_submission(submit, submit->submissions[i], err);
        if (code < 0)
            return submit->count > 1 ? error_prefix(err, code, "document %zu", i + 1) : code;
    }
    if (!submit->is_dry_run && check_schedules(submit, err) < 0)
        return REFUSED_TOO_MANY;
    if (submit->key && !submit->is_dry_run)
        emit_receipt(submit);
    for (size_t i = 0; !submit->is_dry_run && i < submit->count; i++)
        submit->ids[i] = submit->submissions[i]->schedule
                             ? emit_schedule(submit, i)
                             : emit_submission(submit, submit->submissions[i]);
    return 0;
}

static int parse_all(struct submit *submit, struct error *err)
{
    size_t count = json_is_array(submit->body) ? json_array_size(submit->body) : 1;
    size_t jobs = 0;

    if (count == 0 || count > DOCUMENTS_MAX)
        return error_set(err, REFUSED_BAD, "body: %zu documents, not 1 to %d", count,
                         DOCUMENTS_MAX);
    submit->submissions = mem_zero(count, sizeof(submit->submissions[0]));
    submit->ids = mem_zero(count, sizeof(submit->ids[0]));
    for (size_t i = 0; i < count; i++) {
        int code =
            submission_parse(document_of(submit, i), NULL, NULL, &submit->submissions[i], err);
        if (code < 0)
            return count > 1 ? error_prefix(err, code, "document %zu", i + 1) : code;
        submit->count++;
        jobs += submit->submissions[i]->job_count;
        if (jobs > JOBS_MAX)
            return error_set(err, REFUSED_BAD, "body: more than %d jobs", JOBS_MAX);
    }
    return 0;
}

int submit_read(struct submit *submit, const struct identity *who, json_t *documents,
                struct error *err)
{
    *submit = (struct submit){ .who = who, .body = documents };
    if (who->has_uid)
        home_of(who->uid, submit->home, sizeof(submit->home));
    return parse_all(submit, err);
}

void submit_release(struct submit *submit)
{
    for (size_t i = 0; i < submit->count; i++)
        submission_destroy(submit->submissions[i]);
    free(submit->submissions);
    free(submit->ids);
    json_decref(submit->body);
}

int submit_all(const struct control *control, const struct identity *who, const json_t *documents,
               struct error *err)
{
    struct submit submit;

    int code = submit_read(&submit, who, json_deep_copy(documents), err);
    if (code == 0)
        code = submit_run(control, &submit, err);
    submit_release(&submit);
    return code;
}
