/* SPDX-License-Identifier: Apache-2.0 */
#include "io/net/dial.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { CONNECT_TIMEOUT_S = 10 };

static int dial_socket(const char *path, int *ret_fd)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const struct timeval limit = { .tv_sec = CONNECT_TIMEOUT_S };

    if (strlen(path) >= sizeof(address.sun_path))
        return -ENAMETOOLONG;
    memcpy(address.sun_path, path, strlen(path));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)); /* of connect, too */
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
        int code = -errno;
        close(fd);
        return code;
    }
    *ret_fd = fd;
    return 0;
}

static int spawn(char *const *argv, int fd)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, defaults;
    pid_t pid;

    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fd, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                              POSIX_SPAWN_SETSIGDEF);
    int code = posix_spawnp(&pid, argv[0], &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return -code;
}

int dial(const struct dial_place *place, int *ret_fd)
{
    int ends[2];

    if (!place->program)
        return dial_socket(place->name, ret_fd);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    int code = spawn(place->program, ends[1]);
    close(ends[1]);
    if (code < 0)
        close(ends[0]);
    else
        *ret_fd = ends[0];
    return code;
}
