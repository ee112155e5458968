/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing of a job outlives it, whatever it does and whichever process is killed. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/text.h"
#include "engine/local/cgroup.h"
#include "engine/local/local.h"
#include "engine/local/shim_launch.h"
#include "harness.h"
#include "io/file.h"

/* Each test that is about killing runs with control groups, as far as there are any, and without.
 */
#define WITH_BOTH(test)                                                                            \
    static void test##_in_a_group(void **state)                                                    \
    {                                                                                              \
        (void)state;                                                                               \
        test(false);                                                                               \
    }                                                                                              \
    static void test##_without_groups(void **state)                                                \
    {                                                                                              \
        (void)state;                                                                               \
        test(true);                                                                                \
    }
#define BOTH(test) cmocka_unit_test(test##_in_a_group), cmocka_unit_test(test##_without_groups)

static void stop(struct harness *harness, uint64_t job, usec_t grace)
{
    harness_stop(harness, harness_id(job), grace);
}

static void term_is_heard(bool without_cgroups)
{
    AUTO(harness) struct harness *harness = harness_create(without_cgroups);
    struct engine_launch launch = harness_launch(
        harness, 1, "trap 'exit 3' TERM; echo $$ > pid; while :; do sleep 0.02; done");

    harness_start(harness, &launch);
    harness_number(harness, "pid");
    stop(harness, 1, 60 * USEC_PER_SEC);
    const struct engine_outcome *end = harness_end(harness, 1);
    assert_int_equal(end->kind, ENGINE_ENDED);
    assert_int_equal(end->exit_code, 3);
    assert_true(end->was_stopped);
    assert_false(end->was_killed);
}
WITH_BOTH(term_is_heard)

static void a_signal_is_passed_on(bool without_cgroups)
{
    AUTO(harness) struct harness *harness = harness_create(without_cgroups);
    struct engine_launch launch = harness_launch(
        harness, 1, "trap 'exit 4' USR1; echo $$ > pid; while :; do sleep 0.02; done");
    const struct member_id id = harness_id(1);
    const struct engine_attempt attempt = { id.job, id.attempt, &id.rank, 1 };

    harness_start(harness, &launch);
    harness_number(harness, "pid");
    harness->engine->ops->signal(harness->engine, &attempt, SIGUSR1);
    const struct engine_outcome *end = harness_end(harness, 1);
    assert_int_equal(end->exit_code, 4);
    assert_false(end->was_stopped);
}
WITH_BOTH(a_signal_is_passed_on)

static void who_ignores_term_is_killed(bool without_cgroups)
{
    AUTO(harness)
    struct harness *harness =
        harness_begin(without_cgroups, "trap '' TERM; echo $$ > pid; while :; do sleep 0.02; done");
    harness_number(harness, "pid");
    stop(harness, 1, 50 * USEC_PER_MS);
    const struct engine_outcome *end = harness_end(harness, 1);
    assert_int_equal(end->kind, ENGINE_ENDED);
    assert_int_equal(end->exit_code, -1);
    assert_int_equal(end->signal, SIGKILL);
    assert_true(end->was_stopped && end->was_killed);
}
WITH_BOTH(who_ignores_term_is_killed)

static void a_later_stop_may_shorten_the_grace(void **state)
{
    (void)state;
    AUTO(harness)
    struct harness *harness =
        harness_begin(false, "trap '' TERM; echo $$ > pid; while :; do sleep 0.02; done");
    harness_number(harness, "pid");
    stop(harness, 1, 3600 * USEC_PER_SEC);
    stop(harness, 1, 3600 * USEC_PER_SEC);
    harness_turn(harness, 20);
    assert_int_equal(harness_count(harness, 1), 1);
    stop(harness, 1, 0);
    assert_true(harness_end(harness, 1)->was_killed);
}

static void a_plain_second_kill_of_the_shim_is_at_once(void **state)
{
    (void)state;
    AUTO(harness) struct harness *harness = harness_create(false);
    struct engine_launch launch = harness_launch(
        harness, 1, "trap 'echo > heard' TERM; echo $$ > pid; while :; do sleep 0.02; done");

    launch.grace = 3600 * USEC_PER_SEC;
    harness_start(harness, &launch);
    harness_number(harness, "pid");
    pid_t shim = harness_shim(harness, 1);
    kill(shim, SIGHUP);
    kill(shim, SIGTERM);
    harness_number(harness, "heard");
    assert_int_equal(harness_count(harness, 1), 1);
    kill(shim, SIGTERM);
    assert_true(harness_end(harness, 1)->was_killed);
}

/* The shell dies of the signal at once; what it started still has its grace to save something. */
static void the_grace_is_for_the_whole_tree(bool without_cgroups)
{
    AUTO(harness)
    struct harness *harness = harness_begin(
        without_cgroups, "sh -c 'trap \"sleep 0.2; echo 1 > saved; exit 0\" TERM; echo $$ > pid; "
                         "while :; do sleep 0.02; done' & wait");
    harness_number(harness, "pid");
    stop(harness, 1, 60 * USEC_PER_SEC);
    const struct engine_outcome *end = harness_end(harness, 1);
    assert_int_equal(end->signal, SIGTERM);
    assert_false(end->was_killed);
    AUTO_FREE char *path = harness_path(harness, "saved");
    AUTO_FREE char *saved = harness_read(harness, 0, path);
    assert_string_equal(saved, "1\n");
}
WITH_BOTH(the_grace_is_for_the_whole_tree)

static void a_stop_during_the_start_is_kept(bool without_cgroups)
{
    enum { JOBS = 20 };
    AUTO(harness) struct harness *harness = harness_create(without_cgroups);

    for (uint64_t job = 1; job <= JOBS; job++) {
        struct engine_launch launch = harness_launch(harness, job, "exec sleep 1000");

        harness_start(harness, &launch);
        if (job % 2 == 0)
            usleep((useconds_t)job * 100);
        stop(harness, job, job % 3 == 0 ? 0 : 60 * USEC_PER_SEC);
    }
    for (uint64_t job = 1; job <= JOBS; job++) {
        const struct engine_outcome *end = harness_end(harness, job);

        assert_true(end->was_stopped);
        if (end->kind == ENGINE_FAILED)
            assert_string_equal(end->reason, "stopped before it started");
        else
            assert_true(end->signal == SIGTERM || end->signal == SIGKILL);
    }
}
WITH_BOTH(a_stop_during_the_start_is_kept)

#define DETACHING                                                                                  \
    "setsid sh -c '(trap \"\" TERM HUP; echo $$ > shell; sh -c \"echo \\$\\$ > deep; exec sleep "  \
    "1000\")"                                                                                      \
    " > /dev/null 2>&1 &' & "

static void detached_children_go_with_the_job(bool without_cgroups)
{
    AUTO(harness)
    struct harness *harness = harness_begin(without_cgroups, DETACHING
                                            "while [ ! -s deep ]; do sleep 0.01; done; exit 2");
    assert_int_equal(harness_end(harness, 1)->exit_code, 2);
    pid_t deep = (pid_t)harness_number(harness, "deep");
    assert_true(deep > 0);
    assert_false(is_running(deep));
}
WITH_BOTH(detached_children_go_with_the_job)

static void a_killed_shim_means_lost_and_nothing_left(bool without_cgroups)
{
    AUTO(harness)
    struct harness *harness = harness_begin(without_cgroups, DETACHING
                                            "echo $$ > main; sleep 1000 & echo $! > child; wait");
    pid_t pids[] = { (pid_t)harness_number(harness, "main"),
                     (pid_t)harness_number(harness, "child"),
                     (pid_t)harness_number(harness, "deep") };
    harness_outcome(harness, 1, 0);
    assert_int_equal(kill(harness_shim(harness, 1), SIGKILL), 0);
    const struct engine_outcome *end = harness_end(harness, 1);
    assert_int_equal(end->kind, ENGINE_LOST);
    assert_string_equal(end->reason, "supervisor killed");
    for (size_t i = 0; i < COUNT_OF(pids); i++)
        assert_false(is_running(pids[i]));
    harness_turn(harness, 10);
    assert_int_equal(harness_count(harness, 1), 2);
}
WITH_BOTH(a_killed_shim_means_lost_and_nothing_left)

/* As one that hangs on a file server: it takes no SIGTERM. */
static void a_shim_that_does_not_answer_is_killed_with_its_job(bool without_cgroups)
{
    AUTO(harness) struct harness *harness = harness_create(without_cgroups);
    struct engine_launch launch =
        harness_launch(harness, 1, DETACHING "echo $$ > main; sleep 1000 & wait");

    harness_close(harness);
    harness->stop_margin = 50 * USEC_PER_MS;
    harness_open(harness);
    harness_start(harness, &launch);
    pid_t pids[] = { (pid_t)harness_number(harness, "main"), (pid_t)harness_number(harness, "deep"),
                     0 };
    harness_outcome(harness, 1, 0);
    pids[2] = harness_shim(harness, 1);
    assert_int_equal(kill(pids[2], SIGSTOP), 0);
    stop(harness, 1, 3600 * USEC_PER_SEC);
    stop(harness, 1, 20 * USEC_PER_MS);
    const struct engine_outcome *end = harness_end(harness, 1);
    assert_int_equal(end->kind, ENGINE_LOST);
    assert_string_equal(end->reason, "supervisor did not answer");
    for (size_t i = 0; i < COUNT_OF(pids); i++)
        assert_false(is_running(pids[i]));
    harness_turn(harness, 20);
    assert_int_equal(harness_count(harness, 1), 2);
}
WITH_BOTH(a_shim_that_does_not_answer_is_killed_with_its_job)

/* The same while no engine looks, and the job's first process has gone with the shim. */
static void a_shim_killed_while_nobody_looks_is_lost_too(bool without_cgroups)
{
    AUTO(harness)
    struct harness *harness =
        harness_begin(without_cgroups, DETACHING "echo $$ > main; exec sleep 1000");
    pid_t first = (pid_t)harness_number(harness, "main");
    pid_t deep = (pid_t)harness_number(harness, "deep");
    harness_outcome(harness, 1, 0);
    pid_t shim = harness_shim(harness, 1);
    harness_close(harness);
    kill(shim, SIGKILL);
    until_gone(harness, first);
    harness_open(harness);
    harness->outcomes.count = 0;
    assert_true(harness_recover(harness, harness_id(1), true));
    assert_int_equal(harness->outcomes.count, 0);
    assert_int_equal(harness_outcome(harness, 1, 0)->kind, ENGINE_LOST);
    assert_false(is_running(deep));
}
WITH_BOTH(a_shim_killed_while_nobody_looks_is_lost_too)

static void a_running_member_is_found_again(bool without_cgroups)
{
    AUTO(harness)
    struct harness *harness =
        harness_begin(without_cgroups, "while [ ! -s go ]; do sleep 0.01; done; exit 6");
    struct engine_isolation isolation = harness_outcome(harness, 1, 0)->isolation;
    harness_close(harness);
    harness_open(harness);
    harness->outcomes.count = 0;
    assert_true(harness_recover(harness, harness_id(1), false));
    const struct engine_outcome *start = harness_outcome(harness, 1, 0);
    assert_int_equal(start->kind, ENGINE_STARTED);
    assert_memory_equal(&start->isolation, &isolation, sizeof(isolation));
    AUTO_FREE char *go = harness_path(harness, "go");
    assert_int_equal(file_replace(go, "1\n", 2, NULL), 0);
    assert_int_equal(harness_end(harness, 1)->exit_code, 6);
    harness_turn(harness, 10);
    assert_int_equal(harness_count(harness, 1), 2);
}
WITH_BOTH(a_running_member_is_found_again)

static void a_found_member_can_be_stopped(void **state)
{
    (void)state;
    AUTO(harness) struct harness *harness = harness_begin(false, "exec sleep 1000");
    harness_outcome(harness, 1, 0);
    harness_close(harness);
    harness_open(harness);
    harness->outcomes.count = 0;
    assert_true(harness_recover(harness, harness_id(1), true));
    stop(harness, 1, 60 * USEC_PER_SEC);
    assert_int_equal(harness_outcome(harness, 1, 0)->signal, SIGTERM);
}

static void an_end_while_nobody_looks_is_told_once(void **state)
{
    (void)state;
    AUTO(harness)
    struct harness *harness = harness_begin(false, "echo $$ > pid; sleep 0.1; exit 9");
    harness_number(harness, "pid");
    pid_t shim = harness_shim(harness, 1);
    harness_close(harness);
    harness->outcomes.count = 0;
    until_gone(harness, shim);
    for (int round = 0; round < 2; round++) {
        harness_open(harness);
        harness->outcomes.count = 0;
        assert_true(harness_recover(harness, harness_id(1), round > 0));
        assert_int_equal(harness_end(harness, 1)->exit_code, 9);
        harness_turn(harness, 5);
        assert_int_equal(harness_count(harness, 1), round > 0 ? 1 : 2);
        harness_close(harness);
    }
}

static void what_never_was_leaves_no_trace(void **state)
{
    (void)state;
    AUTO(harness) struct harness *harness = harness_create(false);

    assert_false(harness_recover(harness, harness_id(1), false));
    assert_false(harness_recover(harness, harness_id(2), true));
    stop(harness, 3, 0);
    harness_forget(harness, harness_id(4));
    harness_turn(harness, 5);
    assert_int_equal(harness->outcomes.count, 0);
}

static void status_make(struct harness *harness, const char *name, const char *boot,
                        const char *rest)
{
    AUTO_FREE char *path = mem_printf("%s/run/%s", harness->state_dir, name);
    AUTO_FREE char *text = mem_printf("member shim=1 boot=%s isolation=1000 .\n%s", boot, rest);

    assert_int_equal(file_replace(path, text, strlen(text), NULL), 0);
}

static void a_torn_end_is_a_loss(void **state)
{
    (void)state;
    AUTO(harness) struct harness *harness = harness_create(true);
    AUTO_FREE char *boot = harness_read(harness, 0, "/proc/sys/kernel/random/boot_id");

    boot[strcspn(boot, "\n")] = '\0';
    status_make(harness, "1.1.0", boot, "started pid=99999999 .\nended code=0 signal=0 sto");
    status_make(harness, "2.1.0", boot,
                "started pid=99999999 .\nended code=0 sig\nended code=5 signal=0 .\n");
    assert_true(harness_recover(harness, harness_id(1), true));
    assert_true(harness_recover(harness, harness_id(2), true));
    const struct engine_outcome *end = harness_outcome(harness, 1, 0);
    assert_int_equal(end->kind, ENGINE_LOST);
    assert_string_equal(end->reason, "supervisor killed");
    assert_int_equal(harness_outcome(harness, 2, 0)->exit_code, 5);
}

static void after_a_restart_of_the_machine_all_is_lost_but_ends(void **state)
{
    (void)state;
    AUTO(harness) struct harness *harness = harness_create(true);
    AUTO_FREE char *boot = harness_path(harness, "run/boot");

    assert_int_equal(file_replace(boot, "another", 7, NULL), 0);
    status_make(harness, "1.1.0", "another", "started pid=1 .\n");
    status_make(harness, "2.1.0", "another", "started pid=1 .\nended code=0 signal=0 .\n");
    for (int round = 0; round < 2; round++) {
        harness_close(harness);
        harness->outcomes.count = 0;
        harness_open(harness);
        for (uint64_t job = 1; job <= 3; job++)
            assert_true(harness_recover(harness, harness_id(job), job < 3));
        assert_string_equal(harness_end(harness, 1)->reason, "the node restarted");
        assert_int_equal(harness_end(harness, 2)->kind, ENGINE_ENDED);
        assert_string_equal(harness_end(harness, 3)->reason, "the node restarted");
        assert_int_equal(harness_end(harness, 3)->kind, ENGINE_LOST);
    }
}

/* Both must have been recorded, or recover() would have been asked for them. */
static void files_nobody_asks_for_go_with_the_first_start(void **state)
{
    (void)state;
    AUTO(harness) struct harness *harness = harness_create(true);
    AUTO_FREE char *old = harness_path(harness, "run/8.1.0");
    AUTO_FREE char *temporary = harness_path(harness, "run/9.1.0.new.77");
    struct engine_launch launch = harness_launch(harness, 1, "true");

    status_make(harness, "8.1.0", "another", "ended code=0 signal=0 .\n");
    status_make(harness, "9.1.0.new.77", "another", "");
    harness_start(harness, &launch);
    assert_int_equal(access(old, F_OK), -1);
    assert_int_equal(access(temporary, F_OK), -1);
    assert_int_equal(harness_end(harness, 1)->exit_code, 0);
}

/* MOUNT/tarn/KEY of the job that wrote its /proc/self/cgroup to STATE/groups, or NULL. */
static char *folder_of_groups(struct harness *harness)
{
    AUTO_FREE char *path = harness_path(harness, "groups");
    AUTO_FREE char *groups = harness_read(harness, 1, path);
    AUTO_RELEASE(text) struct text mounts = { 0 };
    struct cgroup_mount mount;

    assert_int_equal(file_read("/proc/self/mountinfo", 1024 * 1024, &mounts, NULL), 0);
    cgroup_find_mount(text_string(&mounts), groups, "", &mount);
    char *folder = mount.own ? mem_string(mount.own) : NULL;
    char *member = folder ? strstr(folder, "/1.1.0") : NULL;
    cgroup_mount_release(&mount);
    if (member)
        *member = '\0';
    return folder;
}

static const char to_groups[] = "cat /proc/self/cgroup > groups; echo $$ > pid; exec sleep 1000";

/* Skips the test where no control group may be used. */
static struct harness *begin_in_groups(void)
{
    struct harness *harness = harness_create(false);

    if (harness->engine->abilities.isolation.processes != ISOLATION_ISOLATED) {
        print_message("no control group that we may use\n");
        harness_destroy(harness); /* skip() leaves by a jump */
        skip();
    }
    struct engine_launch launch = harness_launch(harness, 1, to_groups);
    harness_start(harness, &launch);
    harness_number(harness, "pid");
    return harness;
}

static void the_last_shim_removes_the_folder_of_groups(void **state)
{
    (void)state;
    AUTO(harness) struct harness *harness = begin_in_groups();
    pid_t shim = harness_shim(harness, 1);
    AUTO_FREE char *folder = folder_of_groups(harness);
    harness_close(harness);
    assert_int_equal(access(folder, F_OK), 0);
    kill(shim, SIGINT);
    until_gone(harness, shim);
    assert_int_equal(access(folder, F_OK), -1);
    harness_open(harness);
    assert_true(harness_recover(harness, harness_id(1), true));
    assert_int_equal(access(folder, F_OK), 0);
    harness_close(harness);
    assert_int_equal(access(folder, F_OK), -1);
    harness_open(harness);
}

static bool is_absent(void *user)
{
    return access(user, F_OK) < 0;
}

static void a_start_removes_the_empty_groups_of_unknown_attempts(void **state)
{
    (void)state;
    AUTO(harness) struct harness *harness = begin_in_groups();
    AUTO_FREE char *folder = folder_of_groups(harness);
    AUTO_FREE char *known = mem_printf("%s/1.1.0", folder);
    AUTO_FREE char *unknown = mem_printf("%s/77.1.0", folder);
    harness_close(harness);
    assert_int_equal(folder_make(unknown, 0755, NULL), 0);
    harness_open(harness);
    assert_true(harness_recover(harness, harness_id(1), true));
    harness_until(harness, is_absent, unknown);
    assert_int_equal(access(known, F_OK), 0);
}

static void a_memory_limit_is_kept_and_told(void **state)
{
    (void)state;
    AUTO(harness) struct harness *harness = harness_create(false);
    const char *argv[] = { "tail", "/dev/zero", NULL };
    struct engine_launch launch = harness_command(harness, 1, argv);

    if (harness->engine->abilities.isolation.memory != ISOLATION_ISOLATED) {
        print_message("no memory controller that we may use\n");
        harness_destroy(TAKE(harness)); /* skip() leaves by a jump */
        skip();
    }
    launch.memory_mib = 32;
    harness_start(harness, &launch);
    assert_int_equal(harness_outcome(harness, 1, 0)->isolation.memory, ISOLATION_ISOLATED);
    const struct engine_outcome *end = harness_end(harness, 1);
    assert_int_equal(end->signal, SIGKILL);
    assert_true(end->was_oom);
    assert_false(end->was_stopped || end->was_killed);
    assert_true(end->memory_kib_max <= 40 * 1024);
}

static void a_cpu_limit_is_set_where_there_is_one(void **state)
{
    (void)state;
    AUTO(harness) struct harness *harness = harness_create(false);
    struct engine_launch launch = harness_launch(harness, 1, "cat /proc/self/cgroup");

    if (harness->engine->abilities.isolation.cpu != ISOLATION_ISOLATED) {
        print_message("no CPU controller that we may use\n");
        harness_destroy(TAKE(harness)); /* skip() leaves by a jump */
        skip();
    }
    launch.cpu_milli = 500;
    harness_start(harness, &launch);
    assert_int_equal(harness_outcome(harness, 1, 0)->isolation.cpu, ISOLATION_ISOLATED);
    assert_int_equal(harness_end(harness, 1)->exit_code, 0);
    AUTO_FREE char *log = harness_read(harness, 1, NULL);
    assert_non_null(strstr(log, "/1.1.0\n"));
}

static void what_is_not_limited_is_not_called_so(void **state)
{
    (void)state;
    AUTO(harness) struct harness *harness = harness_create(true);
    struct engine_launch launch = harness_launch(harness, 1, "true");

    launch.memory_mib = 64;
    launch.cpu_milli = 500;
    harness_start(harness, &launch);
    struct engine_isolation isolation = harness_outcome(harness, 1, 0)->isolation;
    assert_int_equal(isolation.processes, ISOLATION_WATCHED);
    assert_int_equal(isolation.cpu, ISOLATION_ACCOUNTED);
    assert_int_equal(isolation.memory, ISOLATION_ACCOUNTED);
    assert_int_equal(isolation.gpu, ISOLATION_ACCOUNTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(term_is_heard),
        BOTH(a_signal_is_passed_on),
        BOTH(who_ignores_term_is_killed),
        cmocka_unit_test(a_later_stop_may_shorten_the_grace),
        cmocka_unit_test(a_plain_second_kill_of_the_shim_is_at_once),
        BOTH(the_grace_is_for_the_whole_tree),
        BOTH(a_stop_during_the_start_is_kept),
        BOTH(detached_children_go_with_the_job),
        BOTH(a_killed_shim_means_lost_and_nothing_left),
        BOTH(a_shim_that_does_not_answer_is_killed_with_its_job),
        BOTH(a_shim_killed_while_nobody_looks_is_lost_too),
        BOTH(a_running_member_is_found_again),
        cmocka_unit_test(a_found_member_can_be_stopped),
        cmocka_unit_test(an_end_while_nobody_looks_is_told_once),
        cmocka_unit_test(what_never_was_leaves_no_trace),
        cmocka_unit_test(a_torn_end_is_a_loss),
        cmocka_unit_test(after_a_restart_of_the_machine_all_is_lost_but_ends),
        cmocka_unit_test(files_nobody_asks_for_go_with_the_first_start),
        cmocka_unit_test(the_last_shim_removes_the_folder_of_groups),
        cmocka_unit_test(a_start_removes_the_empty_groups_of_unknown_attempts),
        cmocka_unit_test(a_memory_limit_is_kept_and_told),
        cmocka_unit_test(a_cpu_limit_is_set_where_there_is_one),
        cmocka_unit_test(what_is_not_limited_is_not_called_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
