/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/follow/visit_door.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/descriptors.h"

enum { TERMINAL_NAME_SIZE = 64 };

static int failed(const char *what, struct error *err)
{
    int code = errno;

    return error_set(err, -code, "%s: %s", what, strerror(code));
}

/* A pipe that can take something may take less than we have; waiting for the rest would leave
 * unread what the command writes meanwhile. */
static void never_wait(int fd)
{
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

int visit_open_terminal(int *ret_terminal, int ret_theirs[DOOR_FDS], struct error *err)
{
    char name[TERMINAL_NAME_SIZE];

    int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    *ret_terminal = terminal;
    if (terminal < 0 || grantpt(terminal) < 0 || unlockpt(terminal) < 0 ||
        ptsname_r(terminal, name, sizeof(name)) != 0)
        return failed("terminal", err);
    int fd = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return failed("terminal", err);
    for (size_t i = 0; i < DOOR_FDS; i++)
        ret_theirs[i] = i == 0 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 0);
    never_wait(terminal);
    return 0;
}

int visit_open_pipes(int ret_theirs[DOOR_FDS], int ret_ours[DOOR_FDS], struct error *err)
{
    for (size_t i = 0; i < DOOR_FDS; i++) {
        int ends[2];

        if (pipe2(ends, O_CLOEXEC) < 0)
            return failed("pipe", err);
        ret_theirs[i] = ends[i > 0];
        ret_ours[i] = ends[i == 0];
    }
    never_wait(ret_ours[0]);
    return 0;
}

int visit_request(const char *term, char *const *words, struct text *ret, struct error *err)
{
    size_t count = 0;

    text_add_bytes(ret, term, strlen(term) + 1);
    for (; words && words[count]; count++)
        text_add_bytes(ret, words[count], strlen(words[count]) + 1);
    return ret->length <= DOOR_BYTES_MAX && count <= DOOR_ARGS_MAX
               ? 0
               : error_set(err, -E2BIG, "command: at most %d arguments of %d bytes in all",
                           DOOR_ARGS_MAX, DOOR_BYTES_MAX);
}

int visit_ask(int door, const char *request, size_t length, const int theirs[DOOR_FDS],
              struct error *err)
{
    if (descriptors_send(door, request, length, theirs, DOOR_FDS) < 0)
        return failed("job's supervisor", err);
    for (size_t i = 0; i < DOOR_FDS; i++)
        close(theirs[i]);
    return 0;
}
