/* SPDX-License-Identifier: Apache-2.0 */
#include "io/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/child.h"

enum { CHUNK = 1 << 16, FD_FIRST = 3, NICE = 5 };

/* In a copy, what libraries do at a fork must not be done: they would close descriptors that they
 * had, by numbers that others have now. It has one thread, so nothing is locked. */
static bool is_copy;

/* Handlers of ours would write into descriptors that are not ours any more. */
static void reset_signals(void)
{
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    signal(SIGPIPE, SIG_IGN);
}

static void be_first_to_go(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    ssize_t written = write(fd, "1000", 4);
    (void)written; /* then it is as likely as we are */
    close(fd);
}

/* Only what it says goes out. */
static int close_others(int fd)
{
    int null_fd = open("/dev/null", O_RDWR);

    if (null_fd < 0 || dup2(null_fd, STDIN_FILENO) < 0 || dup2(null_fd, STDOUT_FILENO) < 0 ||
        dup2(fd, FD_FIRST) < 0)
        return -errno;
    return close_range(FD_FIRST + 1, ~0U, 0) < 0 ? -errno : 0;
}

static _Noreturn void live(copy_fn *fn, void *user, int fd, pid_t parent)
{
    sigset_t none;

    is_copy = true;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    reset_signals();
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (close_others(fd) < 0)
        _exit(1);
    setpriority(PRIO_PROCESS, 0, NICE);
    be_first_to_go();
    fn(user, FD_FIRST);
    _exit(0);
}

static int fork_quietly(copy_fn *fn, void *user, int fd, pid_t *ret)
{
    sigset_t all, before;
    pid_t parent = getpid();

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pid_t pid = is_copy ? _Fork() : fork();
    int code = pid < 0 ? -errno : 0;
    if (pid == 0)
        live(fn, user, fd, parent);
    sigprocmask(SIG_SETMASK, &before, NULL);
    *ret = pid;
    return code;
}

static const char a_process[] = "a process";

int copy_start(copy_fn *fn, void *user, struct copy *ret, struct error *err)
{
    int fds[2];
    pid_t pid;

    if (pipe2(fds, O_CLOEXEC) < 0)
        return child_fail(a_process, -errno, err);
    int code = fork_quietly(fn, user, fds[1], &pid);
    close(fds[1]);
    if (code < 0) {
        close(fds[0]);
        return child_fail(a_process, code, err);
    }
    int pidfd = pidfd_open(pid, 0);
    if (pidfd < 0) {
        code = -errno;
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        close(fds[0]);
        return child_fail(a_process, code, err);
    }
    *ret = (struct copy){ .pidfd = pidfd, .fd = fds[0] };
    return 0;
}

bool copy_read(struct copy *copy, struct text *out)
{
    char chunk[CHUNK];

    ssize_t got = read(copy->fd, chunk, sizeof(chunk));
    if (got > 0)
        text_add_bytes(out, chunk, (size_t)got);
    return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
}

int copy_end(struct copy *copy)
{
    siginfo_t info = { .si_pid = 0 };

    pidfd_send_signal(copy->pidfd, SIGKILL, NULL, 0); /* fails harmlessly if it has ended */
    while (waitid(P_PIDFD, (id_t)copy->pidfd, &info, WEXITED) < 0 && errno == EINTR)
        continue;
    close(copy->pidfd);
    close(copy->fd);
    return info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status;
}

bool copy_write(int fd, const void *bytes, size_t length)
{
    const char *at = bytes;

    while (length > 0) {
        ssize_t wrote = write(fd, at, length);
        if (wrote < 0 && errno != EINTR)
            return false;
        at += wrote > 0 ? wrote : 0;
        length -= wrote > 0 ? (size_t)wrote : 0;
    }
    return true;
}

usec_t copy_processor_time(void)
{
    static const int whose[] = { RUSAGE_SELF, RUSAGE_CHILDREN };
    struct rusage used;
    usec_t sum = 0;

    for (size_t i = 0; i < COUNT_OF(whose); i++) {
        getrusage(whose[i], &used);
        sum += (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * USEC_PER_SEC;
        sum += used.ru_utime.tv_usec + used.ru_stime.tv_usec;
    }
    return sum;
}
