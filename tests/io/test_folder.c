/* SPDX-License-Identifier: Apache-2.0 */
#include "io/folder.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"

static char *path_of(const char *name)
{
    return mem_printf("%s/%s", getenv("TARN_TEST_FOLDER"), name);
}

static int set_up(void **unused)
{
    (void)unused;
    char folder[] = "/tmp/tarn-folder-XXXXXX";

    return mkdtemp(folder) && setenv("TARN_TEST_FOLDER", folder, 1) == 0 ? 0 : -1;
}

static int tear_down(void **unused)
{
    (void)unused;
    AUTO_FREE char *command = mem_printf("rm -rf '%s'", getenv("TARN_TEST_FOLDER"));

    return system(command);
}

static int open_base(void)
{
    struct error err;
    int fd = -1;

    assert_int_equal(folder_open(getenv("TARN_TEST_FOLDER"), &fd, &err), 0);
    return fd;
}

static void a_folder_is_made_once_and_entered(void **unused)
{
    (void)unused;
    AUTO_FREE char *deep = path_of("a/b");
    int base = open_base(), first, again;
    struct error err;
    struct stat info;

    assert_int_equal(folder_enter(base, "BASE", "a", &first, &err), 0);
    assert_int_equal(folder_make_in(first, "BASE/a", "b", &err), 0);
    assert_int_equal(folder_enter(base, "BASE", "a", &again, &err), 0);
    assert_int_equal(stat(deep, &info), 0);
    assert_true(S_ISDIR(info.st_mode));
    assert_int_equal(info.st_mode & 07777, 0700);
    close(first);
    close(again);
    close(base);
}

/* What it leads to is not looked at: here it is a folder, elsewhere it may hang. */
static void a_link_is_not_followed(void **unused)
{
    (void)unused;
    AUTO_FREE char *link = path_of("link");
    int base = open_base(), fd;
    struct error err;

    assert_int_equal(symlink("/usr", link), 0);
    assert_int_equal(folder_enter(base, "BASE", "link", &fd, &err), -ENOTDIR);
    assert_string_equal(err.text, "BASE/link: not a folder");
    assert_int_equal(folder_make_in(base, "BASE", "link", &err), -ENOTDIR);
    assert_true(folder_open(link, &fd, &err) < 0);
    close(base);
}

static void a_file_is_no_folder(void **unused)
{
    (void)unused;
    AUTO_FREE char *file = path_of("file");
    int base = open_base();
    struct error err;

    fclose(fopen(file, "w"));
    assert_int_equal(folder_make_in(base, "BASE", "file", &err), -ENOTDIR);
    close(base);
}

/* A file system that is mounted in it, as /proc is in the root. */
static void a_mount_is_not_entered(void **unused)
{
    (void)unused;
    struct error err;
    int base, fd;

    assert_int_equal(folder_open("/", &base, &err), 0);
    assert_int_equal(folder_enter(base, "", "proc", &fd, &err), -EXDEV);
    assert_string_equal(err.text, "/proc: another file system is mounted there");
    close(base);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_is_made_once_and_entered),
        cmocka_unit_test(a_link_is_not_followed),
        cmocka_unit_test(a_file_is_no_folder),
        cmocka_unit_test(a_mount_is_not_entered),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
