/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/run/batch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/copy.h"
#include "sim/report/result.h"
#include "sim/run/adapt.h"
#include "wire/json.h"

enum { PROCESSES_MAX = 256, PROGRESS_MS = 250, CHUNK = 1 << 16 };

/* One run, and the process that it is in. */
struct part {
    uint64_t seed;
    int64_t slice; /* -1: none */
    pid_t pid;     /* 0: not started, or over */
    int fd;
    struct text output; /* first byte: + result, - words of a failure */
    bool is_over;
};

struct batch {
    const struct experiment *experiment;
    const struct sim_ports *ports;
    const struct batch_options *options;
    const struct workload *workload;
    struct part *parts;
    size_t part_count, started, over;
    unsigned active;
    uint64_t *progress; /* shared; one for each part */
};

/* For the signal handler: the processes to end. */
static volatile pid_t processes[PROCESSES_MAX];

static void on_interrupt(int number)
{
    for (size_t i = 0; i < PROCESSES_MAX; i++) {
        if (processes[i] > 0)
            kill(processes[i], SIGKILL);
    }
    _exit(128 + number);
}

static void remember(pid_t pid, pid_t instead)
{
    for (size_t i = 0; i < PROCESSES_MAX; i++) {
        if (processes[i] == instead) {
            processes[i] = pid;
            return;
        }
    }
}

/* In the process of its own: run it, and write what came of it. */
static void do_part(const struct batch *batch, const struct part *part, uint64_t *progress, int fd)
{
    struct workload workload = { 0 }, generated = { 0 };
    const struct workload *from = batch->workload;
    struct error err = { "" };
    int code = 0;

    if (!batch->experiment->format->has_file) { /* another one for each seed */
        struct generator generator = batch->experiment->generator;
        generator.seed += part->seed - batch->experiment->seeds[0];
        code = generate(&generator, &generated, &err);
        from = &generated;
    }
    if (code == 0)
        code = adapt_workload(batch->experiment, from, part->seed, part->slice, &workload, &err);
    if (code == 0) {
        AUTO(run)
        struct run *run = run_create(batch->experiment, &workload, batch->ports, part->seed);
        run->progress = progress;
        run->has_report = batch->options->has_series;
        code = run_go(run, &err);
        if (code == 0) {
            AUTO(json) json_t *result = result_of(run, batch->options->has_series);
            json_object_set_new(
                result, part->slice >= 0 ? "slice" : "seed",
                json_integer(part->slice >= 0
                                 ? (json_int_t)batch->experiment->adapt.slice_starts[part->slice]
                                 : (json_int_t)part->seed));
            AUTO_FREE char *text = json_dumps(result, JSON_COMPACT);
            copy_write(fd, "+", 1);
            copy_write(fd, text, strlen(text));
        }
    }
    if (code < 0) {
        copy_write(fd, "-", 1);
        copy_write(fd, err.text, strlen(err.text));
    }
    workload_release(&workload);
    workload_release(&generated);
}

static int start_part(struct batch *batch, struct error *err)
{
    struct part *part = &batch->parts[batch->started];
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) < 0)
        return error_set(err, -errno, "pipe: %s", strerror(errno));
    fflush(NULL);
    pid_t parent = getpid(), pid = fork();
    if (pid < 0) {
        close(fds[0]);
        close(fds[1]);
        return error_set(err, -EAGAIN, "no process: %s", strerror(errno));
    }
    if (pid == 0) {
        signal(SIGINT, SIG_DFL);
        signal(SIGTERM, SIG_DFL);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        close(fds[0]);
        do_part(batch, part, &batch->progress[batch->started], fds[1]);
        _exit(0);
    }
    close(fds[1]);
    part->pid = pid;
    part->fd = fds[0];
    remember(pid, 0);
    batch->started++;
    batch->active++;
    return 0;
}

static void end_part(struct batch *batch, struct part *part)
{
    int status = 0;

    close(part->fd);
    while (waitpid(part->pid, &status, 0) < 0 && errno == EINTR)
        ;
    remember(0, part->pid);
    part->pid = 0;
    part->is_over = true;
    batch->active--;
    batch->over++;
    if (WIFSIGNALED(status)) {
        text_clear(&part->output);
        text_printf(&part->output, "-the run was ended by signal %d", WTERMSIG(status));
    }
}

static void read_part(struct batch *batch, struct part *part)
{
    char chunk[CHUNK];

    ssize_t got = read(part->fd, chunk, sizeof(chunk));
    if (got > 0)
        text_add_bytes(&part->output, chunk, (size_t)got);
    else if (got == 0 || errno != EINTR)
        end_part(batch, part);
}

static void show_progress(const struct batch *batch)
{
    uint64_t jobs = 0;

    if (!batch->options->has_progress)
        return;
    for (size_t i = 0; i < batch->part_count; i++)
        jobs += batch->progress[i];
    fprintf(stderr, "\r\033[K%s%s%s: run %zu of %zu, %" PRIu64 " jobs done",
            batch->experiment->name, batch->experiment->variant[0] ? " " : "",
            batch->experiment->variant, batch->over, batch->part_count, jobs);
    fflush(stderr);
}

static void wait_for_some(struct batch *batch)
{
    struct pollfd fds[PROCESSES_MAX];
    struct part *parts[PROCESSES_MAX];
    nfds_t count = 0;

    for (size_t i = 0; i < batch->started && count < PROCESSES_MAX; i++) {
        if (batch->parts[i].pid == 0)
            continue;
        parts[count] = &batch->parts[i];
        fds[count++] = (struct pollfd){ .fd = batch->parts[i].fd, .events = POLLIN };
    }
    if (poll(fds, count, PROGRESS_MS) <= 0)
        return;
    for (nfds_t i = 0; i < count; i++) {
        if (fds[i].revents != 0)
            read_part(batch, parts[i]);
    }
}

static void plan_parts(struct batch *batch)
{
    const struct experiment *experiment = batch->experiment;
    size_t slices = experiment->adapt.slice_count;

    batch->part_count = slices > 0 ? slices : experiment->seed_count;
    batch->parts = mem_zero(batch->part_count, sizeof(batch->parts[0]));
    for (size_t i = 0; i < batch->part_count; i++) {
        batch->parts[i].seed = slices > 0 ? experiment->seeds[0] : experiment->seeds[i];
        batch->parts[i].slice = slices > 0 ? (int64_t)i : -1;
    }
}

static int run_parts(struct batch *batch, struct error *err)
{
    unsigned most = batch->options->jobs < PROCESSES_MAX ? batch->options->jobs : PROCESSES_MAX;
    struct sigaction action = { .sa_handler = on_interrupt }, old_int, old_term;
    int code = 0;

    sigaction(SIGINT, &action, &old_int);
    sigaction(SIGTERM, &action, &old_term);
    while (batch->over < batch->part_count && (code == 0 || batch->active > 0)) {
        while (code == 0 && batch->active < most && batch->started < batch->part_count)
            code = start_part(batch, err);
        show_progress(batch);
        wait_for_some(batch);
    }
    if (batch->options->has_progress)
        fprintf(stderr, "\r\033[K");
    sigaction(SIGINT, &old_int, NULL);
    sigaction(SIGTERM, &old_term, NULL);
    return code;
}

static int collect(struct batch *batch, json_t *runs, struct error *err)
{
    for (size_t i = 0; i < batch->part_count; i++) {
        struct part *part = &batch->parts[i];
        const char *text = text_string(&part->output);
        if (text[0] != '+')
            return error_set(err, -EIO, "%s: %s", batch->experiment->name,
                             text[0] == '-' ? text + 1 : "a run ended without a result");
        json_t *result = json_loads(text + 1, 0, NULL);
        if (!result)
            return error_set(err, -EIO, "%s: a run's result cannot be read",
                             batch->experiment->name);
        json_array_append_new(runs, result);
    }
    return 0;
}

/* {nodes, gpus, models: "a100, t4"} */
static json_t *cluster_facts(const struct cluster *cluster)
{
    AUTO_RELEASE(text) struct text models = { 0 };
    const char *before = "";

    for (size_t i = 0; i < cluster->nodes.count; i++) {
        const struct cluster_node *node = &cluster->nodes.items[i];
        if (node->gpus == 0 || strcmp(node->model, before) == 0 ||
            strstr(text_string(&models), node->model))
            continue;
        before = node->model;
        text_printf(&models, "%s%s", models.length > 0 ? ", " : "", node->model);
    }
    return json_pack("{s:I, s:I, s:s}", "nodes", (json_int_t)cluster->nodes.count, "gpus",
                     (json_int_t)cluster->gpu_count, "models", text_string(&models));
}

/* The last part of the path of a trace. */
static const char *source_of(const struct experiment *experiment)
{
    const char *path = experiment->path;

    if (!path)
        return "generated";
    return strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
}

/* From the first submission to the last one. */
static double span_of(const struct workload *workload)
{
    const size_t count = workload->jobs.count;

    if (count == 0)
        return 0;
    return (double)(workload->jobs.items[count - 1].submit - workload->jobs.items[0].submit) / 1e6;
}

static json_t *report_of(const struct batch *batch, json_t *runs)
{
    const struct workload *workload = batch->workload;
    json_t *report = json_object();

    json_object_set_new(report, "experiment", json_string(batch->experiment->name));
    if (batch->experiment->variant[0])
        json_object_set_new(report, "variant", json_string(batch->experiment->variant));
    json_object_set_new(report, "mean", result_mean(runs));
    json_object_set_new(report, "runs", runs);
    json_object_set_new(report, "workload",
                        json_pack("{s:I, s:I, s:I, s:s, s:f}", "jobs",
                                  (json_int_t)workload->jobs.count, "bad_lines",
                                  (json_int_t)workload->skipped, "left_out",
                                  (json_int_t)workload->left_out, "source",
                                  source_of(batch->experiment), "span_seconds", span_of(workload)));
    json_object_set_new(report, "cluster", cluster_facts(&batch->experiment->cluster));
    return report;
}

int batch_run(const struct experiment *experiment, const struct sim_ports *ports,
              const struct batch_options *options, json_t **ret, struct error *err)
{
    struct workload workload = { 0 };
    struct format_ask ask = {
        .path = experiment->path,
        .skip_bad = options->skip_bad,
        .read_journal = ports->read_journal,
        .generator = &experiment->generator,
    };

    int code = format_read(experiment->format, &ask, &workload, err);
    if (code == 0) {
        struct batch batch = {
            .experiment = experiment, .ports = ports, .options = options, .workload = &workload
        };
        json_t *runs = json_array();
        plan_parts(&batch);
        size_t size = batch.part_count * sizeof(uint64_t);
        batch.progress =
            mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (batch.progress == MAP_FAILED)
            code = error_set(err, -ENOMEM, "no memory to share");
        if (code == 0)
            code = run_parts(&batch, err);
        if (code == 0)
            code = collect(&batch, runs, err);
        if (code == 0)
            *ret = report_of(&batch, runs);
        else
            json_decref(runs);
        if (batch.progress != MAP_FAILED)
            munmap(batch.progress, size);
        for (size_t i = 0; i < batch.part_count; i++)
            text_release(&batch.parts[i].output);
        free(batch.parts);
    }
    workload_release(&workload);
    return code;
}
