/* SPDX-License-Identifier: Apache-2.0 */
/* What a job prints, where it may print it, and as which user it runs. */
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/text.h"
#include "engine/local/local.h"
#include "harness.h"
#include "io/file.h"

static void output_goes_to_its_file(void **state)
{
    (void)state;
    AUTO(harness) struct harness *harness = harness_create(false);
    struct engine_launch launch = harness_launch(harness, 1, "echo one; echo two >&2; pwd");
    AUTO_FREE char *expected = mem_printf("one\ntwo\n%s\n", harness->state_dir);

    harness_start(harness, &launch);
    harness_end(harness, 1);
    AUTO_FREE char *log = harness_read(harness, 1, NULL);
    assert_string_equal(log, expected);
}

static void errors_go_to_theirs(void **state)
{
    (void)state;
    AUTO(harness) struct harness *harness = harness_create(false);
    struct engine_launch launch = harness_launch(harness, 1, "echo one; echo two >&2; cat");
    AUTO_FREE char *errors = harness_path(harness, "errors");
    AUTO_FREE char *input = harness_path(harness, "input");
    struct stat info;

    assert_int_equal(file_replace(input, "three\n", 6, NULL), 0);
    assert_int_equal(chmod(input, 0644), 0);
    launch.error = errors;
    launch.input = input;
    launch.umask = 077;
    harness_start(harness, &launch);
    harness_end(harness, 1);
    AUTO_FREE char *log = harness_read(harness, 1, NULL);
    AUTO_FREE char *error_log = harness_read(harness, 0, errors);
    assert_string_equal(log, "one\nthree\n");
    assert_string_equal(error_log, "two\n");
    assert_int_equal(stat(errors, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
}

/* Nothing writes to it: it opens at once, and is at its end. The job may wait at its input as ever.
 */
static void a_fifo_as_input_does_not_hold_the_start(void **state)
{
    (void)state;
    AUTO(harness) struct harness *harness = harness_create(false);
    struct engine_launch launch =
        harness_launch(harness, 1, "cat; sed -n 's/^flags:.//p' /proc/self/fdinfo/0");
    AUTO_FREE char *input = harness_path(harness, "input");

    assert_int_equal(mkfifo(input, 0644), 0);
    launch.input = input;
    harness_start(harness, &launch);
    assert_int_equal(harness_end(harness, 1)->exit_code, 0);
    AUTO_FREE char *flags = harness_read(harness, 1, NULL);
    assert_int_equal(flags[0], '0');
    assert_int_equal(strtol(flags, NULL, 8) & (O_NONBLOCK | O_ACCMODE), O_RDONLY);
}

enum { KEY_FOUND = 10, KEY_MISSING = 11 };

static const char key_name[] = "tarn-test-key";

static long key_find(void)
{
    return syscall(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user", key_name, 0);
}

static void keys_of_the_daemon_are_not_the_jobs(void **state)
{
    (void)state;
    char self[512] = "";
    const char *argv[] = { self, "find-key", NULL };

    if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 ||
        syscall(SYS_add_key, "user", key_name, "x", 1, KEY_SPEC_SESSION_KEYRING) < 0) {
        print_message("no keys here: %s\n", strerror(errno));
        skip();
    }
    AUTO(harness) struct harness *harness = harness_create(false);
    assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
    struct engine_launch launch = harness_command(harness, 1, argv);
    assert_true(key_find() > 0);
    harness_start(harness, &launch);
    assert_int_equal(harness_end(harness, 1)->exit_code, KEY_MISSING);
    assert_true(key_find() > 0);
}

static void what_is_there_is_kept_only_when_asked(void **state)
{
    (void)state;
    AUTO(harness) struct harness *harness = harness_create(false);
    AUTO_FREE char *path = harness_path(harness, "log");
    static const struct {
        bool append;
        const char *text;
    } cases[] = { { false, "hi\n" }, { true, "hi\nhi\n" }, { false, "hi\n" } };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct engine_launch launch = harness_launch(harness, i + 1, "echo hi");

        launch.output = path;
        launch.append = cases[i].append;
        harness_start(harness, &launch);
        harness_end(harness, i + 1);
        AUTO_FREE char *log = harness_read(harness, 0, path);
        assert_string_equal(log, cases[i].text);
    }
}

static void a_long_log_is_rotated_at_whole_lines(void **state)
{
    (void)state;
    AUTO(harness) struct harness *harness = harness_create(false);
    size_t total = 0;

    harness_close(harness);
    harness->output_keep = 2;
    harness_open(harness);
    struct engine_launch launch = harness_launch(
        harness, 1, "i=100; while [ $i -lt 400 ]; do echo line $i; i=$((i+1)); done");
    launch.output_bytes_max = 1000;
    harness_start(harness, &launch);
    assert_int_equal(harness_end(harness, 1)->exit_code, 0);
    static const char *const names[] = { "1.log.2", "1.log.1", "1.log" };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        AUTO_FREE char *path = harness_path(harness, names[i]);
        AUTO_FREE char *log = harness_read(harness, 0, path);

        assert_in_range(strlen(log), 9, 1000);
        assert_int_equal(strlen(log) % 9, 0);
        total += strlen(log);
        if (i == 2)
            assert_string_equal(log + strlen(log) - 9, "line 399\n");
    }
    assert_true(total > 1000);
    AUTO_FREE char *older = harness_path(harness, "1.log.3");
    assert_int_equal(access(older, F_OK), -1);
}

static void much_output_arrives_whole(void **state)
{
    (void)state;
    AUTO(harness) struct harness *harness = harness_create(false);
    struct engine_launch launch = harness_launch(harness, 1, "head -c 8000000 /dev/zero");
    struct stat info;

    harness_start(harness, &launch);
    assert_int_equal(harness_end(harness, 1)->exit_code, 0);
    assert_int_equal(stat(launch.output, &info), 0);
    assert_int_equal(info.st_size, 8000000);
}

static void a_log_with_one_endless_line_keeps_its_limit(void **state)
{
    (void)state;
    AUTO(harness) struct harness *harness = harness_create(false);
    struct engine_launch launch = harness_launch(harness, 1, "head -c 100000 /dev/zero");
    struct stat info;

    launch.output_bytes_max = 3000;
    harness_start(harness, &launch);
    assert_int_equal(harness_end(harness, 1)->exit_code, 0);
    assert_int_equal(stat(launch.output, &info), 0);
    assert_in_range(info.st_size, 1, 3000);
    AUTO_FREE char *rotated = harness_path(harness, "1.log.1");
    assert_int_equal(stat(rotated, &info), 0);
    assert_in_range(info.st_size, 1, 3000);
}

static void an_output_that_cannot_be_written_is_told(void **state)
{
    static const struct {
        const char *path, *text;
    } cases[] = {
        { "/nope/out", "output not writable: /nope/out: no such file or directory" },
        { "/tmp", "output not writable: /tmp: is a directory" },
    };
    (void)state;
    AUTO(harness) struct harness *harness = harness_create(false);

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct engine_launch launch = harness_launch(harness, i + 1, "echo run > ran");

        launch.output = cases[i].path;
        harness_start(harness, &launch);
        const struct engine_outcome *end = harness_outcome(harness, i + 1, 0);
        assert_int_equal(end->kind, ENGINE_FAILED);
        assert_string_equal(end->reason, cases[i].text);
    }
    AUTO_FREE char *ran = harness_path(harness, "ran");
    assert_int_equal(access(ran, F_OK), -1);
}

static void a_fifo_that_nobody_reads_is_no_output(void **state)
{
    (void)state;
    AUTO(harness) struct harness *harness = harness_create(false);
    AUTO_FREE char *fifo = harness_path(harness, "fifo");
    struct engine_launch launch = harness_launch(harness, 1, "true");

    assert_int_equal(mkfifo(fifo, 0666), 0);
    launch.output = fifo;
    harness_start(harness, &launch);
    assert_true(string_starts(harness_end(harness, 1)->reason, "output not writable: "));
}

static bool skip_unless_root(void)
{
    if (geteuid() == 0)
        return false;
    print_message("needs root\n");
    return true;
}

static void tmpfs_mount(struct harness *harness, const char *name, const char *options, char **ret)
{
    char *path = harness_path(harness, name);

    mkdir(path, 0755);
    if (mount("tmpfs", path, "tmpfs", 0, options) < 0) {
        print_message("no tmpfs: %s\n", strerror(errno));
        mem_resize(path, 0, 1);
        skip();
    }
    *ret = path;
}

static void a_full_disk_takes_output_but_not_the_job(void **state)
{
    (void)state;
    if (skip_unless_root())
        skip();
    AUTO(harness) struct harness *harness = harness_create(false);
    AUTO_FREE char *disk = NULL;
    struct engine_launch launch = harness_launch(
        harness, 1,
        "head -c 200000 /dev/zero && echo 1 > wrote; while [ ! -s go ]; do sleep 0.01; done; "
        "echo again; exit 5");

    tmpfs_mount(harness, "disk", "size=64k", &disk);
    AUTO_FREE char *log_path = mem_printf("%s/log", disk);
    launch.output = log_path;
    harness_start(harness, &launch);
    assert_int_equal(harness_number(harness, "wrote"), 1);
    assert_int_equal(harness_count(harness, 1), 1);
    pid_t shim = harness_shim(harness, 1);
    AUTO_FREE char *go = harness_path(harness, "go");
    assert_int_equal(truncate(log_path, 0), 0);
    assert_int_equal(file_replace(go, "1\n", 2, NULL), 0);
    assert_int_equal(harness_end(harness, 1)->exit_code, 5);
    AUTO_FREE char *log = harness_read(harness, 0, log_path);
    assert_true(string_starts(log, "\ntarn: "));
    assert_non_null(
        strstr(log, " bytes of output were lost here: no space left on device\nagain\n"));
    until_gone(harness, shim); /* it has the log open */
    assert_int_equal(umount(disk), 0);
}

/* The room for the end was taken at the start; without it, the start waits. */
static void a_full_state_disk_still_takes_the_end(void **state)
{
    (void)state;
    if (skip_unless_root())
        skip();
    AUTO(harness) struct harness *harness = harness_create(false);
    AUTO_FREE char *run = NULL;

    harness_close(harness);
    tmpfs_mount(harness, "run", "size=64k", &run);
    harness_open(harness);
    struct engine_launch launch = harness_launch(
        harness, 1, "echo 1 > ready; while [ ! -s go ]; do sleep 0.01; done; exit 8");
    harness_start(harness, &launch);
    harness_number(harness, "ready");
    AUTO_FREE char *fill = mem_printf("cat /dev/zero > %s/fill 2> /dev/null", run);
    assert_int_not_equal(system(fill), 0);
    struct engine_launch second = harness_launch(harness, 2, "echo 2 > ran");
    harness_start(harness, &second);
    harness_turn(harness, 5);
    assert_int_equal(harness_count(harness, 2), 0);
    AUTO_FREE char *filler = mem_printf("%s/fill", run);
    assert_int_equal(unlink(filler), 0);
    assert_int_equal(harness_number(harness, "ran"), 2);
    assert_int_equal(harness_end(harness, 2)->exit_code, 0);
    assert_int_not_equal(system(fill), 0);
    harness_close(harness);
    AUTO_FREE char *go = harness_path(harness, "go");
    pid_t shim = harness_shim(harness, 1);
    assert_int_equal(file_replace(go, "1\n", 2, NULL), 0);
    until_gone(harness, shim);
    harness_open(harness);
    harness->outcomes.count = 0;
    assert_true(harness_recover(harness, harness_id(1), true));
    assert_int_equal(harness_end(harness, 1)->exit_code, 8);
    harness_close(harness);
    assert_int_equal(umount(run), 0);
    harness->outcomes.count = 0;
}

static void a_job_runs_as_its_user(void **state)
{
    (void)state;
    if (skip_unless_root())
        skip();
    AUTO(harness) struct harness *harness = harness_create(false);
    struct engine_launch launch = harness_launch(
        harness, 1, "id -u; id -g; id -G; grep -E 'NoNewPrivs|CapEff' /proc/self/status");
    const struct passwd *nobody = getpwnam("nobody");

    assert_non_null(nobody);
    AUTO_FREE char *home = harness_path(harness, "home");
    AUTO_FREE char *log_path = mem_printf("%s/log", home);
    assert_int_equal(mkdir(home, 0700), 0);
    assert_int_equal(chown(home, nobody->pw_uid, nobody->pw_gid), 0);
    launch.uid = nobody->pw_uid;
    launch.gid = nobody->pw_gid;
    launch.cwd = home;
    launch.output = log_path;
    harness_start(harness, &launch);
    harness_end(harness, 1);
    AUTO_FREE char *log = harness_read(harness, 0, log_path);
    AUTO_FREE char *expected = mem_printf("%u\n%u\n%u\nCapEff:\t0000000000000000\nNoNewPrivs:\t1\n",
                                          nobody->pw_uid, nobody->pw_gid, nobody->pw_gid);
    assert_string_equal(log, expected);
    struct stat info;
    assert_int_equal(stat(log_path, &info), 0);
    assert_int_equal(info.st_uid, nobody->pw_uid);
    assert_int_equal(info.st_gid, nobody->pw_gid);
}

/* Root's shim opens files, but only those that the user may. */
static void a_user_reaches_nothing_through_root(void **state)
{
    (void)state;
    if (skip_unless_root())
        skip();
    AUTO(harness) struct harness *harness = harness_create(false);
    AUTO_FREE char *secret = harness_path(harness, "secret");
    AUTO_FREE char *link_path = harness_path(harness, "open/link");
    AUTO_FREE char *folder = harness_path(harness, "open");
    AUTO_FREE char *closed = harness_path(harness, "closed");

    assert_int_equal(file_replace(secret, "secret\n", 7, NULL), 0);
    assert_int_equal(mkdir(folder, 0777), 0);
    assert_int_equal(chmod(folder, 0777), 0);
    assert_int_equal(mkdir(closed, 0700), 0);
    assert_int_equal(symlink(secret, link_path), 0);
    AUTO_FREE char *good = mem_printf("%s/good", folder);
    struct {
        const char *output, *input, *cwd, *reason;
    } cases[] = {
        { secret, NULL, "/", "output not writable: %s: permission denied" },
        { link_path, NULL, "/", "output not writable: %s: permission denied" },
        { "/proc/sys/kernel/printk_ratelimit", NULL, "/",
          "output not writable: %s: permission denied" },
        { good, secret, "/", "input not readable: %s: permission denied" },
        { good, NULL, closed, "working directory not usable: %s: permission denied" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct engine_launch launch = harness_launch(harness, i + 1, "true");
        char expected[160];

        launch.uid = launch.gid = 65534;
        launch.output = cases[i].output;
        launch.input = cases[i].input;
        launch.cwd = cases[i].cwd;
        harness_start(harness, &launch);
        const char *what = cases[i].input ? secret : cases[i].output;
        if (cases[i].cwd == closed)
            what = closed;
        AUTO_FREE char *reason = mem_string(cases[i].reason);
        *strstr(reason, "%s") = '\0';
        snprintf(expected, sizeof(expected), "%s%s%s", reason, what,
                 strstr(cases[i].reason, "%s") + 2);
        assert_string_equal(harness_end(harness, i + 1)->reason, expected);
    }
    AUTO_FREE char *kept = harness_read(harness, 0, secret);
    assert_string_equal(kept, "secret\n");
}

static void rotation_is_done_as_the_user_too(void **state)
{
    (void)state;
    if (skip_unless_root())
        skip();
    AUTO(harness) struct harness *harness = harness_create(false);
    AUTO_FREE char *log_path = harness_path(harness, "log");
    AUTO_FREE char *rotated = harness_path(harness, "log.1");
    struct engine_launch launch =
        harness_launch(harness, 1, "for i in 1 2 3 4; do head -c 3000 /dev/zero; sleep 0.02; done");
    struct stat info;

    /* The user owns the file, but not the folder: nothing may be renamed there. */
    assert_int_equal(file_replace(log_path, "", 0, NULL), 0);
    assert_int_equal(chown(log_path, 65534, 65534), 0);
    launch.uid = launch.gid = 65534;
    launch.cwd = "/";
    launch.output = log_path;
    launch.output_bytes_max = 1000;
    harness_start(harness, &launch);
    assert_int_equal(harness_end(harness, 1)->exit_code, 0);
    assert_int_equal(access(rotated, F_OK), -1);
    assert_int_equal(stat(log_path, &info), 0);
    assert_int_equal(info.st_size, 1000);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "find-key") == 0)
        return key_find() > 0 ? KEY_FOUND : KEY_MISSING;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_goes_to_its_file),
        cmocka_unit_test(errors_go_to_theirs),
        cmocka_unit_test(a_fifo_as_input_does_not_hold_the_start),
        cmocka_unit_test(keys_of_the_daemon_are_not_the_jobs),
        cmocka_unit_test(what_is_there_is_kept_only_when_asked),
        cmocka_unit_test(a_long_log_is_rotated_at_whole_lines),
        cmocka_unit_test(much_output_arrives_whole),
        cmocka_unit_test(a_log_with_one_endless_line_keeps_its_limit),
        cmocka_unit_test(an_output_that_cannot_be_written_is_told),
        cmocka_unit_test(a_fifo_that_nobody_reads_is_no_output),
        cmocka_unit_test(a_full_disk_takes_output_but_not_the_job),
        cmocka_unit_test(a_full_state_disk_still_takes_the_end),
        cmocka_unit_test(a_job_runs_as_its_user),
        cmocka_unit_test(a_user_reaches_nothing_through_root),
        cmocka_unit_test(rotation_is_done_as_the_user_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
