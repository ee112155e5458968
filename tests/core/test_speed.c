/* SPDX-License-Identifier: Apache-2.0 */
#include "core/predict/speed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/log2.h"

static const struct history_job class = { .user = 1, .name = 2, .size = 1000 };

static void look(const struct speeds *speeds, const struct history_job *job,
                 struct speed_view views[2], bool is_known)
{
    views[0] = (struct speed_view){ .model = "t4", .published = log2_of(1000) };
    views[1] = (struct speed_view){ .model = "h100", .published = log2_of(8000) };
    assert_int_equal(speed_look(speeds, job, views, 2), is_known);
}

static int64_t seconds(int32_t log)
{
    return (log2_power(log) + 500) / 1000;
}

static void without_runs_the_published_speeds_count(void **state)
{
    struct speeds speeds = { .is_learning = true };
    struct speed_view views[2];

    (void)state;
    look(&speeds, &class, views, false);
    assert_int_equal(views[1].speed - views[0].speed, 3 * LOG2_ONE);
    assert_int_equal(views[0].runs, 0);
    speeds_release(&speeds);
}

static void runs_on_one_model_say_how_long_it_takes_on_another(void **state)
{
    struct history_job other = class;
    struct speeds speeds = { .is_learning = true };
    struct speed_view views[2];

    (void)state;
    speed_learn(&speeds, &class, "t4", 800 * USEC_PER_SEC);
    look(&speeds, &class, views, true);
    assert_int_equal(views[0].runs, 1);
    assert_in_range(seconds(views[0].run), 790, 810);
    assert_in_range(seconds(views[1].run), 98, 102);
    other.user++;
    look(&speeds, &other, views, false);
    other = class;
    other.size *= 2;
    look(&speeds, &other, views, false);
    speeds_release(&speeds);
}

/* Equal times on both: the ratio goes from 8 towards 1, with the runs. */
static void the_own_ratio_counts_more_with_each_run(void **state)
{
    struct speeds speeds = { .is_learning = true };
    struct speed_view views[2];
    int32_t before = 3 * LOG2_ONE;

    (void)state;
    for (int i = 0; i < 40; i++) {
        speed_learn(&speeds, &class, "t4", 600 * USEC_PER_SEC);
        speed_learn(&speeds, &class, "h100", 600 * USEC_PER_SEC);
        look(&speeds, &class, views, true);
        int32_t ratio = views[1].speed - views[0].speed;
        assert_true(i < SPEED_RUNS ? ratio < before : ratio == before);
        before = ratio;
        if (i == SPEED_TRUST - 1)
            assert_in_range(ratio, 3 * LOG2_ONE / 2 - 2, 3 * LOG2_ONE / 2 + 2);
    }
    assert_true(before < LOG2_ONE / 2);
    assert_int_equal(views[1].runs, 40);
    speeds_release(&speeds);
}

static void what_is_saved_is_restored_and_nonsense_is_refused(void **state)
{
    struct speeds speeds = { .is_learning = true }, copy = { 0 };
    struct speed_view views[2], same[2];

    (void)state;
    for (uint32_t i = 0; i < SPEED_RINGS_MAX + 100; i++) {
        struct history_job job = class;
        job.name = i;
        speed_learn(&speeds, &job, "t4", (usec_t)(i + 1) * USEC_PER_SEC);
    }
    assert_int_equal(speeds.rings.count, SPEED_RINGS_MAX);
    for (size_t i = 0; i < speeds.rings.count; i++)
        assert_true(speed_restore(&copy, &speeds.rings.items[i]));
    for (uint32_t i = 0; i < SPEED_RINGS_MAX + 100; i++) {
        struct history_job job = class;
        job.name = i;
        views[0] = same[0] = (struct speed_view){ .model = "t4", .published = log2_of(1000) };
        assert_int_equal(speed_look(&speeds, &job, views, 1), speed_look(&copy, &job, same, 1));
        assert_int_equal(views[0].run, same[0].run);
    }
    struct speed_ring bad = { .key = 1, .count = 0 };
    assert_false(speed_restore(&copy, &bad));
    bad = (struct speed_ring){ .key = 1, .count = 1, .mean = -1 };
    speeds_release(&copy);
    assert_false(speed_restore(&copy, &bad));
    bad.mean = 5;
    assert_true(speed_restore(&copy, &bad));
    assert_false(speed_restore(&copy, &bad));
    speeds_release(&copy);
    speeds_release(&speeds);
}

static void published_speeds_make_sense(void **state)
{
    (void)state;
    assert_int_equal(speed_published("t4", WORK_TRAINING), 1000);
    assert_int_equal(speed_published("t4", WORK_INFERENCE), 1000);
    assert_int_equal(speed_published("nothing", WORK_TRAINING), 0);
    assert_true(speed_published("h100", WORK_TRAINING) > speed_published("a100", WORK_TRAINING));
    assert_true(speed_published("h100", WORK_INFERENCE) * 3 <
                speed_published("h100", WORK_TRAINING));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_runs_the_published_speeds_count),
        cmocka_unit_test(runs_on_one_model_say_how_long_it_takes_on_another),
        cmocka_unit_test(the_own_ratio_counts_more_with_each_run),
        cmocka_unit_test(what_is_saved_is_restored_and_nonsense_is_refused),
        cmocka_unit_test(published_speeds_make_sense),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
