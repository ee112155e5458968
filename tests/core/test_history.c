/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/log2.h"
#include "core/predict/history.h"

static struct history_job job_of(uint32_t user, const char *name, usec_t limit)
{
    return (struct history_job){
        .user = user, .queue = 1, .size = 1000, .name = history_name(name), .limit = limit
    };
}

static uint32_t draw(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33);
}

static void logarithms_come_back(void **state)
{
    (void)state;
    for (int64_t value = 1; value < INT64_C(1) << 50; value += value / 7 + 1) {
        int64_t back = log2_power(log2_of(value));
        assert_true(llabs(back - value) <= value / 40 + 1);
    }
    assert_int_equal(log2_of(1024), 10 * LOG2_ONE);
}

static void nothing_is_known_of_the_first(void **state)
{
    struct history history = { 0 };
    struct history_guess guess;
    struct history_job job = job_of(0, "train", USEC_PER_HOUR),
                       open = job_of(0, "train", USEC_NEVER);
    (void)state;

    history_guess(&history, &job, &guess);
    assert_false(guess.is_known);
    assert_int_equal(guess.usual, USEC_PER_HOUR);
    history_guess(&history, &open, &guess);
    assert_int_equal(guess.most, USEC_NEVER);
    history_release(&history);
}

static void a_job_is_known_by_user_and_name_digits_aside(void **state)
{
    struct history history = { 0 };
    struct history_guess guess;
    (void)state;

    for (int i = 0; i < 40; i++) {
        struct history_job quick = job_of(0, "test-7", 10 * USEC_PER_HOUR);
        struct history_job slow = job_of(0, "train-7", 10 * USEC_PER_HOUR);
        history_learn(&history, &quick, (50 + i % 20) * USEC_PER_SEC);
        history_learn(&history, &slow, (100 + i % 20) * USEC_PER_MIN);
    }
    struct history_job again = job_of(0, "test-12345", 10 * USEC_PER_HOUR);
    history_guess(&history, &again, &guess);
    assert_true(guess.usual > 45 * USEC_PER_SEC && guess.usual < 5 * USEC_PER_MIN);
    again = job_of(0, "train-8", 10 * USEC_PER_HOUR);
    history_guess(&history, &again, &guess);
    assert_true(guess.usual > 80 * USEC_PER_MIN && guess.most <= 10 * USEC_PER_HOUR);
    /* One that has run for longer than any is taken to run on. */
    usec_t more = history_most_after(&history, &again, 5 * USEC_PER_HOUR);
    assert_true(more > 5 * USEC_PER_HOUR && more <= 10 * USEC_PER_HOUR);
    history_release(&history);
}

static void limits_that_are_exact_are_believed(void **state)
{
    struct history history = { 0 };
    struct history_guess guess;
    uint64_t seed = 3;
    (void)state;

    for (int i = 0; i < 200; i++) {
        usec_t run = (1 + draw(&seed) % 10000) * USEC_PER_SEC;
        struct history_job job = job_of(draw(&seed) % 5, "a", run);
        history_guess(&history, &job, &guess);
        if (i > 0)
            assert_int_equal(guess.most, run);
        history_learn(&history, &job, run);
    }
    history_release(&history);
}

static void nine_of_ten_end_within_the_upper_quantile(void **state)
{
    struct history history = { 0 };
    struct history_guess guess;
    uint64_t seed = 11;
    uint32_t held = 0, asked = 0;
    (void)state;

    for (int i = 0; i < 20000; i++) {
        /* run times over six octaves, other ones for each user, which drift */
        uint32_t user = draw(&seed) % 8;
        int64_t octaves = (int64_t)(draw(&seed) % (6 * LOG2_ONE)) + (int64_t)user * 100 + i / 100;
        usec_t run = log2_power((int32_t)octaves + 10 * LOG2_ONE) * 1000;
        struct history_job job = job_of(user, "a", USEC_PER_DAY * 30);
        history_guess(&history, &job, &guess);
        if (i > 2000) {
            asked++;
            held += run <= guess.most;
        }
        history_learn(&history, &job, run);
    }
    double coverage = 100.0 * held / asked;
    print_message("%.1f %% held\n", coverage);
    assert_true(coverage > 88 && coverage < 92);
    history_release(&history);
}

static void old_templates_make_room_for_new_ones(void **state)
{
    struct history history = { 0 };
    struct history_guess guess;
    (void)state;

    for (uint32_t i = 0; i < 2 * HISTORY_RINGS_MAX; i++) {
        struct history_job job = job_of(0, "a", USEC_PER_DAY);
        job.size = i;
        history_learn(&history, &job, USEC_PER_MIN);
    }
    assert_int_equal(history.rings.count, HISTORY_RINGS_MAX);
    struct history_job latest = job_of(0, "a", USEC_PER_DAY);
    latest.size = 2 * HISTORY_RINGS_MAX - 1;
    history_guess(&history, &latest, &guess);
    assert_true(guess.is_known);
    history_release(&history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logarithms_come_back),
        cmocka_unit_test(nothing_is_known_of_the_first),
        cmocka_unit_test(a_job_is_known_by_user_and_name_digits_aside),
        cmocka_unit_test(limits_that_are_exact_are_believed),
        cmocka_unit_test(nine_of_ten_end_within_the_upper_quantile),
        cmocka_unit_test(old_templates_make_room_for_new_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
