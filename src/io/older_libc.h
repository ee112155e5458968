/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IO_OLDER_LIBC_H
#define IO_OLDER_LIBC_H

/* older_libc - functions that glibc has had since 2.34 and 2.36, for a program that also runs with
 * an older one. Included before all else in such a build (meson.build).
 */

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline int pidfd_open(pid_t pid, unsigned flags)
{
    return (int)syscall(SYS_pidfd_open, pid, flags);
}

static inline int pidfd_send_signal(int pidfd, int signal, siginfo_t *info, unsigned flags)
{
    return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, info, flags);
}

/* A fork without what was registered for forks. */
#define _Fork fork_alone
static inline pid_t fork_alone(void)
{
    return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

/* The system call is of Linux 5.9. */
static inline int close_range(unsigned first, unsigned last, int flags)
{
    if (syscall(SYS_close_range, first, last, flags) == 0)
        return 0;
    if (errno != ENOSYS || flags != 0)
        return -1;
    for (long fd = first, end = sysconf(_SC_OPEN_MAX); fd <= (long)last && fd < end; fd++)
        close((int)fd);
    return 0;
}

#endif
