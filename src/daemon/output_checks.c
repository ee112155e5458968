/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/output_checks.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/change.h"
#include "core/state/state.h"
#include "daemon/hub.h"
#include "io/become.h"
#include "io/child.h"
#include "io/child_watch.h"
#include "io/copy.h"
#include "io/file.h"
#include "io/log.h"
#include "node/job_outputs.h"
#include "wire/job/job_launch.h"

enum {
    ANSWER = 3,
    ANSWER_SIZE = 512,
    NAMES_BYTES_MAX = 1 << 20,
    AGAIN_MS = 1000,
    TRIES_MAX = 30, /* of a process that ends without an answer */
    STATUS_BAD = 3,
};

struct check {
    struct check *next;
    struct output_checks *checks;
    struct change change;
    struct event event;
    bool is_last; /* of its members */
    bool is_late; /* its process was ended */
    uint32_t tries;
    uint32_t uid, gid;
    char *outputs;               /* a/b */
    char *out, *in, *stage;      /* of the environment of the process */
    struct child_watch *process; /* NULL: none runs */
    int answer_fd;
    uv_timer_t timer;
};

struct output_checks {
    uv_loop_t *loop;
    struct hub *hub;
    char *state_dir;
    struct check *first; /* those that wait for a process */
};

struct output_checks *output_checks_create(uv_loop_t *loop, struct hub *hub, const char *state_dir)
{
    struct output_checks *checks = mem_zero(1, sizeof(*checks));

    *checks =
        (struct output_checks){ .loop = loop, .hub = hub, .state_dir = mem_string(state_dir) };
    return checks;
}

static void free_check(struct check *check)
{
    free(check->out);
    free(check->in);
    free(check->outputs);
    free(check->stage);
    free(check);
}

static void on_closed(uv_handle_t *handle)
{
    free_check(handle->data);
}

static void leave(struct check *check)
{
    struct check **at = &check->checks->first;

    while (*at != check)
        at = &(*at)->next;
    *at = check->next;
    if (check->answer_fd >= 0)
        close(check->answer_fd);
    uv_close((uv_handle_t *)&check->timer, on_closed);
}

void output_checks_destroy(struct output_checks *checks)
{
    if (!checks)
        return;
    while (checks->first) {
        if (checks->first->process)
            child_watch_kill(checks->first->process);
        leave(checks->first);
    }
    free(checks->state_dir);
    free(checks);
}

/* ---- the process ---- */

/* The reason that it left. */
static void read_answer(const struct check *check, char ret[ANSWER_SIZE])
{
    ssize_t length = pread(check->answer_fd, ret, ANSWER_SIZE - 1, 0);

    ret[length > 0 ? length : 0] = '\0';
}

static void begin(uv_timer_t *timer);

static void begin_later(struct check *check)
{
    if (check->answer_fd >= 0)
        close(check->answer_fd);
    check->answer_fd = -1;
    uv_timer_start(&check->timer, begin, AGAIN_MS, 0);
}

/* A process that was killed, or could not do its work, says nothing about the outputs. */
static void on_end(void *user, int status)
{
    struct check *check = user;
    bool is_bad = WIFEXITED(status) && WEXITSTATUS(status) == STATUS_BAD;
    char reason[ANSWER_SIZE] = "";

    check->process = NULL;
    if (status != 0 && !is_bad && !check->is_late && ++check->tries < TRIES_MAX) {
        begin_later(check);
        return;
    }
    if (status != 0) {
        if (is_bad)
            read_answer(check, reason);
        check->event.ended.is_unsound = 1;
        check->event.ended.reason = reason[0] ? reason : "its outputs could not be checked";
    }
    hub_report(check->checks->hub, &check->event);
    leave(check);
}

static void on_late(uv_timer_t *timer)
{
    struct check *check = timer->data;

    check->is_late = true;
    log_line(LOG_WARNING, "the outputs of a job cannot be checked in time job=%" PRIu64,
             check->event.ended.job);
    child_watch_end(check->process);
}

static int start_process(struct check *check, int *ret_pidfd, struct error *err)
{
    AUTO_FREE char *uid = mem_printf("%" PRIu32, check->uid);
    AUTO_FREE char *gid = mem_printf("%" PRIu32, check->gid);
    int fd = fd_raise(memfd_create("outputs", MFD_CLOEXEC));
    const struct child_plan child = {
        .path = "/proc/self/exe",
        .argv = (char *[]){ (char[]){ "tarnd" }, (char[]){ "--check-outputs" }, uid, gid, NULL },
        .envp = (char *[]){ check->out, check->stage, check->in, NULL },
        .fds = &fd,
        .fd_count = 1,
    };

    if (fd < 0)
        return error_set(err, -errno, "no memory file: %s", strerror(errno));
    check->answer_fd = fd;
    if (!copy_write(fd, check->outputs, strlen(check->outputs)))
        return error_set(err, -errno, "memory file: %s", strerror(errno));
    return child_start(&child, ret_pidfd, err);
}

/* What the machine lacks now is no fault of the job. */
static void begin(uv_timer_t *timer)
{
    struct check *check = timer->data;
    struct error err;
    int pidfd = -1;

    if (start_process(check, &pidfd, &err) == 0) {
        check->process = child_watch_start(check->checks->loop, pidfd, on_end, check);
        uv_timer_start(timer, on_late, OUTPUT_CHECK_MS, 0);
        return;
    }
    log_line(LOG_WARNING, "the outputs of a job cannot be checked yet job=%" PRIu64 " reason='%s'",
             check->event.ended.job, err.text);
    begin_later(check);
}

int run_check_outputs(char *const *words)
{
    AUTO_RELEASE(text) struct text reason = { 0 }, bytes = { 0 };
    LIST(char *) names = { 0 };
    struct job_outputs outputs = { .out = getenv("TARN_OUT"),
                                   .in = getenv("TARN_IN"),
                                   .is_stage = getenv("TARN_STAGE") != NULL };
    sigset_t none;

    close_range(ANSWER + 1, ~0U, 0);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (!outputs.out || file_read("/proc/self/fd/3", NAMES_BYTES_MAX, &bytes, NULL) < 0 ||
        become_user((uid_t)strtoul(words[0], NULL, 10), (gid_t)strtoul(words[1], NULL, 10)) < 0)
        return 1;
    for (char *rest = bytes.bytes; rest && *rest;)
        list_add(&names, strsep(&rest, "/"));
    list_add(&names, NULL);
    outputs.names = names.items;
    bool is_good = job_outputs_settle(&outputs, &reason);
    list_release(&names);
    if (is_good)
        return 0;
    bool is_told = ftruncate(ANSWER, 0) == 0 &&
                   pwrite(ANSWER, text_string(&reason), reason.length, 0) == (ssize_t)reason.length;
    return is_told ? STATUS_BAD : 1;
}

/* ---- the end of a member ---- */

static const struct job *job_of(const struct output_checks *checks, const struct event_ended *ended)
{
    const struct job *job = state_job(hub_state(checks->hub), ended->job);

    return job && job_is_active(job) && job->run->attempt == ended->attempt ? job : NULL;
}

/* The members of a gang fill the same outputs: those that ended before it are in the state. */
static int run_end(struct change *change, struct error *err)
{
    struct check *check = CONTAINER_OF(change, struct check, change);
    const struct job *job = job_of(check->checks, &check->event.ended);
    const struct job_end *end = job ? &job->run->end : NULL;

    (void)err;
    check->is_last =
        job && job->run->members_ended + 1 == job->run->lease->members_count &&
        (end->kind == 0 || (end->kind == ENGINE_ENDED && end->exit_code == 0 && end->signal == 0));
    if (!check->is_last)
        hub_emit(check->checks->hub, &check->event);
    return 0;
}

static void done_end(struct change *change, int code, const struct error *err)
{
    struct check *check = CONTAINER_OF(change, struct check, change);

    (void)err;
    if (!check->is_last || code < 0) {
        free_check(check);
        return;
    }
    check->next = check->checks->first;
    check->checks->first = check;
    uv_timer_init(check->checks->loop, &check->timer);
    check->timer.data = check;
    begin(&check->timer);
}

static struct check *check_of(struct output_checks *checks, const struct job *job,
                              const struct launch *launch)
{
    struct check *check = mem_zero(1, sizeof(*check));
    struct text names = { 0 };

    *check = (struct check){ .checks = checks, .answer_fd = -1, .uid = job->uid, .gid = job->gid };
    check->change = (struct change){ .run = run_end, .done = done_end };
    for (char **name = launch->outputs; *name; name++)
        text_printf(&names, "%s%s", name == launch->outputs ? "" : "/", *name);
    check->outputs = text_take(&names);
    check->out =
        mem_printf("TARN_OUT=%s/data/%" PRIu32 "/%" PRIu64, checks->state_dir, job->uid, job->id);
    if (launch->input_count > 0)
        check->in = mem_printf("TARN_IN=%s.in", check->out + strlen("TARN_OUT="));
    check->stage = mem_printf("TARN_%s=1",
                              state_pipeline_of(hub_state(checks->hub), job) ? "STAGE" : "SINGLE");
    return check;
}

bool output_checks_take(struct output_checks *checks, const struct event *event)
{
    const struct event_ended *ended = &event->ended;
    const struct job *job = event->kind == EVENT_ENDED ? job_of(checks, ended) : NULL;
    AUTO_RELEASE(text) struct text bytes = { 0 };
    AUTO(launch) struct launch *launch = NULL;

    if (!job || ended->kind != ENGINE_ENDED || ended->exit_code != 0 || ended->signal != 0 ||
        ended->was_stopped)
        return false;
    if (journal_blob_get(hub_journal(checks->hub), job->launch, &bytes, NULL) < 0 ||
        launch_from_json(text_string(&bytes), bytes.length, &launch, NULL) < 0 ||
        (!launch->outputs[0] && (launch->input_count == 0 || job->uid != 0)))
        return false;
    struct check *check = check_of(checks, job, launch);
    check->event = *event;
    check->event.ended.reason = NULL;
    hub_report_change(checks->hub, &check->change);
    return true;
}
