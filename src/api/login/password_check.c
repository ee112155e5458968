/* SPDX-License-Identifier: Apache-2.0 */
#include "api/login/password_check.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "io/child.h"
#include "io/child_watch.h"

enum { ANSWER_MAX = 256 };

struct password_check {
    void (*done)(void *object, const struct password_result *result);
    void *object;
    int link;
    struct child_watch *process; /* NULL: it has ended */
    uint64_t started_ms;
    struct password_result result;
    uv_timer_t timer;
};

static void on_closed(uv_handle_t *handle)
{
    struct password_check *check = handle->data;

    close(check->link);
    free(check);
}

static void finish(struct password_check *check)
{
    check->done(check->object, &check->result);
    uv_close((uv_handle_t *)&check->timer, on_closed);
}

/* "ok UID NAME" or "no WORDS" */
static void read_answer(struct password_check *check)
{
    struct password_result *result = &check->result;
    char line[ANSWER_MAX + 1];
    unsigned long uid = 0;
    int name_at = 0;

    ssize_t length = recv(check->link, line, ANSWER_MAX, MSG_DONTWAIT);
    line[length > 0 ? length : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    result->is_right = sscanf(line, "ok %lu %n", &uid, &name_at) == 1 && name_at > 0 &&
                       line[name_at] && strlen(line + name_at) < sizeof(result->name);
    if (result->is_right) {
        result->uid = (uid_t)uid;
        memcpy(result->name, line + name_at, strlen(line + name_at) + 1);
        return;
    }
    const char *reason = string_starts(line, "no ") ? line + 3 : "tarn-login gave no answer";
    string_clean(result->reason, sizeof(result->reason), reason, strlen(reason));
}

static void on_time(uv_timer_t *timer)
{
    struct password_check *check = timer->data;

    if (check->process)
        child_watch_signal(check->process, SIGKILL); /* its end is noticed as any other */
    else
        finish(check);
}

static void on_end_of_process(void *user, int status)
{
    struct password_check *check = user;

    (void)status;
    check->process = NULL;
    read_answer(check);
    uint64_t took_ms = uv_now(check->timer.loop) - check->started_ms;
    if (check->result.is_right)
        finish(check);
    else
        uv_timer_start(&check->timer, on_time, CHECK_REFUSAL_MS - took_ms % CHECK_REFUSAL_MS, 0);
}

/* The socket is empty, and takes it as a whole. */
static bool tell(int link, const struct password_question *question)
{
    AUTO_RELEASE(text) struct text bytes = { 0 };

    text_add_bytes(&bytes, question->user, strlen(question->user) + 1);
    text_add_bytes(&bytes, question->password, strlen(question->password) + 1);
    text_add_bytes(&bytes, question->address, strlen(question->address) + 1);
    ssize_t done = send(link, bytes.bytes, bytes.length, MSG_NOSIGNAL | MSG_DONTWAIT);
    explicit_bzero(bytes.bytes, bytes.capacity);
    return done == (ssize_t)bytes.length && shutdown(link, SHUT_WR) == 0;
}

static int start_process(const struct password_question *question, int link, int *ret_pidfd,
                         struct error *err)
{
    const int fds[] = { link };
    const struct child_plan plan = {
        .path = question->program,
        .argv = (char *[]){ (char[]){ "tarn-login" }, NULL },
        .envp = (char *[]){ NULL },
        .fds = fds,
        .fd_count = COUNT_OF(fds),
    };

    return link < 0 ? error_set(err, -EMFILE, "too many open files")
                    : child_start(&plan, ret_pidfd, err);
}

static void watch(struct password_check *check, uv_loop_t *loop, int pidfd)
{
    check->process = child_watch_start(loop, pidfd, on_end_of_process, check);
    uv_timer_init(loop, &check->timer);
    check->timer.data = check;
    uv_update_time(loop);
    check->started_ms = uv_now(loop);
    uv_timer_start(&check->timer, on_time, CHECK_LIMIT_MS, 0);
}

int password_check_start(const struct password_question *question, struct password_check **ret,
                         struct error *err)
{
    int ends[2], pidfd = -1;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return error_set(err, -errno, "login: %s", strerror(errno));
    int theirs = fd_raise(ends[1]);
    int code = start_process(question, theirs, &pidfd, err);
    if (theirs >= 0)
        close(theirs);
    if (code < 0) {
        close(ends[0]);
        return error_prefix(err, code, "login");
    }
    struct password_check *check = mem_zero(1, sizeof(*check));
    check->done = question->done;
    check->object = question->object;
    check->link = ends[0];
    watch(check, question->loop, pidfd);
    if (!tell(check->link, question)) /* it has ended already, or will without a request */
        shutdown(check->link, SHUT_WR);
    *ret = check;
    return 0;
}

void password_check_stop(struct password_check *check)
{
    if (check->process)
        child_watch_kill(check->process);
    uv_close((uv_handle_t *)&check->timer, on_closed);
}
