/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/predict/pressure.h"

static void the_fair_clock_slows_down_by_what_is_wanted(void **state)
{
    struct pressure pressure = { 0 };
    (void)state;

    pressure.wanted_milli = 4000; /* of 8000: everybody gets all that he wants */
    pressure_advance(&pressure, USEC_PER_HOUR, 8000);
    assert_int_equal(pressure.clock, USEC_PER_HOUR);
    pressure.wanted_milli = 32000;
    assert_int_equal(pressure_clock(&pressure, 5 * USEC_PER_HOUR, 8000), 2 * USEC_PER_HOUR);
    pressure_advance(&pressure, 5 * USEC_PER_HOUR, 8000);
    pressure.wanted_milli = 16000;
    assert_int_equal(pressure_clock(&pressure, 7 * USEC_PER_HOUR, 8000), 3 * USEC_PER_HOUR);
    assert_int_equal(pressure_clock(&pressure, 4 * USEC_PER_HOUR, 8000), 2 * USEC_PER_HOUR);
}

static void without_capacity_it_all_but_stands_still(void **state)
{
    struct pressure pressure = { .wanted_milli = 1000 };
    (void)state;

    assert_true(pressure_clock(&pressure, USEC_PER_HOUR, 0) < USEC_PER_MIN);
}

static void what_came_lately_is_known_for_any_while(void **state)
{
    struct pressure pressure = { 0 };
    uint64_t arrivals[PRESSURE_LEVELS];
    (void)state;

    for (usec_t now = 0; now < 60 * USEC_PER_DAY; now += USEC_PER_MIN)
        pressure_arrival(&pressure, now, 1000000);
    pressure_arrivals(&pressure, 60 * USEC_PER_DAY, arrivals);
    for (usec_t window = 10 * USEC_PER_MIN; window < 8 * USEC_PER_DAY; window *= 3) {
        int64_t wanted = window / USEC_PER_MIN * 1000000;
        int64_t got = (int64_t)pressure_lately(arrivals, window);
        assert_true(llabs(got - wanted) < wanted / 12);
    }
    /* A silence is noticed sooner by a short while. */
    pressure_arrivals(&pressure, 60 * USEC_PER_DAY + 6 * USEC_PER_HOUR, arrivals);
    assert_true(pressure_lately(arrivals, USEC_PER_HOUR) < 60 * 1000000 / 10);
    assert_true(pressure_lately(arrivals, 4 * USEC_PER_DAY) > INT64_C(4000) * 1000000);
}

static void amounts_beyond_all_measure_do_not_wrap(void **state)
{
    struct pressure pressure = { 0 };
    uint64_t arrivals[PRESSURE_LEVELS];
    (void)state;

    pressure_arrival(&pressure, 0, UINT64_MAX - 1);
    pressure_arrival(&pressure, 0, UINT64_MAX - 1);
    pressure_arrivals(&pressure, 0, arrivals);
    assert_true(arrivals[0] == UINT64_MAX - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_fair_clock_slows_down_by_what_is_wanted),
        cmocka_unit_test(without_capacity_it_all_but_stands_still),
        cmocka_unit_test(what_came_lately_is_known_for_any_while),
        cmocka_unit_test(amounts_beyond_all_measure_do_not_wrap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
