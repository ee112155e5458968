/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/keyctl.h>
#include <linux/mempolicy.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PATH_SIZE = 4096, GROUPS_MAX = 65536, EXIT_NOT_STARTED = 127 };

static const char path_default[] = "/usr/local/bin:/usr/bin:/bin";

__attribute__((format(printf, 3, 4), noreturn)) static void child_fail(int pipe_fd, int code,
                                                                       const char *format, ...)
{
    struct door_answer failure = { .failure = code }; /* in one write */
    va_list args;

    va_start(args, format);
    vsnprintf(failure.text, sizeof(failure.text), format, args);
    va_end(args);
    if (write(pipe_fd, &failure, sizeof(failure)) < 0)
        _exit(EXIT_NOT_STARTED + 1);
    _exit(EXIT_NOT_STARTED);
}

static void child_join_groups(const struct order *order, int pipe_fd)
{
    for (size_t i = 0; i < order->join_count; i++) {
        char path[PATH_SIZE];

        snprintf(path, sizeof(path), "%s/cgroup.procs", order->joins[i]);
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd < 0 || write(fd, "0", 1) != 1)
            child_fail(pipe_fd, errno, "cannot join control group %s: %s", order->joins[i],
                       words_errno(errno));
        close(fd);
    }
}

static void child_limit(const struct order *order, int pipe_fd)
{
    for (size_t i = 0; i < order->rlimit_count; i++) {
        const struct rlimit_order *wanted = &order->rlimits[i];
        struct rlimit limit = {
            .rlim_cur = wanted->soft >= INT64_MAX ? RLIM_INFINITY : wanted->soft,
            .rlim_max = wanted->hard >= INT64_MAX ? RLIM_INFINITY : wanted->hard,
        };

        if (setrlimit((__rlimit_resource_t)wanted->resource, &limit) < 0)
            child_fail(pipe_fd, errno, "cannot set resource limit %d: %s", wanted->resource,
                       words_errno(errno));
    }
}

/* Run near the devices, as far as the kernel has such CPUs and memory; otherwise run elsewhere. */
static void child_stay_near(const struct order *order)
{
    const size_t bits = 8 * sizeof(unsigned long);
    unsigned long nodes[ORDER_NODES_MAX / (8 * sizeof(unsigned long))] = { 0 };
    size_t node = (size_t)(order->memory_node - 1);

    if (!order->has_cpus || syscall(SYS_sched_setaffinity, 0, sizeof(order->cpus), order->cpus) < 0)
        return;
    if (order->memory_node == 0)
        return;
    nodes[node / bits] |= 1UL << node % bits;
    syscall(SYS_set_mempolicy, MPOL_PREFERRED, nodes, ORDER_NODES_MAX);
}

/* A separate session keyring, because the daemon's may hold keys that the job must not use. A
 * kernel without keyrings has no keys to leak. EPERM and EACCES come only from a sandbox, whose
 * filter also applies to the job. Over the quota of the daemon's own user, job and daemon share the
 * keyring. */
static void child_leave_keys(const struct order *order, int pipe_fd)
{
    if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) >= 0)
        return;
    if (errno == ENOSYS || errno == EPERM || errno == EACCES)
        return;
    if (errno == EDQUOT && !order->has_user)
        return;
    child_fail(pipe_fd, errno, "cannot make a session keyring: %s", words_errno(errno));
}

static void child_become_user(const struct order *order, int pipe_fd)
{
    static gid_t groups[GROUPS_MAX];

    child_leave_keys(order, pipe_fd);
    if (order->has_user) {
        size_t count = order_groups(order, groups, GROUPS_MAX);

        if (setgroups(count, groups) < 0 || setresgid(order->gid, order->gid, order->gid) < 0 ||
            setresuid(order->uid, order->uid, order->uid) < 0)
            child_fail(pipe_fd, errno, "cannot become user %u: %s", order->uid, words_errno(errno));
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        child_fail(pipe_fd, errno, "cannot disable new privileges: %s", words_errno(errno));
}

static void child_enter_directory(const struct order *order, int pipe_fd)
{
    if (chdir(order->cwd) == 0)
        return;
    if (errno == ENOENT)
        child_fail(pipe_fd, ENOENT, "working directory missing: %s", order->cwd);
    child_fail(pipe_fd, errno, "working directory not usable: %s: %s", order->cwd,
               words_errno(errno));
}

/* Opened without waiting: a FIFO without a writer, or a line without a carrier, would block the
 * start forever. The job itself reads as usual. */
static void child_take_input(const char *path, int pipe_fd)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    int flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);

    if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0 || dup2(fd, STDIN_FILENO) < 0)
        child_fail(pipe_fd, errno, "input not readable: %s: %s", path, words_errno(errno));
}

static void child_take_streams(const struct shim *shim, int pipe_fd)
{
    const struct stream *output = &shim->streams[0];
    const struct stream *error = shim->streams[1].path ? &shim->streams[1] : output;

    if (shim->order.input)
        child_take_input(shim->order.input, pipe_fd);
    if (shim->order.attach == ATTACH_STDIN && dup2(shim->attachment.job_fd, STDIN_FILENO) < 0)
        child_fail(pipe_fd, errno, "cannot connect the input: %s", words_errno(errno));
    if (dup2(output->job_fd, STDOUT_FILENO) < 0 || dup2(error->job_fd, STDERR_FILENO) < 0)
        child_fail(pipe_fd, errno, "cannot connect the output: %s", words_errno(errno));
    if (shim->order.attach == ATTACH_TERMINAL &&
        (dup2(output->job_fd, STDIN_FILENO) < 0 || ioctl(STDIN_FILENO, TIOCSCTTY, 0) < 0))
        child_fail(pipe_fd, errno, "cannot connect the terminal: %s", words_errno(errno));
}

/* Ours, and two that posix_spawn leaves ignored: the C library hides those, so the kernel is asked
 * directly, with a sigaction of zeros (default, no flags) in its own layout. */
static void child_reset_signals(void)
{
    static const int ignored[] = { SIGHUP, SIGPIPE, 32, 33 };
    const uint64_t defaults[4] = { 0 };
    sigset_t none;

    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
        syscall(SYS_rt_sigaction, ignored[i], defaults, NULL, sizeof(uint64_t));
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The kernel's ENOENT may mean the file or what its first line names. */
static void __attribute__((noreturn)) explain_interpreter(int pipe_fd, int code, const char *path)
{
    char line[256] = "";

    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? 0 : read(fd, line, sizeof(line) - 1);
    line[length > 0 ? length : 0] = '\0';
    if (strncmp(line, "#!", 2) == 0) {
        char *interpreter = line + 2 + strspn(line + 2, " \t");

        interpreter[strcspn(interpreter, " \t\r\n")] = '\0';
        child_fail(pipe_fd, code, "bad interpreter: %s for %s", interpreter, path);
    }
    if (strncmp(line, "\177ELF", 4) == 0)
        child_fail(pipe_fd, code, "bad interpreter: the loader of %s is missing", path);
    child_fail(pipe_fd, code, "cannot run %s: %s", path, words_errno(code));
}

static void __attribute__((noreturn)) explain_exec(int pipe_fd, int code, const char *path)
{
    struct stat info;

    if (code == E2BIG)
        child_fail(pipe_fd, code, "arguments and environment too long for %s", path);
    if (code == ENOEXEC)
        child_fail(pipe_fd, code, "not a program: %s (no #! line, or another kind of machine)",
                   path);
    if (stat(path, &info) < 0) {
        if (errno == ENOENT || errno == ENOTDIR)
            child_fail(pipe_fd, errno, "no such file: %s", path);
        child_fail(pipe_fd, errno, "cannot reach %s: %s", path, words_errno(errno));
    }
    if (S_ISDIR(info.st_mode))
        child_fail(pipe_fd, code, "is a directory: %s", path);
    if (code == EACCES && access(path, X_OK) < 0)
        child_fail(pipe_fd, code, "not executable: %s", path);
    explain_interpreter(pipe_fd, code, path);
}

static const char *environment_path(char *const *envp)
{
    for (; *envp; envp++) {
        if (strncmp(*envp, "PATH=", 5) == 0)
            return *envp + 5;
    }
    return path_default;
}

/* As execvp, with the PATH of the job and without falling back to a shell. */
static void __attribute__((noreturn)) child_search(const struct order *order, int pipe_fd)
{
    const char *name = order->argv[0];
    const char *folder = environment_path(order->envp);
    char found[PATH_SIZE] = "";
    int found_errno = 0;

    while (true) {
        char path[PATH_SIZE];
        int folder_length = (int)strcspn(folder, ":");

        int length = snprintf(path, sizeof(path), "%.*s%s%s", folder_length, folder,
                              folder_length > 0 ? "/" : "./", name);
        if (length < (int)sizeof(path)) {
            execve(path, order->argv, order->envp);
            int code = errno;
            /* The first that is there explains best, but a later one may still run. */
            if (found_errno == 0 && access(path, F_OK) == 0) {
                found_errno = code;
                memcpy(found, path, sizeof(found));
            }
        }
        if (folder[folder_length] == '\0')
            break;
        folder += folder_length + 1;
    }
    if (found_errno != 0)
        explain_exec(pipe_fd, found_errno, found);
    child_fail(pipe_fd, ENOENT, "command not found: %s", name);
}

/* Everything that the job's own process and others beside it have alike. */
static void child_prepare(const struct order *order, int pipe_fd, pid_t shim_pid)
{
    /* Drop all rights to other users' files here, whatever user the shim had switched to. */
    user_end(order);
    setsid();
    child_join_groups(order, pipe_fd);
    child_limit(order, pipe_fd);
    child_stay_near(order);
    child_become_user(order, pipe_fd);
    /* After the user: changing it clears this. A shim that died before is not noticed by it. */
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != shim_pid)
        _exit(EXIT_NOT_STARTED);
    child_enter_directory(order, pipe_fd);
}

static void __attribute__((noreturn)) child_exec(const struct order *order, int pipe_fd)
{
    child_reset_signals();
    if (order->argv[0][0] == '\0')
        child_fail(pipe_fd, EINVAL, "no command: the first argument is empty");
    if (!strchr(order->argv[0], '/'))
        child_search(order, pipe_fd);
    execve(order->argv[0], order->argv, order->envp);
    explain_exec(pipe_fd, errno, order->argv[0]);
}

/* The one variable that only the process itself can know. */
static void child_name_itself(const struct order *order)
{
    static const char name[] = "SLURM_TASK_PID=";
    static char variable[sizeof(name) + 12];

    snprintf(variable, sizeof(variable), "%s%ld", name, (long)getpid());
    for (char **env = order->envp; *env; env++) {
        if (strcmp(*env, name) == 0)
            *env = variable;
    }
}

static void __attribute__((noreturn))
child_run(const struct shim *shim, int pipe_fd, pid_t shim_pid)
{
    child_prepare(&shim->order, pipe_fd, shim_pid);
    child_take_streams(shim, pipe_fd);
    child_name_itself(&shim->order);
    child_exec(&shim->order, pipe_fd);
}

/* A copy of the order is changed: this is the child. */
static void __attribute__((noreturn))
child_visit(struct order order, const struct visit *visit, int pipe_fd, pid_t shim_pid)
{
    child_prepare(&order, pipe_fd, shim_pid);
    for (int i = 0; i < DOOR_FDS; i++) {
        if (dup2(visit->fds[i], i) < 0)
            child_fail(pipe_fd, errno, "cannot connect the output: %s", words_errno(errno));
    }
    if (isatty(STDIN_FILENO))
        ioctl(STDIN_FILENO, TIOCSCTTY, 0);
    if (visit->term[0]) {
        environ = order.envp;
        setenv("TERM", visit->term, 1);
        order.envp = environ;
    }
    order.argv = (char **)(uintptr_t)visit->argv;
    child_exec(&order, pipe_fd);
}

/* Born in its group, the job needs no move, which would stop every fork of the machine for a
 * moment. Kernels and sandboxes without clone3 get an ordinary fork; into is then joined. */
static pid_t job_clone(const struct order *order, bool *ret_must_join)
{
    struct clone_args args = { .exit_signal = SIGCHLD };

    *ret_must_join = false;
    if (order->into) {
        int fd = open(order->into, O_PATH | O_DIRECTORY | O_CLOEXEC);

        if (fd < 0)
            return -1;
        args.flags = CLONE_INTO_CGROUP;
        args.cgroup = (__u64)fd;
        pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
        if (pid == 0)
            return 0;
        close(fd);
        if (pid > 0 || (errno != ENOSYS && errno != EPERM && errno != EINVAL))
            return pid;
        *ret_must_join = true;
    }
    return fork();
}

pid_t job_visit(struct shim *shim, const struct visit *visit, int answer_fd)
{
    bool must_join;
    pid_t shim_pid = getpid();

    pid_t pid = job_clone(&shim->order, &must_join);
    if (pid == 0) {
        struct order order = shim->order;

        if (must_join && order.join_count < ORDER_DIRS_MAX)
            order.joins[order.join_count++] = order.into;
        child_visit(order, visit, answer_fd, shim_pid);
    }
    return pid;
}

bool job_start(struct shim *shim)
{
    struct order *order = &shim->order;
    bool must_join;
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0) {
        shim_fail(shim, errno, "cannot make a pipe for the start: %s", words_errno(errno));
        return false;
    }
    pid_t shim_pid = getpid();
    shim->pid = job_clone(order, &must_join);
    if (shim->pid == 0) {
        if (must_join && order->join_count < ORDER_DIRS_MAX)
            order->joins[order->join_count++] = order->into;
        child_run(shim, ends[1], shim_pid);
    }
    int code = errno;
    close(ends[1]);
    if (shim->pid < 0) {
        close(ends[0]);
        shim->pid = 0;
        shim_fail(shim, code, "cannot make a process: %s", words_errno(code));
        return false;
    }
    shim->exec_fd = ends[0];
    shim->warn_at = order->warn_signal > 0 ? clock_ms() + order->warn_ms : 0;
    for (size_t i = 0; i < 2; i++) {
        if (shim->streams[i].path)
            close(shim->streams[i].job_fd);
        shim->streams[i].job_fd = -1;
    }
    if (shim->attachment.job_fd >= 0)
        close(shim->attachment.job_fd);
    shim->attachment.job_fd = -1;
    return true;
}

void job_read_exec(struct shim *shim)
{
    struct door_answer failure;

    ssize_t length = read(shim->exec_fd, &failure, sizeof(failure));
    if (length < 0 && errno == EINTR)
        return;
    close(shim->exec_fd);
    shim->exec_fd = -1;
    if (length == (ssize_t)sizeof(failure)) {
        failure.text[sizeof(failure.text) - 1] = '\0';
        shim_fail(shim, failure.failure, "%s", failure.text);
        shim->is_lacking = false; /* by a limit of its user, or by its program */
        return;
    }
    /* The pipe also ends when the child dies before exec, which only a kill can do. */
    tree_reap(shim);
    if (shim->main_dead && shim->is_stopping && WIFSIGNALED(shim->wait_status)) {
        shim_fail(shim, ECANCELED, "stopped before it started");
        return;
    }
    shim->has_started = true;
    record_started(shim);
}
