/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "io/file.h"

static char folder[] = "/tmp/tarn-file-XXXXXX";

static int folder_create(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int folder_remove(void **state)
{
    (void)state;
    AUTO_FREE char *command = mem_printf("rm -rf %s", folder);

    return system(command);
}

static void what_was_written_is_read(void **state)
{
    (void)state;
    AUTO_FREE char *path = mem_printf("%s/a", folder);
    AUTO_RELEASE(text) struct text text = { 0 };

    assert_int_equal(file_replace(path, "old", 3, NULL), 0);
    assert_int_equal(file_replace(path, "a\0b", 3, NULL), 0);
    assert_int_equal(file_read(path, 3, &text, NULL), 0);
    assert_int_equal(text.length, 3);
    assert_memory_equal(text.bytes, "a\0b", 3);
    assert_int_equal(file_put(path, "xy", NULL), 0);
    text_clear(&text);
    assert_int_equal(file_read(path, 100, &text, NULL), 0);
    assert_memory_equal(text.bytes, "xyb", 3);
}

static void failures_name_the_file(void **state)
{
    (void)state;
    AUTO_FREE char *path = mem_printf("%s/b", folder);
    AUTO_FREE char *too_long = mem_printf("%s: more than 2 bytes", path);
    AUTO_FREE char *no_folder = mem_printf("%s: not a folder", path);
    AUTO_RELEASE(text) struct text text = { 0 };
    struct error err;

    assert_int_equal(file_read("/nope/x", 10, &text, &err), -ENOENT);
    assert_string_equal(err.text, "/nope/x: No such file or directory");
    assert_int_equal(file_put("/nope/x", "", &err), -ENOENT);
    assert_string_equal(err.text, "/nope/x: No such file or directory");
    assert_int_equal(file_replace("/nope/x", "", 0, &err), -ENOENT);
    assert_string_equal(err.text, "/nope/x: No such file or directory");
    assert_int_equal(folder_make("/nope/x", 0755, &err), -ENOENT);
    assert_string_equal(err.text, "/nope/x: No such file or directory");
    assert_int_equal(file_replace(path, "abc", 3, NULL), 0);
    assert_int_equal(file_read(path, 2, &text, &err), -EFBIG);
    assert_string_equal(err.text, too_long);
    assert_int_equal(folder_make(path, 0755, &err), -ENOTDIR);
    assert_string_equal(err.text, no_folder);
    assert_int_equal(file_read(folder, 10, &text, &err), -EISDIR);
}

static void a_folder_that_is_there_is_fine(void **state)
{
    (void)state;
    AUTO_FREE char *path = mem_printf("%s/c", folder);
    struct stat info;

    assert_int_equal(folder_make(path, 0700, NULL), 0);
    assert_int_equal(folder_make(path, 0755, NULL), 0);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read),
        cmocka_unit_test(failures_name_the_file),
        cmocka_unit_test(a_folder_that_is_there_is_fine),
    };

    return cmocka_run_group_tests(tests, folder_create, folder_remove);
}
