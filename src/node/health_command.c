/* SPDX-License-Identifier: Apache-2.0 */
#include "node/health_command.h"

#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "io/file.h"

enum { ENV_MAX = 12, CHUNK = 4096, HANDLES = 3, KILL_MS = 2000 };

/* One command. It goes when its handles have closed. */
struct run {
    struct health_commands *commands; /* NULL: it was given up */
    struct run *next, *previous;
    uv_process_t process;
    uv_pipe_t output;
    uv_timer_t timer;
    unsigned closed;
    bool has_exited, has_output_ended, is_late;
    bool is_stuck; /* it was killed, and has not ended */
    bool is_told;
    int64_t status;
    int signal;
    int code;                       /* it could not be started */
    char line[CHECK_LINE_SIZE + 3]; /* the one that is being read; up to the end of a character */
    char last[CHECK_LINE_SIZE];     /* the last that was not empty */
    size_t length;
    char chunk[CHUNK];
    void (*done)(void *user, uint64_t tag, enum check_end end, const char *words);
    void *user;
    uint64_t tag;
};

struct health_commands {
    uv_loop_t *loop;
    struct run *first;
};

static void end_line(struct run *run)
{
    if (run->length > 0)
        string_clean(run->last, sizeof(run->last), run->line, run->length);
    run->length = 0;
}

static void take_output(struct run *run, const char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        if (byte == '\n' || byte == '\r')
            end_line(run);
        else if (run->length < sizeof(run->line))
            run->line[run->length++] = byte < ' ' || byte == 0x7f ? ' ' : (char)byte;
    }
}

static void say_end(const struct run *run, char *ret, size_t size)
{
    if (run->code < 0)
        snprintf(ret, size, "could not be started: %s", uv_strerror(run->code));
    else if (run->is_stuck)
        snprintf(ret, size, "not done in time, and cannot be killed");
    else if (run->is_late)
        snprintf(ret, size, "not done in time");
    else if (run->signal > 0)
        snprintf(ret, size, "signal %d", run->signal);
    else
        snprintf(ret, size, "exit %" PRId64, run->status);
    size_t length = strlen(ret);
    if (run->last[0] && length + 3 < size)
        snprintf(ret + length, size - length, ": %s", run->last);
}

static void leave(struct run *run)
{
    *(run->previous ? &run->previous->next : &run->commands->first) = run->next;
    if (run->next)
        run->next->previous = run->previous;
    run->commands = NULL;
}

static void on_closed(uv_handle_t *handle)
{
    struct run *run = handle->data;

    if (++run->closed == HANDLES)
        free(run);
}

static void close_handles(struct run *run)
{
    uv_handle_t *handles[HANDLES] = { (uv_handle_t *)&run->process, (uv_handle_t *)&run->output,
                                      (uv_handle_t *)&run->timer };

    for (size_t i = 0; i < HANDLES; i++) {
        handles[i]->data = run;
        uv_close(handles[i], on_closed);
    }
}

/* 126 and 127 are the shell's: the program can't be run, or isn't there. */
static enum check_end end_of(const struct run *run)
{
    if (run->code < 0)
        return CHECK_NOT_RUN;
    if (run->is_late || run->signal > 0)
        return CHECK_SICK;
    if (run->status == 126 || run->status == 127)
        return CHECK_NOT_RUN;
    return run->status == 0 ? CHECK_WELL : CHECK_SICK;
}

static void tell(struct run *run)
{
    char words[CHECK_LINE_SIZE + 64];

    if (run->is_told)
        return;
    run->is_told = true;
    end_line(run);
    say_end(run, words, sizeof(words));
    run->done(run->user, run->tag, end_of(run), words);
}

/* It and its output have ended. A process that keeps the output open longer is not waited for. */
static void finish(struct run *run)
{
    if (!run->commands)
        return;
    tell(run);
    leave(run);
    close_handles(run);
}

static void kill_group(const struct run *run)
{
    if (run->process.pid > 0)
        kill(-run->process.pid, SIGKILL);
}

/* Asked once the process is held: from then on it is the same. */
static void kill_of_session(pid_t pid, pid_t session)
{
    int pidfd = pidfd_open(pid, 0);

    if (pidfd < 0)
        return;
    if (getsid(pid) == session)
        pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
    close(pidfd);
}

/* Also processes with a process group of their own in the session, as timeout(1) makes. */
static void kill_session(const struct run *run)
{
    struct dirent *entry;

    kill_group(run);
    DIR *stream = run->process.pid > 0 ? opendir("/proc") : NULL;
    if (!stream)
        return;
    while ((entry = readdir(stream)) != NULL) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 1 && getsid(pid) == run->process.pid)
            kill_of_session(pid, run->process.pid);
    }
    closedir(stream);
}

static void on_end(uv_process_t *process, int64_t status, int signal)
{
    struct run *run = process->data;

    run->has_exited = true;
    run->status = status;
    run->signal = signal;
    if (run->is_late)
        kill_session(run); /* those that were being born meanwhile */
    else
        kill_group(run); /* what it left there */
    if (run->has_output_ended)
        finish(run);
    else if (run->commands)
        uv_timer_start(&run->timer, run->timer.timer_cb, 100, 0);
}

/* The command is late; or it has ended, and a process still holds its output. A process that hangs
 * in the kernel is not waited for: its handles stay until it ends. */
static void on_timer(uv_timer_t *timer)
{
    struct run *run = timer->data;

    if (run->has_exited) {
        finish(run);
        return;
    }
    kill_session(run);
    if (!run->is_late) {
        run->is_late = true;
        uv_timer_start(&run->timer, on_timer, KILL_MS, 0);
        return;
    }
    run->is_stuck = true;
    tell(run);
}

static void on_chunk(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
    struct run *run = handle->data;

    (void)suggested;
    *ret = uv_buf_init(run->chunk, sizeof(run->chunk));
}

static void on_output(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
    struct run *run = stream->data;

    if (count > 0)
        take_output(run, buffer->base, (size_t)count);
    if (count >= 0)
        return;
    run->has_output_ended = true;
    uv_read_stop(stream);
    if (run->has_exited)
        finish(run);
}

static char **make_environment(const struct check *check)
{
    const struct probe_device *device = check->device;
    char **env = mem_zero(ENV_MAX, sizeof(env[0]));
    size_t count = 0;

    env[count++] = mem_string("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    env[count++] = mem_printf("TARN_CHECK=%s", check->when);
    env[count++] = mem_printf("TARN_JOB_ID=%" PRIu64, check->job);
    env[count++] = mem_printf("TARN_GPU_INDEX=%" PRIu32, check->index);
    env[count++] = mem_printf("TARN_GPU_UUID=%s", device->uuid);
    env[count++] = mem_printf("TARN_GPU_VENDOR=%s", device->vendor);
    env[count++] = mem_printf("TARN_GPU_MODEL=%s", device->model);
    env[count++] = mem_printf("TARN_GPU_ADDRESS=%s", device->address);
    if (strcmp(device->vendor, "nvidia") == 0)
        env[count++] = mem_printf("CUDA_VISIBLE_DEVICES=%s", device->uuid);
    return env;
}

static void free_environment(char **env)
{
    for (size_t i = 0; env[i]; i++)
        free(env[i]);
    free(env);
}

static int spawn(struct health_commands *commands, struct run *run, const struct check *check)
{
    char shell[] = "/bin/sh", flag[] = "-c";
    AUTO_FREE char *command = mem_printf("exec 2>&1\n%s", check->command);
    char *arguments[] = { shell, flag, command, NULL };
    char **env = make_environment(check);
    uv_stdio_container_t streams[] = {
        { .flags = UV_IGNORE },
        { .flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&run->output },
        { .flags = UV_IGNORE },
    };
    uv_process_options_t options = { .file = shell,
                                     .args = arguments,
                                     .env = env,
                                     .cwd = "/",
                                     .flags = UV_PROCESS_DETACHED,
                                     .stdio = streams,
                                     .stdio_count = COUNT_OF(streams),
                                     .exit_cb = on_end };

    int code = uv_spawn(commands->loop, &run->process, &options);
    free_environment(env);
    return code;
}

/* Of one that could not be started: not from inside start(). */
static void on_not_started(uv_timer_t *timer)
{
    finish(timer->data);
}

void health_command_start(struct health_commands *commands, const struct check *check)
{
    struct run *run = mem_zero(1, sizeof(*run));

    run->commands = commands;
    run->done = check->done;
    run->user = check->user;
    run->tag = check->tag;
    run->next = commands->first;
    if (commands->first)
        commands->first->previous = run;
    commands->first = run;
    uv_pipe_init(commands->loop, &run->output, 0);
    uv_timer_init(commands->loop, &run->timer);
    run->process.data = run->output.data = run->timer.data = run;
    run->code = spawn(commands, run, check);
    if (run->code < 0) {
        uv_timer_start(&run->timer, on_not_started, 0, 0);
        return;
    }
    uv_read_start((uv_stream_t *)&run->output, on_chunk, on_output);
    uv_timer_start(&run->timer, on_timer, (uint64_t)(check->timeout / USEC_PER_MS), 0);
}

struct health_commands *health_commands_create(uv_loop_t *loop)
{
    struct health_commands *commands = mem_zero(1, sizeof(*commands));

    commands->loop = loop;
    return commands;
}

void health_commands_destroy(struct health_commands *commands)
{
    if (!commands)
        return;
    while (commands->first) {
        struct run *run = commands->first;
        leave(run);
        kill_session(run);
        close_handles(run);
    }
    free(commands);
}
