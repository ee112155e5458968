/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/error.h"

static void an_error_hands_its_code_back_with_words(void **state)
{
    struct error err;

    (void)state;
    assert_int_equal(error_set(&err, -EINVAL, "node %s: %d GPUs", "a", 0), -EINVAL);
    assert_string_equal(err.text, "node a: 0 GPUs");
    assert_int_equal(error_prefix(&err, -EIO, "pools.yaml:%d", 12), -EIO);
    assert_string_equal(err.text, "pools.yaml:12: node a: 0 GPUs");
}

static void nobody_has_to_listen(void **state)
{
    (void)state;
    assert_int_equal(error_set(NULL, -ENOENT, "nothing"), -ENOENT);
    assert_int_equal(error_prefix(NULL, -ENOENT, "nowhere"), -ENOENT);
}

static void long_words_are_cut(void **state)
{
    struct error err;
    char words[ERROR_TEXT_SIZE * 2];

    (void)state;
    memset(words, 'x', sizeof(words));
    words[sizeof(words) - 1] = '\0';
    error_set(&err, -EINVAL, "%s", words);
    assert_int_equal(strlen(err.text), ERROR_TEXT_SIZE - 1);
    error_prefix(&err, -EINVAL, "place");
    assert_int_equal(strlen(err.text), ERROR_TEXT_SIZE - 1);
    assert_memory_equal(err.text, "place: xxx", 10);
    error_set(&err, -EINVAL, "end");
    error_prefix(&err, -EINVAL, "%s", words);
    assert_int_equal(strlen(err.text), ERROR_TEXT_SIZE - 1);
    assert_int_equal(err.text[ERROR_TEXT_SIZE - 2], 'x');
}

static void what_passes_is_a_shortage(void **unused)
{
    (void)unused;
    static const int passing[] = { -EAGAIN, -ENOMEM, -EMFILE, -ENFILE, -ENOSPC };

    for (size_t i = 0; i < COUNT_OF(passing); i++)
        assert_true(error_is_shortage(passing[i]));
    assert_false(error_is_shortage(-EDQUOT)); /* of a user, who has to remove something */
    assert_false(error_is_shortage(-EACCES));
    assert_false(error_is_shortage(0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_hands_its_code_back_with_words),
        cmocka_unit_test(nobody_has_to_listen),
        cmocka_unit_test(long_words_are_cut),
        cmocka_unit_test(what_passes_is_a_shortage),
    };

    return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
