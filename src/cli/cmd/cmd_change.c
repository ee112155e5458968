/* SPDX-License-Identifier: Apache-2.0 */
/* cancel, checkpoint, hold, release, requeue, update: what changes jobs */
#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/job_view.h"
#include "cli/screen.h"
#include "cli/select.h"
#include "wire/job/submission.h"

enum {
    CANCEL_ALL,
    CANCEL_NAME,
    CANCEL_STATE,
    CANCEL_QUEUE,
    CANCEL_USER,
    CANCEL_NOW,
    CANCEL_SIGNAL
};
enum { UPDATE_PRIORITY, UPDATE_QUEUE, UPDATE_TIME, UPDATE_MAX_DURATION, UPDATE_BEGIN };
enum { SHOWN_MAX = 10 };

const struct option_entry options_cancel[] = {
    [CANCEL_ALL] = { "all", 'a', NULL, "all your unfinished jobs" },
    [CANCEL_NAME] = { "name", 'n', "NAME", "jobs with this name" },
    [CANCEL_STATE] = { "state", 's', "STATES", "jobs in these states" },
    [CANCEL_QUEUE] = { "queue", 0, "NAME", "jobs of this queue" },
    [CANCEL_USER] = { "user", 'u', "NAME", "jobs of this user (default: your own)" },
    [CANCEL_NOW] = { "now", 0, NULL, "send SIGKILL at once, without a grace period" },
    [CANCEL_SIGNAL] = { "signal", 0, "SIGNAL",
                        "only send this signal (USR1) to the processes of running jobs" },
    { 0 },
};
enum { REQUEUE_FOLLOWING };
const struct option_entry options_requeue[] = {
    [REQUEUE_FOLLOWING] = { "following", 0, NULL,
                            "a stage of a pipeline, with all stages that follow it" },
    { 0 },
};
const struct option_entry options_update[] = {
    [UPDATE_PRIORITY] = { "priority", 0, "N", "low, normal, high or -1000 to 1000" },
    [UPDATE_QUEUE] = { "queue", 0, "NAME", "the queue that is charged" },
    [UPDATE_TIME] = { "time", 't', "TIME", "time limit: 2h, 04:00:00, 90 (minutes)" },
    [UPDATE_MAX_DURATION] = { "max-duration", 0, "TIME", "time limit; 90 is seconds" },
    [UPDATE_BEGIN] = { "begin", 'b', "TIME", "earliest start: now+1h, 14:30, 2030-01-31T08:00" },
    { 0 },
};

/* One change to several jobs. */
struct change {
    const char *method;
    const char *action; /* "/hold", "" */
    const char *past;   /* "held" */
    const json_t *body; /* NULL: none */
};

static void print_changed(const struct change *change, const json_t *changed)
{
    AUTO_RELEASE(text) struct text line = { 0 };
    size_t count = json_array_size(changed), i;
    const json_t *id;

    if (count > SHOWN_MAX) {
        printf("%s %zu jobs\n", change->past, count);
        return;
    }
    json_array_foreach(changed, i, id)
    {
        text_add(&line, line.length > 0 ? ", " : "");
        if (json_is_string(id))
            text_add(&line, json_string_value(id));
        else
            text_printf(&line, "%" JSON_INTEGER_FORMAT, json_integer_value(id));
    }
    printf("%s %s\n", change->past, text_string(&line));
}

static bool has_label(const json_t *labels, const char *id)
{
    const json_t *label;
    size_t i;

    json_array_foreach(labels, i, label)
    {
        if (strcmp(id, json_is_string(label) ? json_string_value(label) : "") == 0)
            return true;
    }
    return false;
}

/* Do it to each; one that refuses does not keep the others. Jobs that were found, not named, may
 * have ended meanwhile: that is no failure, and neither is one that changed with one before.
 * Returns the exit status. */
static int apply_to(struct session *session, const struct selection *selection, bool is_found,
                    const struct change *change, const struct options *options)
{
    AUTO(json) json_t *changed = json_array(), *labels = json_array();
    const json_t *id;
    size_t place;
    int status = 0;

    for (size_t i = 0; i < selection->count; i++) {
        AUTO_FREE char *path = mem_printf("/v1/jobs/%s%s", selection->ids[i], change->action);
        AUTO(json) json_t *reply = NULL;
        struct error err;

        int code = session_send(session, change->method, path, change->body, &reply, &err);
        json_array_extend(labels, json_object_get(reply, "labels"));
        if (code == 0)
            json_array_extend(changed,
                              json_object_get(reply, options->is_json ? "changed" : "labels"));
        else if (!((is_found && code == -ENOENT) ||
                   (code == -EALREADY && (is_found || has_label(labels, selection->ids[i])))))
            status = complain(&err);
        if (code == -ENODATA)
            break;
    }
    if (options->is_json)
        reply_print(changed);
    else if (options->is_quiet)
        json_array_foreach(changed, place, id) list_put_id(id);
    else if (json_array_size(changed) > 0)
        print_changed(change, changed);
    else if (status == 0)
        say("no job to %s", options->verb);
    return status;
}

/* The jobs that pass the filters; only the caller's own unless a user is named. */
static int find_jobs(struct session *session, const struct options *options,
                     struct selection *selection, struct error *err)
{
    static const char *const keys[] = { [CANCEL_NAME] = "name",
                                        [CANCEL_STATE] = "state",
                                        [CANCEL_QUEUE] = "queue",
                                        [CANCEL_USER] = "user" };
    AUTO_RELEASE(text) struct text path = { 0 };
    const struct passwd *me = getpwuid(geteuid());
    AUTO(json) json_t *reply = NULL;
    const json_t *job;
    size_t i;

    text_add(&path, "/v1/jobs?limit=10000");
    for (size_t key = CANCEL_NAME; key < COUNT_OF(keys); key++) {
        if (options->values[key])
            client_query_add(&path, keys[key], options->values[key]);
    }
    if (!options->values[CANCEL_USER] && me)
        client_query_add(&path, "user", me->pw_name);
    int code = session_get(session, path.bytes, &reply, err);
    if (code < 0)
        return code;
    /* Those that wait first: they are not to start with what the others leave. */
    for (int is_active = 0; is_active < 2; is_active++) {
        json_array_foreach(json_object_get(reply, "jobs"), i,
                           job) if (job_is_placed(job) == is_active)
            selection_add(selection, field_text(job, "label"));
    }
    return 0;
}

/* Those that the words name, or that pass the filters. Returns the exit status. */
static int change_jobs(const struct options *options, const struct change *change, bool is_filtered)
{
    AUTO_RELEASE(session) struct session session = { 0 };
    AUTO_RELEASE(selection) struct selection selection = { 0 };
    struct error err;

    if (!is_filtered && selection_read(&selection, options->words, &err) < 0) {
        complain(&err);
        return 2;
    }
    int code = session_open(&session, &err);
    if (code == 0 && is_filtered)
        code = find_jobs(&session, options, &selection, &err);
    if (code == 0)
        code = selection_confirm(&selection, &session, &err);
    if (code < 0)
        return complain(&err);
    if (is_filtered && selection.count == 0) {
        say("no job to %s", options->verb);
        return options->values[CANCEL_NAME] || options->values[CANCEL_QUEUE] ||
               options->values[CANCEL_USER]; /* a name that matches nothing may be a mistake */
    }
    return apply_to(&session, &selection, is_filtered, change, options);
}

static int change_by_id(const struct options *options, const char *action, const char *past)
{
    if (options->word_count == 0)
        return usage_wrong(options->verb, "%s: expected the number of a job", options->verb);
    return change_jobs(options, &(struct change){ "POST", action, past, NULL }, false);
}

int run_hold(const struct options *options)
{
    return change_by_id(options, "/hold", "held");
}

int run_release(const struct options *options)
{
    return change_by_id(options, "/release", "released");
}

int run_requeue(const struct options *options)
{
    bool is_following = options->values[REQUEUE_FOLLOWING] != NULL;

    return change_by_id(options, is_following ? "/requeue?following=1" : "/requeue", "requeued");
}

int run_checkpoint(const struct options *options)
{
    char *own[] = { getenv("TARN_JOB_ID"), NULL };
    const struct options of_own = { .words = own,
                                    .is_json = options->is_json,
                                    .is_quiet = options->is_quiet };

    if (options->word_count == 0 && !own[0])
        return usage_wrong("checkpoint", "expected the number of a job; TARN_JOB_ID is not set, so "
                                         "this is not inside one");
    return change_jobs(options->word_count > 0 ? options : &of_own,
                       &(struct change){ "POST", "/checkpoint", "saved", NULL }, false);
}

static bool has_filter(const struct options *options)
{
    for (size_t key = CANCEL_ALL; key <= CANCEL_USER; key++) {
        if (options->values[key])
            return true;
    }
    return false;
}

int run_cancel(const struct options *options)
{
    const char *signal = options->values[CANCEL_SIGNAL];
    AUTO_RELEASE(text) struct text action = { 0 };

    text_add(&action, signal                        ? "/signal"
                      : options->values[CANCEL_NOW] ? "/cancel?signal_now=1"
                                                    : "/cancel");
    if (signal)
        client_query_add(&action, "name", signal);
    struct change change = { "POST", action.bytes, signal ? "signalled" : "cancelled", NULL };
    if (signal && options->values[CANCEL_NOW])
        return usage_wrong("cancel", "--signal and --now: expected one of them");
    if (options->word_count > 0 && has_filter(options))
        return usage_wrong("cancel", "expected numbers of jobs or filters, not both");
    if (options->word_count == 0 && !has_filter(options))
        return usage_wrong("cancel", "expected the number of a job, or --all");
    return change_jobs(options, &change, has_filter(options));
}

/* The keys of PATCH /v1/jobs/ID; the daemon checks what it knows better. */
static int build_update(const struct options *options, json_t *body, struct error *err)
{
    static const char *const keys[] = {
        [UPDATE_QUEUE] = "queue", [UPDATE_MAX_DURATION] = "max_duration", [UPDATE_BEGIN] = "begin"
    };
    const char *priority = options->values[UPDATE_PRIORITY], *time = options->values[UPDATE_TIME];
    int32_t number;
    usec_t duration;

    if (priority && priority_parse(priority, &number, err) < 0)
        return error_prefix(err, -EINVAL, "--priority");
    if (priority)
        json_object_set_new(body, "priority", json_integer(number));
    for (size_t key = 0; key < COUNT_OF(keys); key++) {
        if (keys[key] && options->values[key])
            json_object_set_new(body, keys[key], json_string(options->values[key]));
    }
    if (time && units_parse_slurm_time(time, &duration, err) < 0)
        return error_prefix(err, -EINVAL, "--time");
    if (time) {
        AUTO_FREE char *text = duration == USEC_NEVER || duration == 0
                                   ? mem_string("unlimited")
                                   : mem_printf("%" PRId64 "ms", duration / USEC_PER_MS);
        json_object_set_new(body, "max_duration", json_string(text));
    }
    return 0;
}

int run_update(const struct options *options)
{
    AUTO(json) json_t *body = json_object();
    struct error err;

    if (options->word_count == 0)
        return usage_wrong("update", "expected the number of a job");
    if (build_update(options, body, &err) < 0) {
        complain(&err);
        return 2;
    }
    if (json_object_size(body) == 0)
        return usage_wrong("update", "expected what to change: --priority, --queue, --time, "
                                     "--max-duration or --begin");
    return change_jobs(options, &(struct change){ "PATCH", "", "changed", body }, false);
}
