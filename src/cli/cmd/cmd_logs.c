/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/terminal_text.h"
#include "cli/command.h"
#include "cli/fields.h"
#include "cli/follow/follow_job.h"
#include "cli/follow/news.h"
#include "cli/screen.h"
#include "cli/select.h"

enum { FOLLOW, RANK, ERROR, TAIL };
enum { WAIT_MS = 5000 };

const struct option_entry options_logs[] = {
    [FOLLOW] = { "follow", 'f', NULL, "continue until the job has ended" },
    [RANK] = { "rank", 'r', "N", "rank of the member; default 0" },
    [ERROR] = { "error", 'e', NULL, "standard error, if it has a separate file" },
    [TAIL] = { "tail", 'n', "N", "the last N lines only" },
    { 0 },
};

static void build_path(const char *id, const struct options *options, struct text *path)
{
    text_printf(path, "/v1/jobs/%s/output", id);
    if (options->values[RANK])
        client_query_add(path, "rank", options->values[RANK]);
    if (options->values[ERROR])
        client_query_add(path, "stream", "error");
    if (options->values[TAIL])
        client_query_add(path, "tail", options->values[TAIL]);
    if (options->values[FOLLOW])
        client_query_add(path, "follow", "1");
}

/* The output of one job, as it wrote it, or with a prefix before each line. */
struct copy {
    const char *prefix; /* NULL: none */
    bool is_in_line, has_any;
    bool is_quiet; /* without words about the job */
    bool is_shown; /* on a terminal, which the output of others must not change */
    struct terminal_filter filter;
};

static void put(struct copy *copy, const char *bytes, size_t length)
{
    AUTO_RELEASE(text) struct text shown = { 0 };

    copy->has_any = true;
    if (copy->is_shown) {
        terminal_filter_add(&copy->filter, &shown, bytes, length);
        bytes = text_string(&shown);
        length = shown.length;
    }
    while (copy->prefix && length > 0) {
        const char *end = memchr(bytes, '\n', length);
        size_t part = end ? (size_t)(end - bytes) + 1 : length;

        if (!copy->is_in_line)
            fputs(copy->prefix, stdout);
        fwrite(bytes, 1, part, stdout);
        copy->is_in_line = !end;
        bytes += part;
        length -= part;
    }
    fwrite(bytes, 1, length, stdout);
}

/* Ends when the reader closes the pipe. */
static int copy_stream(struct session *session, struct client_stream *stream, struct copy *copy,
                       struct watch *watch, struct restarts *restarts, struct error *err)
{
    bool is_over, is_group;

    do {
        int code = client_wait(session->client, stream->is_over ? 0 : WAIT_MS, err);
        if (code < 0)
            return code;
        is_over = stream->is_over;
        for (json_t *job = watch ? watch_take(watch, &is_group) : NULL; job;
             job = watch_take(watch, &is_group)) {
            if (!is_group && !copy->is_quiet)
                restarts_tell(restarts, session, job);
            json_decref(job);
        }
        if (stream->status >= 400) {
            if (is_over)
                return refusal_read(stream->status, text_string(&stream->bytes),
                                    stream->bytes.length, err);
            continue;
        }
        if (stream->bytes.length > 0)
            put(copy, stream->bytes.bytes, stream->bytes.length);
        text_clear(&stream->bytes);
        if (fflush(stdout) != 0)
            return error_set(err, -errno, "standard output: %s", strerror(errno));
    } while (!is_over);
    if (copy->is_in_line)
        putchar('\n');
    if (stream->code < 0)
        return error_set(err, stream->code, "%s", stream->err.text);
    return 0;
}

/* Why there is no output yet. */
static void tell_wait(const struct each *each, const char *id)
{
    AUTO_FREE char *path = mem_printf("/v1/jobs/%s", id);
    AUTO(json) json_t *job = NULL;

    if (session_get(each->session, path, &job, NULL) == 0 && field_number(job, "attempt") == 0 &&
        strcmp(field_text(job, "state"), "ended") != 0)
        fprintf(stderr, "tarn: job %s has not started; tarn why %s explains the wait\n", id, id);
}

static int copy_once(const struct each *each, const char *id, const char *prefix, struct error *err)
{
    struct copy copy = { .prefix = prefix,
                         .is_quiet = each->options->is_quiet,
                         .is_shown = isatty(STDOUT_FILENO) };
    struct client_stream stream = { 0 };
    AUTO_RELEASE(text) struct text path = { 0 };

    build_path(id, each->options, &path);
    client_stream_open(each->session->client, path.bytes, &stream);
    struct watch watch;
    bool is_followed = each->options->values[FOLLOW]; /* an output alone may be silent for days */
    if (is_followed)
        watch_open(&watch, each->session, id);
    struct restarts restarts = { 0 };
    int code =
        copy_stream(each->session, &stream, &copy, is_followed ? &watch : NULL, &restarts, err);
    restarts_release(&restarts);
    if (is_followed)
        watch_close(&watch);
    client_stream_close(&stream);
    if (code == 0 && !copy.has_any && !copy.is_quiet)
        tell_wait(each, id);
    return code;
}

static int copy_job(const struct each *each, const char *id, const char *prefix, struct error *err)
{
    unsigned tries = 0;
    int code;

    do
        code = copy_once(each, id, prefix, err);
    while (session_tries_again(code, err, &tries));
    return code;
}

/* The jobs of an array or a pipeline that ran, one after the other. */
static int copy_group(const struct each *each, const json_t *group, struct error *err)
{
    bool is_pipeline = strcmp(field_text(group, "kind"), "pipeline") == 0;
    const json_t *stage, *job;
    size_t i, k;

    if (each->options->values[FOLLOW])
        return error_set(err, -EINVAL,
                         "%s is %s %s: --follow takes one job; tarn ls --tasks -g %s lists them",
                         each->id, is_pipeline ? "a" : "an", field_text(group, "kind"), each->id);
    json_array_foreach(json_object_get(group, "stages"), i, stage)
    {
        json_array_foreach(json_object_get(stage, "jobs"), k, job)
        {
            AUTO_FREE char *prefix =
                mem_printf("[%s%s%s] ", field_text(job, "label"), is_pipeline ? " " : "",
                           is_pipeline ? field_text(job, "name") : "");
            int code = field_number(job, "attempt") > 0
                           ? copy_job(each, field_text(job, "label"), prefix, err)
                           : 0;
            if (code < 0)
                return code;
        }
    }
    return 0;
}

static int print_one(const struct each *each)
{
    const char *id = each->id;
    struct error err;

    if (each->count > 1)
        printf("%s==> job %s <==\n", each->number > 0 ? "\n" : "", id);
    int code = copy_job(each, id, NULL, &err);
    if (code == -ENOENT || code == -EREMOTEIO || code == -ECONNREFUSED) {
        /* It may be several jobs; and this says whether there is a daemon at all. */
        AUTO(json) json_t *job = NULL;
        AUTO_FREE char *job_path = mem_printf("/v1/jobs/%s", id);
        struct error other;

        if (session_get(each->session, job_path, &job, &other) < 0)
            err = other;
        else if (!field_is_null(job, "stages"))
            code = copy_group(each, job, &err);
    }
    return code < 0 ? complain(&err) : 0;
}

int run_logs(const struct options *options)
{
    return each_id(options, print_one);
}
