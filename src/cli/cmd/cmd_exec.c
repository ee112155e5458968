/* SPDX-License-Identifier: Apache-2.0 */
/* exec: a command inside a running job
 *
 * The daemon hands over a connection to the job's supervisor, which gets the ends of pipes, or of a
 * terminal of our own making: the command never has a descriptor that is not made for it. From
 * then on the daemon has no part in it, and may restart.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/command.h"
#include "cli/screen.h"
#include "cli/select.h"
#include "shim/shim_order.h"

enum { RANK, PTY };
enum { CHUNK_SIZE = 16384, STATUS_SIGNAL = 128 };

const struct option_entry options_exec[] = {
    [RANK] = { "rank", 'r', "N", "inside this member; default 0" },
    [PTY] = { "pty", 't', NULL, "on a terminal of its own" },
    { 0 },
};

/* What is copied from one descriptor to another; -1: closed. */
struct flow {
    int from, to;
    bool keeps_to; /* at the end it stays open: it is not ours */
    size_t length, done;
    char bytes[CHUNK_SIZE];
};

struct visit {
    int socket;
    int theirs[DOOR_FDS];
    int terminal;         /* our side of its terminal; -1: pipes */
    struct flow flows[3]; /* to its input, from its output and its error output */
    struct door_answer answer;
};

static volatile sig_atomic_t is_resized;

static void on_resized(int signal)
{
    (void)signal;
    is_resized = 1;
}

static int failed(const char *what, struct error *err)
{
    int code = errno;

    return error_set(err, -code, "%s: %s", what, strerror(code));
}

static void resize(const struct visit *visit)
{
    struct winsize size;

    is_resized = 0;
    if (visit->terminal >= 0 && ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0)
        ioctl(visit->terminal, TIOCSWINSZ, &size);
}

static int open_terminal(struct visit *visit, struct error *err)
{
    char name[64];

    visit->terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (visit->terminal < 0 || grantpt(visit->terminal) < 0 || unlockpt(visit->terminal) < 0 ||
        ptsname_r(visit->terminal, name, sizeof(name)) != 0)
        return failed("terminal", err);
    int fd = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return failed("terminal", err);
    for (size_t i = 0; i < DOOR_FDS; i++)
        visit->theirs[i] = i == 0 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 0);
    resize(visit);
    visit->flows[0] =
        (struct flow){ .from = STDIN_FILENO, .to = visit->terminal, .keeps_to = true };
    visit->flows[1] =
        (struct flow){ .from = visit->terminal, .to = STDOUT_FILENO, .keeps_to = true };
    return 0;
}

static int open_pipes(struct visit *visit, struct error *err)
{
    for (size_t i = 0; i < DOOR_FDS; i++) {
        int ends[2];

        if (pipe2(ends, O_CLOEXEC) < 0)
            return failed("pipe", err);
        visit->theirs[i] = ends[i > 0];
        if (i == 0)
            visit->flows[i] = (struct flow){ .from = STDIN_FILENO, .to = ends[1] };
        else
            visit->flows[i] = (struct flow){ .from = ends[0], .to = (int)i, .keeps_to = true };
    }
    return 0;
}

/* The request: the kind of terminal, and the arguments. */
static int send_request(struct visit *visit, char *const *words, struct error *err)
{
    AUTO_RELEASE(text) struct text request = { 0 };
    const char *term = visit->terminal >= 0 ? getenv("TERM") : NULL;
    union {
        struct cmsghdr head; /* aligned as that */
        char bytes[CMSG_SPACE(DOOR_FDS * sizeof(int))];
    } control = { .bytes = { 0 } };

    text_add_bytes(&request, term ? term : "", strlen(term ? term : "") + 1);
    size_t count = 0;
    for (; words[count]; count++)
        text_add_bytes(&request, words[count], strlen(words[count]) + 1);
    if (request.length > DOOR_BYTES_MAX || count > DOOR_ARGS_MAX)
        return error_set(err, -E2BIG, "command: at most %d arguments of %d bytes in all",
                         DOOR_ARGS_MAX, DOOR_BYTES_MAX);
    control.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(visit->theirs)),
                                     .cmsg_level = SOL_SOCKET,
                                     .cmsg_type = SCM_RIGHTS };
    memcpy(CMSG_DATA(&control.head), visit->theirs, sizeof(visit->theirs));
    struct iovec part = { .iov_base = request.bytes, .iov_len = request.length };
    struct msghdr message = { .msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = &control,
                              .msg_controllen = sizeof(control) };
    if (sendmsg(visit->socket, &message, MSG_NOSIGNAL) < 0)
        return failed("job's supervisor", err);
    for (size_t i = 0; i < DOOR_FDS; i++)
        close(visit->theirs[i]);
    return 0;
}

static void flow_end(struct flow *flow)
{
    if (!flow->keeps_to && flow->to >= 0)
        close(flow->to);
    flow->from = flow->to = -1;
    flow->length = flow->done = 0;
}

/* One read or one write, of what is ready. */
static void flow_go(struct flow *flow)
{
    if (flow->length == 0) {
        ssize_t length = read(flow->from, flow->bytes, sizeof(flow->bytes));
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
    if (recv(visit->socket, &visit->answer, sizeof(visit->answer), 0) !=
        (ssize_t)sizeof(visit->answer))
        visit->answer = (struct door_answer){ .failure = ECONNRESET, .text = "the job has ended" };
}

/* Until the command has ended and what it wrote is here. Processes that it left behind may keep its
 * output open: they are not waited for. */
static void copy(struct visit *visit)
{
    bool is_over = false;

    while (true) {
        bool is_pending = visit->flows[1].length + visit->flows[2].length > 0;
        struct pollfd polls[4];

        for (size_t i = 0; i < 3; i++)
            polls[i] = flow_poll(&visit->flows[i]);
        if (is_over)
            polls[0].fd = -1;
        polls[3] = (struct pollfd){ .fd = is_over ? -1 : visit->socket, .events = POLLIN };
        int count = poll(polls, 4, is_over && !is_pending ? 0 : -1);
        if (count == 0)
            return;
        if (is_resized)
            resize(visit);
        for (size_t i = 0; count > 0 && i < 3; i++) {
            if (polls[i].revents != 0)
                flow_go(&visit->flows[i]);
        }
        if (count > 0 && polls[3].revents != 0) {
            is_over = true;
            read_answer(visit);
        }
    }
}

static void copy_on_terminal(struct visit *visit)
{
    struct sigaction action = { .sa_handler = on_resized };
    struct termios before, raw;
    bool is_raw = tcgetattr(STDIN_FILENO, &before) == 0;

    if (is_raw) {
        raw = before;
        cfmakeraw(&raw);
        tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    }
    sigaction(SIGWINCH, &action, NULL);
    copy(visit);
    if (is_raw)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
}

static int visit_job(const struct options *options, struct visit *visit, struct error *err)
{
    AUTO_RELEASE(session) struct session session = { 0 };
    AUTO_RELEASE(text) struct text path = { 0 };

    text_printf(&path, "/v1/jobs/%s/exec", options->words[0]);
    if (options->values[RANK])
        client_query_add(&path, "rank", options->values[RANK]);
    int code = session_open(&session, err);
    if (code == 0)
        code = session_enter(&session, path.bytes, &visit->socket, err);
    if (code == 0)
        code = options->values[PTY] ? open_terminal(visit, err) : open_pipes(visit, err);
    return code == 0 ? send_request(visit, options->words + 1, err) : code;
}

int run_exec(const struct options *options)
{
    static struct visit visit = { .socket = -1, .terminal = -1 };
    struct error err;

    if (options->word_count < 2)
        return usage_wrong("exec", "expected the number of a job and a command: tarn exec 7 -- "
                                   "nvidia-smi");
    if (options->values[PTY] && !isatty(STDIN_FILENO))
        return usage_wrong("exec", "pty: standard input is not a terminal");
    for (size_t i = 0; i < 3; i++)
        visit.flows[i] = (struct flow){ .from = -1, .to = -1 };
    signal(SIGPIPE, SIG_IGN);
    if (visit_job(options, &visit, &err) < 0)
        return complain(&err);
    if (options->values[PTY])
        copy_on_terminal(&visit);
    else
        copy(&visit);
    if (visit.answer.failure != 0) {
        say("job %s: %.*s", options->words[0], (int)sizeof(visit.answer.text), visit.answer.text);
        return visit.answer.failure == ENOENT ? 127 : 126;
    }
    int status = visit.answer.wait_status;
    return WIFSIGNALED(status) ? STATUS_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}
