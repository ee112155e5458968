/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job_outputs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/mem.h"
#include "daemon/cleaner.h"

enum { NOBODY = 65534 };

/* STATE/data/0/7 with outputs a and b, and 9.in, whose link a leads to the first. */
static char state_dir[] = "/tmp/outputsXXXXXX";
static char *names[] = { (char[]){ "a" }, (char[]){ "b" }, NULL };

static char *path_of(const char *name)
{
    return mem_printf("%s/%s", state_dir, name);
}

static void write_to(const char *name, const char *words)
{
    AUTO_FREE char *path = path_of(name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, words, strlen(words)), strlen(words));
    close(fd);
}

static int make(void **state)
{
    static const char *const folders[] = { "",           "data",       "data/0",     "data/0/7",
                                           "data/0/7/a", "data/0/7/b", "data/0/9.in" };
    AUTO_FREE char *target = NULL, *link = NULL;

    (void)state;
    memcpy(state_dir + strlen("/tmp/outputs"), "XXXXXX", 6);
    assert_non_null(mkdtemp(state_dir));
    for (size_t i = 1; i < COUNT_OF(folders); i++) {
        AUTO_FREE char *path = path_of(folders[i]);
        assert_int_equal(mkdir(path, 0755), 0);
    }
    target = path_of("data/0/7/a");
    link = path_of("data/0/9.in/a");
    assert_int_equal(symlink(target, link), 0);
    return 0;
}

static int clear(void **state)
{
    AUTO_FREE char *command = mem_printf("chmod -R u+rwX %s; rm -rf %s", state_dir, state_dir);

    (void)state;
    return system(command);
}

/* "": it is as it has to be. */
static char *settle(const char *id, char *const *outputs, bool is_stage, bool has_input)
{
    AUTO_FREE char *out = mem_printf("%s/data/0/%s", state_dir, id);
    AUTO_FREE char *in = mem_printf("%s.in", out);
    struct job_outputs query = {
        .out = out, .in = has_input ? in : NULL, .names = outputs, .is_stage = is_stage
    };
    struct text reason = { 0 };

    bool is_good = job_outputs_settle(&query, &reason);
    char *words = text_take(&reason);
    assert_int_equal(is_good, words[0] == '\0');
    return words;
}

static mode_t mode_of(const char *name)
{
    AUTO_FREE char *path = path_of(name);
    struct stat info;

    assert_int_equal(lstat(path, &info), 0);
    return info.st_mode & 07777;
}

static void each_output_has_to_be_there_and_not_empty(void **state)
{
    AUTO_FREE char *b = path_of("data/0/7/b");
    (void)state;

    AUTO_FREE char *empty = settle("7", names, false, false);
    assert_string_equal(empty, "output a: empty");
    write_to("data/0/7/a/x", "");
    assert_int_equal(rmdir(b), 0);
    AUTO_FREE char *missing = settle("7", names, false, false);
    assert_string_equal(missing, "output b: missing");
    write_to("data/0/7/b", "");
    AUTO_FREE char *file = settle("7", names, false, false);
    assert_string_equal(file, "output b: empty");
    write_to("data/0/7/b", "1");
    AUTO_FREE char *good = settle("7", names, false, false);
    assert_string_equal(good, "");
    assert_int_equal(mode_of("data/0/7/a") & 0200, 0200); /* no stage: nothing reads it */
}

static void outputs_of_a_stage_become_read_only(void **state)
{
    AUTO_FREE char *outside = path_of("outside"), *inside = path_of("data/0/7/a/linked");
    (void)state;

    write_to("data/0/7/a/x", "1");
    write_to("data/0/7/b/y", "1");
    write_to("data/0/7/else", "1");
    write_to("outside", "1");
    assert_int_equal(link(outside, inside), 0);
    AUTO_FREE char *good = settle("7", names, true, false);
    assert_string_equal(good, "");
    assert_int_equal(mode_of("data/0/7/a"), 0555);
    assert_int_equal(mode_of("data/0/7/a/x"), 0444);
    assert_int_equal(mode_of("data/0/7"), 0500);
    assert_int_equal(mode_of("outside"), 0644); /* has another name elsewhere */
    assert_int_equal(mode_of("data/0/7/else"), 0644);
}

static void root_is_found_to_have_changed_an_input(void **state)
{
    char *none[] = { NULL };
    AUTO_FREE char *x = path_of("data/0/7/a/x");
    (void)state;

    if (geteuid() != 0)
        skip();
    write_to("data/0/7/a/x", "1");
    write_to("data/0/7/b/y", "1");
    AUTO_FREE char *good = settle("7", names, true, false);
    assert_string_equal(good, "");
    AUTO_FREE char *same = settle("9", none, false, true);
    assert_string_equal(same, "");
    write_to("data/0/7/b/y", "22"); /* not an input of 9 */
    AUTO_FREE char *still = settle("9", none, false, true);
    assert_string_equal(still, "");
    write_to("data/0/7/a/x", "22");
    AUTO_FREE char *changed = settle("9", none, false, true);
    assert_string_equal(changed, "input a: changed after job 7 wrote it");
    assert_int_equal(unlink(x), 0);
    AUTO_FREE char *removed = settle("9", none, false, true);
    assert_string_equal(removed, "input a: changed after job 7 wrote it");
}

/* As an ordinary user, whose daemon cannot pass over modes. */
static int remove_as_user(void)
{
    struct forgotten job = { .job = 7, .uid = 0, .members = 1 };
    AUTO_FREE char *out = path_of("data/0/7"), *x = path_of("data/0/7/a/x");
    AUTO_FREE char *reason = NULL;
    uv_loop_t loop;

    if (geteuid() == 0 &&
        (setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0))
        return 1;
    reason = settle("7", names, true, false);
    if (reason[0] || unlink(x) == 0 || errno != EACCES)
        return 2;
    uv_loop_init(&loop);
    cleaner_remove(&loop, state_dir, &job, 1);
    uv_run(&loop, UV_RUN_DEFAULT);
    return access(out, F_OK) == 0 ? 3 : 0;
}

static void what_is_read_only_can_be_cleaned_up(void **state)
{
    AUTO_FREE char *give = mem_printf("chown -R %d %s", NOBODY, state_dir);
    int status = 0;
    (void)state;

    write_to("data/0/7/a/x", "1");
    write_to("data/0/7/b/y", "1");
    if (geteuid() == 0)
        assert_int_equal(system(give), 0);
    pid_t pid = fork();
    if (pid == 0)
        _exit(remove_as_user());
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_output_has_to_be_there_and_not_empty, make, clear),
        cmocka_unit_test_setup_teardown(outputs_of_a_stage_become_read_only, make, clear),
        cmocka_unit_test_setup_teardown(root_is_found_to_have_changed_an_input, make, clear),
        cmocka_unit_test_setup_teardown(what_is_read_only_can_be_cleaned_up, make, clear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
