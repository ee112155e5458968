/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IO_CHILD_H
#define IO_CHILD_H

/* child - start a program without copying this process, and watch it without its number
 *
 * The child gets /dev/null as its standard streams, the given descriptors from
 * number 3 on, and SIGTERM, SIGINT, SIGHUP and SIGCHLD blocked, so that it
 * loses none before it is ready for them. A pidfd stands for it from the start:
 * numbers are used again, a pidfd is not.
 *
 * On failure:  nothing runs
 * Limits:      CHILD_FDS_MAX descriptors
 */

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

enum { CHILD_FDS_MAX = 8 };

struct child_plan {
    const char *path;
    char *const *argv;
    char *const *envp;
    const int *fds; /* each 10 or above (fd_raise), so that none is in the way of another */
    unsigned fd_count;
};

/* Fails as posix_spawn does, with words: -EAGAIN too many processes, -EMFILE too many files. */
int child_start(const struct child_plan *plan, int *ret_pidfd, struct error *err);

/* Set the message of such a failure; what: the program, or "a process". Returns code. */
int child_fail(const char *what, int code, struct error *err);

/* After the pidfd became readable: reap. Gives the wait status, or false when it is not a child
 * of ours or still runs. */
bool child_reap(int pidfd, int *ret_status);

/* Send a signal with a value that the receiver can read. */
int child_signal(int pidfd, int signal, int value);

/* A copy of fd that is 10 or above and closed on exec; fd itself is closed. -1: errno says why */
int fd_raise(int fd);

#endif
