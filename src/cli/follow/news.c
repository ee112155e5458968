/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/follow/news.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/terminal_text.h"
#include "cli/fields.h"
#include "cli/job_view.h"
#include "cli/screen.h"

static int64_t times_of(const json_t *job, const char *key)
{
    return field_number(json_object_get(job, key), "times");
}

enum { LINE_SIZE = 512 };

/* Why it was started again: what is counted once more than before. */
static void add_cause(const json_t *before, const json_t *now, struct text *text)
{
    static const char *const moves[] = { "moved", "rescued" };

    for (size_t i = 0; i < COUNT_OF(moves); i++) {
        if (times_of(now, moves[i]) > times_of(before, moves[i])) {
            text_printf(text, ": %s", field_text(json_object_get(now, moves[i]), "text"));
            return;
        }
    }
    if (field_number(now, "preemptions") > field_number(before, "preemptions")) {
        text_add(text, ": ");
        job_preempted_add(now, text);
    } else if (field_number(now, "heals") > field_number(before, "heals")) {
        text_add(text, " after a member was lost");
    } else if (field_number(now, "retries") > field_number(before, "retries")) {
        text_printf(text, " after a failure (retry %" PRId64 " of %" PRId64 ")",
                    field_number(now, "retries"), field_number(now, "retry"));
    } else if (strcmp(field_text(json_object_get(now, "resized"), "at"),
                      field_text(json_object_get(before, "resized"), "at")) != 0) {
        text_printf(text, ": %s", field_text(json_object_get(now, "resized"), "text"));
    }
}

void restarts_add(struct restarts *restarts, const json_t *details, struct text *text)
{
    int64_t attempt = field_number(details, "attempt");

    if (restarts->before && attempt > field_number(restarts->before, "attempt")) {
        text_add(text, " restarted");
        add_cause(restarts->before, details, text);
    }
    json_decref(restarts->before);
    restarts->before = json_deep_copy(details);
}

void restarts_tell(struct restarts *restarts, struct session *session, const json_t *job)
{
    AUTO_FREE char *path = mem_printf("/v1/jobs/%" PRId64, field_number(job, "id"));
    AUTO_RELEASE(text) struct text text = { 0 }, gpus = { 0 };
    AUTO(json) json_t *details = NULL;

    if (strcmp(field_text(job, "state"), "running") != 0 ||
        (restarts->before &&
         field_number(job, "attempt") <= field_number(restarts->before, "attempt")) ||
        session_get(session, path, &details, NULL) < 0)
        return;
    restarts_add(restarts, details, &text);
    if (text.length == 0)
        return;
    job_indices_add(details, &gpus);
    talk("job %s%s · attempt %" PRId64 "%s%s", field_text(job, "label"), text.bytes,
         field_number(details, "attempt"), gpus.length > 0 ? " · gpu " : "", text_string(&gpus));
}

void restarts_release(struct restarts *restarts)
{
    json_decref(restarts->before);
    restarts->before = NULL;
}

/* ---- its failure ---- */

/* The last of them as a terminal would show them: no prose of ours, and no screen long. */
static void tell_lines(const struct text *output, unsigned lines)
{
    AUTO_RELEASE(text) struct text shown = { 0 };
    char line[LINE_SIZE];
    size_t count = 0;

    terminal_text_add(&shown, output->bytes, output->length);
    for (size_t i = 0; i < shown.length; i++)
        count += shown.bytes[i] == '\n';
    for (const char *at = text_string(&shown); *at; count--) {
        size_t length = strcspn(at, "\n");
        string_clean(line, sizeof(line), at, length);
        if (count <= lines)
            fprintf(stderr, "  %s%s\n", line, strlen(line) < length ? " ..." : "");
        at += length + 1;
    }
}

void last_lines_tell(struct session *session, const json_t *job, unsigned lines, bool was_shown)
{
    AUTO_FREE char *job_path = mem_printf("/v1/jobs/%" PRId64, field_number(job, "id"));
    AUTO_RELEASE(text) struct text path = { 0 }, of = { 0 };
    AUTO(json) json_t *details = NULL;
    struct client_reply reply;

    if (session_get(session, job_path, &details, NULL) < 0)
        return;
    bool has_rank = !field_is_null(details, "failed_rank");
    bool has_error = field_text(json_object_get(details, "launch"), "error")[0] != '\0';
    int64_t rank = has_rank ? field_number(details, "failed_rank") : 0;
    if (field_number(details, "attempt") == 0 || (was_shown && rank == 0 && !has_error))
        return;
    text_printf(&path, "%s/output?tail=%u&rank=%" PRId64 "%s", job_path, lines, rank,
                has_error ? "&stream=error" : "");
    const struct client_request request = { .method = "GET", .path = path.bytes };
    if (client_call(session->client, &request, &reply, NULL) < 0)
        return;
    if (has_rank)
        text_printf(&of, " of rank %" PRId64, rank);
    if (reply.status == 200 && reply.body.length > 0) {
        talk("job %s · the last lines%s%s:", field_text(job, "label"),
             has_error ? " of standard error" : "", text_string(&of));
        tell_lines(&reply.body, lines);
    }
    client_reply_release(&reply);
}
