/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm/srun_step.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/slurm/slurm.h"
#include "cli/slurm/srun_mpi.h"
#include "wire/job/pattern.h"

enum { NOT_FOUND = 127, NOT_STARTED = 126, KILL_AFTER_S = 30, CHUNK = 65536, STREAMS = 2 };

struct task {
    pid_t pid; /* 0: it has ended */
    /* Standard output and error: where they go, and the pipe that is read where lines get labels.
     */
    int to[STREAMS], from[STREAMS];
    struct text line[STREAMS];
    bool is_lost; /* the others would wait for it */
};

struct running {
    const struct srun_step *step;
    struct task *tasks;
    uint32_t alive;
    int signal_fd;
    struct srun_mpi mpi;
    int status;
    bool is_ending;  /* the others are asked to end */
    time_t deadline; /* SIGTERM or SIGKILL by then; 0: none */
    time_t limit;    /* of the step; 0: none */
};

/* ---- start ---- */

static void put_number_over(const char *name, uint64_t number, bool is_over)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRIu64, number);
    setenv(name, text, is_over);
}

static void put_number(const char *name, uint64_t number)
{
    put_number_over(name, number, true);
}

static void set_gpus(const struct srun_step *step, uint32_t rank)
{
    AUTO_RELEASE(text) struct text names = { 0 };
    const uint32_t each = step->gpus_per_task > 0 ? step->gpus_per_task : step->gpu_count;
    const uint32_t first = step->gpus_per_task > 0 ? rank * each : 0;

    if (!step->gpu_variable)
        return;
    for (uint32_t i = first; i < first + each; i++)
        text_printf(&names, "%s%s", i > first ? "," : "", step->gpus[i]);
    setenv(step->gpu_variable, text_string(&names), 1);
    put_number("SLURM_GPUS_ON_NODE", each);
    put_number("TARN_GPU_COUNT", each);
}

static void put_all(const char *const *names, uint64_t number)
{
    for (; *names; names++)
        put_number(*names, number);
}

/* Inside a member of a gang, which is a step without a number, and in a step of several tasks. */
static bool has_outer_gang(void)
{
    const char *outer = getenv("TARN_WORLD_SIZE");
    bool is_member = getenv("SLURM_STEP_NUM_TASKS") && !getenv("SLURM_STEP_ID");

    return is_member || (outer && strcmp(outer, "1") != 0);
}

/* A single task is no gang: with these variables frameworks would wait for others. What the script
 * has set itself stays: srun of Slurm sets none of them. */
static void set_gang(const struct srun_step *step, uint32_t rank)
{
    const struct {
        const char *name;
        uint64_t value;
    } numbers[] = {
        { "RANK", rank },
        { "LOCAL_RANK", rank },
        { "WORLD_SIZE", step->tasks },
        { "LOCAL_WORLD_SIZE", step->tasks },
        { "MASTER_PORT", step->master_port },
    };
    bool has_outer = has_outer_gang();

    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        if (step->tasks > 1)
            put_number_over(numbers[i].name, numbers[i].value, has_outer);
        else if (has_outer)
            unsetenv(numbers[i].name);
    }
    if (step->tasks > 1)
        setenv("MASTER_ADDR", "127.0.0.1", has_outer);
    else if (has_outer)
        unsetenv("MASTER_ADDR");
}

static bool is_kept(const struct srun_step *step, const char *line)
{
    static const char *const kept[] = { "PATH", "HOME", "USER", "LOGNAME", "SHELL", NULL };
    AUTO_FREE char *name = mem_string_of(line, strcspn(line, "="));

    return string_starts(name, "SLURM_") || string_starts(name, "TARN_") ||
           string_is_in(name, kept) || string_equal(name, step->gpu_variable);
}

/* --export=NONE: what tarn and Slurm set stays, and what finds programs and the home directory. */
static void drop_environment(const struct srun_step *step)
{
    LIST(char *) lines = { 0 };

    for (char **at = environ; *at; at++) {
        if (is_kept(step, *at))
            list_add(&lines, mem_string(*at));
    }
    clearenv();
    for (size_t i = 0; i < lines.count; i++)
        putenv(lines.items[i]); /* the environment owns it now */
    list_release(&lines);
}

static void set_environment(const struct srun_step *step, uint32_t rank)
{
    static const char *const numbers[] = { "SLURM_PROCID", "SLURM_LOCALID",   "SLURM_GTIDS",
                                           "TARN_RANK",    "TARN_LOCAL_RANK", NULL };
    static const char *const counts[] = { "SLURM_NTASKS",
                                          "SLURM_NPROCS",
                                          "SLURM_STEP_NUM_TASKS",
                                          "SLURM_STEP_TASKS_PER_NODE",
                                          "SLURM_TASKS_PER_NODE",
                                          "TARN_WORLD_SIZE",
                                          NULL };
    const char *nodes = getenv("SLURM_JOB_NODELIST");

    if (step->has_no_environment)
        drop_environment(step);
    set_gang(step, rank);
    put_all(numbers, rank);
    put_all(counts, step->tasks);
    put_number("SLURM_NODEID", 0);
    put_number("SLURM_NNODES", 1);
    put_number("SLURM_STEP_NUM_NODES", 1);
    put_number("SLURM_STEP_ID", step->number);
    put_number("SLURM_STEPID", step->number);
    put_number("SLURM_TASK_PID", (uint64_t)getpid());
    if (nodes)
        setenv("SLURM_STEP_NODELIST", nodes, 1);
    set_gpus(step, rank);
    for (char *const *variable = step->variables; variable && *variable; variable++) {
        AUTO_FREE char *name = mem_string_of(*variable, strcspn(*variable, "="));
        setenv(name, *variable + strlen(name) + 1, 1);
    }
}

/* The file of a pattern for a task, or a number: only that task has the stream. */
static int open_pattern(const struct srun_step *step, const char *pattern, uint32_t rank, int flags,
                        int *ret_fd, struct error *err)
{
    const uint64_t number = step->number;
    AUTO_RELEASE(text) struct text path = { 0 };
    const char *id = getenv("SLURM_JOB_ID"), *name = getenv("SLURM_JOB_NAME");
    const char *user = getenv("SLURM_JOB_USER"), *node = getenv("SLURMD_NODENAME");
    const char *array = getenv("SLURM_ARRAY_JOB_ID"), *index = getenv("SLURM_ARRAY_TASK_ID");
    const struct pattern_values values = {
        .job = id ? strtoull(id, NULL, 10) : 0,
        .array = array ? strtoull(array, NULL, 10) : 0,
        .index = index ? (uint32_t)strtoul(index, NULL, 10) : 0,
        .rank = rank,
        .step = &number,
        .name = name ? name : "",
        .user = user ? user : "",
        .node = node ? node : "",
    };

    int code = 0;

    if (strcmp(pattern, "none") == 0)
        text_add(&path, "/dev/null");
    else
        code = pattern_expand(pattern, &values, &path, err);
    if (code < 0)
        return code;
    *ret_fd = open(path.bytes, flags | O_CLOEXEC, 0666);
    return *ret_fd < 0 ? error_set(err, -errno, "%s: %s", path.bytes, strerror(errno)) : 0;
}

static int open_output(const struct srun_step *step, uint32_t rank, const struct task *first,
                       int stream, int *ret_fd, struct error *err)
{
    const char *pattern = stream == 0 ? step->output : step->error ? step->error : step->output;
    const int flags = O_WRONLY | O_CREAT | O_APPEND | (step->appends ? 0 : O_TRUNC);

    if (!pattern)
        *ret_fd = fcntl(stream + 1, F_DUPFD_CLOEXEC, 3);
    else if (stream == 1 && !step->error)
        *ret_fd = -1; /* that of standard output */
    else if (rank > 0 && !pattern_has_rank(pattern))
        *ret_fd = fcntl(first->to[stream], F_DUPFD_CLOEXEC, 3);
    else
        return open_pattern(step, pattern, rank, flags, ret_fd, err);
    return 0;
}

/* Standard input: of one task that of srun, of more the first one's; the others have none. */
static int open_input(const struct srun_step *step, uint32_t rank, int *ret_fd, struct error *err)
{
    const char *pattern = step->input;
    bool is_number = pattern && pattern[0] && strspn(pattern, "0123456789") == strlen(pattern);
    const uint32_t taker = is_number ? (uint32_t)strtoul(pattern, NULL, 10) : 0;

    if (pattern && !is_number && strcmp(pattern, "all") != 0)
        return open_pattern(step, pattern, rank, O_RDONLY, ret_fd, err);
    *ret_fd = rank == taker ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                            : open("/dev/null", O_RDONLY | O_CLOEXEC);
    return 0;
}

static void become(const struct running *running, uint32_t rank, int input, const int *outputs)
{
    const struct srun_step *step = running->step;
    sigset_t none;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0);
    set_environment(step, rank);
    srun_mpi_set(&running->mpi, rank);
    dup2(input, STDIN_FILENO);
    dup2(outputs[0], STDOUT_FILENO);
    dup2(outputs[1] >= 0 ? outputs[1] : outputs[0], STDERR_FILENO);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    if (step->directory && chdir(step->directory) < 0) {
        slurm_fail("%s: %s", step->directory, strerror(errno));
        _exit(NOT_STARTED);
    }
    execvp(step->command[0], step->command);
    slurm_fail("task %" PRIu32 ": %s: %s", rank, step->command[0], strerror(errno));
    _exit(errno == ENOENT ? NOT_FOUND : NOT_STARTED);
}

static int start_task(struct running *running, uint32_t rank, struct error *err)
{
    const struct srun_step *step = running->step;
    struct task *task = &running->tasks[rank];
    int outputs[STREAMS], input = -1, pipes[STREAMS][2];
    int code = open_input(step, rank, &input, err);

    for (int i = 0; i < STREAMS && code == 0; i++) {
        code = open_output(step, rank, running->tasks, i, &task->to[i], err);
        outputs[i] = task->to[i];
        if (code == 0 && step->has_labels && task->to[i] >= 0) {
            if (pipe2(pipes[i], O_CLOEXEC) < 0)
                return error_set(err, -errno, "pipe: %s", strerror(errno));
            task->from[i] = pipes[i][0];
            outputs[i] = pipes[i][1];
        }
    }
    if (code < 0)
        return code;
    task->pid = fork();
    if (task->pid == 0)
        become(running, rank, input, outputs);
    if (task->pid < 0) {
        task->pid = 0;
        return error_set(err, -errno, "fork: %s", strerror(errno));
    }
    setpgid(task->pid, task->pid);
    running->alive++;
    close(input);
    for (int i = 0; i < STREAMS; i++) {
        if (task->from[i] >= 0)
            close(outputs[i]);
    }
    return 0;
}

/* ---- labels ---- */

static void put_line(const struct running *running, uint32_t rank, int to, const char *line,
                     size_t length)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    char widest[16];

    int width = snprintf(widest, sizeof(widest), "%" PRIu32, running->step->tasks - 1);
    text_printf(&text, "%*" PRIu32 ": ", width, rank);
    text_add_bytes(&text, line, length);
    for (size_t at = 0; at < text.length;) {
        ssize_t done = write(to, text.bytes + at, text.length - at);
        if (done < 0 && errno != EINTR)
            return;
        at += done > 0 ? (size_t)done : 0;
    }
}

/* Whole lines; at the end also one without its newline. */
static void copy_lines(const struct running *running, uint32_t rank, int stream)
{
    struct task *task = &running->tasks[rank];
    struct text *line = &task->line[stream];
    char bytes[CHUNK];

    ssize_t length = read(task->from[stream], bytes, sizeof(bytes));
    if (length < 0 && errno == EINTR)
        return;
    if (length > 0)
        text_add_bytes(line, bytes, (size_t)length);
    size_t at = 0;
    for (const char *end;
         at < line->length && (end = memchr(line->bytes + at, '\n', line->length - at)) != NULL;) {
        size_t size = (size_t)(end - line->bytes) + 1 - at;
        put_line(running, rank, task->to[stream], line->bytes + at, size);
        at += size;
    }
    AUTO_FREE char *rest =
        mem_string_of(line->length > 0 ? line->bytes + at : "", line->length - at);
    const size_t left = line->length - at;
    text_clear(line);
    text_add_bytes(line, rest, left);
    if (length > 0)
        return;
    if (left > 0) {
        text_add_char(line, '\n');
        put_line(running, rank, task->to[stream], line->bytes, line->length);
    }
    text_release(line);
    close(task->from[stream]);
    task->from[stream] = -1;
}

/* ---- the end ---- */

static void signal_all(const struct running *running, int signal)
{
    for (uint32_t i = 0; i < running->step->tasks; i++) {
        if (running->tasks[i].pid > 0)
            kill(-running->tasks[i].pid, signal);
    }
}

/* SIGTERM now, SIGKILL later. */
static void end_others(struct running *running)
{
    const char *id = getenv("SLURM_JOB_ID");

    if (running->is_ending || running->alive == 0)
        return;
    fprintf(stderr, "srun: terminating step %s.%" PRIu32 "\n", id ? id : "0",
            running->step->number);
    running->is_ending = true;
    running->deadline = time(NULL) + KILL_AFTER_S;
    signal_all(running, SIGTERM);
}

static void raise_status(struct running *running, int status)
{
    if (!running->is_ending && status > running->status) /* not of those that srun itself ends */
        running->status = status;
}

static void take_end(struct running *running, uint32_t rank, int result)
{
    const struct srun_step *step = running->step;
    int status = WIFSIGNALED(result) ? 128 + WTERMSIG(result) : WEXITSTATUS(result);

    running->tasks[rank].pid = 0;
    running->alive--;
    raise_status(running, status);
    if (status != 0 && !running->is_ending && WIFSIGNALED(result))
        slurm_fail("task %" PRIu32 ": %s", rank, strsignal(WTERMSIG(result)));
    else if (status != 0 && !running->is_ending)
        slurm_fail("task %" PRIu32 ": exited with exit code %d", rank, status);
    if ((status != 0 && step->kills_on_bad_exit) || running->tasks[rank].is_lost)
        end_others(running);
    if (step->wait_s > 0 && running->deadline == 0)
        running->deadline = time(NULL) + step->wait_s;
}

static void take_ends(struct running *running)
{
    int result;

    for (uint32_t i = 0; i < running->step->tasks; i++) {
        struct task *task = &running->tasks[i];
        if (task->pid > 0 && waitpid(task->pid, &result, WNOHANG) == task->pid)
            take_end(running, i, result);
    }
}

/* The supervisor of the job has signalled the tasks, too. */
static bool is_from_supervisor(uint32_t pid)
{
    AUTO_FREE char *path = mem_printf("/proc/%" PRIu32 "/comm", pid);
    char name[32] = "";

    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    bool is_read = fgets(name, sizeof(name), file) != NULL;
    fclose(file);
    return is_read && strcmp(name, "tarn-shim\n") == 0;
}

static void take_signals(struct running *running)
{
    struct signalfd_siginfo info;

    while (read(running->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo == SIGCHLD)
            take_ends(running);
        else if (!is_from_supervisor(info.ssi_pid))
            signal_all(running, (int)info.ssi_signo);
    }
}

/* A task that is lost ends the step when its own exit status is known. */
static void take_message(struct running *running)
{
    struct pmix_message message;

    if (!srun_mpi_read(&running->mpi, &message) || running->is_ending ||
        message.rank >= running->step->tasks)
        return;
    struct task *task = &running->tasks[message.rank];
    if (message.is_abort) {
        slurm_fail("task %u: called PMIx_Abort with status %u", message.rank, message.status);
        raise_status(running, message.status);
    } else {
        slurm_fail("task %u: lost before PMIx_Finalize, which the other tasks wait for",
                   message.rank);
        raise_status(running, 1);
        task->is_lost = true;
    }
    if (message.is_abort || task->pid == 0)
        end_others(running);
}

static void look_at_time(struct running *running)
{
    if (running->limit > 0 && !running->is_ending && time(NULL) >= running->limit) {
        slurm_fail("step cancelled: its time limit is %" PRId64 " s", running->step->limit_s);
        running->status = 1;
        end_others(running);
    }
    if (running->deadline == 0 || time(NULL) < running->deadline)
        return;
    if (running->is_ending) {
        signal_all(running, SIGKILL);
        running->deadline = 0;
    } else {
        slurm_fail("first task ended %d s ago", running->step->wait_s);
        end_others(running);
    }
}

static bool has_pipes(const struct running *running)
{
    for (uint32_t i = 0; i < running->step->tasks; i++) {
        if (running->tasks[i].from[0] >= 0 || running->tasks[i].from[1] >= 0)
            return true;
    }
    return false;
}

static void follow(struct running *running)
{
    enum { SIGNALS, MPI, FIRST };
    const uint32_t count = running->step->tasks * STREAMS + FIRST;
    AUTO_FREE struct pollfd *waits = mem_zero(count, sizeof(waits[0]));

    while (running->alive > 0 || has_pipes(running)) {
        waits[SIGNALS] = (struct pollfd){ .fd = running->signal_fd, .events = POLLIN };
        waits[MPI] = (struct pollfd){ .fd = running->mpi.fd, .events = POLLIN };
        for (uint32_t i = FIRST; i < count; i++)
            waits[i] = (struct pollfd){
                .fd = running->tasks[(i - FIRST) / STREAMS].from[(i - FIRST) % STREAMS],
                .events = POLLIN
            };
        if (poll(waits, count, running->deadline > 0 || running->limit > 0 ? 1000 : -1) < 0 &&
            errno != EINTR)
            return;
        for (uint32_t i = FIRST; i < count; i++) {
            if (waits[i].revents)
                copy_lines(running, (i - FIRST) / STREAMS, (int)((i - FIRST) % STREAMS));
        }
        if (waits[MPI].revents)
            take_message(running);
        if (waits[SIGNALS].revents)
            take_signals(running);
        look_at_time(running);
    }
}

static int open_signals(struct running *running, struct error *err)
{
    static const int passed[] = { SIGCHLD, SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                                  SIGUSR1, SIGUSR2, SIGALRM, SIGCONT, SIGTSTP };
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < COUNT_OF(passed); i++)
        sigaddset(&set, passed[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    running->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return running->signal_fd < 0 ? error_set(err, -errno, "signals: %s", strerror(errno)) : 0;
}

int srun_step_run(const struct srun_step *step, int *ret_status, struct error *err)
{
    struct running running = { .step = step,
                               .tasks = mem_zero(step->tasks, sizeof(struct task)),
                               .mpi = { .fd = -1, .life = -1 },
                               .limit = step->limit_s > 0 ? time(NULL) + step->limit_s : 0 };
    int code = open_signals(&running, err);

    if (code == 0 && step->mpi)
        code = srun_mpi_start(step->mpi, step->number, step->tasks, &running.mpi, err);
    if (code == -ENOENT && step->tasks == 1) /* a single task has no others to find */
        code = 0;
    for (uint32_t i = 0; i < step->tasks; i++)
        running.tasks[i] = (struct task){ .to = { -1, -1 }, .from = { -1, -1 } };
    for (uint32_t i = 0; i < step->tasks && code == 0; i++)
        code = start_task(&running, i, err);
    if (code < 0)
        signal_all(&running, SIGKILL);
    follow(&running);
    for (uint32_t i = 0; i < step->tasks; i++) {
        for (int k = 0; k < STREAMS; k++) {
            if (running.tasks[i].to[k] >= 0)
                close(running.tasks[i].to[k]);
        }
    }
    srun_mpi_stop(&running.mpi);
    close(running.signal_fd);
    free(running.tasks);
    *ret_status = running.status;
    return code;
}
