/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    KILL_AGAIN_MS = 20,
    FIRST_OF_DOOR = 5 /* of what is polled */,
    FIRST_OF_ATTACH = FIRST_OF_DOOR + DOOR_POLLS
};

static bool signals_open(struct shim *shim)
{
    sigset_t wanted;

    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGCHLD);
    sigaddset(&wanted, SIGTERM);
    sigaddset(&wanted, SIGINT);
    sigprocmask(SIG_SETMASK, &wanted, NULL);
    shim->signal_fd = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    if (shim->signal_fd >= 0)
        return true;
    shim_fail(shim, errno, "cannot watch signals: %s", words_errno(errno));
    return false;
}

/* A process that does not catch the job's own signal would die before the others have saved their
 * work: so only processes that catch it receive it. If none does, all get SIGTERM. */
static void ask_to_stop(struct shim *shim)
{
    if (shim->order.signal == 0 || tree_signal_catching(shim, shim->order.signal) == 0)
        tree_signal(shim, SIGTERM);
    if (shim->order.attach == ATTACH_TERMINAL)
        tree_signal_catching(shim, SIGHUP); /* an interactive shell ignores SIGTERM */
}

/* The engine sends its grace along; a plain kill by a user means that of the order, and a second
 * one means now. */
static void stop_asked(struct shim *shim, const struct signalfd_siginfo *info)
{
    int64_t grace = shim->order.grace_ms;

    if (info->ssi_signo == SIGINT || (shim->is_stopping && info->ssi_code != SI_QUEUE))
        grace = 0;
    else if (info->ssi_code == SI_QUEUE)
        grace = info->ssi_int;
    int64_t deadline = clock_ms() + grace;
    if (!shim->is_stopping || deadline < shim->deadline)
        shim->deadline = deadline;
    if (!shim->is_stopping && grace > 0)
        ask_to_stop(shim);
    shim->is_stopping = true;
}

static void signals_read(struct shim *shim)
{
    struct signalfd_siginfo infos[8];

    ssize_t length = read(shim->signal_fd, infos, sizeof(infos));
    size_t count = length > 0 ? (size_t)length / sizeof(infos[0]) : 0;
    for (size_t i = 0; i < count; i++) {
        if (infos[i].ssi_signo == SIGINT && infos[i].ssi_code == SI_QUEUE)
            tree_signal(shim, infos[i].ssi_int); /* the engine passes it on */
        else if (infos[i].ssi_signo != SIGCHLD)
            stop_asked(shim, &infos[i]);
    }
}

static int sooner(int a_ms, int b_ms)
{
    return b_ms >= 0 && (a_ms < 0 || b_ms < a_ms) ? b_ms : a_ms;
}

/* One wait for whatever comes, and its handling; timeout_ms -1 waits for ever. */
static void shim_turn(struct shim *shim, int timeout_ms)
{
    /* poll() passes over negative descriptors: what is closed or done. */
    struct pollfd polls[] = {
        { .fd = shim->signal_fd, .events = POLLIN },
        { .fd = shim->exec_fd, .events = POLLIN },
        { .fd = attach_is_full(shim) ? -1 : shim->streams[0].pipe_fd, .events = POLLIN },
        { .fd = shim->streams[1].pipe_fd, .events = POLLIN },
        { .fd = shim->pending_length > 0 ? ORDER_NOTIFY_FD : -1, .events = POLLOUT },
        [FIRST_OF_ATTACH + ATTACH_POLLS - 1] = { .fd = -1 },
    };

    door_polls(shim, &polls[FIRST_OF_DOOR]);
    attach_polls(shim, &polls[FIRST_OF_ATTACH]);
    timeout_ms = sooner(sooner(timeout_ms, attach_wait_ms(shim)), door_wait_ms(shim));
    if (poll(polls, sizeof(polls) / sizeof(polls[0]), timeout_ms) < 0)
        return;
    if (polls[2].revents != 0)
        stream_pump(shim, &shim->streams[0]);
    if (polls[3].revents != 0)
        stream_pump(shim, &shim->streams[1]);
    if (polls[1].revents != 0)
        job_read_exec(shim);
    if (polls[4].revents != 0)
        notify_flush(shim);
    if (polls[0].revents != 0) {
        signals_read(shim);
        tree_reap(shim);
    }
    attach_serve(shim, &polls[FIRST_OF_ATTACH]);
    door_serve(shim, &polls[FIRST_OF_DOOR]);
}

/* The time limit is near. */
static void warn(struct shim *shim)
{
    const struct order *order = &shim->order;

    shim->warn_at = 0;
    if (order->warn_to == WARN_STEPS)
        tree_signal_steps(shim, order->warn_signal);
    else if (order->warn_to == WARN_ALL)
        tree_signal_catching(shim, order->warn_signal);
    else if (!shim->main_dead)
        kill(shim->pid, order->warn_signal);
}

/* Until the warning, which is sent when that is over; -1: there is none. */
static int64_t warn_left(struct shim *shim)
{
    int64_t left = shim->warn_at - clock_ms();

    if (shim->warn_at == 0 || shim->is_stopping)
        return -1;
    if (left > 0)
        return left;
    warn(shim);
    return -1;
}

/* Until the first process has ended; while stopping also until the others had their grace. */
static void shim_watch(struct shim *shim)
{
    while (true) {
        bool is_over = shim->main_dead && shim->exec_fd < 0;

        if (is_over && (!shim->is_stopping || shim->was_killed || shim->childless))
            return;
        int64_t left = warn_left(shim);
        if (shim->is_stopping && !shim->childless) {
            left = shim->deadline - clock_ms();
            if (left <= 0) {
                shim->was_killed = true;
                tree_kill(shim);
                left = KILL_AGAIN_MS;
            }
        }
        shim_turn(shim, (int)(left > INT32_MAX ? INT32_MAX : left));
    }
}

/* What the first process left behind goes, whatever it did to stay. */
static void shim_clear(struct shim *shim)
{
    while (!shim->childless) {
        tree_kill(shim);
        tree_reap(shim);
        if (!shim->childless)
            shim_turn(shim, KILL_AGAIN_MS);
    }
    streams_drain(shim);
}

static int64_t timeval_us(struct timeval value)
{
    return (int64_t)value.tv_sec * 1000000 + value.tv_usec;
}

static void shim_report(struct shim *shim)
{
    char usage[ORDER_RECORD_SIZE];
    struct rusage used = { 0 };
    int status = shim->wait_status;

    getrusage(RUSAGE_CHILDREN, &used);
    snprintf(usage, sizeof(usage),
             "code=%d signal=%d stopped=%d oom=%d killed=%d user_us=%lld system_us=%lld "
             "rss_kib=%ld",
             WIFEXITED(status) ? WEXITSTATUS(status) : -1,
             WIFSIGNALED(status) ? WTERMSIG(status) : 0, shim->is_stopping, tree_was_oom(shim),
             shim->was_killed, (long long)timeval_us(used.ru_utime),
             (long long)timeval_us(used.ru_stime), used.ru_maxrss);
    record_end(shim, usage);
}

static bool shim_start(struct shim *shim)
{
    bool is_ready = signals_open(shim) && tree_prepare(shim);
    close(ORDER_BIRTH_FD);
    if (!is_ready || !fence_raise(shim))
        return false;
    user_take_groups(&shim->order);
    if (!streams_open(shim))
        return false;
    /* Asked to stop before there was anything to stop. */
    signals_read(shim);
    if (shim->is_stopping) {
        shim_fail(shim, ECANCELED, "stopped before it started");
        return false;
    }
    return job_start(shim);
}

int main(void)
{
    static struct shim shim = {
        .status_fd = -1,
        .signal_fd = -1,
        .exec_fd = -1,
        .door_fd = -1,
        .attachment = { .job_fd = -1, .input_fd = -1, .from_fd = -1, .to_fd = -1 },
        .streams = { { .pipe_fd = -1, .job_fd = -1, .file_fd = -1 },
                     { .pipe_fd = -1, .job_fd = -1, .file_fd = -1 } },
    };

    close_range(ORDER_BIRTH_FD + 1, ~0U, 0);
    fcntl(ORDER_NOTIFY_FD, F_SETFD, FD_CLOEXEC);
    if (!order_read(&shim.order, ORDER_FD))
        return SHIM_EXIT_ORDER;
    close(ORDER_FD);
    setsid();
    enum status_answer answer = status_take(&shim);
    if (answer == STATUS_TAKEN)
        return SHIM_EXIT_TAKEN;
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    for (size_t i = 0; i < DOOR_GUESTS_MAX; i++)
        shim.guests[i].fd = -1;
    if (answer == STATUS_OURS)
        door_open(&shim);
    if (answer == STATUS_OURS && shim_start(&shim)) {
        if (!shim.order.kill)
            record_forked(&shim);
        shim_watch(&shim);
        shim_clear(&shim);
    }
    door_close(&shim);
    shim_report(&shim);
    /* Without a file it is held until the failure was sent: only then may another one start. */
    if (answer != STATUS_OURS)
        close(ORDER_BIRTH_FD);
    tree_remove(&shim);
    return SHIM_EXIT_DONE;
}
