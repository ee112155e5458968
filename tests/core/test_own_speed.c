/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/job/class.h"
#include "core/job/own_speed.h"

#define EXPECTED ": expected models and speeds of 0.001 to 1000, like a100=3,k80=1"

static void texts_are_read_in_any_order(void **state)
{
    own_speed_list one = { 0 }, same = { 0 };
    struct request request;
    struct error err;
    (void)state;

    assert_int_equal(own_speeds_parse(&one, "V100=1.5,a100=3,k80=0.25", &err), 0);
    assert_int_equal(own_speeds_parse(&same, "k80=0.25,v100=1.5,a100=3", &err), 0);
    assert_int_equal(one.count, 3);
    assert_memory_equal(one.items, same.items, 3 * sizeof(one.items[0]));
    assert_true(own_speeds_are_valid(one.items, 3));
    request_default(&request);
    assert_int_equal(own_speed_on(&request, "a100"), 0);
    request.speeds = one.items;
    request.speeds_count = 3;
    assert_int_equal(own_speed_on(&request, "v100"), 1500);
    assert_int_equal(own_speed_run(USEC_PER_HOUR, 250), 4 * USEC_PER_HOUR);
    assert_int_equal(own_speed_run(USEC_PER_HOUR, 0), USEC_PER_HOUR);
    assert_int_equal(own_speed_run(1, 2000), 1);
    assert_int_equal(own_speed_run(0, 2000), 0);
    assert_int_equal(own_speed_run(USEC_NEVER, 250), USEC_NEVER);
    assert_true(own_speed_run(USEC_NEVER / 2, 250) < USEC_NEVER);
    list_release(&one);
    list_release(&same);
}

static void other_texts_are_refused(void **state)
{
    static const struct {
        const char *text, *said;
    } cases[] = {
        { "", "''" EXPECTED },
        { "a100", "'a100'" EXPECTED },
        { "a100=", "'a100='" EXPECTED },
        { "=3", "'=3'" EXPECTED },
        { "a100=3,", "''" EXPECTED },
        { "a100=0", "'a100=0'" EXPECTED },
        { "k80=1,a100=1001", "'a100=1001'" EXPECTED },
        { "a100=fast", "'a100=fast'" EXPECTED },
        { "a100=3,k80=1,A100=2", "a100 twice" },
    };
    own_speed_list list = { 0 };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct error err = { "" };
        assert_true(own_speeds_parse(&list, cases[i].text, &err) < 0);
        assert_string_equal(err.text, cases[i].said);
    }
    list_release(&list);
}

static void records_that_are_not_sorted_are_refused(void **state)
{
    struct own_speed speeds[] = { { "a100", 3000 }, { "k80", 1000 } };
    struct request request;
    struct error err = { "" };
    (void)state;

    request_default(&request);
    request.speeds = speeds;
    request.speeds_count = 2;
    assert_int_equal(request_check(&request, &err), 0);
    strcpy(speeds[1].model, "a100");
    assert_true(request_check(&request, &err) < 0);
    assert_string_equal(err.text, "speeds: invalid");
    strcpy(speeds[1].model, "k80");
    speeds[0].milli = 0;
    assert_true(request_check(&request, &err) < 0);
}

static void classes_differ_by_them(void **state)
{
    struct class_table table = { 0 };
    struct own_speed speeds[] = { { "a100", 3000 }, { "k80", 1000 } };
    struct request request;
    (void)state;

    request_default(&request);
    uint32_t plain = class_claim(&table, &request);
    request.speeds = speeds;
    request.speeds_count = 2;
    uint32_t a = class_claim(&table, &request);
    assert_int_equal(class_claim(&table, &request), a);
    speeds[1].milli = 1001;
    uint32_t b = class_claim(&table, &request);
    assert_true(plain != a && a != b && plain != b);
    assert_int_equal(own_speed_on(class_request(&table, a), "k80"), 1000);
    assert_int_equal(own_speed_on(class_request(&table, b), "k80"), 1001);
    class_release(&table, plain);
    class_release(&table, a);
    class_release(&table, a);
    class_release(&table, b);
    class_table_release(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_read_in_any_order),
        cmocka_unit_test(other_texts_are_refused),
        cmocka_unit_test(records_that_are_not_sorted_are_refused),
        cmocka_unit_test(classes_differ_by_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
