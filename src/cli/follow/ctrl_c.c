/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/follow/ctrl_c.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static void signals_of(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGHUP);
}

int interrupt_open(int *ret_fd, struct error *err)
{
    sigset_t set;

    signals_of(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    *ret_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (*ret_fd < 0)
        return error_set(err, -errno, "signals: %s", strerror(errno));
    return 0;
}

void interrupt_close(int fd)
{
    sigset_t set;

    if (fd < 0)
        return;
    close(fd);
    signals_of(&set);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

int interrupt_take(int fd)
{
    struct signalfd_siginfo info;

    return read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info) ? (int)info.ssi_signo : 0;
}

/* One line from the terminal, or a second signal. */
static enum interrupt_answer read_answer(int fd)
{
    struct pollfd waits[] = { { .fd = fd, .events = POLLIN },
                              { .fd = STDIN_FILENO, .events = POLLIN } };
    char line[64];

    while (poll(waits, COUNT_OF(waits), -1) < 0 && errno == EINTR)
        continue;
    if (waits[0].revents) {
        interrupt_take(fd);
        fputc('\n', stderr);
        return INTERRUPT_LEAVE;
    }
    ssize_t length = read(STDIN_FILENO, line, sizeof(line));
    if (length <= 0)
        return INTERRUPT_LEAVE;
    if (line[0] == 'c' || line[0] == 'C')
        return INTERRUPT_CANCEL;
    return line[0] == 'l' || line[0] == 'L' ? INTERRUPT_LEAVE : INTERRUPT_GO_ON;
}

enum interrupt_answer interrupt_ask(int fd, const char *what, int *ret_signal)
{
    *ret_signal = interrupt_take(fd);
    if (*ret_signal == 0)
        return INTERRUPT_GO_ON;
    if (*ret_signal != SIGINT || !isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return INTERRUPT_LEAVE;
    fprintf(stderr, "\ncancel %s, or leave it running? [c/l/Enter=keep following] ", what);
    fflush(stderr);
    return read_answer(fd);
}
