/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cluster/queue.h"
#include "core/predict/decay.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"

static void assert_near(double got, double expected, double relative)
{
    if (fabs(got - expected) > fabs(expected) * relative + 1)
        fail_msg("%.6f, not %.6f", got, expected);
}

static void use_halves_every_half_life(void **state)
{
    (void)state;
    assert_int_equal(usage_decay(1 << 20, 0, USEC_PER_DAY), 1 << 20);
    assert_int_equal(usage_decay(1 << 20, USEC_PER_DAY, USEC_PER_DAY), 1 << 19);
    assert_int_equal(usage_decay(1 << 20, 20 * USEC_PER_DAY, USEC_PER_DAY), 1);
    assert_int_equal(usage_decay(UINT64_MAX, 64 * USEC_PER_DAY, USEC_PER_DAY), 0);
    assert_int_equal(usage_decay(5, -1, USEC_PER_DAY), 5);
}

static void decay_is_exact_to_a_millionth(void **state)
{
    static const usec_t half_lives[] = { USEC_PER_MIN, USEC_PER_DAY, 7 * USEC_PER_DAY,
                                         QUEUE_HALF_LIFE_MAX };
    const uint64_t value = UINT64_C(1) << 50;
    (void)state;

    for (size_t i = 0; i < COUNT_OF(half_lives); i++) {
        for (usec_t k = 0; k <= 4000; k++) {
            usec_t elapsed = half_lives[i] / 1000 * k + k * 37;
            double exact = (double)value * exp2(-(double)elapsed / (double)half_lives[i]);
            assert_near((double)usage_decay(value, elapsed, half_lives[i]), exact, 1e-6);
        }
    }
}

static void decay_never_grows_with_time(void **state)
{
    uint64_t last = UINT64_C(1) << 50;
    (void)state;

    for (usec_t elapsed = 0; elapsed < 3 * USEC_PER_DAY; elapsed += 7777777) {
        uint64_t left = usage_decay(UINT64_C(1) << 50, elapsed, USEC_PER_DAY);
        assert_true(left <= last);
        last = left;
    }
}

/* share * half_life / ln 2 * (1 - 2^-(t / half_life)), in ms */
static double exact_use(double share, usec_t elapsed, usec_t half_life)
{
    return share * (double)half_life / 1000 / M_LN2 *
           (1 - exp2(-(double)elapsed / (double)half_life));
}

static void constant_use_is_charged_as_it_decays(void **state)
{
    static const usec_t spans[] = { USEC_PER_MS,       USEC_PER_SEC,      USEC_PER_MIN,
                                    USEC_PER_HOUR,     39 * USEC_PER_MIN, USEC_PER_DAY,
                                    40 * USEC_PER_MIN, 9 * USEC_PER_DAY,  70 * USEC_PER_DAY };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(spans); i++) {
        struct queue queue = { .share = { QUEUE_SHARE_ONE / 3 } };
        double exact = exact_use((double)queue.share[0], spans[i], 7 * USEC_PER_DAY);
        assert_near((double)queue_usage(&queue, SHARE_OF_GPUS, spans[i], 7 * USEC_PER_DAY), exact,
                    1e-6);
        queue_advance(&queue, spans[i], 7 * USEC_PER_DAY);
        assert_int_equal(queue.usage_at, spans[i]);
        assert_near((double)queue.usage[0], exact, 1e-6);
    }
}

/* A busy queue is charged at every start and end of a job. */
static void many_small_steps_are_one_large_one(void **state)
{
    static const usec_t steps[] = { 1700, 1100000, 61000000, 3600000000 };
    const usec_t half_life = 7 * USEC_PER_DAY;
    (void)state;

    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        struct queue queue = { .share = { QUEUE_SHARE_ONE / 8 }, .usage = { UINT64_C(1) << 48 } };
        usec_t now = 0;
        for (int k = 0; k < 200000 && now < 14 * USEC_PER_DAY; k++)
            queue_advance(&queue, now += steps[i], half_life);
        now = queue.usage_at;
        double exact = (double)(UINT64_C(1) << 48) * exp2(-(double)now / (double)half_life) +
                       exact_use((double)queue.share[0], now, half_life);
        assert_near((double)queue.usage[0], exact, 1e-5);
    }
}

static void less_than_a_millisecond_is_kept_for_later(void **state)
{
    struct queue queue = { .share = { 1000 }, .usage_at = 5000 };
    (void)state;

    queue_advance(&queue, 5999, USEC_PER_DAY);
    assert_int_equal(queue.usage_at, 5000);
    queue_advance(&queue, 7500, USEC_PER_DAY);
    assert_int_equal(queue.usage_at, 7000);
    assert_int_equal(queue.usage[0], 2000);
    queue_advance(&queue, 6000, USEC_PER_DAY); /* time does not go back */
    assert_int_equal(queue.usage_at, 7000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(use_halves_every_half_life),
        cmocka_unit_test(decay_is_exact_to_a_millionth),
        cmocka_unit_test(decay_never_grows_with_time),
        cmocka_unit_test(constant_use_is_charged_as_it_decays),
        cmocka_unit_test(many_small_steps_are_one_large_one),
        cmocka_unit_test(less_than_a_millisecond_is_kept_for_later),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
