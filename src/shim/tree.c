/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PATH_SIZE = 4096,
    CHILDREN_MAX = 4096, /* of a tree that is not in a control group; the rest is met next time */
    ANCESTORS_MAX = 256, /* between a process of the job and us */
    REMOVE_TRIES = 20,
    ENVIRONMENT_SIZE = 1 << 18, /* the rest of a larger one is not looked at */
};

static int file_put(const char *path, const char *value)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    ssize_t done = write(fd, value, strlen(value));
    int code = done < 0 ? errno : 0;
    close(fd);
    return code;
}

/* "PATH=VALUE": 0 or an errno. */
static int file_write_order(const char *text)
{
    char path[PATH_SIZE];
    const char *equals = strchr(text, '=');

    if (!equals || equals - text >= (int)sizeof(path))
        return EINVAL;
    memcpy(path, text, (size_t)(equals - text));
    path[equals - text] = '\0';
    return file_put(path, equals + 1);
}

bool tree_prepare(struct shim *shim)
{
    const struct order *order = &shim->order;
    const char *text;

    for (size_t i = 0; i < order->dir_count; i++) {
        if (mkdir(order->dirs[i], 0755) == 0 || errno == EEXIST)
            continue;
        shim_fail(shim, errno, "cannot make control group %s: %s", order->dirs[i],
                  words_errno(errno));
        return false;
    }
    if (order->dir_count < 1)
        return true;
    for (size_t i = 0; (text = order_value(order, ORDER_WRITE, i)) != NULL; i++) {
        int code = file_write_order(text);

        if (code == 0)
            continue;
        shim_fail(shim, code, "cannot set limit %s: %s", text, words_errno(code));
        return false;
    }
    for (size_t i = 0; (text = order_value(order, ORDER_TRY_WRITE, i)) != NULL; i++)
        file_write_order(text);
    return true;
}

/* Visit every number in a file of the kernel that lists processes. */
static void file_pids(const char *path, void (*visit)(void *user, pid_t pid), void *user)
{
    char text[4096];
    pid_t pid = 0;
    ssize_t length;

    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    while ((length = read(fd, text, sizeof(text))) > 0) {
        for (ssize_t i = 0; i < length; i++) {
            if (text[i] >= '0' && text[i] <= '9') {
                pid = pid * 10 + (text[i] - '0');
                continue;
            }
            if (pid > 0)
                visit(user, pid);
            pid = 0;
        }
    }
    close(fd);
}

const char *tree_stat(pid_t pid, char stat[STAT_SIZE])
{
    char path[32];

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return "";
    ssize_t length = read(fd, stat, STAT_SIZE - 1);
    close(fd);
    stat[length > 0 ? length : 0] = '\0';
    const char *name_end = strrchr(stat, ')');
    return name_end ? name_end + 1 : "";
}

/* 0: the process has ended, or has no parent. */
static pid_t parent_of(pid_t pid)
{
    char stat[STAT_SIZE];
    int parent = 0;

    sscanf(tree_stat(pid, stat), " %*c %d", &parent);
    return parent;
}

/* All processes of the job descend from the shim, a subreaper that inherits detached ones.
 * Processes below the search depth come nearer as their ancestors die. */
static bool is_descendant(pid_t pid)
{
    pid_t self = getpid();

    for (unsigned i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
        pid = parent_of(pid);
        if (pid == self)
            return true;
    }
    return false;
}

/* A child of ours keeps its number until we reap it. The number of another process may have been
 * reused: open a pidfd first, then check its parent. */
static void process_signal(pid_t pid, int signal)
{
    siginfo_t info;

    if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0) {
        kill(pid, signal);
        return;
    }
    int pidfd = pidfd_open(pid, 0);
    if (pidfd < 0)
        return;
    if (is_descendant(pid))
        pidfd_send_signal(pidfd, signal, NULL, 0);
    close(pidfd);
}

static void visit_signal(void *user, pid_t pid)
{
    const int *signal = user;

    process_signal(pid, *signal);
}

struct family {
    pid_t pids[CHILDREN_MAX];
    size_t count;
};

static void visit_add(void *user, pid_t pid)
{
    struct family *family = user;

    if (family->count < CHILDREN_MAX)
        family->pids[family->count++] = pid;
}

static void family_add(struct family *family, pid_t parent)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", parent, parent);
    file_pids(path, visit_add, family);
}

/* Breadth first, from our children down. A child made by a thread other than the first is not
 * listed with its parent's pid; it is met when its parent has died and it is ours. */
static void family_read(struct family *family)
{
    family->count = 0;
    family_add(family, getpid());
    for (size_t i = 0; i < family->count; i++)
        family_add(family, family->pids[i]);
}

static void descendants_signal(int signal)
{
    static struct family family;

    family_read(&family);
    for (size_t i = 0; i < family.count; i++)
        process_signal(family.pids[i], signal);
}

void tree_signal(const struct shim *shim, int signal)
{
    char path[PATH_SIZE];

    if (shim->order.kill) {
        snprintf(path, sizeof(path), "%s/cgroup.procs", shim->order.kill);
        file_pids(path, visit_signal, &signal);
        return;
    }
    /* The group as a whole cannot fork its way out; its unreaped leader keeps the number in use. */
    if (shim->pid > 0 && !shim->main_dead)
        kill(-shim->pid, signal);
    descendants_signal(signal);
}

/* Bit N-1 of the mask in its status is signal N; an ended process catches nothing. */
static bool catches(pid_t pid, int signal)
{
    char path[32], text[4096];

    snprintf(path, sizeof(path), "/proc/%d/status", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t length = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[length > 0 ? length : 0] = '\0';
    const char *line = strstr(text, "\nSigCgt:");
    return line && (strtoull(line + strlen("\nSigCgt:"), NULL, 16) >> (signal - 1) & 1) != 0;
}

/* Whether it was started with this variable, "NAME=". */
static bool has_variable(pid_t pid, const char *name)
{
    static char text[ENVIRONMENT_SIZE];
    char path[32];

    snprintf(path, sizeof(path), "/proc/%d/environ", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t length = 0, more;
    while (length < (ssize_t)sizeof(text) - 1 &&
           (more = read(fd, text + length, sizeof(text) - 1 - (size_t)length)) > 0)
        length += more;
    close(fd);
    text[length] = '\0';
    for (const char *at = text; at < text + length; at += strlen(at) + 1) {
        if (strncmp(at, name, strlen(name)) == 0)
            return true;
    }
    return false;
}

static void family_of_job(const struct shim *shim, struct family *family)
{
    char path[PATH_SIZE];

    family->count = 0;
    if (!shim->order.kill) {
        family_read(family);
        return;
    }
    snprintf(path, sizeof(path), "%s/cgroup.procs", shim->order.kill);
    file_pids(path, visit_add, family);
}

void tree_signal_steps(const struct shim *shim, int signal)
{
    static struct family family;

    family_of_job(shim, &family);
    for (size_t i = 0; i < family.count; i++) {
        if (has_variable(family.pids[i], "SLURM_STEP_ID="))
            process_signal(family.pids[i], signal);
    }
}

size_t tree_signal_catching(const struct shim *shim, int signal)
{
    static struct family family;
    size_t count = 0;

    family_of_job(shim, &family);
    for (size_t i = 0; i < family.count; i++) {
        if (!catches(family.pids[i], signal))
            continue;
        process_signal(family.pids[i], signal);
        count++;
    }
    return count;
}

void tree_kill(const struct shim *shim)
{
    char path[PATH_SIZE];

    if (shim->order.kill) {
        snprintf(path, sizeof(path), "%s/cgroup.kill", shim->order.kill);
        file_put(path, "1");
    } else if (shim->pid > 0 && !shim->main_dead) {
        kill(-shim->pid, SIGKILL);
    }
    /* Also with a control group: a process that left it eventually becomes our child. */
    descendants_signal(SIGKILL);
}

void tree_reap(struct shim *shim)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        for (size_t i = 0; i < DOOR_GUESTS_MAX; i++) {
            struct guest *guest = &shim->guests[i];
            if (guest->pid == pid) {
                guest->is_over = true;
                guest->wait_status = status;
            }
        }
        if (pid != shim->pid)
            continue;
        shim->main_dead = true;
        shim->wait_status = status;
    }
    shim->childless = pid < 0 && errno == ECHILD;
}

bool tree_was_oom(const struct shim *shim)
{
    char text[4096];

    if (!shim->order.oom)
        return false;
    int fd = open(shim->order.oom, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t length = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[length > 0 ? length : 0] = '\0';
    const char *line = strncmp(text, "oom_kill ", 9) == 0 ? text : strstr(text, "\noom_kill ");
    if (!line)
        return false;
    return strtoul(strchr(line, ' '), NULL, 10) > 0;
}

/* Whether no engine runs, and no shim is about to make a group. All that leave may hold the lock at
 * the same time, so the last of them always gets it. Without the file the state folder is gone. */
static bool is_deserted(const struct order *order, int *ret_fd)
{
    char path[PATH_SIZE];
    const char *slash = strrchr(order->status, '/');

    snprintf(path, sizeof(path), "%.*s/birth", slash ? (int)(slash - order->status) : 0,
             order->status);
    *ret_fd = open(path, O_RDONLY | O_CLOEXEC);
    return *ret_fd < 0 ? errno == ENOENT : flock(*ret_fd, LOCK_SH | LOCK_NB) == 0;
}

/* The folders above, tarn/KEY, are removed by the engine, or else by the last shim after it. */
static void tree_remove_above(const struct order *order)
{
    int fd = -1;

    if (order->dir_count > 0 && is_deserted(order, &fd)) {
        for (size_t i = 0; i < order->dir_count; i++) {
            char path[PATH_SIZE];

            snprintf(path, sizeof(path), "%s", order->dirs[i]);
            for (int levels = 0; levels < 2; levels++) {
                char *slash = strrchr(path, '/');

                if (!slash)
                    break;
                *slash = '\0';
                rmdir(path);
            }
        }
    }
    if (fd >= 0)
        close(fd);
}

/* A group whose last process was just reaped may be busy for a moment. */
void tree_remove(const struct shim *shim)
{
    for (size_t i = shim->order.dir_count; i > 0; i--) {
        for (int tries = 0; tries < REMOVE_TRIES; tries++) {
            if (rmdir(shim->order.dirs[i - 1]) == 0 || errno != EBUSY)
                break;
            usleep(1000);
        }
    }
    tree_remove_above(&shim->order);
}
