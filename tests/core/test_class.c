/* SPDX-License-Identifier: Apache-2.0 */
#include "core/job/class.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct request of_cpus(int64_t cpus)
{
    struct request request;

    request_default(&request);
    request.cpu_milli = cpus * 1000;
    return request;
}

static void equal_requests_are_one_class(void **state)
{
    struct class_table table = { 0 };
    struct request one = of_cpus(1), same = of_cpus(1), two = of_cpus(2);
    (void)state;

    uint32_t a = class_claim(&table, &one), b = class_claim(&table, &two);
    assert_int_not_equal(a, b);
    assert_int_equal(class_claim(&table, &same), a);
    assert_int_equal(class_request(&table, b)->cpu_milli, 2000);
    class_release(&table, a);
    assert_int_equal(class_claim(&table, &one), a); /* still referred to */
    class_table_release(&table);
}

static void a_number_is_given_again_when_nobody_refers_to_it(void **state)
{
    struct class_table table = { 0 };
    struct request one = of_cpus(1), two = of_cpus(2), three = of_cpus(3);
    (void)state;

    uint32_t a = class_claim(&table, &one);
    uint32_t b = class_claim(&table, &two);
    class_release(&table, a);
    assert_int_equal(class_claim(&table, &three), a);
    assert_int_equal(class_request(&table, a)->cpu_milli, 3000);
    assert_int_equal(class_claim(&table, &two), b);
    assert_int_not_equal(class_claim(&table, &one), a);
    class_table_release(&table);
}

static void many_come_and_go(void **state)
{
    struct class_table table = { 0 };
    uint32_t numbers[1000];
    (void)state;

    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 1000; i++) {
            struct request request = of_cpus(i);
            numbers[i] = class_claim(&table, &request);
        }
        for (int i = 0; i < 1000; i++) {
            assert_int_equal(class_request(&table, numbers[i])->cpu_milli, i * 1000);
            class_release(&table, numbers[i]);
        }
    }
    assert_int_equal(table.by_hash.count, 0);
    assert_int_equal(table.classes.count, 1000);
    class_table_release(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_requests_are_one_class),
        cmocka_unit_test(a_number_is_given_again_when_nobody_refers_to_it),
        cmocka_unit_test(many_come_and_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
