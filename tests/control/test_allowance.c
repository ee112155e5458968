/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "control/allowance.h"

enum { DAY_BYTES = 86400 * 10 }; /* ten a second */

static void what_is_used_comes_back_within_a_day(void **state)
{
    struct allowance allowance = { 0 };
    (void)state;

    allowance_take(&allowance, 7, DAY_BYTES, 0, 1, 1000);
    assert_int_equal(allowance_used(&allowance, 7, DAY_BYTES, 0), 1000);
    assert_int_equal(allowance_used(&allowance, 8, DAY_BYTES, 0), 0);
    assert_int_equal(allowance_used(&allowance, 7, DAY_BYTES, 60 * USEC_PER_SEC), 400);
    allowance_take(&allowance, 7, DAY_BYTES, 60 * USEC_PER_SEC, 2, 100);
    assert_int_equal(allowance_used(&allowance, 7, DAY_BYTES, 60 * USEC_PER_SEC), 500);
    assert_int_equal(allowance_used(&allowance, 7, DAY_BYTES, 200 * USEC_PER_SEC), 0);
    assert_int_equal(allowance_used(&allowance, 7, DAY_BYTES, 3 * ALLOWANCE_PERIOD), 0);
    allowance_release(&allowance);
}

static void content_that_is_stored_already_costs_nothing(void **state)
{
    struct allowance allowance = { 0 };
    (void)state;

    allowance_take(&allowance, 7, DAY_BYTES, 0, 5, 1000);
    allowance_take(&allowance, 7, DAY_BYTES, 0, 5, 1000);
    allowance_take(&allowance, 8, DAY_BYTES, 0, 4, 1000);
    assert_int_equal(allowance_used(&allowance, 7, DAY_BYTES, 0), 1000);
    assert_int_equal(allowance_used(&allowance, 8, DAY_BYTES, 0), 0);
    allowance_release(&allowance);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_used_comes_back_within_a_day),
        cmocka_unit_test(content_that_is_stored_already_costs_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
