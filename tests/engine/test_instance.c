/* SPDX-License-Identifier: Apache-2.0 */
/* The name of a daemon in what its engine creates: it is kept, and a damaged one is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "engine/instance.h"

static char dir[] = "/tmp/tarn-instance-XXXXXX";

static int make_dir(void **state)
{
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    AUTO_FREE char *command = mem_printf("rm -r '%s'", dir);

    (void)state;
    return system(command);
}

static void put(const char *path, const char *words)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    fputs(words, file);
    fclose(file);
}

static void a_name_is_made_once(void **state)
{
    char first[ENGINE_INSTANCE_SIZE], again[ENGINE_INSTANCE_SIZE];
    (void)state;

    assert_int_equal(engine_instance_open(dir, "one", first, NULL), 0);
    assert_int_equal(strlen(first), ENGINE_INSTANCE_SIZE - 1);
    assert_int_equal(engine_instance_open(dir, "one", again, NULL), 0);
    assert_string_equal(again, first);
    assert_int_equal(engine_instance_open(dir, "two", again, NULL), 0);
    assert_string_not_equal(again, first);
}

static void a_damaged_name_is_refused_and_left(void **state)
{
    static const char *const words[] = { "", "0123456789abcde", "0123456789abcdeg",
                                         "0123456789abcdef0" };
    AUTO_FREE char *path = mem_printf("%s/bad-instance", dir);
    char name[ENGINE_INSTANCE_SIZE], left[64] = "";
    struct error err;
    (void)state;

    for (size_t i = 0; i < COUNT_OF(words); i++) {
        put(path, words[i]);
        assert_int_equal(engine_instance_open(dir, "bad", name, &err), -EBADMSG);
        assert_non_null(strstr(err.text, "bad-instance: damaged: expected 16 hexadecimal digits"));
        FILE *file = fopen(path, "re");
        size_t length = fread(left, 1, sizeof(left) - 1, file);
        fclose(file);
        left[length] = '\0';
        assert_string_equal(left, words[i]);
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(engine_instance_open(dir, "bad", name, &err), -EISDIR);
    assert_non_null(strstr(err.text, "bad-instance: Is a directory"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_made_once),
        cmocka_unit_test(a_damaged_name_is_refused_and_left),
    };

    return cmocka_run_group_tests_name("instance", tests, make_dir, remove_dir);
}
