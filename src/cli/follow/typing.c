/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/follow/typing.h"

#include <assert.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
    KEYS_MAX = 16384,
    KEY_ESCAPE = 0x1d /* Ctrl-] */,
    KEY_DETACH = 'd',
};

bool keys_take(char *bytes, size_t *length, bool *is_escaped)
{
    char kept[KEYS_MAX];
    size_t count = 0;

    assert(*length < sizeof(kept));
    for (size_t i = 0; i < *length; i++) {
        char key = bytes[i];

        if (!*is_escaped && key == KEY_ESCAPE) {
            *is_escaped = true;
            continue;
        }
        if (*is_escaped && key == KEY_DETACH)
            return true;
        if (*is_escaped && key != KEY_ESCAPE && count < sizeof(kept) - 1)
            kept[count++] = KEY_ESCAPE;
        *is_escaped = false;
        if (count < sizeof(kept))
            kept[count++] = key;
    }
    memcpy(bytes, kept, count);
    *length = count;
    return false;
}

static void watch(int fd, int what)
{
    struct epoll_event event = { .events = EPOLLIN, .data.fd = what };

    epoll_ctl(fd, EPOLL_CTL_ADD, what, &event);
}

int typing_start(struct typing *typing, int signal_fd)
{
    struct termios raw;

    if (tcgetpgrp(STDIN_FILENO) != getpgrp() || typing->length > TYPING_MAX - 2) {
        typing_stop(typing);
        return signal_fd;
    }
    if (typing->fd > 0)
        return typing->fd;
    int fd = epoll_create1(EPOLL_CLOEXEC);
    if (fd < 0 || tcgetattr(STDIN_FILENO, &typing->before) < 0) {
        if (fd >= 0)
            close(fd);
        return signal_fd;
    }
    raw = typing->before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | IEXTEN);
    raw.c_iflag &= ~(tcflag_t)(ICRNL | IXON);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    watch(fd, STDIN_FILENO);
    if (signal_fd >= 0)
        watch(fd, signal_fd);
    typing->fd = fd;
    return fd;
}

bool typing_read(struct typing *typing)
{
    struct pollfd ready = { .fd = STDIN_FILENO, .events = POLLIN };
    size_t room = TYPING_MAX - 1 - typing->length; /* a byte is left free, for keys_take() */

    if (typing->fd == 0 || room == 0 || poll(&ready, 1, 0) <= 0)
        return false;
    char *bytes = typing->bytes + typing->length;
    ssize_t done = read(STDIN_FILENO, bytes, room);
    size_t length = done > 0 ? (size_t)done : 0;
    if (length > 0 && keys_take(bytes, &length, &typing->is_escaped))
        return true;
    typing->length += length;
    return false;
}

void typing_stop(struct typing *typing)
{
    if (typing->fd == 0)
        return;
    close(typing->fd);
    typing->fd = 0;
    if (tcgetpgrp(STDIN_FILENO) == getpgrp())
        tcsetattr(STDIN_FILENO, TCSADRAIN, &typing->before);
}
