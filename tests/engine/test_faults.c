/* SPDX-License-Identifier: Apache-2.0 */
/* Shims and engines are killed at random moments: each member ends once, and nothing is left. */
#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/text.h"
#include "engine/local/local.h"
#include "harness.h"
#include "io/file.h"

enum { JOBS = 150 };

static uint32_t random_next(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

/* Every process of a job names the folder of this test in its working directory. */
static unsigned processes_left(const struct harness *harness)
{
    unsigned count = 0;
    struct dirent *entry;

    DIR *stream = opendir("/proc");
    assert_non_null(stream);
    while ((entry = readdir(stream)) != NULL) {
        char path[300], target[300];
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

        snprintf(path, sizeof(path), "/proc/%s/cwd", entry->d_name);
        ssize_t length = pid > 1 ? readlink(path, target, sizeof(target) - 1) : -1;
        if (length < 0)
            continue;
        target[length] = '\0';
        count += string_starts(target, harness->state_dir) && is_running(pid);
    }
    closedir(stream);
    return count;
}

static void outcomes_are_sound(struct harness *harness)
{
    for (uint64_t job = 1; job <= JOBS; job++) {
        unsigned starts = 0, ends = 0;

        for (size_t i = 0; i < harness->outcomes.count; i++) {
            const struct engine_outcome *outcome = &harness->outcomes.items[i];

            if (outcome->id.job != job)
                continue;
            starts += outcome->kind == ENGINE_STARTED;
            ends += outcome->kind != ENGINE_STARTED;
            if (outcome->kind == ENGINE_ENDED)
                assert_int_equal(outcome->exit_code, 0);
            assert_true(outcome->kind != ENGINE_STARTED || ends == 0);
        }
        assert_true(starts <= 1);
        assert_int_equal(ends, 1);
    }
}

static void runs_are_single(struct harness *harness)
{
    AUTO_FREE char *path = harness_path(harness, "count");
    AUTO_FREE char *runs = harness_read(harness, 0, path);

    for (uint64_t job = 1; job <= JOBS; job++) {
        AUTO_FREE char *line = mem_printf("job%llu\n", (unsigned long long)job);
        const char *first = strstr(runs, line);

        assert_true(!first || !strstr(first + 1, line));
    }
}

static void was_started(const struct harness *harness, uint64_t job, bool *ret_start, bool *ret_end)
{
    *ret_start = *ret_end = false;
    for (size_t i = 0; i < harness->outcomes.count; i++) {
        const struct engine_outcome *outcome = &harness->outcomes.items[i];

        if (outcome->id.job == job)
            *(outcome->kind == ENGINE_STARTED ? ret_start : ret_end) = true;
    }
}

/* As a daemon does it: first everything that is not known to have ended, then starts. */
static void engine_restart(struct harness *harness, uint64_t jobs_asked)
{
    bool missing[JOBS + 1] = { false };

    harness_close(harness);
    harness_open(harness);
    for (uint64_t job = 1; job <= jobs_asked; job++) {
        bool start, end;

        was_started(harness, job, &start, &end);
        if (!end)
            missing[job] = !harness_recover(harness, harness_id(job), start);
        assert_false(missing[job] && start);
    }
    for (uint64_t job = 1; job <= jobs_asked; job++) {
        AUTO_FREE char *script =
            mem_printf("echo job%llu >> count; sleep 0.02 & sleep 0.01", (unsigned long long)job);
        struct engine_launch launch = harness_launch(harness, job, script);

        if (missing[job])
            harness_start(harness, &launch);
    }
}

static void chaos(bool without_cgroups, uint32_t seed)
{
    AUTO(harness) struct harness *harness = harness_create(without_cgroups);

    print_message("seed=%u\n", seed);
    for (uint64_t job = 1; job <= JOBS; job++) {
        AUTO_FREE char *script =
            mem_printf("echo job%llu >> count; sleep 0.02 & sleep 0.01", (unsigned long long)job);
        struct engine_launch launch = harness_launch(harness, job, script);

        harness_start(harness, &launch);
        uint32_t dice = random_next(&seed);
        if (dice % 3 == 0) {
            usleep(random_next(&seed) % 3000);
            pid_t shim = harness_shim(harness, 1 + random_next(&seed) % job);
            if (shim > 1)
                kill(shim, SIGKILL);
        }
        if (dice % 17 == 0)
            engine_restart(harness, job);
        if (dice % 5 == 0)
            uv_run(&harness->loop, UV_RUN_NOWAIT);
    }
    for (uint64_t job = 1; job <= JOBS; job++)
        harness_end(harness, job);
    harness_turn(harness, 20);
    outcomes_are_sound(harness);
    runs_are_single(harness);
    assert_int_equal(processes_left(harness), 0);
}

static void chaos_in_groups_loses_nothing(void **state)
{
    (void)state;
    chaos(false, 20240229);
}

static void chaos_without_groups_loses_nothing(void **state)
{
    (void)state;
    chaos(true, 4711);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chaos_in_groups_loses_nothing),
        cmocka_unit_test(chaos_without_groups_loses_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
