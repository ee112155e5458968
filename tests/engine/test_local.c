/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of a member, told exactly once and in words. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/text.h"
#include "engine/local/local.h"
#include "engine/local/shim_launch.h"
#include "harness.h"
#include "io/child.h"
#include "io/file.h"
#include "shim/shim_order.h"

static void an_exit_status_comes_back(void **state)
{
    (void)state;
    AUTO(harness) struct harness *harness = harness_begin(false, "exit 7");
    assert_int_equal(harness_outcome(harness, 1, 0)->kind, ENGINE_STARTED);
    const struct engine_outcome *end = harness_outcome(harness, 1, 1);
    assert_int_equal(end->kind, ENGINE_ENDED);
    assert_int_equal(end->exit_code, 7);
    assert_int_equal(end->signal, 0);
    assert_false(end->was_stopped || end->was_killed || end->was_oom);
    assert_true(end->memory_kib_max > 0);
    harness_turn(harness, 10);
    assert_int_equal(harness_count(harness, 1), 2);
}

static void a_signal_comes_back(void **state)
{
    (void)state;
    AUTO(harness) struct harness *harness = harness_begin(false, "kill -SEGV $$");
    const struct engine_outcome *end = harness_end(harness, 1);
    assert_int_equal(end->kind, ENGINE_ENDED);
    assert_int_equal(end->exit_code, -1);
    assert_int_equal(end->signal, 11);
    assert_false(end->was_stopped);
}

static void file_make(struct harness *harness, const char *name, const char *text, mode_t mode)
{
    AUTO_FREE char *path = harness_path(harness, name);

    assert_int_equal(file_replace(path, text, strlen(text), NULL), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static void a_start_that_fails_says_why(void **state)
{
    static const struct {
        const char *command;
        const char *cwd;
        const char *input;
        const char *text;
    } cases[] = {
        { "/bin/nope", NULL, NULL, "no such file: /bin/nope" },
        { "nope-nope", NULL, NULL, "command not found: nope-nope" },
        { "./plain", NULL, NULL, "not executable: ./plain" },
        { "./script", NULL, NULL, "bad interpreter: /nope for ./script" },
        { "./lame", NULL, NULL, "bad interpreter: ./plain for ./lame" },
        { "./words", NULL, NULL,
          "not a program: ./words (no #! line, or another kind of machine)" },
        { "/tmp", NULL, NULL, "is a directory: /tmp" },
        { "", NULL, NULL, "no command: the first argument is empty" },
        { "/plain/x", NULL, NULL, "no such file: /plain/x" },
        { "/no\033[1m\302\2331m\303\251", NULL, NULL, "no such file: /no?[1m??1m\303\251" },
        { "true", "/nope/dir", NULL, "working directory missing: /nope/dir" },
        { "true", "/etc/passwd", NULL,
          "working directory not usable: /etc/passwd: not a directory" },
        { "true", NULL, "/nope/in", "input not readable: /nope/in: no such file or directory" },
    };
    (void)state;
    AUTO(harness) struct harness *harness = harness_create(false);

    file_make(harness, "plain", "echo\n", 0644);
    file_make(harness, "script", "#! /nope -x\n", 0755);
    file_make(harness, "lame", "#!./plain\n", 0755);
    file_make(harness, "words", "hello\n", 0755);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *argv[] = { cases[i].command, NULL };
        struct engine_launch launch = harness_command(harness, i + 1, argv);

        if (cases[i].cwd)
            launch.cwd = cases[i].cwd;
        launch.input = cases[i].input;
        harness_start(harness, &launch);
        const struct engine_outcome *end = harness_outcome(harness, i + 1, 0);
        assert_string_equal(end->reason, cases[i].text);
        assert_int_equal(end->kind, ENGINE_FAILED);
    }
    harness_turn(harness, 10);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(harness_count(harness, i + 1), 1);
}

static void a_launch_that_makes_no_sense_is_refused(void **state)
{
    (void)state;
    AUTO(harness) struct harness *harness = harness_create(false);
    struct engine_launch launch = harness_launch(harness, 1, "true");
    struct error err;

    launch.output = "out";
    assert_int_equal(harness->engine->ops->start(harness->engine, &launch, 1, &err), -EINVAL);
    assert_string_equal(err.text, "job 1.1.0: output out: not an absolute path");
    launch = harness_launch(harness, 1, "true");
    launch.cwd = NULL;
    assert_int_equal(harness->engine->ops->start(harness->engine, &launch, 1, &err), -EINVAL);
    assert_string_equal(err.text, "job 1.1.0: working directory (none): not an absolute path");
    launch = harness_launch(harness, 1, "true");
    launch.argv = (const char *const[]){ NULL };
    assert_int_equal(harness->engine->ops->start(harness->engine, &launch, 1, &err), -EINVAL);
    assert_string_equal(err.text, "job 1.1.0: no command to start");
    AUTO_FREE char *huge = mem_zero(1, 9 * 1024 * 1024);
    memset(huge, 'x', 9 * 1024 * 1024 - 1);
    launch = harness_launch(harness, 1, huge);
    assert_int_equal(harness->engine->ops->start(harness->engine, &launch, 1, &err), -E2BIG);
    assert_true(string_starts(err.text, "job 1.1.0: arguments and environment: 94"));
    assert_int_equal(harness_count(harness, 1), 0);
}

static void too_long_arguments_are_told_as_that(void **state)
{
    (void)state;
    AUTO(harness) struct harness *harness = harness_create(false);
    AUTO_FREE char *argument = mem_zero(1, 300 * 1024);
    const char *argv[] = { "/bin/true", argument, NULL };
    struct engine_launch launch = harness_command(harness, 1, argv);

    memset(argument, 'x', 300 * 1024 - 1);
    harness_start(harness, &launch);
    assert_string_equal(harness_end(harness, 1)->reason,
                        "arguments and environment too long for /bin/true");
}

static void the_environment_is_the_jobs_alone(void **state)
{
    (void)state;
    AUTO(harness) struct harness *harness = harness_create(false);
    const char *argv[] = { "env", NULL };
    const char *envp[] = { "A=b c", "PATH=/usr/bin:/bin", NULL };
    struct engine_launch launch = harness_command(harness, 1, argv);

    launch.envp = envp;
    harness_start(harness, &launch);
    assert_int_equal(harness_end(harness, 1)->exit_code, 0);
    AUTO_FREE char *log = harness_read(harness, 1, NULL);
    assert_true(string_starts(log, "TARN_MEMBER="));
    assert_non_null(strstr(log, "/1.1.0\nA=b c\nPATH=/usr/bin:/bin\n"));
}

static void the_path_of_the_job_is_searched(void **state)
{
    (void)state;
    AUTO(harness) struct harness *harness = harness_create(false);
    const char *argv[] = { "mine", NULL };
    AUTO_FREE char *path = mem_printf("PATH=/nope:%s", harness->state_dir);
    const char *envp[] = { path, NULL };
    struct engine_launch launch = harness_command(harness, 1, argv);

    file_make(harness, "mine", "#!/bin/sh\nexit 5\n", 0755);
    launch.envp = envp;
    harness_start(harness, &launch);
    assert_int_equal(harness_end(harness, 1)->exit_code, 5);
}

static void no_descriptor_and_no_mask_is_inherited(void **state)
{
    (void)state;
    AUTO(harness) struct harness *harness = harness_create(false);

    harness_close(harness);
    harness->nofile_max = 77;
    harness_open(harness);
    struct engine_launch launch = harness_launch(
        harness, 1,
        "ls /proc/self/fd | tr '\\n' ' '; grep -E '^(SigBlk|SigIgn|NoNewPrivs)' /proc/self/status; "
        "[ $(cut -d' ' -f6 /proc/$$/stat) = $$ ] && echo leader; "
        "ulimit -n; umask");

    launch.umask = 027;
    harness_start(harness, &launch);
    harness_end(harness, 1);
    AUTO_FREE char *log = harness_read(harness, 1, NULL);
    assert_string_equal(log, "0 1 2 3 SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"
                             "NoNewPrivs:\t1\nleader\n77\n0027\n");
}

static void the_user_and_the_groups_are_ordered(void **state)
{
    static const uint32_t groups[] = { 77, 100 };
    static const struct {
        struct engine_launch launch;
        const char *order;
    } cases[] = {
        { { .uid = 4000000000, .gid = 77 }, "uid|4000000000|gid|77|groups|77|" },
        { { .uid = 5, .gid = 77, .groups = groups, .group_count = 2 },
          "uid|5|gid|77|groups|77,100|" },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_RELEASE(text) struct text order = { 0 };

        launch_add_user(&order, &cases[i].launch);
        for (size_t k = 0; k < order.length; k++) {
            if (order.bytes[k] == '\0')
                order.bytes[k] = '|';
        }
        assert_string_equal(text_string(&order), cases[i].order);
    }
}

/* It could only run with the rights of our own user. */
static void without_root_no_job_of_another_user_starts(void **state)
{
    (void)state;
    AUTO(harness) struct harness *harness = harness_create(true);
    harness_close(harness);
    harness->is_unprivileged = true;
    harness_open(harness);
    struct engine_launch launch = harness_launch(harness, 1, "exit 3");
    struct error err = { "" };

    for (unsigned i = 0; i < 2; i++) {
        launch.uid = i == 0 ? geteuid() + 1 : UINT32_MAX - 1;
        assert_int_equal(harness->engine->ops->start(harness->engine, &launch, 1, &err), -EPERM);
        assert_non_null(strstr(err.text, "tarn does not run as root here and runs jobs of user "));
    }
    launch.uid = geteuid();
    harness_start(harness, &launch);
    assert_int_equal(harness_outcome(harness, 1, 1)->exit_code, 3);
}

static bool shim_has_exited(void *user)
{
    siginfo_t info = { .si_pid = 0 };
    const int *pidfd = user;

    return waitid(P_PIDFD, (id_t)*pidfd, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid != 0;
}

/* How a shim leaves that gets the smallest whole order, and this key besides. */
static int order_exit(struct harness *harness, const char *key, const char *value)
{
    AUTO_RELEASE(text) struct text order = { 0 };
    struct error err = { "" };
    int pidfd = -1, status = 0;
    int fds[] = { fd_raise(memfd_create("order", MFD_CLOEXEC)),
                  fd_raise(open("/dev/null", O_WRONLY | O_CLOEXEC)),
                  fd_raise(open("/dev/null", O_WRONLY | O_CLOEXEC)) };
    char *argv[] = { (char *)"tarn-shim", NULL };
    struct child_plan plan = { .path = getenv("TARN_SHIM"),
                               .argv = argv,
                               .envp = argv + 1,
                               .fds = fds,
                               .fd_count = COUNT_OF(fds) };

    launch_add(&order, ORDER_ID, "1.1.0");
    launch_add(&order, ORDER_STATUS, "%s/%s-%s", harness->state_dir, key, value);
    launch_add(&order, ORDER_CWD, "/");
    launch_add(&order, ORDER_OUTPUT, "/dev/null");
    launch_add(&order, ORDER_ARG, "/bin/true");
    launch_add(&order, key, "%s", value);
    assert_int_equal(write(fds[0], order.bytes, order.length), (ssize_t)order.length);
    if (child_start(&plan, &pidfd, &err) < 0)
        fail_msg("%s", err.text);
    harness_until(harness, shim_has_exited, &pidfd);
    assert_true(child_reap(pidfd, &status));
    close(pidfd);
    for (size_t i = 0; i < COUNT_OF(fds); i++)
        close(fds[i]);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* To the kernel 4294967295 is "no change", and 4294967296 would be cut to 0. */
static void an_order_for_nobodys_number_is_refused(void **state)
{
    static const char *const keys[] = { ORDER_UID, ORDER_GID };
    static const char *const numbers[] = { "4294967295", "4294967296", "18446744073709551615",
                                           "-1" };
    (void)state;
    AUTO(harness) struct harness *harness = harness_create(false);

    assert_int_equal(order_exit(harness, ORDER_GID, "4294967294"), SHIM_EXIT_DONE);
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        for (size_t k = 0; k < COUNT_OF(numbers); k++)
            assert_int_equal(order_exit(harness, keys[i], numbers[k]), SHIM_EXIT_ORDER);
    }
}

static void starting_twice_runs_once(void **state)
{
    (void)state;
    AUTO(harness) struct harness *harness = harness_create(false);
    struct engine_launch launch = harness_launch(harness, 1, "echo run >> count; sleep 0.2");

    harness_start(harness, &launch);
    harness_start(harness, &launch);
    harness_end(harness, 1);
    harness_start(harness, &launch);
    harness_turn(harness, 20);
    AUTO_FREE char *path = harness_path(harness, "count");
    AUTO_FREE char *count = harness_read(harness, 0, path);
    assert_string_equal(count, "run\n");
    assert_int_equal(harness_count(harness, 1), 2);
}

/* The second engine was not told of the member, so its own start meets the first one's lock. */
static void a_start_that_another_engine_made_is_taken_over(void **state)
{
    (void)state;
    AUTO(harness) struct harness *harness = harness_create(false);
    struct engine_launch launch =
        harness_launch(harness, 1, "echo run >> count; read x < /dev/null; sleep 0.3; exit 4");

    harness_start(harness, &launch);
    assert_int_equal(harness_outcome(harness, 1, 0)->kind, ENGINE_STARTED);
    harness_close(harness);
    harness->outcomes.count = 0;
    harness_open(harness);
    harness_start(harness, &launch);
    assert_int_equal(harness_outcome(harness, 1, 0)->kind, ENGINE_STARTED);
    assert_int_equal(harness_outcome(harness, 1, 1)->exit_code, 4);
    AUTO_FREE char *path = harness_path(harness, "count");
    AUTO_FREE char *count = harness_read(harness, 0, path);
    assert_string_equal(count, "run\n");
}

static void many_trivial_jobs_all_end_once(void **state)
{
    enum { JOBS = 200 };
    (void)state;
    AUTO(harness) struct harness *harness = harness_create(false);
    const char *argv[] = { "/bin/true", NULL };

    for (uint64_t job = 1; job <= JOBS; job++) {
        struct engine_launch launch = harness_command(harness, job, argv);

        harness_start(harness, &launch);
    }
    for (uint64_t job = 1; job <= JOBS; job++) {
        const struct engine_outcome *end = harness_end(harness, job);

        assert_int_equal(end->kind, ENGINE_ENDED);
        assert_int_equal(end->exit_code, 0);
    }
    harness_turn(harness, 10);
    for (uint64_t job = 1; job <= JOBS; job++)
        assert_int_equal(harness_count(harness, job), 2);
}

static void what_is_forgotten_leaves_no_file(void **state)
{
    (void)state;
    AUTO(harness) struct harness *harness = harness_create(false);
    struct engine_launch launch = harness_launch(harness, 1, "true");
    AUTO_FREE char *path = harness_path(harness, "run/1.1.0");

    harness_start(harness, &launch);
    harness_end(harness, 1);
    assert_int_equal(access(path, F_OK), 0);
    harness_forget(harness, harness_id(1));
    assert_int_equal(access(path, F_OK), -1);
    harness_turn(harness, 10);
    assert_false(harness_recover(harness, harness_id(1), true));
}

static void a_running_member_is_not_forgotten(void **state)
{
    (void)state;
    AUTO(harness) struct harness *harness = harness_create(false);
    struct engine_launch launch = harness_launch(harness, 1, "exec sleep 60");
    AUTO_FREE char *path = harness_path(harness, "run/1.1.0");

    harness_start(harness, &launch);
    harness_outcome(harness, 1, 0);
    harness_forget(harness, harness_id(1));
    assert_int_equal(access(path, F_OK), 0);
    harness_stop(harness, harness_id(1), 0);
    assert_int_equal(harness_end(harness, 1)->signal, 9);
}

static void create_says_what_is_missing(void **state)
{
    static const struct {
        const char *state_dir, *shim_path;
        int code;
        const char *text;
    } cases[] = {
        { "/nope/state", "/bin/true", -ENOENT,
          "state folder /nope/state: No such file or directory" },
        { "/tmp", "/nope/shim", -ENOENT, "tarn-shim /nope/shim: No such file or directory" },
        { "/proc", "/bin/true", -ENOENT, "/proc/run: No such file or directory" },
    };
    (void)state;
    uv_loop_t loop;

    uv_loop_init(&loop);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct local_engine_options options = { .engine = { .loop = &loop,
                                                            .state_dir = cases[i].state_dir },
                                                .shim_path = cases[i].shim_path };
        struct engine *engine = NULL;
        struct error err;

        assert_int_equal(local_engine_create(&options, &engine, &err), cases[i].code);
        assert_string_equal(err.text, cases[i].text);
        assert_null(engine);
    }
    assert_int_equal(uv_loop_close(&loop), 0);
}

static void a_shim_of_another_version_is_told_as_that(void **state)
{
    (void)state;
    AUTO(harness) struct harness *harness = harness_create(false);
    const char *before = getenv("TARN_SHIM");
    AUTO_FREE char *kept = mem_string(before);

    file_make(harness, "other-shim", "#!/bin/sh\nexit 4\n", 0755);
    AUTO_FREE char *other = harness_path(harness, "other-shim");
    harness_close(harness);
    setenv("TARN_SHIM", other, 1);
    harness_open(harness);
    setenv("TARN_SHIM", kept, 1);
    struct engine_launch launch = harness_launch(harness, 1, "true");
    harness_start(harness, &launch);
    const struct engine_outcome *end = harness_end(harness, 1);
    assert_int_equal(end->kind, ENGINE_FAILED);
    assert_string_equal(end->reason,
                        "tarn-shim does not understand its order: it has another version");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exit_status_comes_back),
        cmocka_unit_test(a_signal_comes_back),
        cmocka_unit_test(a_start_that_fails_says_why),
        cmocka_unit_test(a_launch_that_makes_no_sense_is_refused),
        cmocka_unit_test(too_long_arguments_are_told_as_that),
        cmocka_unit_test(the_environment_is_the_jobs_alone),
        cmocka_unit_test(the_path_of_the_job_is_searched),
        cmocka_unit_test(no_descriptor_and_no_mask_is_inherited),
        cmocka_unit_test(the_user_and_the_groups_are_ordered),
        cmocka_unit_test(without_root_no_job_of_another_user_starts),
        cmocka_unit_test(an_order_for_nobodys_number_is_refused),
        cmocka_unit_test(starting_twice_runs_once),
        cmocka_unit_test(a_start_that_another_engine_made_is_taken_over),
        cmocka_unit_test(many_trivial_jobs_all_end_once),
        cmocka_unit_test(what_is_forgotten_leaves_no_file),
        cmocka_unit_test(a_running_member_is_not_forgotten),
        cmocka_unit_test(create_says_what_is_missing),
        cmocka_unit_test(a_shim_of_another_version_is_told_as_that),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
