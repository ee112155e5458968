/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bridge/bridge_near.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "cli/bridge/bridge.h"
#include "io/descriptors.h"

enum { STREAM = 3, DOOR = 4 };

static struct near_end {
    struct bridge bridge; /* first, so that it is found from there */
    struct winsize size;
    bool has_asked, has_ended;
    char request[FRAME_MAX];
} near_end;

static size_t write_size(char *ret, const struct winsize *size)
{
    const unsigned short numbers[] = { size->ws_row, size->ws_col };

    for (size_t i = 0; i < 2; i++) {
        ret[2 * i] = (char)(numbers[i] >> 8);
        ret[2 * i + 1] = (char)numbers[i];
    }
    return FRAME_SIZE_BYTES;
}

/* ---- what the client wants ---- */

static void on_request(struct bridge *bridge, size_t length, const int fds[DOOR_FDS])
{
    bridge_send(bridge, FRAME_REQUEST, near_end.request, FRAME_SIZE_BYTES + length);
    near_end.has_asked = true;
    bridge->from[FRAME_INPUT] = fds[0];
    bridge->to[FRAME_OUTPUT] = fds[1];
    bridge->to[FRAME_ERRORS] = fds[2];
    for (size_t i = 0; i < DOOR_FDS; i++)
        fcntl(fds[i], F_SETFL, fcntl(fds[i], F_GETFL) | O_NONBLOCK);
}

static void on_door(struct bridge *bridge)
{
    char *bytes = near_end.request + write_size(near_end.request, &near_end.size);
    char size[FRAME_SIZE_BYTES];
    int fds[DOOR_FDS];
    size_t count = 0;

    ssize_t length =
        descriptors_receive(bridge->door, bytes, DOOR_BYTES_MAX, fds, DOOR_FDS, &count);
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (length <= 0) { /* the client left */
        bridge_close(&bridge->door);
        bridge->is_leaving = !bridge->is_feeding;
    } else if (!near_end.has_asked && count == DOOR_FDS) {
        on_request(bridge, (size_t)length, fds);
    } else if (length == (ssize_t)sizeof(struct winsize)) {
        memcpy(&near_end.size, bytes, sizeof(near_end.size));
        write_size(size, &near_end.size);
        bridge_send(bridge, FRAME_SIZE, size, sizeof(size));
    }
}

/* ---- what comes for the client ---- */

static void tell(const struct bridge *bridge, const struct door_answer *answer)
{
    if (bridge->door >= 0)
        send(bridge->door, answer, sizeof(*answer), MSG_NOSIGNAL);
}

/* A pipe, in place of the job's own. */
static void give_input(struct bridge *bridge, const struct door_answer *answer)
{
    int ends[2];

    bridge_close(&bridge->from[FRAME_INPUT]);
    bridge_close(&bridge->to[FRAME_OUTPUT]);
    bridge_close(&bridge->to[FRAME_ERRORS]);
    if (pipe2(ends, O_CLOEXEC) < 0) {
        bridge->is_leaving = true;
        return;
    }
    bridge->is_feeding = true;
    bridge->from[FRAME_INPUT] = ends[0];
    fcntl(ends[0], F_SETFL, fcntl(ends[0], F_GETFL) | O_NONBLOCK);
    descriptors_send(bridge->door, answer, sizeof(*answer), &ends[1], 1);
    close(ends[1]);
}

static bool on_frame(struct bridge *bridge, enum frame_kind kind, const unsigned char *bytes,
                     size_t length)
{
    struct door_answer answer;
    bool has_input;

    if (kind == FRAME_END) {
        bridge->is_leaving = near_end.has_ended = true;
        return true;
    }
    if (kind != FRAME_ANSWER || !bridge_read_answer(bytes, length, &answer, &has_input))
        return false;
    if (has_input)
        give_input(bridge, &answer);
    else
        tell(bridge, &answer);
    return true;
}

/* ---- the process ---- */

/* It keeps no other file of the client open. */
static void run(int stream, int door)
{
    struct bridge *bridge = &near_end.bridge;

    ioctl(STDIN_FILENO, TIOCGWINSZ, &near_end.size);
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < STREAM; fd++)
        dup2(null, fd);
    stream = fcntl(stream, F_DUPFD, DOOR + 1);
    door = fcntl(door, F_DUPFD, DOOR + 1);
    dup2(stream, STREAM);
    dup2(door, DOOR);
    close_range(DOOR + 1, ~0U, 0);
    signal(SIGPIPE, SIG_IGN);
    bridge_init(bridge, STREAM, DOOR);
    bridge->on_door = on_door;
    bridge->on_frame = on_frame;
    bridge_run(bridge);
    if (!near_end.has_ended && !bridge->is_leaving && !bridge->is_feeding)
        tell(bridge, &(struct door_answer){ .failure = ECONNRESET,
                                            .text = "the connection to the daemon was lost" });
}

int bridge_near_start(int stream, int *ret_door, struct error *err)
{
    pid_t client = getpid();
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
        close(stream);
        return error_set(err, -errno, "connection to the job: %s", strerror(errno));
    }
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == client)
            run(stream, ends[1]);
        _exit(0);
    }
    int code = pid < 0 ? -errno : 0;
    close(stream);
    close(ends[1]);
    if (code < 0) {
        close(ends[0]);
        return error_set(err, code, "connection to the job: %s", strerror(-code));
    }
    *ret_door = ends[0];
    return 0;
}
