/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bridge/bridge_far.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "cli/bridge/bridge.h"
#include "cli/follow/visit_door.h"
#include "io/become.h"
#include "io/descriptors.h"

enum { STREAM = 3, DOOR = 4 };

static struct far_end {
    struct bridge bridge; /* first, so that it is found from there */
    int terminal;         /* our side of the command's terminal; -1: pipes */
    bool has_asked, is_attached;
    bool has_answer; /* to be sent when all output was read */
    struct door_answer answer;
} far_end;

static struct winsize read_size(const unsigned char *bytes)
{
    return (struct winsize){ .ws_row = (unsigned short)(bytes[0] << 8 | bytes[1]),
                             .ws_col = (unsigned short)(bytes[2] << 8 | bytes[3]) };
}

/* ---- the request ---- */

static void refuse(struct bridge *bridge, int code, const struct error *err)
{
    struct door_answer answer = { .failure = -code };

    memcpy(answer.text, err->text, strnlen(err->text, sizeof(answer.text) - 1));
    bridge_send_answer(bridge, &answer, false);
    bridge_end(bridge);
}

static void use_terminal(struct bridge *bridge, const struct winsize *size)
{
    if (size->ws_row > 0)
        ioctl(far_end.terminal, TIOCSWINSZ, size);
    bridge->to[FRAME_INPUT] = fcntl(far_end.terminal, F_DUPFD_CLOEXEC, 0);
    bridge->from[FRAME_OUTPUT] = fcntl(far_end.terminal, F_DUPFD_CLOEXEC, 0);
}

static void ask(struct bridge *bridge, const unsigned char *bytes, size_t length)
{
    const struct winsize size = read_size(bytes);
    const char *request = (const char *)bytes + FRAME_SIZE_BYTES;
    int theirs[DOOR_FDS], ours[DOOR_FDS];
    struct error err;

    length -= FRAME_SIZE_BYTES;
    far_end.has_asked = true;
    far_end.is_attached = strlen(request) + 1 == length;
    int code = request[0] ? visit_open_terminal(&far_end.terminal, theirs, &err)
                          : visit_open_pipes(theirs, ours, &err);
    if (code == 0)
        code = visit_ask(bridge->door, request, length, theirs, &err);
    if (code < 0) {
        refuse(bridge, code, &err);
        return;
    }
    if (request[0]) {
        use_terminal(bridge, &size);
        return;
    }
    bridge->to[FRAME_INPUT] = ours[0];
    bridge->from[FRAME_OUTPUT] = ours[1];
    bridge->from[FRAME_ERRORS] = ours[2];
}

static bool on_frame(struct bridge *bridge, enum frame_kind kind, const unsigned char *bytes,
                     size_t length)
{
    if (kind == FRAME_REQUEST && !far_end.has_asked && length > FRAME_SIZE_BYTES &&
        bytes[length - 1] == '\0') {
        ask(bridge, bytes, length);
        return true;
    }
    if (kind != FRAME_SIZE || length != FRAME_SIZE_BYTES)
        return false;
    const struct winsize size = read_size(bytes);
    if (far_end.terminal >= 0)
        ioctl(far_end.terminal, TIOCSWINSZ, &size);
    else if (far_end.is_attached && bridge->door >= 0)
        send(bridge->door, &size, sizeof(size), MSG_NOSIGNAL | MSG_DONTWAIT);
    return true;
}

/* ---- the supervisor's answer ---- */

/* The supervisor keeps the other pipes no longer. */
static void feed(struct bridge *bridge, int input)
{
    bridge->is_feeding = true;
    bridge_close(&bridge->to[FRAME_INPUT]);
    bridge_close(&bridge->from[FRAME_OUTPUT]);
    bridge_close(&bridge->from[FRAME_ERRORS]);
    bridge_close(&bridge->door);
    fcntl(input, F_SETFL, fcntl(input, F_GETFL) | O_NONBLOCK);
    bridge->to[FRAME_INPUT] = input;
    bridge_send_answer(bridge, &far_end.answer, true);
}

static void on_door(struct bridge *bridge)
{
    int input = -1;
    size_t count = 0;

    ssize_t length = descriptors_receive(bridge->door, &far_end.answer, sizeof(far_end.answer),
                                         &input, 1, &count);
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    far_end.answer.text[sizeof(far_end.answer.text) - 1] = '\0';
    if (count > 0) {
        feed(bridge, input);
        return;
    }
    far_end.has_answer = length == (ssize_t)sizeof(far_end.answer);
    if (far_end.is_attached && far_end.has_answer) {
        bridge_send_answer(bridge, &far_end.answer, false);
        far_end.has_answer = false;
        return;
    }
    bridge_close(&bridge->door);
    bridge->is_draining = true;
}

/* The command has ended, and what it wrote is on its way. Processes that it left behind may keep
 * its output open: they are not waited for. */
static void on_quiet(struct bridge *bridge)
{
    if (far_end.has_answer)
        bridge_send_answer(bridge, &far_end.answer, false);
    bridge_end(bridge);
}

/* ---- the process ---- */

int run_bridge(char *const *words)
{
    struct bridge *bridge = &far_end.bridge;
    pid_t daemon = getppid();
    sigset_t none;

    int code = become_user((uid_t)strtoul(words[0], NULL, 10), (gid_t)strtoul(words[1], NULL, 10));
    if (code < 0)
        return 1;
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    close_range(DOOR + 1, ~0U, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != daemon)
        return 1;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_IGN);
    far_end.terminal = -1;
    bridge_init(bridge, STREAM, DOOR);
    bridge->on_door = on_door;
    bridge->on_frame = on_frame;
    bridge->on_quiet = on_quiet;
    bridge->on_fed = bridge_end;
    bridge->is_hasty = true;
    bridge_run(bridge);
    return 0;
}
