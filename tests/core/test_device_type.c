/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/text.h"
#include "core/cluster/device_type.h"

static void templates_have_what_a_job_has(void **state)
{
    static const struct device_words words = { .indices = "1,3", .uuids = "t-1,t-3", .count = "2" };
    static const struct {
        const char *template, *expanded;
        bool is_good;
    } cases[] = {
        { "", "", true },
        { "plain $x {y}", "plain $x {y}", true },
        { "${indices}", "1,3", true },
        { "a${count}b${uuids}c", "a2bt-1,t-3c", true },
        { "${index}", "", false }, /* of one device only */
        { "a${indexes}", "a", false },
        { "${count", "", false },
        { "${}", "", false },
        { "$${count}", "$2", true },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_RELEASE(text) struct text text = { 0 };
        assert_int_equal(device_type_expand(cases[i].template, &words, &text), cases[i].is_good);
        assert_string_equal(text_string(&text), cases[i].expanded);
    }
}

static void devices_are_named_by_type_and_number(void **state)
{
    static const struct device_type type = { .name = "tpu", .count = 12 };
    static const struct {
        const char *uuid;
        bool is_one;
        uint32_t number;
    } cases[] = {
        { "tpu-0", true, 0 },   { "tpu-11", true, 11 }, { "tpu-12", false, 0 },
        { "tpu-", false, 0 },   { "tpu", false, 0 },    { "tpu-01", false, 0 },
        { "tpu--1", false, 0 }, { "tpu-1x", false, 0 }, { "tpux-1", false, 0 },
        { "xtpu-1", false, 0 }, { "", false, 0 },       { "tpu-99999999999999999999", false, 0 },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint32_t number = 0;
        assert_int_equal(device_type_is(&type, cases[i].uuid, &number), cases[i].is_one);
        assert_int_equal(number, cases[i].number);
    }
}

static void the_kind_is_the_name_unless_another_is_said(void **state)
{
    static const struct {
        struct device_type type;
        const char *kind;
    } cases[] = {
        { { .name = "tpu" }, "tpu" },
        { { .name = "FPGA" }, "fpga" },
        { { .name = "card", .kind = "npu" }, "npu" },
        { { .name = "card", .kind = "gpu" }, "" },
        { { .name = "GPU" }, "" },
    };
    device_kind buffer;
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_string_equal(device_type_kind(&cases[i].type, buffer), cases[i].kind);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(templates_have_what_a_job_has),
        cmocka_unit_test(devices_are_named_by_type_and_number),
        cmocka_unit_test(the_kind_is_the_name_unless_another_is_said),
    };

    return cmocka_run_group_tests_name("device_type", tests, NULL, NULL);
}
