/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "forecast/stretch.h"

static const uint64_t seed = 7;

static uint64_t next(uint64_t *at)
{
    *at = *at * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *at >> 33;
}

/* Waits up to three times as long as was forecast, and a range that knows nothing of it. */
static void eight_of_ten_waits_lie_in_the_range_in_the_end(void **state)
{
    enum { ROUNDS = 4000, YOUNG = 500 };
    struct stretch stretch = { 0 };
    uint64_t at = seed;
    uint32_t below = 0, above = 0;
    (void)state;

    for (uint32_t i = 0; i < ROUNDS; i++) {
        usec_t base = (1 + (usec_t)(next(&at) % 3600)) * USEC_PER_SEC * 10;
        struct wait_range range = { base * 9 / 10, base, base * 11 / 10 };
        usec_t actual = base / 2 + (usec_t)(next(&at) % 1000) * base / 400;
        stretch_range(&stretch, WAIT_ORDER, &range);
        assert_true(range.low <= range.median && range.median <= range.high);
        if (i >= YOUNG) {
            below += wait_is_below(&range, actual);
            above += wait_is_above(&range, actual);
        }
        stretch_learn(&stretch, WAIT_ORDER, &range, actual);
    }
    assert_in_range(below, (ROUNDS - YOUNG) * 8 / 100, (ROUNDS - YOUNG) * 12 / 100);
    assert_in_range(above, (ROUNDS - YOUNG) * 8 / 100, (ROUNDS - YOUNG) * 12 / 100);
}

static void a_time_that_is_always_right_has_no_range(void **state)
{
    struct stretch stretch = { 0 };
    (void)state;

    for (uint32_t i = 0; i < 1000; i++) {
        struct wait_range range = { USEC_PER_HOUR, USEC_PER_HOUR, USEC_PER_HOUR };
        stretch_range(&stretch, WAIT_TIME, &range);
        stretch_learn(&stretch, WAIT_TIME, &range, USEC_PER_HOUR);
    }
    struct wait_range range = { USEC_PER_HOUR, USEC_PER_HOUR, USEC_PER_HOUR };
    stretch_range(&stretch, WAIT_TIME, &range);
    assert_int_equal(range.low, USEC_PER_HOUR);
    assert_int_equal(range.high, USEC_PER_HOUR);
}

/* Half as wide as it was given, again and again: it gets narrow, and does not vanish. */
static void a_range_that_is_too_wide_is_narrowed(void **state)
{
    struct stretch stretch = { 0 };
    uint64_t at = seed;
    usec_t width = 0;
    (void)state;

    for (uint32_t i = 0; i < 3000; i++) {
        usec_t base = 5 * USEC_PER_HOUR;
        struct wait_range range = { base - USEC_PER_HOUR, base, base + USEC_PER_HOUR };
        stretch_range(&stretch, WAIT_ROOM, &range);
        usec_t actual = base + ((usec_t)(next(&at) % 1200) - 600) * USEC_PER_SEC;
        stretch_learn(&stretch, WAIT_ROOM, &range, actual);
        width = range.high - range.low;
    }
    assert_in_range(width, 12 * USEC_PER_MIN, 22 * USEC_PER_MIN); /* eight of ten of 20 minutes */
}

static void a_new_kind_starts_from_what_all_have_learned(void **state)
{
    struct stretch stretch = { 0 };
    (void)state;

    for (uint32_t i = 0; i < 500; i++) {
        struct wait_range range = { USEC_PER_MIN, USEC_PER_MIN, USEC_PER_MIN };
        stretch_range(&stretch, WAIT_ROOM, &range);
        stretch_learn(&stretch, WAIT_ROOM, &range, 8 * USEC_PER_MIN);
    }
    struct wait_range range = { USEC_PER_MIN, USEC_PER_MIN, USEC_PER_MIN };
    stretch_range(&stretch, WAIT_SPOT, &range);
    assert_true(range.high > 6 * USEC_PER_MIN);
}

static void a_time_of_the_calendar_is_left_as_it_is(void **state)
{
    struct stretch stretch = { 0 };
    struct wait_range range = { USEC_PER_HOUR, USEC_PER_HOUR, USEC_PER_HOUR };
    (void)state;

    stretch_range(&stretch, WAIT_BUDGET, &range);
    assert_int_equal(range.low, USEC_PER_HOUR);
    assert_int_equal(range.high, USEC_PER_HOUR);
}

static void what_is_unknown_stays_unknown(void **state)
{
    struct stretch stretch = { 0 };
    struct wait_range range = { 0, USEC_NEVER, USEC_NEVER };
    (void)state;

    stretch_learn(&stretch, WAIT_ROOM, &range, USEC_PER_MIN);
    assert_int_equal(stretch.all.count, 0);
    stretch_range(&stretch, WAIT_ROOM, &range);
    assert_int_equal(range.median, USEC_NEVER);
    range = (struct wait_range){ 0, USEC_PER_MIN, USEC_NEVER };
    stretch_range(&stretch, WAIT_ROOM, &range);
    assert_int_equal(range.high, USEC_NEVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_of_ten_waits_lie_in_the_range_in_the_end),
        cmocka_unit_test(a_time_that_is_always_right_has_no_range),
        cmocka_unit_test(a_range_that_is_too_wide_is_narrowed),
        cmocka_unit_test(a_new_kind_starts_from_what_all_have_learned),
        cmocka_unit_test(a_time_of_the_calendar_is_left_as_it_is),
        cmocka_unit_test(what_is_unknown_stays_unknown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
