/* SPDX-License-Identifier: Apache-2.0 */
/* submit, run, wait: jobs sent and followed */
#include "cli/cmd/cmd_submit.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/choice_view.h"
#include "cli/command.h"
#include "cli/follow/ctrl_c.h"
#include "cli/follow/follow_job.h"
#include "cli/job_view.h"
#include "cli/screen.h"
#include "cli/send.h"

/* "job 7 · waits: 4 gpus wanted, 2 free · starts about 14:20" */
static void add_submitted(const json_t *item, struct text *text)
{
    const char *kind = field_text(item, "kind"), *waits = field_text(item, "waits");
    AUTO_RELEASE(text) struct text expected = { 0 };
    bool is_job = strcmp(kind, "job") == 0;
    char next[CLOCK_SIZE];

    if (strcmp(kind, "cron") == 0) {
        text_printf(text, "cron %" PRId64 " · %s · next %s\n", field_number(item, "id"),
                    field_text(item, "name"), clock_format(next, field_time(item, "next")));
        return;
    }
    text_printf(text, "%s %" PRId64, kind, field_number(item, "id"));
    if (!is_job)
        text_printf(text, " · %s", field_text(item, "name"));
    if (!is_job)
        text_printf(text, " · %" PRId64 " %s", field_number(item, "job_count"),
                    strcmp(kind, "array") == 0 ? "tasks" : "jobs");
    if (waits[0])
        text_printf(text, " · waits: %s", waits);
    else
        text_add(text, " · starts");
    const char *choice = field_text(json_object_get(item, "model_choice"), "text");
    if (choice[0])
        text_printf(text, " · %s", choice);
    job_expected_add(item, &expected);
    if (expected.length > 0)
        text_printf(text, " · starts %s", expected.bytes);
    text_add_char(text, '\n');
}

static void print_reply(const struct sending *sending, const json_t *reply)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    const json_t *item;
    size_t i;

    if (sending->sbatch.is_json) {
        reply_print(reply);
        return;
    }
    if (sending->is_dry && json_array_size(json_object_get(reply, "submitted")) == 0)
        text_add(&text, "the request is valid; nothing was submitted\n");
    json_array_foreach(json_object_get(reply, "submitted"), i, item)
    {
        if (sending->is_dry)
            text_printf(&text, "%s %s can run here; nothing was submitted\n",
                        field_text(item, "kind"), field_text(item, "name"));
        else if (sending->is_ids)
            text_printf(&text, "%" PRId64 "\n", field_number(item, "id"));
        else if (!sending->sbatch.is_quiet)
            add_submitted(item, &text);
    }
    screen_prose(stdout, text_string(&text));
    fflush(stdout);
}

/* When it would start, where it is one job. */
static void add_when(const struct sending *sending, struct session *session, json_t *reply)
{
    AUTO(json) json_t *when = sending_when(sending, session);

    if (when && sending->sbatch.is_json)
        json_object_set(reply, "when", when);
    else if (when) {
        AUTO_FREE char *line = mem_printf("%s\n", field_text(when, "text"));
        screen_prose(stdout, line);
        fflush(stdout);
    }
}

/* What each model would mean, where the job may have several. */
static void add_choice(const struct sending *sending, struct session *session, json_t *reply)
{
    AUTO(json) json_t *choice = NULL;
    struct error ignored;

    if (session_send(session, "POST", "/v1/choose", sending->document, &choice, &ignored) < 0 ||
        json_array_size(json_object_get(choice, "models")) < 2)
        return;
    if (sending->sbatch.is_json) {
        json_object_set(reply, "choice", choice);
        return;
    }
    choice_print(choice);
}

static int wait_for(struct session *session, const json_t *reply, bool is_quiet, struct error *err)
{
    const json_t *item = json_array_get(json_object_get(reply, "submitted"), 0);
    char id[32];
    int status;

    snprintf(id, sizeof(id), "%" PRId64, field_number(item, "id"));
    int code = follow_quietly(session, id, !is_quiet, &status, err);
    return code < 0 ? code : status;
}

/* The exit status; code: of what was done, or a status. */
static int over(const struct sending *sending, int code, const struct error *err)
{
    if (code >= 0)
        return code;
    complain(err);
    return sending->is_usage ? 2 : 1;
}

int run_submit(const struct options *options)
{
    AUTO_RELEASE(sending) struct sending sending;
    AUTO_RELEASE(session) struct session session = { 0 };
    AUTO(json) json_t *reply = NULL;
    struct error err;

    int code = sending_read(&sending, options->argc, options->argv, &err);
    if (code == 0 && sending.sbatch.is_help) {
        command_help(command_find("submit"));
        return 0;
    }
    if (code == 0)
        code = session_open(&session, &err);
    if (code == 0)
        code = sending_post(&sending, &session, &reply, &err);
    if (code == 0) {
        if (sending.is_dry && sending.sbatch.is_json) {
            add_when(&sending, &session, reply);
            add_choice(&sending, &session, reply);
        }
        print_reply(&sending, reply);
        if (sending.is_dry && !sending.sbatch.is_json) {
            add_when(&sending, &session, reply);
            add_choice(&sending, &session, reply);
        }
        if (sending.sbatch.is_waiting && !sending.is_dry)
            code =
                wait_for(&session, reply,
                         sending.sbatch.is_quiet || sending.is_ids || sending.sbatch.is_json, &err);
    }
    return over(&sending, code, &err);
}

/* ---- run ---- */

static int follow(const struct follow_plan *plan, int *ret_status, struct error *err)
{
    if (strcmp(field_text(plan->submitted, "kind"), "job") != 0)
        return follow_group(plan, ret_status, err);
    return follow_job(plan, ret_status, err);
}

static void tell_dry(const struct sending *sending, struct session *session,
                     const json_t *submitted)
{
    AUTO(json) json_t *when = sending_when(sending, session);

    if (!submitted)
        talk("the request is valid; nothing was submitted");
    else
        talk("%s %s can run here; nothing was submitted", field_text(submitted, "kind"),
             field_text(submitted, "name"));
    if (when)
        talk("%s", field_text(when, "text"));
}

static enum engine_attach input_of(const json_t *document)
{
    const char *word = field_text(document, "attach");

    return strcmp(word, "stdin") == 0      ? ENGINE_ATTACH_STDIN
           : strcmp(word, "terminal") == 0 ? ENGINE_ATTACH_TERMINAL
                                           : ENGINE_ATTACH_NONE;
}

static int post_and_follow(struct sending *sending, bool cancels, int signal_fd, int *ret_status,
                           struct error *err)
{
    AUTO_RELEASE(session) struct session session = { 0 };
    AUTO(json) json_t *reply = NULL;

    int code = session_open(&session, err);
    if (code < 0)
        return code;
    code = session_start(&session, sending->devices, err);
    client_watch(session.client, signal_fd);
    if (code == 0)
        code = sending_post(sending, &session, &reply, err);
    if (code == -EINTR) {
        *ret_status = INTERRUPT_STATUS + SIGINT;
        return error_set(
            err, code,
            "interrupted before the daemon answered; tarn ls shows whether it accepted the job");
    }
    if (code < 0)
        return code;
    const struct follow_plan plan = {
        .session = &session,
        .submitted = json_array_get(json_object_get(reply, "submitted"), 0),
        .signal_fd = signal_fd,
        .input = input_of(sending->document),
        .cancels = cancels,
        .is_quiet = sending->sbatch.is_quiet,
        .is_json = sending->sbatch.is_json,
    };
    if (sending->is_dry)
        tell_dry(sending, &session, plan.submitted);
    else
        code = follow(&plan, ret_status, err);
    return code;
}

int submit_and_follow(struct sending *sending, bool cancels, int *ret_status, struct error *err)
{
    int signal_fd = -1;

    int code = interrupt_open(&signal_fd, err);
    if (code == 0)
        code = post_and_follow(sending, cancels, signal_fd, ret_status, err);
    interrupt_close(signal_fd);
    return code;
}

int run_run(const struct options *options)
{
    AUTO_RELEASE(sending) struct sending sending;
    int status = 0;
    struct error err;

    int code = sending_read(&sending, options->argc, options->argv, &err);
    if (code == 0 && sending.sbatch.is_help) {
        command_help(command_find("run"));
        return 0;
    }
    if (code == 0)
        code = submit_and_follow(&sending, false, &status, &err);
    int failure = over(&sending, code, &err);
    return status != 0 ? status : failure;
}

/* ---- wait ---- */

static int wait_one(const struct each *each)
{
    struct error err;
    int status = 1;

    if (follow_quietly(each->session, each->id, !each->options->is_quiet, &status, &err) < 0)
        return complain(&err);
    return status;
}

int run_wait(const struct options *options)
{
    return each_id(options, wait_one);
}
