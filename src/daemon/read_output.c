/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/read_output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/become.h"

enum { SOCKET = 3, LOOK_MS = 50, CHUNK = 64 * 1024, TAIL_BYTES_MAX = 1 << 20 };

struct output {
    const char *path;
    uid_t owner;
    int fd; /* -1: not open */
    off_t offset;
    uint32_t tail; /* lines; UINT32_MAX: all */
    bool is_following;
    bool is_greeted; /* the first byte is sent */
};

/* The daemon may be gone, or its client. */
static void send_all(const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t done = send(SOCKET, bytes, length, MSG_NOSIGNAL);
        if (done < 0)
            _exit(0);
        bytes += done;
        length -= (size_t)done;
    }
}

static void greet(struct output *output)
{
    if (!output->is_greeted)
        send_all("!", 1);
    output->is_greeted = true;
}

/* Where the last lines begin: backwards from the end, within bounds. */
static off_t find_tail(const struct output *output, off_t size)
{
    off_t start = size > TAIL_BYTES_MAX ? size - TAIL_BYTES_MAX : 0;
    AUTO_FREE char *bytes = mem_zero(1, (size_t)(size - start) + 1);
    ssize_t got = pread(output->fd, bytes, (size_t)(size - start), start);
    uint32_t lines = 0;
    off_t at = got > 0 ? got : 0;

    for (; at > 0; at--) {
        if (bytes[at - 1] == '\n' && at != got && ++lines == output->tail)
            break;
        if (bytes[at - 1] == '\n' && output->tail == 0)
            break;
    }
    return start + at;
}

/* Check before opening: opening a device can have effects. */
static bool open_output(struct output *output)
{
    struct stat status;
    char name[64];

    int place = open(output->path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
    if (place < 0)
        return false;
    bool is_plain =
        fstat(place, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == output->owner;
    snprintf(name, sizeof(name), "/proc/self/fd/%d", place);
    output->fd = is_plain ? open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    close(place);
    if (output->fd >= 0 && output->tail != UINT32_MAX)
        output->offset = find_tail(output, status.st_size);
    return output->fd >= 0;
}

/* The path is another file, and this one did not grow before the rotation. */
static bool is_rotated(const struct output *output, ino_t inode)
{
    struct stat named, status;

    return lstat(output->path, &named) == 0 && named.st_ino != inode &&
           (fstat(output->fd, &status) < 0 || status.st_size <= output->offset);
}

/* One part. False: it is at the end of the file, or there is none. */
static bool pass_on(struct output *output)
{
    static char bytes[CHUNK];
    struct stat status;

    if ((output->fd < 0 && !open_output(output)) || fstat(output->fd, &status) < 0)
        return false;
    if (output->is_following && status.st_size < output->offset)
        output->offset = 0; /* truncated */
    ssize_t length = status.st_size > output->offset
                         ? pread(output->fd, bytes, sizeof(bytes), output->offset)
                         : 0;
    if (length > 0) {
        greet(output);
        send_all(bytes, (size_t)length);
        output->offset += length;
        return true;
    }
    if (!output->is_following || !is_rotated(output, status.st_ino))
        return false;
    close(output->fd);
    output->fd = -1;
    output->offset = 0;
    output->tail = UINT32_MAX;
    return true;
}

/* Whether the daemon says within the time that no more will be written. */
static bool is_last(int timeout_ms)
{
    struct pollfd daemon = { .fd = SOCKET, .events = POLLIN };

    return poll(&daemon, 1, timeout_ms) > 0;
}

static void read_output(struct output *output)
{
    bool is_over = !output->is_following;

    while (true) {
        is_over = is_over || is_last(0); /* before reading: nothing written before it is missed */
        while (pass_on(output))
            ;
        greet(output);
        if (is_over)
            return;
        is_last(LOOK_MS);
    }
}

int run_read_output(char *const *words)
{
    struct output output = {
        .owner = (uid_t)strtoul(words[0], NULL, 10),
        .fd = -1,
        .offset = (off_t)strtoll(words[2], NULL, 10),
        .tail = words[3][0] == '-' ? UINT32_MAX : (uint32_t)strtoul(words[3], NULL, 10),
        .is_following = words[4][0] == '1',
        .path = getenv(READ_OUTPUT_PATH),
    };
    sigset_t none;

    close_range(SOCKET + 1, ~0U, 0);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (!output.path)
        return 1;
    if (become_user(output.owner, (gid_t)strtoul(words[1], NULL, 10)) < 0)
        return 1;
    read_output(&output);
    return 0;
}
