/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/job/pattern.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"

static const struct pattern_values values = {
    .job = 42,
    .array = 40,
    .index = 7,
    .rank = 1,
    .name = "../x y",
    .user = "ana",
    .node = "n1",
};

static void a_step_has_a_number(void **state)
{
    const uint64_t step = 3;
    struct pattern_values of_step = values;
    AUTO_RELEASE(text) struct text text = { 0 };
    struct error err;
    (void)state;

    of_step.step = &step;
    assert_int_equal(pattern_expand("%J %2s %j", &of_step, &text, &err), 0);
    assert_string_equal(text_string(&text), "42.3 03 42");
    assert_true(pattern_expand("%s", &values, &text, &err) < 0);
}

static void a_rank_may_have_a_width(void **state)
{
    (void)state;
    assert_true(pattern_has_rank("%t"));
    assert_true(pattern_has_rank("%j-%2t.out"));
    assert_false(pattern_has_rank("%%t %2j t %"));
    assert_false(pattern_has_rank(""));
}

static void letters_become_values(void **state)
{
    static const struct {
        const char *pattern;
        const char *expanded;
    } cases[] = {
        { "plain", "plain" },
        { "%J.out", "42.out" },
        { "logs/%x-%A_%a.out", "logs/.._x y-40_7.out" },
        { "%j %t %u %N 100%%", "42 1 ana n1 100%" },
        { "%4a|%06j|%2j", "0007|000042|42" },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_RELEASE(text) struct text text = { 0 };
        struct error err;

        assert_int_equal(pattern_expand(cases[i].pattern, &values, &text, &err), 0);
        assert_string_equal(text_string(&text), cases[i].expanded);
        assert_int_equal(pattern_check(cases[i].pattern, &err), 0);
    }
}

static void a_job_without_array_is_its_own_number(void **state)
{
    AUTO_RELEASE(text) struct text text = { 0 };
    struct pattern_values single = values;
    (void)state;

    single.array = 0;
    assert_int_equal(pattern_expand("%A", &single, &text, NULL), 0);
    assert_string_equal(text_string(&text), "42");
}

static void an_unknown_letter_changes_nothing(void **state)
{
    static const struct {
        const char *pattern;
        const char *text;
    } cases[] = {
        { "a%q", "'a%q': unknown '%q'; expected %j %J %A %a %x %u %t %N or %%" },
        { "a%\x01", "'a%\x01': unknown '%?'; expected %j %J %A %a %x %u %t %N or %%" },
        { "a%", "'a%': ends with '%'; a percent sign is '%%'" },
        { "%11j", "'%11j': wider than 10 digits" },
    };
    AUTO_RELEASE(text) struct text text = { 0 };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct error err;

        assert_true(pattern_expand(cases[i].pattern, &values, &text, &err) < 0);
        assert_string_equal(err.text, cases[i].text);
        assert_int_equal(text.length, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters_become_values),
        cmocka_unit_test(a_step_has_a_number),
        cmocka_unit_test(a_rank_may_have_a_width),
        cmocka_unit_test(a_job_without_array_is_its_own_number),
        cmocka_unit_test(an_unknown_letter_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
