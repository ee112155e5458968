/* SPDX-License-Identifier: Apache-2.0 */
#include "io/child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FD_FIRST = 3, FD_RAISED = 10 };

int fd_raise(int fd)
{
    if (fd < 0 || fd >= FD_RAISED)
        return fd;
    int raised = fcntl(fd, F_DUPFD_CLOEXEC, FD_RAISED);
    int code = errno;
    close(fd);
    errno = code;
    return raised;
}

static void attributes_set(posix_spawnattr_t *attributes)
{
    sigset_t blocked, defaults;

    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGHUP);
    sigaddset(&blocked, SIGCHLD);
    posix_spawnattr_setsigmask(attributes, &blocked);
    sigfillset(&defaults);
    sigdelset(&defaults, SIGKILL);
    sigdelset(&defaults, SIGSTOP);
    posix_spawnattr_setsigdefault(attributes, &defaults);
    posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

static int spawn(const struct child_plan *plan, int null_fd, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;

    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    for (int fd = 0; fd < FD_FIRST; fd++)
        posix_spawn_file_actions_adddup2(&actions, null_fd, fd);
    for (unsigned i = 0; i < plan->fd_count; i++)
        posix_spawn_file_actions_adddup2(&actions, plan->fds[i], FD_FIRST + (int)i);
    attributes_set(&attributes);
    int code = posix_spawn(ret_pid, plan->path, &actions, &attributes, plan->argv, plan->envp);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return -code;
}

int child_fail(const char *what, int code, struct error *err)
{
    switch (-code) {
    case EAGAIN:
        return error_set(err, code, "cannot start %s: too many processes (see ulimit -u)", what);
    case EMFILE:
    case ENFILE:
        return error_set(err, code, "cannot start %s: too many open files (see ulimit -n)", what);
    default:
        return error_set(err, code, "cannot start %s: %s", what, strerror(-code));
    }
}

int child_start(const struct child_plan *plan, int *ret_pidfd, struct error *err)
{
    pid_t pid;

    assert(plan->fd_count <= CHILD_FDS_MAX);
    for (unsigned i = 0; i < plan->fd_count; i++)
        assert(plan->fds[i] >= FD_RAISED);
    int null_fd = fd_raise(open("/dev/null", O_RDWR | O_CLOEXEC));
    if (null_fd < 0)
        return child_fail(plan->path, -errno, err);
    int code = spawn(plan, null_fd, &pid);
    /* Its place in our table is what the pidfd needs: after the start it must not fail. */
    close(null_fd);
    if (code < 0)
        return child_fail(plan->path, code, err);
    int pidfd = pidfd_open(pid, 0);
    if (pidfd < 0) {
        code = -errno;
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        return child_fail(plan->path, code, err);
    }
    *ret_pidfd = pidfd;
    return 0;
}

bool child_reap(int pidfd, int *ret_status)
{
    siginfo_t info = { .si_pid = 0 };

    if (waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG) < 0 || info.si_pid == 0)
        return false;
    *ret_status = info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status;
    return true;
}

int child_signal(int pidfd, int signal, int value)
{
    siginfo_t info = {
        .si_signo = signal,
        .si_code = SI_QUEUE,
    };

    info.si_value.sival_int = value;
    info.si_pid = getpid();
    info.si_uid = getuid();
    return pidfd_send_signal(pidfd, signal, &info, 0) < 0 ? -errno : 0;
}
