/* SPDX-License-Identifier: Apache-2.0 */
#include "core/predict/calibration.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/mem.h"

/* A generator of our own, so that every machine has the same numbers. */
static uint64_t next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static void without_experience_a_range_is_half_to_double(void **state)
{
    (void)state;
    struct calibration calibration = { 0 };
    struct calibration_range range;

    calibration_range(&calibration, 100 * USEC_PER_MIN, false, &range);
    assert_int_equal(range.count, 0);
    assert_in_range(range.low, 49 * USEC_PER_MIN, 51 * USEC_PER_MIN);
    assert_in_range(range.median, 99 * USEC_PER_MIN, 101 * USEC_PER_MIN);
    assert_in_range(range.high, 199 * USEC_PER_MIN, 201 * USEC_PER_MIN);
}

static void the_shortest_and_the_longest_waits_make_ranges(void **state)
{
    static const usec_t waits[] = {
        0, 1, USEC_PER_SEC, USEC_PER_DAY, 3650 * USEC_PER_DAY, USEC_NEVER / 2, USEC_NEVER - 1, -5
    };
    (void)state;
    struct calibration calibration = { 0 };
    struct calibration_range range;

    for (size_t i = 0; i < COUNT_OF(waits); i++) {
        calibration_range(&calibration, waits[i], true, &range);
        assert_true(range.low >= 0 && range.low <= range.median && range.median <= range.high);
        assert_true(range.high < USEC_NEVER);
    }
}

/* In a narrow range, rounding must not exchange its ends. */
static void a_narrow_range_is_in_order(void **state)
{
    (void)state;
    struct calibration calibration = { 0 };
    struct calibration_range range;

    for (size_t i = 0; i < CALIBRATION_BANDS; i++)
        calibration.bands[i] =
            (struct calibration_band){ .low = -16, .median = 0, .high = 16, .count = 99 };
    for (usec_t wait = USEC_PER_SEC; wait < USEC_PER_DAY; wait += wait / 512) {
        calibration_range(&calibration, wait, false, &range);
        assert_true(range.low <= range.median && range.median <= range.high);
    }
}

/* Whatever scores come, how late they come, and though they change half-way. */
static void eight_of_ten_ranges_hold(void **state)
{
    enum { STEPS = 20000, LATE = 50 };
    (void)state;

    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct calibration calibration = { 0 };
        struct calibration_note notes[LATE];
        usec_t actuals[LATE];
        uint64_t random = seed * UINT64_C(0x9e3779b97f4a7c15);
        size_t held = 0;
        for (size_t i = 0; i < STEPS; i++) {
            struct calibration_range range;
            usec_t wait = (usec_t)(1 + next(&random) % 1000) * USEC_PER_MIN;
            usec_t part = (usec_t)(next(&random) % (i < STEPS / 2 ? 2000 : 9000));
            if (i >= LATE)
                calibration_learn(&calibration, &notes[i % LATE], actuals[i % LATE]);
            calibration_range(&calibration, wait, i % 3 == 0, &range);
            notes[i % LATE] = (struct calibration_note){ wait, range.low, range.high, i % 3 == 0 };
            actuals[i % LATE] = wait / 1000 * part;
            held += actuals[i % LATE] >= range.low && actuals[i % LATE] <= range.high;
        }
        if (held * 100 < STEPS * 77 || held * 100 > STEPS * 83)
            fail_msg("seed %d: %zu of %d held", (int)seed, held, STEPS);
    }
}

static void a_wait_that_is_always_right_makes_a_narrow_range(void **state)
{
    (void)state;
    struct calibration calibration = { 0 };
    struct calibration_range range;
    const usec_t wait = 90 * USEC_PER_MIN;

    for (int i = 0; i < 2000; i++) {
        calibration_range(&calibration, wait, false, &range);
        calibration_learn(&calibration,
                          &(struct calibration_note){ wait, range.low, range.high, false }, wait);
    }
    calibration_range(&calibration, wait, false, &range);
    assert_in_range(range.low, 80 * USEC_PER_MIN, 91 * USEC_PER_MIN);
    assert_in_range(range.high, 89 * USEC_PER_MIN, 101 * USEC_PER_MIN);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_experience_a_range_is_half_to_double),
        cmocka_unit_test(the_shortest_and_the_longest_waits_make_ranges),
        cmocka_unit_test(a_narrow_range_is_in_order),
        cmocka_unit_test(eight_of_ten_ranges_hold),
        cmocka_unit_test(a_wait_that_is_always_right_makes_a_narrow_range),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
