/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/jobs: what was submitted, and when it starts. */

#include <stdlib.h>

#include "api/deferred.h"
#include "api/routes.h"
#include "api/view/view.h"
#include "base/map.h"
#include "base/mem.h"
#include "control/submit.h"
#include "io/net/peer.h"
#include "wire/job/submission.h"

enum { LISTED_MAX = 100 /* numbers of jobs in a reply, for each document */ };

struct submitting {
    struct deferred deferred;
    struct submit submit;
};

static json_t *view_submitted(const struct submitting *submit, size_t number)
{
    static const char *const times[] = { "expected_start", "low", "high" };
    const struct state *state = api_state(submit->deferred.api);
    const struct submission *submission = submit->submit.submissions[number];
    const struct group *group = state_group(state, submit->submit.ids[number]);
    const struct job *job = state_job(state, submit->submit.ids[number]);
    json_t *jobs = json_array(), *waits = json_null(), *why_view = NULL;

    for (uint64_t id = submit->submit.ids[number]; id <= (group ? group->last : id); id++) {
        const struct job *part = state_job(state, id);
        if (part && json_array_size(jobs) < LISTED_MAX)
            json_array_append_new(jobs, json_integer((json_int_t)id));
        if (!group || json_array_size(jobs) == LISTED_MAX)
            break;
    }
    /* Of a group the first: the others do not start sooner. */
    for (uint64_t id = group ? group->id + 1 : 0;
         group && group->started_count == 0 && !job && id <= group->last; id++)
        job = state_job(state, id);
    if (job && job->state != JOB_ENDED && !job_is_active(job)) {
        AUTO_RELEASE(text) struct text text = { 0 };
        struct why why;
        uint32_t ahead;
        sched_why(api_brain(submit->deferred.api), submit->deferred.api->inquiry, job, &why,
                  &ahead);
        why_say(submit->deferred.api, job, &why, ahead, &text);
        json_decref(waits);
        waits = json_string(text_string(&text));
        why_view = view_why(submit->deferred.api, job, &why, ahead);
    }
    json_t *view =
        json_pack("{s:I, s:s, s:s, s:o, s:I, s:o}", "id", (json_int_t)submit->submit.ids[number],
                  "kind", group ? group_kind_name(group->kind) : "job", "name",
                  submission->name ? submission->name : "", "jobs", jobs, "job_count",
                  (json_int_t)submission->job_count, "waits", waits);
    json_object_set_new(view, "model_choice",
                        job ? view_model_choice(submit->deferred.api, job) : json_null());
    for (size_t i = 0; why_view && i < COUNT_OF(times); i++)
        json_object_set(view, times[i], json_object_get(why_view, times[i]));
    json_decref(why_view);
    return view;
}

static json_t *view_scheduled(const struct submitting *submit, size_t number)
{
    const struct submission *submission = submit->submit.submissions[number];
    const struct event_cron *entry =
        agenda_find_cron(&api_state(submit->deferred.api)->agenda, submit->submit.ids[number]);

    return json_pack("{s:I, s:s, s:s, s:[], s:I, s:n, s:s, s:o}", "id",
                     (json_int_t)submit->submit.ids[number], "kind", "cron", "name",
                     submission->name ? submission->name : "", "jobs", "job_count",
                     (json_int_t)submission->job_count, "waits", "schedule", submission->schedule,
                     "next", entry ? view_edge(submit->deferred.api, entry->next) : json_null());
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

static int run_submitting(struct deferred *deferred, struct error *err)
{
    struct submitting *submitting = CONTAINER_OF(deferred, struct submitting, deferred);

    int code = submit_run(api_control(deferred->api), &submitting->submit, err);
    deferred->is_routine |= submitting->submit.is_repeated;
    return code;
}

static json_t *answer_submitting(struct deferred *deferred)
{
    const struct submitting *submitting = CONTAINER_OF(deferred, struct submitting, deferred);
    const struct submit *submit = &submitting->submit;
    json_t *submitted = json_array(), *notes = json_array();

    for (size_t i = 0; i < submit->count; i++) {
        const struct submission *submission = submit->submissions[i];
        json_array_append_new(submitted, submit->is_dry_run     ? view_checked(submission)
                                         : submission->schedule ? view_scheduled(submitting, i)
                                                                : view_submitted(submitting, i));
        for (char **note = submission->notes; note && *note; note++)
            json_array_append_new(notes, json_string(*note));
    }
    if (submit->is_repeated)
        http_header_add(deferred->request, "Idempotency-Replayed", "true");
    control_tend_soon(api_control(deferred->api));
    return json_pack("{s:o, s:o}", "submitted", submitted, "notes", notes);
}

static void release_submitting(struct deferred *deferred)
{
    submit_release(&CONTAINER_OF(deferred, struct submitting, deferred)->submit);
}

/* A client on another machine has no directory here: its jobs begin in the user's home. */
static void add_home(json_t *document, const struct identity *who)
{
    if (!json_is_object(document) || json_object_get(document, "sender_cwd") || !who->has_uid)
        return;
    AUTO_FREE char *home = peer_home(who->uid);
    json_object_set_new(document, "sender_cwd", json_string(home));
}

static void add_homes(json_t *body, const struct identity *who)
{
    json_t *document;
    size_t i;

    add_home(body, who);
    json_array_foreach(body, i, document) add_home(document, who);
}

/* The bytes that a client sends again are the same. */
static int read_key(struct call *call, struct submit *submit)
{
    const struct text *bytes = &call->request->body;
    const char *key = http_header(call->request, "Idempotency-Key");

    if (!key)
        return 0;
    submit->fingerprint = map_hash(bytes->bytes, bytes->length);
    int code = submit_name(submit, key, &call->err);
    return code < 0 ? error_prefix(&call->err, code, "Idempotency-Key") : 0;
}

json_t *handle_submit(struct call *call)
{
    static const struct deferred_ops ops = { .run = run_submitting,
                                             .answer = answer_submitting,
                                             .release = release_submitting,
                                             .answers_from_forecast = true,
                                             .tells_bytes = true };
    static const struct deferred_ops dry_ops = { .run = run_submitting,
                                                 .answer = answer_submitting,
                                                 .release = release_submitting };
    bool is_dry_run = query_is_on(call, "dry_run");
    struct submitting *submitting =
        deferred_create(call, sizeof(*submitting), is_dry_run ? &dry_ops : &ops);

    submitting->deferred.is_routine = is_dry_run;
    if (is_dry_run)
        submitting->deferred.status = 200; /* nothing is created */
    int code = call_check_owner(call->api, call->request->who->uid, &call->err);
    if (code == 0)
        code = read_body(call);
    if (code == 0)
        add_homes(call->body, call->request->who);
    if (code == 0)
        code = submit_read(&submitting->submit, call->request->who, TAKE(call->body), &call->err);
    if (code == 0)
        code = read_key(call, &submitting->submit);
    submitting->submit.is_dry_run = is_dry_run;
    return deferred_begin(call, &submitting->deferred, code);
}
