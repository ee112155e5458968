/* SPDX-License-Identifier: Apache-2.0 */
/* Clients of the job itself: its standard input, or its terminal.
 *
 * The standard input is a pipe. Its writing end goes to the first client that comes, for good: then
 * the kernel makes the writer wait, and a client that dies is an end of file. If no client
 * comes, it ends.
 *
 * A terminal stays with the shim, so that clients may come and go. One at a time has it; the next
 * one takes it over. What it shows is stored like any output.
 */
#include "shim/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    INPUT_WAIT_MS = 60000, /* for a client that passes on standard input */
    STUCK_MS = 5000,       /* a client that takes no output for so long has to leave */
    DRAIN_MS = 1000,       /* the same at the end of the job, whose devices wait for it */
    NAME_SIZE = 64,
};

int terminal_open(const struct order *order, int ret_ends[2])
{
    const struct winsize usual = { .ws_row = 24, .ws_col = 80 };

    user_begin(order); /* it becomes the owner */
    ret_ends[0] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    ret_ends[1] = -1;
    if (ret_ends[0] >= 0 && unlockpt(ret_ends[0]) == 0) /* also where /dev/pts is another one's */
        ret_ends[1] = ioctl(ret_ends[0], TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    int code = ret_ends[1] < 0 ? errno : 0;
    user_end(order);
    if (code == 0)
        ioctl(ret_ends[0], TIOCSWINSZ, &usual);
    else if (ret_ends[0] >= 0)
        close(ret_ends[0]);
    return code;
}

bool input_open(struct shim *shim)
{
    struct attachment *attachment = &shim->attachment;
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0) {
        shim_fail(shim, errno, "cannot make a pipe for the input: %s", words_errno(errno));
        return false;
    }
    attachment->job_fd = ends[0];
    attachment->input_fd = ends[1];
    attachment->input_end = clock_ms() + INPUT_WAIT_MS;
    return true;
}

static void close_one(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void attach_forget(struct shim *shim, const struct guest *guest)
{
    struct attachment *attachment = &shim->attachment;

    if (!guest || attachment->viewer != guest)
        return;
    close_one(&attachment->from_fd);
    close_one(&attachment->to_fd);
    attachment->viewer = NULL;
    attachment->in_length = attachment->out_length = 0;
}

/* ---- what the terminal shows ---- */

static void drop_viewer(struct shim *shim)
{
    struct guest *guest = shim->attachment.viewer;

    attach_forget(shim, guest);
    guest_close(guest);
}

static void flush(struct shim *shim)
{
    struct attachment *attachment = &shim->attachment;

    ssize_t length = write(attachment->to_fd, attachment->out + attachment->out_done,
                           attachment->out_length - attachment->out_done);
    if (length < 0 && errno != EAGAIN && errno != EINTR) {
        drop_viewer(shim);
        return;
    }
    if (length > 0) {
        attachment->out_done += (size_t)length;
        attachment->stuck_end = clock_ms() + STUCK_MS;
    }
    if (attachment->out_done == attachment->out_length)
        attachment->out_length = attachment->out_done = 0;
}

/* The next client sees first what was shown last. */
static void keep_last(struct attachment *attachment, const char *bytes, size_t length)
{
    if (length >= ATTACH_LAST) {
        memcpy(attachment->last, bytes + length - ATTACH_LAST, ATTACH_LAST);
        attachment->last_length = ATTACH_LAST;
        return;
    }
    size_t room = ATTACH_LAST - length;
    if (attachment->last_length > room) {
        memmove(attachment->last, attachment->last + attachment->last_length - room, room);
        attachment->last_length = room;
    }
    memcpy(attachment->last + attachment->last_length, bytes, length);
    attachment->last_length += length;
}

static void show(struct shim *shim, const char *bytes, size_t length)
{
    struct attachment *attachment = &shim->attachment;

    memcpy(attachment->out, bytes, length);
    attachment->out_length = length;
    attachment->out_done = 0;
    attachment->stuck_end = clock_ms() + STUCK_MS;
    flush(shim);
}

void attach_show(struct shim *shim, const char *bytes, size_t length)
{
    struct attachment *attachment = &shim->attachment;
    struct pollfd room = { .fd = attachment->to_fd, .events = POLLOUT };

    if (shim->order.attach != ATTACH_TERMINAL)
        return;
    keep_last(attachment, bytes, length);
    /* Only of the rest that is read at the end. */
    if (attachment->viewer && attachment->out_length > 0 && attachment->drain_end == 0)
        attachment->drain_end = clock_ms() + STUCK_MS;
    while (attachment->viewer && attachment->out_length > 0) {
        if (clock_ms() >= attachment->drain_end || poll(&room, 1, DRAIN_MS) <= 0)
            drop_viewer(shim);
        else
            flush(shim);
    }
    if (attachment->viewer)
        show(shim, bytes, length);
}

void attach_drain(struct shim *shim)
{
    attach_show(shim, "", 0);
}

bool attach_is_full(const struct shim *shim)
{
    return shim->attachment.out_length > 0;
}

/* ---- clients ---- */

static void give_input(struct shim *shim, struct guest *guest)
{
    struct attachment *attachment = &shim->attachment;
    struct door_answer answer = { .text = ORDER_STDIN };
    union {
        struct cmsghdr head; /* aligned as that */
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = { .bytes = { 0 } };
    struct iovec part = { .iov_base = &answer, .iov_len = sizeof(answer) };
    struct msghdr message = { .msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = &control,
                              .msg_controllen = sizeof(control) };

    if (attachment->input_fd < 0) {
        guest_refuse(guest, EALREADY, "its standard input was passed on or closed before");
        return;
    }
    control.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
                                     .cmsg_level = SOL_SOCKET,
                                     .cmsg_type = SCM_RIGHTS };
    memcpy(CMSG_DATA(&control.head), &attachment->input_fd, sizeof(int));
    if (sendmsg(guest->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
        close_one(&attachment->input_fd);
    guest_close(guest);
}

/* Others might block the shim, and so might one whose flags the client can change: it is opened
 * anew. The shim may open more than the client may, so only for what it was open for. */
static bool take_pipe(int from, int mode, int *to)
{
    struct stat info;
    char name[NAME_SIZE];

    int flags = fcntl(from, F_GETFL);
    if (flags < 0 || (flags & (O_ACCMODE | O_PATH)) != mode || fstat(from, &info) < 0 ||
        !S_ISFIFO(info.st_mode))
        return false;
    snprintf(name, sizeof(name), "/proc/self/fd/%d", from);
    *to = open(name, mode | O_NONBLOCK | O_CLOEXEC);
    return *to >= 0;
}

static void take_terminal(struct shim *shim, struct guest *guest, const struct visit *visit)
{
    struct attachment *attachment = &shim->attachment;
    const struct door_answer answer = { .text = ORDER_TERMINAL };
    struct guest *before = attachment->viewer;

    if (shim->streams[0].pipe_fd < 0) {
        guest_refuse(guest, ESRCH, "its terminal is closed");
        return;
    }
    if (before) {
        attach_forget(shim, before);
        guest_refuse(before, EBUSY, "another client took the terminal");
    }
    if (!take_pipe(visit->fds[0], O_RDONLY, &attachment->from_fd) ||
        !take_pipe(visit->fds[1], O_WRONLY, &attachment->to_fd)) {
        close_one(&attachment->from_fd);
        guest_refuse(guest, EINVAL, "not pipes");
        return;
    }
    attachment->viewer = guest;
    attachment->has_size = false;
    guest_tell(guest, &answer);
    if (attachment->last_length > 0)
        show(shim, attachment->last, attachment->last_length);
}

void attach_take(struct shim *shim, struct guest *guest, const struct visit *visit)
{
    if (shim->order.attach == ATTACH_STDIN)
        give_input(shim, guest);
    else if (shim->order.attach == ATTACH_TERMINAL)
        take_terminal(shim, guest, visit);
    else
        guest_refuse(guest, ENOTTY, "it has neither a terminal nor the input of a client");
}

/* A program draws anew when the size changes, so the first of a client is always a change. */
void attach_resize(struct shim *shim, const struct winsize *size)
{
    struct winsize other = *size;

    other.ws_row++;
    if (!shim->attachment.has_size)
        ioctl(shim->streams[0].pipe_fd, TIOCSWINSZ, &other);
    ioctl(shim->streams[0].pipe_fd, TIOCSWINSZ, size);
    shim->attachment.has_size = true;
}

/* ---- the loop ---- */

void attach_polls(const struct shim *shim, struct pollfd polls[ATTACH_POLLS])
{
    const struct attachment *attachment = &shim->attachment;
    bool has_input = attachment->in_length > 0;

    polls[0] = (struct pollfd){ .fd = has_input ? -1 : attachment->from_fd, .events = POLLIN };
    polls[1] =
        (struct pollfd){ .fd = has_input ? shim->streams[0].pipe_fd : -1, .events = POLLOUT };
    polls[2] = (struct pollfd){ .fd = attachment->to_fd,
                                .events = attachment->out_length > 0 ? POLLOUT : 0 };
}

int attach_wait_ms(const struct shim *shim)
{
    const struct attachment *attachment = &shim->attachment;

    if (attachment->input_fd < 0 && attachment->out_length == 0)
        return -1;
    int64_t end = attachment->input_fd >= 0 ? attachment->input_end : attachment->stuck_end;
    int64_t left = end - clock_ms();
    return left < 0 ? 0 : (int)left;
}

static void read_input(struct attachment *attachment)
{
    ssize_t length = read(attachment->from_fd, attachment->in, sizeof(attachment->in));

    if (length == 0 || (length < 0 && errno != EAGAIN && errno != EINTR))
        close_one(&attachment->from_fd);
    attachment->in_length = length > 0 ? (size_t)length : 0;
    attachment->in_done = 0;
}

static void write_input(struct shim *shim)
{
    struct attachment *attachment = &shim->attachment;

    ssize_t length = write(shim->streams[0].pipe_fd, attachment->in + attachment->in_done,
                           attachment->in_length - attachment->in_done);
    if (length < 0 && errno != EAGAIN && errno != EINTR)
        attachment->in_length = attachment->in_done = 0;
    attachment->in_done += length > 0 ? (size_t)length : 0;
    if (attachment->in_done == attachment->in_length)
        attachment->in_length = attachment->in_done = 0;
}

void attach_serve(struct shim *shim, const struct pollfd polls[ATTACH_POLLS])
{
    struct attachment *attachment = &shim->attachment;

    if (polls[0].revents != 0 && polls[0].fd == attachment->from_fd)
        read_input(attachment);
    if (polls[1].revents != 0 && shim->streams[0].pipe_fd >= 0)
        write_input(shim);
    if (polls[2].revents != 0 && attachment->viewer && polls[2].fd == attachment->to_fd) {
        if (attachment->out_length > 0)
            flush(shim);
        else
            drop_viewer(shim);
    }
    if (attach_wait_ms(shim) != 0)
        return;
    if (attachment->viewer)
        drop_viewer(shim);
    close_one(&attachment->input_fd);
}
