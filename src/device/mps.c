/* SPDX-License-Identifier: Apache-2.0 */
#include "device/mps.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"

enum { WAIT_MS = 10000, LOOK_MS = 20 };

static const char *program(void)
{
    const char *given = secure_getenv("TARN_MPS_CONTROL");

    return given && given[0] ? given : "nvidia-cuda-mps-control";
}

/* Below PATH, as a shell would. */
static bool is_found(const char *name)
{
    AUTO_FREE char *path = mem_string(getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin");
    char *rest = path;

    if (strchr(name, '/'))
        return access(name, X_OK) == 0;
    for (char *folder = strsep(&rest, ":"); folder; folder = strsep(&rest, ":")) {
        AUTO_FREE char *file = mem_printf("%s/%s", folder, name);
        if (access(file, X_OK) == 0)
            return true;
    }
    return false;
}

bool mps_is_there(void)
{
    return is_found(program());
}

/* Ours, without what would lead it to another device or server. */
static char **environment_of(const struct mps_device *mps)
{
    size_t count = 0, kept = 0;

    while (environ[count])
        count++;
    char **env = mem_zero(count + 4, sizeof(env[0]));
    for (size_t i = 0; i < count; i++) {
        if (!string_starts(environ[i], "CUDA_"))
            env[kept++] = mem_string(environ[i]);
    }
    env[kept++] = mem_printf("CUDA_VISIBLE_DEVICES=%s", mps->uuid);
    env[kept++] = mem_printf("CUDA_MPS_PIPE_DIRECTORY=%s", mps->folder);
    env[kept] = mem_printf("CUDA_MPS_LOG_DIRECTORY=%s", mps->folder);
    return env;
}

/* One that hangs is killed. Returns its exit status, -1 when it had none. */
static int wait_for(pid_t pid)
{
    struct pollfd end = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
    int status = 0;
    bool is_over = false;

    /* Kernels before 5.3 have none: then, and when a signal comes between, it is looked again. */
    for (int waited = 0; waited < WAIT_MS && !is_over; waited += LOOK_MS) {
        poll(&end, end.fd >= 0, LOOK_MS);
        is_over = waitpid(pid, &status, WNOHANG) == pid;
    }
    if (end.fd >= 0)
        close(end.fd);
    if (is_over)
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    return -1;
}

/* The control daemon leads a session, in which it starts its servers. */
bool mps_is_server(const char *folder, uint32_t pid)
{
    AUTO_FREE char *path = mem_printf("%s/nvidia-cuda-mps-control.pid", folder);
    FILE *file = fopen(path, "re");
    int session = 0;

    if (!file)
        return false;
    bool is_known = fscanf(file, "%d", &session) == 1 && session > 0;
    fclose(file);
    AUTO_FREE char *leader = mem_printf("/proc/%d", session);
    struct stat about;
    /* The number may be that of another process by now. */
    return is_known && pid != (uint32_t)session && getsid((pid_t)pid) == session &&
           stat(leader, &about) == 0 && about.st_uid == geteuid();
}

/* The thread that starts it takes no signals; the server must, or it could not be ended. */
static void take_signals(posix_spawnattr_t *attributes)
{
    sigset_t none;

    sigemptyset(&none);
    posix_spawnattr_init(attributes);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK);
}

/* Run it with a word of input, or with -d as the daemon. */
static int control(const struct mps_device *mps, const char *words)
{
    const char *argv[] = { program(), words ? NULL : "-d", NULL };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int ends[2];
    pid_t pid = 0;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    char **env = environment_of(mps);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    take_signals(&attributes);
    int code =
        posix_spawnp(&pid, argv[0], &actions, &attributes, (char *const *)(uintptr_t)argv, env);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[0]);
    if (code == 0 && words && write(ends[1], words, strlen(words)) < 0)
        code = errno; /* it says itself what came of it */
    close(ends[1]);
    for (size_t i = 0; env[i]; i++)
        free(env[i]);
    free(env);
    return pid > 0 ? wait_for(pid) : -1;
}

int mps_start(const struct mps_device *mps, struct error *err)
{
    struct error unused;

    if (!mps_is_there())
        return error_set(err, -ENOENT, "mps: %s: no such program; it comes with the driver",
                         program());
    if (mkdir(mps->folder, 0755) < 0 && errno != EEXIST)
        return error_set(err, -errno, "mps: %s: %s", mps->folder, strerror(errno));
    chmod(mps->folder, 0755); /* clients of other users meet it there */
    if (control(mps, "get_server_list\n") == 0)
        return 0;
    if (mps->probe && mps->probe->ops->compute_mode)
        mps->probe->ops->compute_mode(mps->probe, mps->device, PROBE_COMPUTE_EXCLUSIVE, &unused);
    if (control(mps, NULL) != 0 || control(mps, "get_server_list\n") != 0) {
        mps_stop(mps);
        return error_set(err, -EIO, "mps: its server for %s does not start; see %s/control.log",
                         mps->uuid, mps->folder);
    }
    return 0;
}

void mps_stop(const struct mps_device *mps)
{
    struct error unused;

    if (mps_is_there())
        control(mps, "quit\n");
    if (mps->probe && mps->probe->ops->compute_mode)
        mps->probe->ops->compute_mode(mps->probe, mps->device, PROBE_COMPUTE_DEFAULT, &unused);
}
