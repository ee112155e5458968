/* SPDX-License-Identifier: Apache-2.0 */
#include "io/paths.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"

#define MACHINE_STATE  "/var/lib/tarn"
#define MACHINE_SOCKET "/run/tarn/tarn.sock"

static const char *variable(const char *name)
{
    const char *value = getenv(name);

    return value && value[0] ? value : NULL;
}

/* The same path from the root, whatever the working directory will be. */
static char *absolute(const char *path)
{
    if (path[0] == '/')
        return mem_string(path);
    AUTO_FREE char *here = getcwd(NULL, 0);
    return mem_printf("%s/%s", here ? here : "", path);
}

static const char *home(void)
{
    const char *value = variable("HOME");
    if (value && value[0] == '/')
        return value;
    const struct passwd *entry = getpwuid(getuid());
    return entry && entry->pw_dir && entry->pw_dir[0] == '/' ? entry->pw_dir : NULL;
}

static char *find_state(struct error *err)
{
    const char *given = variable("TARN_STATE");
    const char *base = variable("XDG_STATE_HOME");

    if (given)
        return absolute(given);
    if (geteuid() == 0)
        return mem_string(MACHINE_STATE);
    if (base && base[0] == '/')
        return mem_printf("%s/tarn", base);
    const char *folder = home();
    if (folder)
        return mem_printf("%s/.local/state/tarn", folder);
    error_set(err, -ENOENT, "no folder for the state: set HOME or TARN_STATE");
    return NULL;
}

static char *find_socket(const char *state, bool *ret_is_machine_wide)
{
    const char *given = variable("TARN_SOCKET");
    const char *runtime = variable("XDG_RUNTIME_DIR");

    *ret_is_machine_wide = false;
    if (given) {
        *ret_is_machine_wide = strcmp(given, MACHINE_SOCKET) == 0;
        return absolute(given);
    }
    if (variable("TARN_STATE"))
        return mem_printf("%s/tarn.sock", state);
    if (geteuid() == 0 || paths_is_listening(MACHINE_SOCKET)) {
        *ret_is_machine_wide = true;
        return mem_string(MACHINE_SOCKET);
    }
    if (runtime && runtime[0] == '/')
        return mem_printf("%s/tarn/tarn.sock", runtime);
    return mem_printf("%s/tarn.sock", state);
}

int paths_find(struct paths *ret, struct error *err)
{
    struct paths paths = { .state = find_state(err) };

    if (!paths.state)
        return -ENOENT;
    paths.socket = find_socket(paths.state, &paths.is_machine_wide);
    size_t length = strlen(paths.socket);
    if (length > PATHS_SOCKET_MAX) {
        error_set(err, -ENAMETOOLONG,
                  "socket %s: %zu bytes long, at most %d are possible; "
                  "TARN_SOCKET names a shorter one",
                  paths.socket, length, PATHS_SOCKET_MAX);
        paths_release(&paths);
        return -ENAMETOOLONG;
    }
    *ret = paths;
    return 0;
}

void paths_release(struct paths *paths)
{
    free(paths->state);
    free(paths->socket);
    *paths = (struct paths){ 0 };
}

bool paths_is_listening(const char *socket_path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    size_t length = strlen(socket_path);
    if (length >= sizeof(address.sun_path))
        return false;
    memcpy(address.sun_path, socket_path, length);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    int code = connect(fd, (const struct sockaddr *)&address, sizeof(address));
    close(fd);
    return code == 0;
}
