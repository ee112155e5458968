/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/top_input.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

static int failed(struct error *err)
{
    return error_set(err, -errno, "waiting for keys: %s", strerror(errno));
}

static int watch(const struct top_input *input, int fd, struct error *err)
{
    struct epoll_event event = { .events = EPOLLIN };

    return epoll_ctl(input->any, EPOLL_CTL_ADD, fd, &event) < 0 ? failed(err) : 0;
}

int input_open(struct top_input *input, struct error *err)
{
    static const int wanted[] = { SIGINT, SIGTERM, SIGHUP, SIGWINCH };
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        sigaddset(&set, wanted[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    input->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    input->any = epoll_create1(EPOLL_CLOEXEC);
    if (input->signals < 0 || input->any < 0)
        return failed(err);
    int code = watch(input, input->signals, err);
    return code == 0 ? watch(input, STDIN_FILENO, err) : code;
}

void input_close(struct top_input *input)
{
    if (input->signals >= 0)
        close(input->signals);
    if (input->any >= 0)
        close(input->any);
    *input = (struct top_input){ -1, -1 };
}

int input_signal(struct top_input *input)
{
    struct signalfd_siginfo info;

    return read(input->signals, &info, sizeof(info)) == (ssize_t)sizeof(info) ? (int)info.ssi_signo
                                                                              : 0;
}
