/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/command.h"
#include "cli/screen.h"
#include "cli/select.h"

enum { FOLLOW, RANK, ERROR, TAIL };
enum { WAIT_MS = 60000 };

const struct option_entry options_logs[] = {
    [FOLLOW] = { "follow", 'f', NULL, "continue until the job has ended" },
    [RANK] = { "rank", 'r', "N", "output of this member; default 0" },
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

/* Bytes as the job wrote them. Ends when the reader closes the pipe. */
static int copy_stream(struct session *session, struct client_stream *stream, struct error *err)
{
    bool is_over;

    do {
        int code = client_wait(session->client, stream->is_over ? 0 : WAIT_MS, err);
        if (code < 0)
            return code;
        is_over = stream->is_over;
        if (stream->status >= 400) {
            if (is_over)
                return refusal_read(stream->status, text_string(&stream->bytes),
                                    stream->bytes.length, err);
            continue;
        }
        if (stream->bytes.length > 0)
            fwrite(stream->bytes.bytes, 1, stream->bytes.length, stdout);
        text_clear(&stream->bytes);
        if (fflush(stdout) != 0)
            return error_set(err, -errno, "standard output: %s", strerror(errno));
    } while (!is_over);
    if (stream->code < 0)
        return error_set(err, stream->code, "%s", stream->err.text);
    return 0;
}

static int print_one(const struct each *each)
{
    struct session *session = each->session;
    const char *id = each->id;
    struct client_stream stream = { 0 };
    AUTO_RELEASE(text) struct text path = { 0 };
    struct error err;

    if (each->count > 1)
        printf("%s==> job %s <==\n", each->number > 0 ? "\n" : "", id);
    build_path(id, each->options, &path);
    client_stream_open(session->client, path.bytes, &stream);
    int code = copy_stream(session, &stream, &err);
    client_stream_close(&stream);
    if (code == -ENOENT || code == -ECONNREFUSED) {
        /* Ask once more in the way that says whether there is a daemon at all. */
        AUTO(json) json_t *job = NULL;
        AUTO_FREE char *job_path = mem_printf("/v1/jobs/%s", id);
        struct error other;

        if (session_get(session, job_path, &job, &other) < 0)
            err = other;
    }
    return code < 0 ? complain(&err) : 0;
}

int run_logs(const struct options *options)
{
    return each_id(options, print_one);
}
