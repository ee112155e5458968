/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/local/leftover.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "io/file.h"

enum { ENVIRON_BYTES_MAX = 4 * 1024 * 1024, FILE_BYTES_MAX = 65536 };

static bool group_kill(const char *folder)
{
    AUTO_FREE char *kill_path = mem_printf("%s/cgroup.kill", folder);
    AUTO_FREE char *events_path = mem_printf("%s/cgroup.events", folder);
    AUTO_RELEASE(text) struct text events = { 0 };

    file_put(kill_path, "1", NULL);
    if (file_read(events_path, FILE_BYTES_MAX, &events, NULL) < 0)
        return access(folder, F_OK) < 0;
    return strstr(text_string(&events), "populated 0") != NULL;
}

struct process {
    char state;
    pid_t session;
    uint64_t ticks;
};

static bool process_read(pid_t pid, struct process *ret)
{
    char path[48];
    AUTO_RELEASE(text) struct text stat = { 0 };
    int session = 0;
    unsigned long long ticks = 0;

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    if (file_read(path, FILE_BYTES_MAX, &stat, NULL) < 0)
        return false;
    const char *fields = strrchr(text_string(&stat), ')');
    if (!fields || sscanf(fields + 1,
                          " %c %*d %*d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
                          "%*d %llu",
                          &ret->state, &session, &ticks) != 3)
        return false;
    ret->session = session;
    ret->ticks = ticks;
    return true;
}

static bool has_marker(pid_t pid, const char *marker)
{
    char path[48];
    AUTO_RELEASE(text) struct text environment = { 0 };

    snprintf(path, sizeof(path), "/proc/%d/environ", pid);
    if (file_read(path, ENVIRON_BYTES_MAX, &environment, NULL) < 0 || environment.length == 0)
        return false;
    const char *end = environment.bytes + environment.length;
    for (const char *at = environment.bytes; at < end; at += strlen(at) + 1) {
        if (strcmp(at, marker) == 0)
            return true;
    }
    return false;
}

/* Whether the number of the job's session can still mean that session. */
static bool session_is_ours(const struct status *status, bool was_watched)
{
    struct process leader;

    if (status->pid <= 0 || !status->same_boot)
        return false;
    if (process_read(status->pid, &leader))
        return status->ticks != 0 && leader.ticks == status->ticks;
    return was_watched;
}

/* True when it belongs to the job and still runs. */
static bool is_of_job(pid_t pid, const struct status *status, const char *marker, bool has_session)
{
    struct process process;

    if (!process_read(pid, &process) || process.state == 'Z' || process.state == 'X')
        return false;
    if (has_session && process.session == status->pid)
        return true;
    return process.session != getsid(0) && has_marker(pid, marker);
}

/* Ask again once the pidfd is had: from then on it is the same process. */
static void process_kill(pid_t pid, const struct status *status, const char *marker,
                         bool has_session)
{
    int pidfd = pidfd_open(pid, 0);
    if (pidfd < 0)
        return;
    if (is_of_job(pid, status, marker, has_session))
        pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
    close(pidfd);
}

static bool processes_kill(const struct status *status, const char *marker, bool was_watched)
{
    bool has_session = session_is_ours(status, was_watched);
    bool is_clear = true;
    struct dirent *entry;

    DIR *stream = opendir("/proc");
    if (!stream)
        return true;
    while ((entry = readdir(stream)) != NULL) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

        if (pid <= 1 || pid == getpid() || !is_of_job(pid, status, marker, has_session))
            continue;
        process_kill(pid, status, marker, has_session);
        is_clear = false;
    }
    closedir(stream);
    return is_clear;
}

bool leftover_kill(const struct status *status, const char *marker, bool was_watched)
{
    if (status->kill[0] != '\0')
        return group_kill(status->kill);
    return processes_kill(status, marker, was_watched);
}

void leftover_remove(const struct status *status)
{
    if (status->kill[0] != '\0')
        rmdir(status->kill);
    for (unsigned i = 0; i < status->dir_count; i++)
        rmdir(status->dirs[i]);
}
