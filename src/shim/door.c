/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that are run inside a job beside its own (tarn exec), and clients of the job itself.
 *
 * The door is a socket next to the status file, in a directory that only the engine's user can
 * enter: the daemon connects, and hands the connection to a client that may control the job. What
 * comes over it is from that client, not from the daemon.
 */
#include "shim/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PATH_SIZE = 4096,
    SILENT_MS = 10000, /* without a request a guest has to leave ... */
    CROWDED_MS = 1000, /* ... sooner while there is no room for another */
    PAUSE_MS = 1000,   /* after none could be let in: no descriptor is free */
};

/* The path of a socket is at most 108 bytes long; that of the folder is not. */
static bool door_address(const struct shim *shim, int *ret_folder, struct sockaddr_un *ret)
{
    char path[PATH_SIZE];

    int length = snprintf(path, sizeof(path), "%s%s", shim->order.status, DOOR_SUFFIX);
    char *slash = strrchr(path, '/');
    if (length >= (int)sizeof(path) || !slash)
        return false;
    *slash = '\0';
    *ret_folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    *ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
    length = snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d/%s", *ret_folder,
                      slash + 1);
    return *ret_folder >= 0 && length < (int)sizeof(ret->sun_path);
}

/* A job without a door runs as well. */
void door_open(struct shim *shim)
{
    struct sockaddr_un address;
    int folder = -1;

    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool is_named = door_address(shim, &folder, &address);
    if (is_named)
        unlink(address.sun_path); /* of a shim that died before it had the status file */
    if (fd >= 0 && is_named && bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
        listen(fd, DOOR_GUESTS_MAX) == 0)
        shim->door_fd = fd;
    else if (fd >= 0)
        close(fd);
    if (folder >= 0)
        close(folder);
}

/* ---- what one guest wants ---- */

/* The strings of a request: what TERM is, then the arguments. */
static bool request_read(char *bytes, size_t length, struct visit *visit)
{
    size_t count = 0;

    if (length < 1 || bytes[length - 1] != '\0')
        return false;
    visit->term = bytes;
    for (size_t at = strlen(bytes) + 1; at < length; at += strlen(bytes + at) + 1) {
        if (count == DOOR_ARGS_MAX)
            return false;
        visit->argv[count++] = bytes + at;
    }
    visit->argv[count] = NULL;
    return true;
}

/* The descriptors of a message. Returns how many there are: of more than are expected the kernel
 * drops those that do not fit, but alignment makes room for one. */
static size_t take_descriptors(struct msghdr *message, int fds[DOOR_FDS])
{
    const struct cmsghdr *head = CMSG_FIRSTHDR(message);
    int fd;

    if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
        return 0;
    size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (; count > DOOR_FDS; count--) {
        memcpy(&fd, CMSG_DATA(head) + (count - 1) * sizeof(fd), sizeof(fd));
        close(fd);
    }
    memcpy(fds, CMSG_DATA(head), count * sizeof(int));
    return count;
}

static size_t count_visits(const struct shim *shim)
{
    size_t count = 0;

    for (size_t i = 0; i < DOOR_GUESTS_MAX; i++)
        count += shim->guests[i].pid > 0;
    return count;
}

static void guest_start(struct shim *shim, struct guest *guest, const struct visit *visit)
{
    if (visit->argv[0] && count_visits(shim) == DOOR_GUESTS_MAX - 1) {
        guest_refuse(guest, EAGAIN, "too many commands at a time");
        return;
    }
    if (!shim->has_started || shim->main_dead || shim->is_stopping) {
        guest_refuse(guest, ESRCH,
                     shim->has_started ? "the job ends" : "the job is still starting");
        return;
    }
    if (!visit->argv[0]) {
        attach_take(shim, guest, visit);
        return;
    }
    guest->pid = job_visit(shim, visit, guest->fd);
    if (guest->pid > 0)
        return;
    guest->pid = 0;
    guest_refuse(guest, errno, words_errno(errno));
}

static void guest_read(struct shim *shim, struct guest *guest)
{
    static char bytes[DOOR_BYTES_MAX];
    static struct visit visit;
    union {
        struct cmsghdr head; /* aligned as that */
        char bytes[CMSG_SPACE(DOOR_FDS * sizeof(int))];
    } control;
    struct iovec part = { .iov_base = bytes, .iov_len = sizeof(bytes) };
    struct msghdr message = { .msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = &control,
                              .msg_controllen = sizeof(control) };

    ssize_t length = recvmsg(guest->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    size_t count = length >= 0 ? take_descriptors(&message, visit.fds) : 0;
    if (length > 0 && shim->attachment.viewer == guest) {
        struct winsize size;

        memcpy(&size, bytes, sizeof(size));
        if (length == (ssize_t)sizeof(size))
            attach_resize(shim, &size);
    } else if (length <= 0 && guest->pid == 0) {
        attach_forget(shim, guest);
        guest_close(guest);
    } else if (length <= 0) {
        /* It left: its command is told as by a terminal that is gone. */
        kill(-guest->pid, SIGHUP);
        kill(-guest->pid, SIGCONT);
        close(guest->fd);
        guest->fd = -1;
    } else if (guest->pid == 0 && count == DOOR_FDS && (message.msg_flags & MSG_TRUNC) == 0 &&
               request_read(bytes, (size_t)length, &visit))
        guest_start(shim, guest, &visit);
    else if (guest->pid == 0)
        guest_refuse(guest, EINVAL, "not a request to run a command");
    for (size_t i = 0; i < count; i++)
        if (visit.fds[i] >= 0)
            close(visit.fds[i]);
}

/* Commands that were reaped (tree.c). */
static void tell_ends(struct shim *shim)
{
    for (size_t i = 0; i < DOOR_GUESTS_MAX; i++) {
        struct guest *guest = &shim->guests[i];
        struct door_answer answer = { .wait_status = guest->wait_status };

        if (!guest->is_over)
            continue;
        if (guest->fd >= 0) {
            guest_tell(guest, &answer);
            close(guest->fd);
        }
        *guest = (struct guest){ .fd = -1 };
    }
}

/* The number of one that is free; DOOR_GUESTS_MAX: none. */
static size_t free_guest(const struct shim *shim)
{
    size_t i = 0;

    while (i < DOOR_GUESTS_MAX && (shim->guests[i].fd >= 0 || shim->guests[i].pid > 0))
        i++;
    return i;
}

static bool is_silent(const struct shim *shim, const struct guest *guest)
{
    return guest->fd >= 0 && guest->pid == 0 && shim->attachment.viewer != guest;
}

/* When the guest has to leave. */
static int64_t silence_end(const struct shim *shim, const struct guest *guest)
{
    return guest->since + (free_guest(shim) < DOOR_GUESTS_MAX ? SILENT_MS : CROWDED_MS);
}

int door_wait_ms(const struct shim *shim)
{
    int64_t now = clock_ms(), end = shim->door_pause > now ? shim->door_pause : INT64_MAX;

    for (size_t i = 0; i < DOOR_GUESTS_MAX; i++) {
        const struct guest *guest = &shim->guests[i];

        if (is_silent(shim, guest) && silence_end(shim, guest) < end)
            end = silence_end(shim, guest);
    }
    return end == INT64_MAX ? -1 : end <= now ? 0 : (int)(end - now);
}

void door_polls(const struct shim *shim, struct pollfd polls[DOOR_POLLS])
{
    bool is_open = free_guest(shim) < DOOR_GUESTS_MAX && shim->door_pause <= clock_ms();

    polls[0] = (struct pollfd){ .fd = is_open ? shim->door_fd : -1, .events = POLLIN };
    for (size_t i = 0; i < DOOR_GUESTS_MAX; i++)
        polls[1 + i] = (struct pollfd){ .fd = shim->guests[i].fd, .events = POLLIN };
}

void door_serve(struct shim *shim, const struct pollfd polls[DOOR_POLLS])
{
    tell_ends(shim);
    for (size_t i = 0; i < DOOR_GUESTS_MAX; i++) {
        if (polls[1 + i].revents != 0 && shim->guests[i].fd == polls[1 + i].fd)
            guest_read(shim, &shim->guests[i]);
    }
    for (size_t i = 0; i < DOOR_GUESTS_MAX; i++) {
        struct guest *guest = &shim->guests[i];

        if (is_silent(shim, guest) && silence_end(shim, guest) <= clock_ms())
            guest_refuse(guest, ETIMEDOUT, "no request came in time");
    }
    size_t free = free_guest(shim);
    if (polls[0].revents == 0 || free == DOOR_GUESTS_MAX)
        return;
    int fd = accept4(shim->door_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0)
        shim->guests[free] = (struct guest){ .fd = fd, .since = clock_ms() };
    else if (errno != EAGAIN && errno != EINTR)
        shim->door_pause = clock_ms() + PAUSE_MS;
}

void door_close(struct shim *shim)
{
    struct sockaddr_un address;
    int folder = -1;

    tell_ends(shim);
    if (shim->door_fd < 0)
        return;
    close(shim->door_fd);
    shim->door_fd = -1;
    if (door_address(shim, &folder, &address))
        unlink(address.sun_path);
    if (folder >= 0)
        close(folder);
}
