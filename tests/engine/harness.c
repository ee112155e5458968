/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/text.h"
#include "engine/local/local.h"
#include "engine/local/shim_launch.h"
#include "engine/local/status_file.h"
#include "io/file.h"

enum { TICK_MS = 5, HANG_TICKS = 12000 };

static const char *const environment[] = { "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/", NULL };

static void on_outcome(void *user, const struct engine_outcome *outcome)
{
    struct harness *harness = user;

    list_add(&harness->outcomes, *outcome);
}

static void on_tick(uv_timer_t *timer)
{
    (void)timer;
}

void harness_open(struct harness *harness)
{
    const char *shim = getenv("TARN_SHIM");
    struct error err = { "" };

    assert_non_null(shim);
    struct local_engine_options options = {
        .engine = { .loop = &harness->loop,
                    .state_dir = harness->state_dir,
                    .reports = { .user = harness, .outcome = on_outcome } },
        .shim_path = shim,
        .is_root = geteuid() == 0 && !harness->is_unprivileged,
        .without_cgroups = harness->without_cgroups,
        .output_keep = harness->output_keep,
        .nofile_max = harness->nofile_max,
        .stop_margin = harness->stop_margin,
    };
    if (local_engine_create(&options, &harness->engine, &err) < 0)
        fail_msg("%s", err.text);
}

void harness_close(struct harness *harness)
{
    harness->engine->ops->destroy(harness->engine);
    harness->engine = NULL;
    uv_run(&harness->loop, UV_RUN_NOWAIT);
}

struct harness *harness_create(bool without_cgroups)
{
    struct harness *harness = mem_zero(1, sizeof(*harness));

    strcpy(harness->state_dir, "/tmp/tarn-test-XXXXXX");
    assert_non_null(mkdtemp(harness->state_dir));
    chmod(harness->state_dir, 0755);
    harness->without_cgroups = without_cgroups;
    uv_loop_init(&harness->loop);
    uv_timer_init(&harness->loop, &harness->tick);
    uv_timer_start(&harness->tick, on_tick, TICK_MS, TICK_MS);
    harness_open(harness);
    return harness;
}

/* Shims outlast the outcome a little: they remove their control groups. */
static bool shims_are_gone(void *user)
{
    struct harness *harness = user;
    AUTO_FREE char *run = harness_path(harness, "run");
    struct dirent *entry;
    bool gone = true;

    DIR *stream = opendir(run);
    assert_non_null(stream);
    while ((entry = readdir(stream)) != NULL) {
        AUTO_FREE char *path = mem_printf("%s/%s", run, entry->d_name);

        if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9' && status_holder(path) > 0)
            gone = false;
    }
    closedir(stream);
    return gone;
}

void harness_stop(struct harness *harness, struct member_id id, usec_t grace)
{
    const struct engine_attempt attempt = { id.job, id.attempt, &id.rank, 1 };

    harness->engine->ops->stop(harness->engine, &attempt, grace);
}

bool harness_recover(struct harness *harness, struct member_id id, bool was_started)
{
    const struct engine_attempt attempt = { id.job, id.attempt, &id.rank, 1 };
    bool is_found;

    harness->engine->ops->recover(harness->engine, &attempt, &was_started, &is_found);
    return is_found;
}

void harness_forget(struct harness *harness, struct member_id id)
{
    const struct engine_attempt attempt = { id.job, id.attempt, &id.rank, 1 };

    harness->engine->ops->forget(harness->engine, &attempt);
}

static void members_end(struct harness *harness)
{
    for (size_t i = 0; i < harness->outcomes.count; i++)
        harness_stop(harness, harness->outcomes.items[i].id, 0);
    harness_until(harness, shims_are_gone, harness);
}

void harness_destroy(struct harness *harness)
{
    if (!harness)
        return;
    if (!harness->engine)
        harness_open(harness);
    members_end(harness);
    harness_close(harness);
    uv_close((uv_handle_t *)&harness->tick, NULL);
    uv_run(&harness->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&harness->loop), 0);
    AUTO_FREE char *command = mem_printf("rm -rf %s", harness->state_dir);
    assert_int_equal(system(command), 0);
    list_release(&harness->outcomes);
    free(harness);
}

struct member_id harness_id(uint64_t job)
{
    return (struct member_id){ .job = job, .attempt = 1 };
}

/* Paths of launches are copied by start, so a few buffers in turn do. */
static char *log_path(struct harness *harness, uint64_t job)
{
    static char paths[8][128];
    static unsigned turn;
    char *path = paths[turn++ % COUNT_OF(paths)];

    snprintf(path, sizeof(paths[0]), "%s/%llu.log", harness->state_dir, (unsigned long long)job);
    return path;
}

struct engine_launch harness_command(struct harness *harness, uint64_t job, const char *const *argv)
{
    return (struct engine_launch){
        .id = harness_id(job),
        .title = "test",
        .uid = geteuid(),
        .gid = getegid(),
        .argv = argv,
        .envp = environment,
        .cwd = harness->state_dir,
        .output = log_path(harness, job),
        .umask = 022,
        .grace = 10 * USEC_PER_SEC,
    };
}

struct engine_launch harness_launch(struct harness *harness, uint64_t job, const char *script)
{
    static const char *argvs[8][4];
    static unsigned turn;
    const char **argv = argvs[turn++ % COUNT_OF(argvs)];

    argv[0] = "sh";
    argv[1] = "-c";
    argv[2] = script;
    argv[3] = NULL;
    return harness_command(harness, job, argv);
}

void harness_start(struct harness *harness, const struct engine_launch *launch)
{
    struct error err = { "" };

    if (harness->engine->ops->start(harness->engine, launch, 1, &err) < 0)
        fail_msg("%s", err.text);
}

struct harness *harness_begin(bool without_cgroups, const char *script)
{
    struct harness *harness = harness_create(without_cgroups);
    struct engine_launch launch = harness_launch(harness, 1, script);

    harness_start(harness, &launch);
    return harness;
}

void harness_until(struct harness *harness, bool (*check)(void *user), void *user)
{
    for (unsigned ticks = 0; !check(user); ticks++) {
        if (ticks == HANG_TICKS)
            fail_msg("waited for something that never came");
        uv_run(&harness->loop, UV_RUN_ONCE);
    }
}

void harness_turn(struct harness *harness, unsigned turns)
{
    for (unsigned i = 0; i < turns; i++)
        uv_run(&harness->loop, UV_RUN_ONCE);
}

size_t harness_count(const struct harness *harness, uint64_t job)
{
    size_t count = 0;

    for (size_t i = 0; i < harness->outcomes.count; i++)
        count += harness->outcomes.items[i].id.job == job;
    return count;
}

struct wanted {
    struct harness *harness;
    uint64_t job;
    size_t n;
    bool end;
    const struct engine_outcome *found;
};

static bool outcome_is_there(void *user)
{
    struct wanted *wanted = user;
    size_t n = 0;

    for (size_t i = 0; i < wanted->harness->outcomes.count; i++) {
        struct engine_outcome *outcome = &wanted->harness->outcomes.items[i];

        if (outcome->id.job != wanted->job)
            continue;
        if (wanted->end ? outcome->kind != ENGINE_STARTED : n == wanted->n) {
            wanted->found = outcome;
            return true;
        }
        n++;
    }
    return false;
}

const struct engine_outcome *harness_outcome(struct harness *harness, uint64_t job, size_t n)
{
    struct wanted wanted = { .harness = harness, .job = job, .n = n };

    harness_until(harness, outcome_is_there, &wanted);
    return wanted.found;
}

const struct engine_outcome *harness_end(struct harness *harness, uint64_t job)
{
    struct wanted wanted = { .harness = harness, .job = job, .end = true };

    harness_until(harness, outcome_is_there, &wanted);
    return wanted.found;
}

char *harness_path(struct harness *harness, const char *name)
{
    return mem_printf("%s/%s", harness->state_dir, name);
}

char *harness_read(struct harness *harness, uint64_t job, const char *path)
{
    struct text text = { 0 };

    file_read(path ? path : log_path(harness, job), 64 * 1024 * 1024, &text, NULL);
    return text_take(&text);
}

struct line {
    struct harness *harness;
    char *path;
    long number;
};

static bool line_is_there(void *user)
{
    struct line *line = user;
    AUTO_FREE char *text = harness_read(line->harness, 0, line->path);

    line->number = strtol(text, NULL, 10);
    return strchr(text, '\n') != NULL;
}

long harness_number(struct harness *harness, const char *name)
{
    AUTO_FREE char *path = harness_path(harness, name);
    struct line line = { .harness = harness, .path = path };

    harness_until(harness, line_is_there, &line);
    return line.number;
}

pid_t harness_shim(struct harness *harness, uint64_t job)
{
    char name[MEMBER_NAME_SIZE], path[128];

    snprintf(path, sizeof(path), "%s/run/%s", harness->state_dir,
             member_name(name, harness_id(job)));
    return status_holder(path);
}

bool is_running(pid_t pid)
{
    AUTO_FREE char *path = mem_printf("/proc/%d/stat", pid);
    AUTO_RELEASE(text) struct text stat = { 0 };

    if (file_read(path, 4096, &stat, NULL) < 0)
        return false;
    const char *fields = strrchr(text_string(&stat), ')');
    return fields && fields[2] != 'Z' && fields[2] != 'X';
}

static bool pid_is_gone(void *user)
{
    return !is_running(*(pid_t *)user);
}

void until_gone(struct harness *harness, pid_t pid)
{
    harness_until(harness, pid_is_gone, &pid);
}
