/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/follow/visit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/follow/typing.h"
#include "cli/follow/visit_door.h"
#include "io/descriptors.h"

enum { WELCOME_MS = 10000 };

static int failed(const char *what, struct error *err)
{
    int code = errno;

    return error_set(err, -code, "%s: %s", what, strerror(code));
}

static void resize(const struct visit *visit)
{
    struct winsize size;

    if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) < 0)
        return;
    if (visit->terminal >= 0)
        ioctl(visit->terminal, TIOCSWINSZ, &size);
    else if (visit->is_attached || visit->is_far_terminal)
        send(visit->socket, &size, sizeof(size), MSG_NOSIGNAL);
}

static int use_terminal(struct visit *visit, int theirs[DOOR_FDS], struct error *err)
{
    int code = visit_open_terminal(&visit->terminal, theirs, err);

    if (code < 0)
        return code;
    resize(visit);
    visit->flows[0] = (struct flow){ .from = STDIN_FILENO, .to = visit->terminal, .own = -1 };
    visit->flows[1] = (struct flow){ .from = visit->terminal, .to = STDOUT_FILENO, .own = -1 };
    return 0;
}

static int use_pipes(struct visit *visit, int theirs[DOOR_FDS], struct error *err)
{
    int ours[DOOR_FDS];

    int code = visit_open_pipes(theirs, ours, err);
    if (code < 0)
        return code;
    visit->flows[0] = (struct flow){ .from = STDIN_FILENO, .to = ours[0], .own = ours[0] };
    for (int i = 1; i < DOOR_FDS; i++)
        visit->flows[i] = (struct flow){ .from = ours[i], .to = i, .own = ours[i] };
    return 0;
}

/* A terminal on another machine is opened there, and has a name in any case. */
static int ask(struct visit *visit, char *const *words, bool has_terminal, struct error *err)
{
    AUTO_RELEASE(text) struct text request = { 0 };
    const char *term = has_terminal ? getenv("TERM") : NULL;
    int theirs[DOOR_FDS];

    visit->is_far_terminal = has_terminal && visit->is_far;
    if (visit->is_far_terminal && (!term || !term[0]))
        term = "dumb";
    int code = visit_request(term ? term : "", words, &request, err);
    if (code == 0)
        code = has_terminal && !visit->is_far ? use_terminal(visit, theirs, err)
                                              : use_pipes(visit, theirs, err);
    return code == 0 ? visit_ask(visit->socket, request.bytes, request.length, theirs, err) : code;
}

static int enter(struct visit *visit, struct session *session, const char *id, const char *rank,
                 struct error *err)
{
    AUTO_RELEASE(text) struct text path = { 0 };

    *visit = (struct visit){ .socket = -1, .terminal = -1 };
    for (size_t i = 0; i < 3; i++)
        visit->flows[i] = (struct flow){ .from = -1, .to = -1, .own = -1 };
    text_printf(&path, "/v1/jobs/%s/exec", id);
    if (rank)
        client_query_add(&path, "rank", rank);
    visit->is_far = session_is_remote(session);
    return session_enter(session, path.bytes, &visit->socket, err);
}

int visit_run(struct visit *visit, struct session *session, const char *id, const char *rank,
              char *const *words, bool has_terminal, struct error *err)
{
    int code = enter(visit, session, id, rank, err);

    return code == 0 ? ask(visit, words, has_terminal, err) : code;
}

/* The supervisor's answer, and the descriptor that may come with it. */
static int read_welcome(struct visit *visit, int *ret_input, struct error *err)
{
    struct pollfd wait = { .fd = visit->socket, .events = POLLIN };
    size_t count;

    if (poll(&wait, 1, WELCOME_MS) <= 0)
        return error_set(err, -ETIMEDOUT, "its supervisor does not answer");
    ssize_t length = descriptors_receive(visit->socket, &visit->answer, sizeof(visit->answer),
                                         ret_input, 1, &count);
    if (length != (ssize_t)sizeof(visit->answer))
        return error_set(err, -ECONNRESET, "the job has ended");
    if (visit->answer.failure != 0)
        return error_set(err, -visit->answer.failure, "%.*s", (int)sizeof(visit->answer.text),
                         visit->answer.text);
    return 0;
}

int visit_attach(struct visit *visit, struct session *session, const char *id, int *ret_input,
                 struct error *err)
{
    *ret_input = -1;
    int code = enter(visit, session, id, NULL, err);
    if (code == 0)
        code = ask(visit, NULL, false, err);
    if (code == 0)
        code = read_welcome(visit, ret_input, err);
    visit->is_attached = code == 0 && *ret_input < 0;
    return code;
}

void visit_type(struct visit *visit, struct typing *typing)
{
    struct flow *flow = &visit->flows[0];

    memcpy(flow->bytes, typing->bytes, typing->length);
    flow->length = typing->length;
    visit->is_escaped = typing->is_escaped;
    typing->length = 0;
    typing->is_escaped = false;
}

/* ---- copying ---- */

static void flow_end(struct flow *flow)
{
    if (flow->own >= 0)
        close(flow->own);
    flow->from = flow->to = flow->own = -1;
    flow->length = flow->done = 0;
}

/* One read or one write, of what is ready. A byte is left free, for keys_take(). */
static void flow_go(struct flow *flow)
{
    if (flow->length == 0) {
        ssize_t length = read(flow->from, flow->bytes, sizeof(flow->bytes) - 1);
        if (length <= 0 && !(length < 0 && (errno == EINTR || errno == EAGAIN)))
            flow_end(flow);
        flow->length = length > 0 ? (size_t)length : 0;
        return;
    }
    ssize_t length = write(flow->to, flow->bytes + flow->done, flow->length - flow->done);
    if (length < 0 && errno != EINTR && errno != EAGAIN)
        flow_end(flow);
    flow->done += length > 0 ? (size_t)length : 0;
    if (flow->done >= flow->length)
        flow->length = flow->done = 0;
}

static struct pollfd flow_poll(const struct flow *flow)
{
    return flow->length > 0 ? (struct pollfd){ .fd = flow->to, .events = POLLOUT }
                            : (struct pollfd){ .fd = flow->from, .events = POLLIN };
}

static void read_answer(struct visit *visit)
{
    if (recv(visit->socket, &visit->answer, sizeof(visit->answer), 0) ==
        (ssize_t)sizeof(visit->answer))
        return;
    visit->answer = (struct door_answer){ 0 };
    if (!visit->is_attached)
        visit->answer = (struct door_answer){ .failure = ECONNRESET, .text = "the job has ended" };
}

enum { POLL_ANSWER = 3, POLL_SIGNAL, POLL_SIZE, POLL_COUNT };

/* Until the command has ended and what it wrote is here. Processes that it left behind may keep its
 * output open: they are not waited for. */
static enum visit_end copy(struct visit *visit, int signal_fd, int size_fd)
{
    bool is_over = false;

    while (true) {
        bool is_pending = visit->flows[1].length + visit->flows[2].length > 0;
        struct pollfd polls[POLL_COUNT] = {
            [POLL_ANSWER] = { .fd = is_over ? -1 : visit->socket, .events = POLLIN },
            [POLL_SIGNAL] = { .fd = signal_fd, .events = POLLIN },
            [POLL_SIZE] = { .fd = size_fd, .events = POLLIN },
        };
        struct signalfd_siginfo info;

        for (size_t i = 0; i < 3; i++)
            polls[i] = flow_poll(&visit->flows[i]);
        if (is_over)
            polls[0].fd = -1;
        int count = poll(polls, POLL_COUNT, is_over && !is_pending ? 0 : -1);
        if (count == 0)
            return VISIT_OVER;
        if (count < 0)
            continue;
        if (polls[POLL_SIGNAL].revents != 0)
            return VISIT_SIGNALLED;
        if (polls[POLL_SIZE].revents != 0 && read(size_fd, &info, sizeof(info)) > 0)
            resize(visit);
        for (size_t i = 0; i < 3; i++) {
            bool is_read = visit->flows[i].length == 0;

            if (polls[i].revents != 0)
                flow_go(&visit->flows[i]);
            if (i == 0 && is_read && visit->is_attached &&
                keys_take(visit->flows[0].bytes, &visit->flows[0].length, &visit->is_escaped))
                return VISIT_DETACHED;
        }
        if (polls[POLL_ANSWER].revents != 0) {
            is_over = true;
            read_answer(visit);
        }
    }
}

static enum visit_end copy_on_terminal(struct visit *visit, int signal_fd)
{
    struct termios before, raw;
    sigset_t resized, mask;

    sigemptyset(&resized);
    sigaddset(&resized, SIGWINCH);
    sigprocmask(SIG_BLOCK, &resized, &mask);
    int size_fd = signalfd(-1, &resized, SFD_CLOEXEC | SFD_NONBLOCK);
    bool is_raw = tcgetattr(STDIN_FILENO, &before) == 0;
    if (is_raw) {
        raw = before;
        cfmakeraw(&raw);
        tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    }
    resize(visit);
    enum visit_end end = copy(visit, signal_fd, size_fd);
    if (is_raw)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
    if (size_fd >= 0)
        close(size_fd);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    return end;
}

enum visit_end visit_copy(struct visit *visit, int signal_fd)
{
    if (visit->terminal >= 0 || visit->is_attached || visit->is_far_terminal)
        return copy_on_terminal(visit, signal_fd);
    return copy(visit, signal_fd, -1);
}

void visit_close(struct visit *visit)
{
    if (visit->socket >= 0)
        close(visit->socket);
    if (visit->terminal >= 0)
        close(visit->terminal);
    for (size_t i = 0; i < 3; i++)
        flow_end(&visit->flows[i]);
    visit->socket = visit->terminal = -1;
}

/* ---- standard input ---- */

static void __attribute__((noreturn)) pass(int to, bool *has_passed)
{
    char bytes[VISIT_CHUNK];

    while (true) {
        struct pollfd polls[] = { { .fd = STDIN_FILENO, .events = POLLIN }, { .fd = to } };

        if (poll(polls, COUNT_OF(polls), -1) < 0)
            continue;
        if (polls[1].revents != 0)
            _exit(0); /* the reader has gone: input that was not read yet is kept */
        ssize_t length = read(STDIN_FILENO, bytes, sizeof(bytes));
        if (length == 0 || (length < 0 && errno != EINTR && errno != EAGAIN))
            _exit(0);
        *has_passed = *has_passed || length > 0;
        for (ssize_t at = 0; at < length;) {
            ssize_t done = write(to, bytes + at, (size_t)(length - at));
            if (done < 0 && errno != EINTR)
                _exit(0);
            at += done > 0 ? done : 0;
        }
    }
}

int passing_start(struct passing *passing, int to, struct error *err)
{
    static off_t start = -1;

    passing_stop(passing);
    passing->to = to;
    if (!passing->has_passed) {
        passing->has_passed =
            mmap(NULL, sizeof(bool), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        start = lseek(STDIN_FILENO, 0, SEEK_CUR);
    }
    if (passing->has_passed == MAP_FAILED) {
        passing->has_passed = NULL;
        return error_set(err, -ENOMEM, "standard input: no memory");
    }
    if (*passing->has_passed && (start < 0 || lseek(STDIN_FILENO, start, SEEK_SET) < 0)) {
        close(to);
        return error_set(err, -ESPIPE, "its standard input cannot be passed on twice");
    }
    pid_t us = getpid();
    passing->pid = fork();
    if (passing->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == us)
            pass(to, passing->has_passed);
        _exit(0);
    }
    if (passing->pid > 0) {
        close(to);
        passing->to = 0;
    }
    return passing->pid < 0 ? failed("standard input", err) : 0;
}

void passing_stop(struct passing *passing)
{
    if (passing->to > 0)
        close(passing->to);
    passing->to = 0;
    if (passing->pid <= 0)
        return;
    kill(passing->pid, SIGKILL);
    waitpid(passing->pid, NULL, 0);
    passing->pid = 0;
}
