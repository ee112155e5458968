/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/follow/follow_job.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/follow/ctrl_c.h"
#include "cli/follow/news.h"
#include "cli/follow/typing.h"
#include "cli/follow/visit.h"
#include "cli/job_view.h"
#include "cli/screen.h"

static void connect_events(struct watch *watch)
{
    AUTO_FREE char *path = mem_printf("/v1/jobs/%s/events", watch->id);

    watch->connected_at = time(NULL);
    client_stream_open(watch->session->client, path, &watch->events);
}

enum { STATUS_TOO_MANY = 429 };

bool stream_is_crowded_out(const struct client_stream *stream)
{
    return stream->is_over && stream->status == STATUS_TOO_MANY;
}

static int refusal_of(const struct client_stream *stream, struct error *err)
{
    return refusal_read(stream->status, text_string(&stream->bytes), stream->bytes.length, err);
}

static void watch_try_again(struct watch *watch)
{
    struct error why;

    if (!watch->is_told) {
        refusal_of(&watch->events, &why);
        say("%s; waiting until others are closed", why.text);
        watch->is_told = true;
    }
    if (time(NULL) - watch->connected_at < WATCH_CROWDED_S)
        return;
    client_rest(watch->session->client); /* it counts, too */
    client_stream_close(&watch->events);
    connect_events(watch);
}

void watch_open(struct watch *watch, struct session *session, const char *id)
{
    *watch = (struct watch){ .session = session };
    snprintf(watch->id, sizeof(watch->id), "%s", id);
    connect_events(watch);
}

void watch_close(struct watch *watch)
{
    client_stream_close(&watch->events);
}

json_t *watch_take(struct watch *watch, bool *ret_is_group)
{
    struct client_event event;
    json_t *value = NULL;

    while (!value && watch->events.status < 400 && client_event_take(&watch->events, &event)) {
        *ret_is_group = strcmp(event.name, "group") == 0;
        if (json_parse(event.data, strlen(event.data), CLIENT_REPLY_MAX, NULL, &value, NULL) < 0)
            value = NULL;
        client_event_release(&event);
        watch->away_since = 0;
    }
    return value;
}

int watch_mend(struct watch *watch, struct error *err)
{
    const struct client_stream *events = &watch->events;

    if (stream_is_crowded_out(events)) {
        watch_try_again(watch);
        return 0;
    }
    if (events->status >= 400)
        return refusal_of(events, err);
    if (watch->away_since == 0) {
        watch->away_since = time(NULL);
    } else if (time(NULL) - watch->away_since > WATCH_AWAY_S) {
        return error_set(
            err, -ENODATA,
            "no connection to the daemon; tarn up starts it, tarn logs -f %s continues", watch->id);
    }
    client_stream_close(&watch->events);
    int code = client_wait(watch->session->client, WATCH_PAUSE_MS, err);
    if (code < 0 && code != -EINTR)
        return code;
    connect_events(watch);
    return 0;
}

enum { WAIT_MS = 5000, ASK_AGAIN_S = 15 };

/* One job on its way. */
struct following {
    const struct follow_plan *plan;
    char id[ID_SIZE];
    struct watch watch;
    struct client_stream output;
    uint64_t offset;             /* bytes of output that have come */
    json_t *job;                 /* as last heard; NULL: not yet */
    char *said, *kind;           /* the last reason shown, and its kind */
    time_t low, high;            /* the range of the start that was shown with it; 0: none */
    bool is_introduced, is_deaf; /* the reader of the output has closed it */
    bool has_failed_output;
    time_t opened_at;     /* the output */
    time_t crowded_since; /* its stream was refused because too many are open; 0: not so */
    time_t asked_at;
    int64_t introduced; /* attempt */
    int64_t joined;     /* the attempt that has our terminal or standard input; 0: none had */
    bool is_logged;     /* its output is read although it has a terminal: it was too fast for us */
    struct typing typing; /* for a terminal that it has not yet */
    struct passing passing;
    struct restarts restarts;
};

int follow_interrupted(const struct follow_plan *plan, const char *what, int *ret_status)
{
    const int64_t id = field_number(plan->submitted, "id");
    struct error err;
    int signal = 0;

    enum interrupt_answer answer = !plan->cancels ? interrupt_ask(plan->signal_fd, what, &signal)
                                   : interrupt_take(plan->signal_fd) != 0 ? INTERRUPT_CANCEL
                                                                          : INTERRUPT_GO_ON;
    switch (answer) {
    case INTERRUPT_GO_ON:
        return 0;
    case INTERRUPT_LEAVE:
        say(string_starts(what, "job ") ? "%s continues; tarn logs -f %" PRId64
                                          " follows it, tarn cancel %" PRId64 " ends it"
                                        : "%s continues; tarn show %" PRId64
                                          " shows it, tarn cancel %" PRId64 " ends it",
            what, id, id);
        *ret_status = INTERRUPT_STATUS + signal;
        return 1;
    case INTERRUPT_CANCEL:
        break;
    }
    AUTO_FREE char *path = mem_printf("/v1/jobs/%" PRId64 "/cancel", id);
    if (session_send(plan->session, "POST", path, NULL, NULL, &err) < 0)
        complain(&err);
    return 0;
}

/* "1 x H100 (gpu 3) · synthetic", or its CPUs. */
static void add_devices(const json_t *job, struct text *text)
{
    const json_t *devices = json_object_get(job, "devices");
    const json_t *first = json_array_get(devices, 0);
    AUTO_RELEASE(text) struct text indices = { 0 };
    char buffer[UNITS_TEXT_SIZE];

    const char *asked = field_text(job, "gpus");
    if (!first && asked[0] && strcmp(asked, "0") != 0) {
        text_printf(text, " · --gpus %s%s", asked,
                    json_is_true(json_object_get(job, "synthetic")) ? " · synthetic"
                                                                    : ""); /* given back already */
        return;
    }
    if (!first) {
        int64_t milli = field_milli(job, "cpus");
        text_printf(text, " · %s cpu%s", units_format_milli(buffer, milli),
                    milli == 1000 ? "" : "s");
        return;
    }
    size_t count = json_array_size(devices);
    bool has_nodes = job_indices_add(job, &indices);
    if (field_milli(first, "share") == 1000)
        text_printf(text, " · %zu x ", count);
    else
        text_printf(text, " · %s of ", units_format_milli(buffer, field_milli(first, "share")));
    upper_add(field_text(first, "model"), text);
    text_printf(text, " (%s%s)%s",
                has_nodes    ? ""
                : count == 1 ? "gpu "
                             : "gpus ",
                text_string(&indices), field_is_true(first, "synthetic") ? " · synthetic" : "");
}

/* The least of what is promised; a word for all of it must hold for each. */
static const char *weakest_isolation(const json_t *job)
{
    static const char *const words[] = { "accounted", "watched", "isolated" };
    json_t *isolation = json_object_get(job, "isolation"), *value;
    bool has_gpu = json_array_size(json_object_get(job, "devices")) > 0;
    size_t weakest = COUNT_OF(words);
    const char *key;

    json_object_foreach(isolation, key, value)
    {
        for (size_t i = 0; i < weakest; i++) {
            if (string_equal(json_string_value(value), words[i]) &&
                (has_gpu || strcmp(key, "gpu") != 0))
                weakest = i;
        }
    }
    return weakest < COUNT_OF(words) ? words[weakest] : "";
}

static bool is_silent(const struct following *following)
{
    return following->plan->is_quiet || following->plan->is_json;
}

/* Once, when it runs: on what. One that was too fast for that is only named. */
static void introduce(struct following *following)
{
    AUTO_FREE char *path = mem_printf("/v1/jobs/%s", following->id);
    AUTO_RELEASE(text) struct text text = { 0 };
    AUTO(json) json_t *details = NULL;

    if (following->is_introduced || is_silent(following))
        return;
    following->is_introduced = true;
    mem_auto_free(&following->kind);
    following->kind = NULL;
    following->introduced = field_number(following->job, "attempt");
    text_printf(&text, "job %s · %s", field_text(following->job, "label"),
                field_text(following->job, "name"));
    if (!job_is_ended(following->job) &&
        session_get(following->plan->session, path, &details, NULL) == 0) {
        const char *isolation = weakest_isolation(details);

        restarts_add(&following->restarts, details, &text);
        add_devices(details, &text);
        if (isolation[0])
            text_printf(&text, " · %s", isolation);
    }
    if (field_number(following->job, "attempt") > 1)
        text_printf(&text, " · attempt %" PRId64, field_number(following->job, "attempt"));
    if (following->plan->input == ENGINE_ATTACH_TERMINAL && !job_is_ended(following->job))
        text_add(&text, " · " VISIT_DETACH_KEYS " detaches");
    talk("%s", text.bytes);
}

/* The same kind of reason, and a start within the range that was said: a job may wait for days, and
 * its estimate differs a little each time. A begin time only comes nearer. */
static bool is_as_said(const struct following *following, const json_t *why)
{
    time_t expected = field_time(why, "expected_start");
    const char *kind = field_text(why, "kind");

    if (!string_equal(following->kind, kind))
        return false;
    return strcmp(kind, "begin") == 0 ||
           (expected > 0 && following->low <= expected && expected <= following->high);
}

static void tell_reason(struct following *following)
{
    const json_t *why = json_object_get(following->job, "why");
    AUTO_RELEASE(text) struct text text = { 0 };

    following->is_introduced = false;
    if (is_silent(following) || !field_text(why, "text")[0] ||
        strcmp(field_text(why, "kind"), "new") == 0)
        return;
    job_why_add(following->job, &text);
    if (string_equal(following->said, text_string(&text)) || is_as_said(following, why))
        return;
    mem_auto_free(&following->said);
    following->said = mem_string(text_string(&text));
    mem_auto_free(&following->kind);
    following->kind = mem_string(field_text(why, "kind"));
    following->low = field_time(why, "low");
    following->high = field_time(why, "high");
    talk("job %s · %s · waits: %s%s", field_text(following->job, "label"),
         field_text(following->job, "name"), following->said,
         following->plan->input == ENGINE_ATTACH_TERMINAL ? " · " VISIT_DETACH_KEYS " detaches"
                                                          : "");
}

/* Takes over job. */
static void hear(struct following *following, json_t *job)
{
    json_decref(following->job);
    following->job = job;
    const char *state = field_text(job, "state");
    if (following->introduced != field_number(job, "attempt"))
        following->is_introduced =
            false; /* it was started again so fast that no reason was heard */
    if (strcmp(state, "running") == 0 || job_is_ended(job))
        introduce(following);
    else if (strcmp(state, "granted") != 0 && strcmp(state, "stopping") != 0)
        tell_reason(following);
}

static void hear_all(struct following *following)
{
    bool is_group;

    for (json_t *job = watch_take(&following->watch, &is_group); job;
         job = watch_take(&following->watch, &is_group)) {
        if (is_group)
            json_decref(job);
        else
            hear(following, job);
    }
}

/* A reason changes without an event when others come and go. */
static void ask_again(struct following *following)
{
    AUTO_FREE char *path = mem_printf("/v1/jobs/%s", following->id);
    json_t *job = NULL;

    if (is_silent(following) || following->is_introduced ||
        time(NULL) - following->asked_at < ASK_AGAIN_S)
        return;
    following->asked_at = time(NULL);
    if (session_get(following->plan->session, path, &job, NULL) == 0)
        hear(following, job);
}

static void open_output(struct following *following)
{
    AUTO_RELEASE(text) struct text path = { 0 };

    text_printf(&path, "/v1/jobs/%s/output?follow=1&offset=%" PRIu64, following->id,
                following->offset);
    if (following->plan->tail > 0 && following->offset == 0)
        text_printf(&path, "&tail=%u", following->plan->tail);
    following->opened_at = time(NULL);
    client_stream_open(following->plan->session->client, path.bytes, &following->output);
}

static bool wants_output(const struct following *following)
{
    return !following->plan->is_json && !following->has_failed_output &&
           (following->plan->input != ENGINE_ATTACH_TERMINAL || following->is_logged);
}

/* Others may end; but an ended job is not followed for ever. */
static bool may_get_output(struct following *following)
{
    bool has_ended = following->job && job_is_ended(following->job);

    if (!stream_is_crowded_out(&following->output))
        return false;
    if (following->crowded_since == 0 || !has_ended)
        following->crowded_since = time(NULL);
    return time(NULL) - following->crowded_since <= WATCH_AWAY_S;
}

static void fail_output(struct following *following)
{
    struct error err;

    following->has_failed_output = true;
    refusal_of(&following->output, &err);
    say("no output: %s", err.text);
}

/* Give on what has come; the job does not notice when its reader leaves. */
static void copy_output(struct following *following)
{
    struct client_stream *output = &following->output;

    if (output->status >= 400) {
        if (output->is_over && !following->has_failed_output && !may_get_output(following))
            fail_output(following);
        return;
    }
    if (output->status > 0)
        following->crowded_since = 0;
    following->offset += output->bytes.length;
    for (size_t at = 0; at < output->bytes.length && !following->is_deaf;) {
        ssize_t done = write(STDOUT_FILENO, output->bytes.bytes + at, output->bytes.length - at);
        if (done < 0 && errno != EINTR)
            following->is_deaf = true;
        else if (done > 0)
            at += (size_t)done;
    }
    text_clear(&output->bytes);
}

enum { STATUS_BROKEN_PIPE = 128 + SIGPIPE };

/* Connections that broke while the job goes on. */
static int mend(struct following *following, struct error *err)
{
    bool has_ended = following->job && job_is_ended(following->job);
    int code = 0;

    if (following->watch.events.is_over && !has_ended)
        code = watch_mend(&following->watch, err);
    bool is_crowded_out = stream_is_crowded_out(&following->output);
    bool is_cut = is_crowded_out
                      ? time(NULL) - following->opened_at >= WATCH_CROWDED_S
                      : following->output.is_over && (following->output.code < 0 || !has_ended);
    if (code == 0 && wants_output(following) && is_cut) {
        client_stream_close(&following->output);
        open_output(following);
    }
    return code;
}

/* ---- our terminal, or our standard input ---- */

static void read_log(struct following *following)
{
    if (following->is_logged)
        return;
    following->is_logged = true;
    if (wants_output(following))
        open_output(following);
}

static void tell_detached(const struct following *following, bool has_line)
{
    talk("%sjob %s continues; tarn attach %s returns to it, tarn cancel %s ends it",
         has_line ? "\n" : "", following->id, following->id, following->id);
}

/* 0: it is over; 1: left, with *ret_status. */
static int use_terminal(struct following *following, struct visit *visit, int *ret_status)
{
    const struct follow_plan *plan = following->plan;

    typing_stop(&following->typing);
    visit_type(visit, &following->typing);
    enum visit_end end = visit_copy(visit, plan->signal_fd);
    visit_close(visit);
    if (end == VISIT_OVER && visit->answer.failure == 0)
        return 0;
    *ret_status = end == VISIT_SIGNALLED  ? INTERRUPT_STATUS + interrupt_take(plan->signal_fd)
                  : end == VISIT_DETACHED ? 0
                                          : 1;
    if (end == VISIT_OVER)
        say("job %s: %.*s", following->id, (int)sizeof(visit->answer.text), visit->answer.text);
    tell_detached(following, end == VISIT_DETACHED);
    return 1;
}

/* Of a job that is over already there is nothing to say. */
static void tell_not_joined(struct following *following, const struct error *why)
{
    AUTO_FREE char *path = mem_printf("/v1/jobs/%s", following->id);
    AUTO(json) json_t *job = NULL;

    if (session_get(following->plan->session, path, &job, NULL) < 0 ||
        strcmp(field_text(job, "state"), "running") != 0)
        return;
    say("job %s: %s", following->id, why->text);
}

/* Half of the input would be worse than none, so it is killed at once. */
static void cancel_half_fed(struct following *following, const struct error *why)
{
    AUTO_FREE char *path = mem_printf("/v1/jobs/%s/cancel?signal_now=1", following->id);
    struct error err;

    say("job %s was restarted, but %s; it is cancelled", following->id, why->text);
    if (session_send(following->plan->session, "POST", path, NULL, NULL, &err) < 0)
        complain(&err);
}

/* We leave a job that still waits for its standard input: it need not wait for a minute. */
static void end_input(struct following *following)
{
    static struct visit visit;
    int input = -1;

    if (following->plan->input != ENGINE_ATTACH_STDIN || following->joined > 0)
        return;
    if (visit_attach(&visit, following->plan->session, following->id, &input, NULL) == 0 &&
        input >= 0)
        close(input);
    visit_close(&visit);
}

/* 0: go on; 1: left, with *ret_status. */
static int join(struct following *following, int *ret_status)
{
    static struct visit visit;
    const struct follow_plan *plan = following->plan;
    struct error err;
    int input = -1;

    if (!following->job || plan->input == ENGINE_ATTACH_NONE)
        return 0;
    if (plan->input == ENGINE_ATTACH_TERMINAL && job_is_ended(following->job) &&
        following->joined == 0)
        read_log(following);
    if (strcmp(field_text(following->job, "state"), "running") != 0 ||
        following->joined == field_number(following->job, "attempt"))
        return 0;
    int code = visit_attach(&visit, plan->session, following->id, &input, &err);
    if (code < 0) {
        visit_close(&visit);
        tell_not_joined(following, &err);
        if (plan->input == ENGINE_ATTACH_TERMINAL && following->joined == 0)
            read_log(following);
        following->joined = field_number(following->job, "attempt");
        return 0;
    }
    following->joined = field_number(following->job, "attempt");
    if (input < 0)
        return use_terminal(following, &visit, ret_status);
    visit_close(&visit);
    if (passing_start(&following->passing, input, &err) < 0)
        cancel_half_fed(following, &err);
    return 0;
}

/* The output is whole when its stream has ended well. */
static bool is_complete(const struct following *following)
{
    return following->job && job_is_ended(following->job) &&
           (!wants_output(following) || (following->output.is_over && following->output.code == 0 &&
                                         !stream_is_crowded_out(&following->output)));
}

/* Wait for news, a signal, and what is typed for the job. 1: left, with *ret_status. */
static int follow_wait(struct following *following, int *ret_status, struct error *err)
{
    const struct follow_plan *plan = following->plan;
    AUTO_FREE char *what = mem_printf("job %s", following->id);

    if (plan->input == ENGINE_ATTACH_TERMINAL && !(following->job && job_is_ended(following->job)))
        client_watch(plan->session->client, typing_start(&following->typing, plan->signal_fd));
    int code = client_wait(plan->session->client, WAIT_MS, err);
    client_watch(plan->session->client, plan->signal_fd);
    if (code != -EINTR)
        return code;
    if (typing_read(&following->typing)) {
        typing_stop(&following->typing);
        tell_detached(following, false);
        *ret_status = 0;
        return 1;
    }
    struct pollfd signalled = { .fd = plan->signal_fd, .events = POLLIN };
    if (poll(&signalled, 1, 0) <= 0)
        return 0;
    typing_stop(&following->typing);
    if (follow_interrupted(plan, what, ret_status) == 0)
        return 0;
    end_input(following);
    return 1;
}

static int follow_on(struct following *following, int *ret_status, struct error *err)
{
    while (!is_complete(following)) {
        int code = follow_wait(following, ret_status, err);
        if (code != 0)
            return code;
        hear_all(following);
        if (join(following, ret_status) != 0)
            return 1;
        copy_output(following);
        if (following->is_deaf && !(following->job && job_is_ended(following->job))) {
            talk("job %s continues; tarn logs -f %s, tarn cancel %s\n", following->id,
                 following->id, following->id);
            *ret_status = STATUS_BROKEN_PIPE;
            return 1;
        }
        ask_again(following);
        code = mend(following, err);
        if (code < 0)
            return code;
    }
    return 0;
}

static void tell_end(struct following *following)
{
    AUTO_FREE char *path = mem_printf("/v1/jobs/%s", following->id);
    AUTO_RELEASE(text) struct text text = { 0 };
    AUTO(json) json_t *job = NULL;

    if (following->plan->is_json) {
        if (session_get(following->plan->session, path, &job, NULL) == 0)
            reply_print(job);
    } else if (!following->plan->is_quiet) {
        job_end_add(following->job, &text);
        if (job_has_failed(following->job))
            last_lines_tell(following->plan->session, following->job, LAST_LINES, true);
        talk("%s", text.bytes);
    }
}

int follow_job(const struct follow_plan *plan, int *ret_status, struct error *err)
{
    struct following following = { .plan = plan, .asked_at = time(NULL) };

    snprintf(following.id, sizeof(following.id), "%" PRId64, field_number(plan->submitted, "id"));
    watch_open(&following.watch, plan->session, following.id);
    if (wants_output(&following))
        open_output(&following);
    int code = follow_on(&following, ret_status, err);
    if (code == 0) {
        tell_end(&following);
        *ret_status = job_exit_status(following.job);
    }
    typing_stop(&following.typing);
    passing_stop(&following.passing);
    restarts_release(&following.restarts);
    client_stream_close(&following.output);
    watch_close(&following.watch);
    json_decref(following.job);
    mem_auto_free(&following.said);
    mem_auto_free(&following.kind);
    return code < 0 ? code : 0;
}

static void tell_failure(struct session *session, const json_t *job)
{
    AUTO_RELEASE(text) struct text text = { 0 };

    last_lines_tell(session, job, LAST_LINES, false);
    job_end_add(job, &text);
    talk("%s", text.bytes);
}

int follow_quietly(struct session *session, const char *id, bool tells, int *ret_status,
                   struct error *err)
{
    struct watch watch;
    struct restarts restarts = { 0 };
    bool is_over = false, is_group, has_group = false;
    int code = 0;

    watch_open(&watch, session, id);
    while (code == 0 && !is_over) {
        code = client_wait(session->client, WAIT_MS, err);
        for (json_t *change = watch_take(&watch, &is_group); change;
             change = watch_take(&watch, &is_group)) {
            const char *result = field_text(change, "result");

            has_group = has_group || is_group;
            if (tells && !is_group)
                restarts_tell(&restarts, session, change);
            if (is_group ? result[0] != '\0' : !has_group && job_is_ended(change)) {
                is_over = is_group || strcmp(field_text(change, "label"), id) == 0;
                *ret_status = is_group ? strcmp(result, "ok") != 0 : job_exit_status(change);
                if (tells && is_over && !is_group && job_has_failed(change))
                    tell_failure(session, change);
            }
            json_decref(change);
        }
        if (code == 0 && !is_over && watch.events.is_over)
            code = watch_mend(&watch, err);
    }
    watch_close(&watch);
    restarts_release(&restarts);
    return code;
}
