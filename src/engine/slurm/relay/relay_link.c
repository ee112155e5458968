/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/slurm/relay/relay_link.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

struct relay_link {
    struct relay_link_options options;
    uv_process_t process;
    uv_pipe_t in, out;
    struct text bytes;
    struct arena arena;
    int handles;    /* that are not closed yet */
    bool is_closed; /* by the owner */
    bool was_told;
};

static void on_handle_closed(uv_handle_t *handle)
{
    struct relay_link *link = handle->data;

    if (--link->handles > 0)
        return;
    text_release(&link->bytes);
    arena_release(&link->arena);
    free(link);
}

static void tell_closed(struct relay_link *link, const char *reason)
{
    if (link->is_closed || link->was_told)
        return;
    link->was_told = true;
    link->options.on_closed(link->options.user, reason);
}

static void on_srun_exit(uv_process_t *process, int64_t status, int signal)
{
    struct relay_link *link = process->data;
    char reason[96];

    snprintf(reason, sizeof(reason), "srun ended with %s %d", signal ? "signal" : "status",
             signal ? signal : (int)status);
    uv_close((uv_handle_t *)process, on_handle_closed);
    tell_closed(link, reason);
}

static void on_bytes(uv_stream_t *stream, ssize_t length, const uv_buf_t *buffer)
{
    struct relay_link *link = stream->data;
    struct relay_message message;
    struct error err;
    int code = 1;

    if (length > 0)
        text_add_bytes(&link->bytes, buffer->base, (size_t)length);
    free(buffer->base);
    if (length < 0) {
        tell_closed(link, "it closed the connection");
        return;
    }
    while (code > 0 && !link->is_closed) {
        arena_clear(&link->arena);
        code = relay_take(&link->bytes, &link->arena, &message, &err);
        if (code > 0)
            link->options.on_message(link->options.user, &message);
    }
    if (code < 0)
        tell_closed(link, err.text);
}

static void on_room(uv_handle_t *handle, size_t size, uv_buf_t *ret)
{
    (void)handle;
    *ret = uv_buf_init(mem_zero(1, size), (unsigned)size);
}

struct written {
    uv_write_t request;
    char *bytes;
};

static void on_written(uv_write_t *request, int status)
{
    struct written *written = (struct written *)request;

    (void)status; /* an end of the connection is seen by its reading */
    free(written->bytes);
    free(written);
}

void relay_link_send(struct relay_link *link, struct text *text)
{
    struct written *written = mem_zero(1, sizeof(*written));
    uv_buf_t buffer = uv_buf_init(NULL, (unsigned)text->length);

    buffer.base = written->bytes = text_take(text);
    if (link->was_told ||
        uv_write(&written->request, (uv_stream_t *)&link->in, &buffer, 1, on_written) < 0)
        on_written(&written->request, -1);
}

/* If the daemon runs in a Slurm job, srun must not take that one for its own. */
static char **environment(void)
{
    size_t count = 0, kept = 0;

    while (environ[count])
        count++;
    char **env = mem_zero(count + 1, sizeof(char *));
    for (size_t i = 0; i < count; i++) {
        if (!string_starts(environ[i], "SLURM_") || string_starts(environ[i], "SLURM_CONF="))
            env[kept++] = environ[i];
    }
    return env;
}

static int spawn(struct relay_link *link)
{
    const struct relay_link_options *options = &link->options;
    AUTO_FREE char *job = mem_printf("--jobid=%u", options->id);
    AUTO_FREE char *node = mem_printf("--nodelist=%s", options->node);
    AUTO_FREE char **env = environment();
    char *argv[] = { (char *)"srun",
                     (char *)"--quiet",
                     job,
                     node,
                     (char *)"--overlap",
                     (char *)"--nodes=1",
                     (char *)"--ntasks=1",
                     (char *)"--mem=0",
                     (char *)"--gres=none",
                     (char *)"--job-name=tarn",
                     (char *)"--export=NONE",
                     (char *)"--chdir=/",
                     (char *)options->relay,
                     (char *)"join",
                     (char *)options->instance,
                     NULL };
    uv_stdio_container_t streams[] = {
        { .flags = UV_CREATE_PIPE | UV_READABLE_PIPE, .data.stream = (uv_stream_t *)&link->in },
        { .flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&link->out },
        { .flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO },
    };
    uv_process_options_t plan = { .exit_cb = on_srun_exit,
                                  .file = "srun",
                                  .args = argv,
                                  .env = env,
                                  .flags = UV_PROCESS_DETACHED,
                                  .stdio = streams,
                                  .stdio_count = 3 };

    return uv_spawn(options->loop, &link->process, &plan);
}

int relay_link_open(const struct relay_link_options *options, struct relay_link **ret,
                    struct error *err)
{
    struct relay_link *link = mem_zero(1, sizeof(*link));

    link->options = *options;
    link->handles = 3;
    link->process.data = link->in.data = link->out.data = link;
    uv_pipe_init(options->loop, &link->in, 0);
    uv_pipe_init(options->loop, &link->out, 0);
    int code = spawn(link);
    if (code < 0) {
        uv_close((uv_handle_t *)&link->process, on_handle_closed);
        relay_link_close(link, false);
        return error_set(err, code, "srun: %s", uv_strerror(code));
    }
    uv_read_start((uv_stream_t *)&link->out, on_room, on_bytes);
    *ret = link;
    return 0;
}

void relay_link_close(struct relay_link *link, bool is_last)
{
    uv_handle_t *process = link ? (uv_handle_t *)&link->process : NULL;

    if (!link || link->is_closed)
        return;
    link->is_closed = true;
    uv_close((uv_handle_t *)&link->in, on_handle_closed);
    uv_close((uv_handle_t *)&link->out, on_handle_closed);
    if (uv_is_closing(process))
        return;
    uv_process_kill(&link->process, SIGTERM); /* srun ends its step */
    if (is_last)
        uv_close(process, on_handle_closed);
}
