/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/explain/estimate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "lab.h"
#include "sched/explain/advice.h"

static struct lab *machine(uint32_t gpus)
{
    struct lab *lab = lab_create();

    lab->now = USEC_PER_DAY;
    lab_node(lab, "a", 4096000, 1 << 20);
    lab_gpus(lab, "a", "h100", 80 << 10, gpus);
    return lab;
}

/* Ends go by limits, jobs in order of their numbers. */
static void set_simple(struct lab *lab)
{
    lab_tell(lab, &(struct event){ .kind = EVENT_SETTINGS,
                                   .settings = { .half_life = 7 * USEC_PER_DAY,
                                                 .backfill_depth = 1,
                                                 .order = ORDER_FIFO } });
}

/* Run times are learned from the jobs that ended. */
static void set_learning(struct lab *lab)
{
    lab_tell(lab, &(struct event){ .kind = EVENT_SETTINGS,
                                   .settings = { .half_life = 7 * USEC_PER_DAY,
                                                 .backfill_depth = 1,
                                                 .predict = 1 } });
}

static struct start_estimate estimate_of(struct lab *lab, uint64_t id)
{
    struct start_estimate estimate;

    assert_true(sched_estimate_start(lab->brain, lab->inquiry, lab_job(lab, id), &estimate));
    return estimate;
}

static void the_first_in_line_starts_when_its_promise_says(void **unused)
{
    (void)unused;
    AUTO(lab) struct lab *lab = machine(4);

    set_simple(lab);
    lab_submit(lab, "2", 10 * USEC_PER_MIN);
    lab_submit(lab, "2", 30 * USEC_PER_MIN);
    uint64_t third = lab_submit(lab, "2", USEC_PER_HOUR);
    lab_settle(lab);
    struct start_estimate estimate = estimate_of(lab, third);
    assert_int_equal(estimate.median, lab->now + 10 * USEC_PER_MIN);
    assert_int_equal(estimate.high, estimate.median);
    assert_int_equal(estimate.limits_only, estimate.median);
    assert_false(estimate.is_open);
}

static void those_in_front_take_their_time(void **unused)
{
    (void)unused;
    AUTO(lab) struct lab *lab = machine(4);
    uint64_t last = 0;

    set_simple(lab);
    for (int i = 0; i < 6; i++)
        last = lab_submit(lab, "4", USEC_PER_HOUR);
    lab_settle(lab);
    assert_int_equal(estimate_of(lab, last).limits_only, lab->now + 5 * USEC_PER_HOUR);
}

static void run_for(struct lab *lab, const char *gpus, usec_t limit, usec_t run)
{
    uint64_t id = lab_submit(lab, gpus, limit);

    lab_settle(lab);
    lab_started(lab, id);
    lab->now += run;
    lab_ended(lab, id, 0);
    lab_settle(lab);
}

/* Two runs of two seconds say little of a third one: it may take its two hours. */
static void little_history_gives_a_wide_range(void **unused)
{
    (void)unused;
    AUTO(lab) struct lab *lab = machine(4);

    set_learning(lab);
    run_for(lab, "1", 2 * USEC_PER_HOUR, 2 * USEC_PER_SEC);
    run_for(lab, "1", 2 * USEC_PER_HOUR, 2 * USEC_PER_SEC);
    uint64_t holder = lab_submit(lab, "4", 2 * USEC_PER_HOUR);
    lab_settle(lab);
    lab_started(lab, holder);
    usec_t begin = lab->now;
    uint64_t waiting = lab_submit(lab, "4", USEC_PER_HOUR);
    lab_settle(lab);
    struct start_estimate estimate = estimate_of(lab, waiting);
    assert_true(estimate.low <= begin + 10 * USEC_PER_SEC);
    assert_in_range(estimate.median, begin + 30 * USEC_PER_SEC, begin + USEC_PER_HOUR);
    assert_int_equal(estimate.high, begin + 2 * USEC_PER_HOUR);
    assert_int_equal(estimate.limits_only, begin + 2 * USEC_PER_HOUR);
}

/* Whatever little is known, the job in front may end at once: the range begins there. */
static void with_little_history_the_range_begins_with_short_runs(void **unused)
{
    (void)unused;
    for (uint32_t runs = 0; runs <= 3; runs++) {
        AUTO(lab) struct lab *lab = machine(4);
        set_learning(lab);
        for (uint32_t i = 0; i < runs; i++)
            run_for(lab, "4", USEC_PER_HOUR, (2 + i) * USEC_PER_MIN);
        lab_submit(lab, "4", USEC_PER_HOUR);
        lab_settle(lab);
        uint64_t waiting = lab_submit(lab, "4", USEC_PER_HOUR);
        lab_settle(lab);
        struct start_estimate estimate = estimate_of(lab, waiting);
        assert_true(estimate.low <= lab->now + 39 * USEC_PER_SEC);
        assert_true(estimate.high >= lab->now + 10 * USEC_PER_MIN);
    }
}

/* Nothing happens, and time passes: the job in front is late, so all behind it move. */
static void a_late_job_moves_the_estimates_behind_it(void **unused)
{
    (void)unused;
    AUTO(lab) struct lab *lab = machine(4);

    set_learning(lab);
    for (int i = 0; i < 30; i++)
        run_for(lab, "4", 2 * USEC_PER_HOUR, USEC_PER_MIN);
    uint64_t holder = lab_submit(lab, "4", 2 * USEC_PER_HOUR);
    lab_settle(lab);
    lab_started(lab, holder);
    usec_t begin = lab->now, last = 0;
    uint64_t waiting = lab_submit(lab, "4", USEC_PER_HOUR);
    lab_settle(lab);
    for (usec_t after = 0; after < 2 * USEC_PER_HOUR; after += 10 * USEC_PER_MIN) {
        inquiry_set_time(lab->inquiry, begin + after);
        struct start_estimate estimate = estimate_of(lab, waiting);
        assert_true(estimate.high > begin + after); /* it has not started, so it is not over */
        assert_true(estimate.low >= begin + after);
        last = estimate.high;
    }
    assert_true(last > begin + USEC_PER_HOUR);
}

static void without_limits_there_is_no_end_in_sight(void **unused)
{
    (void)unused;
    AUTO(lab) struct lab *lab = machine(1);

    lab_submit(lab, "1", USEC_NEVER);
    uint64_t waiting = lab_submit(lab, "1", USEC_PER_HOUR);
    lab_settle(lab);
    struct start_estimate estimate = estimate_of(lab, waiting);
    assert_true(estimate.is_open);
    assert_int_equal(estimate.median, USEC_NEVER);
    assert_int_equal(lab_job(lab, waiting)->run->foreseen_at, 0); /* nothing to learn from */
}

static void who_does_not_wait_has_no_estimate(void **unused)
{
    (void)unused;
    AUTO(lab) struct lab *lab = machine(1);
    struct start_estimate estimate;

    uint64_t running = lab_submit(lab, "1", USEC_PER_HOUR);
    lab_settle(lab);
    assert_false(sched_estimate_start(lab->brain, lab->inquiry, lab_job(lab, running), &estimate));
}

static void a_start_teaches_and_a_snapshot_keeps_it(void **unused)
{
    (void)unused;
    AUTO(lab) struct lab *lab = machine(1);
    uint64_t first = lab_submit(lab, "1", USEC_PER_HOUR);

    lab_settle(lab);
    lab_started(lab, first);
    uint64_t second = lab_submit(lab, "1", USEC_PER_HOUR);
    lab_settle(lab);
    assert_true(lab_job(lab, second)->run->foreseen_at > 0);
    lab_reload(lab);
    assert_true(lab_job(lab, second)->run->foreseen_at > 0);
    lab->now += 5 * USEC_PER_MIN;
    lab_ended(lab, first, 0);
    lab_settle(lab);
    assert_int_equal(lab_job(lab, second)->state, JOB_GRANTED);
    struct calibration before = lab->state->calibration;
    assert_int_equal(before.bands[CALIBRATION_BANDS - 1].count, 1);
    lab_reload(lab);
    assert_memory_equal(&before, &lab->state->calibration, sizeof(before));
}

/* All at once are what each is alone; and quick. */
static void a_hundred_thousand_estimates_take_a_second_at_most(void **unused)
{
    (void)unused;
    AUTO(lab) struct lab *lab = machine(64);
    const uint32_t count = 100000;
    uint64_t first = 0;

    lab->is_silent = true;
    set_simple(lab);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t id = lab_submit(lab, i % 3 ? "1" : "8", (usec_t)(i % 50 + 1) * USEC_PER_MIN);
        first = first ? first : id;
    }
    lab_settle(lab);
    clock_t start = clock();
    usec_t latest = 0;
    for (uint64_t id = first; id < first + count; id++) {
        struct start_estimate estimate;
        if (!sched_estimate_start(lab->brain, lab->inquiry, lab_job(lab, id), &estimate))
            continue;
        assert_true(estimate.low <= estimate.median && estimate.median <= estimate.high);
        latest = estimate.limits_only > latest ? estimate.limits_only : latest;
    }
    double took = (double)(clock() - start) / CLOCKS_PER_SEC;
    /* Their work is 100,000 * 3.33 GPUs * 25.5 min on 64 GPUs: 92 days. */
    assert_in_range(latest - lab->now, 80 * USEC_PER_DAY, 115 * USEC_PER_DAY);
    printf("%u estimates in %.2f s\n", count, took);
}

static void advice_is_followed_by_a_start(void **unused)
{
    (void)unused;
    AUTO(lab) struct lab *lab = machine(8);
    struct advice advices[ADVICES_MAX];

    set_simple(lab);
    lab_submit(lab, "3", USEC_PER_HOUR);
    uint64_t wide = lab_submit(lab, "8", USEC_PER_HOUR);
    uint64_t behind = lab_submit(lab, "4", 2 * USEC_PER_HOUR);
    lab_settle(lab);
    assert_int_equal(sched_advise(lab->brain, lab->inquiry, lab_job(lab, wide), advices), 1);
    assert_int_equal(advices[0].kind, ADVICE_GPUS);
    assert_int_equal(advices[0].request.gpus[0].count, 5);
    assert_int_equal(lab_why(lab, behind), WHY_RESERVED);
    size_t count = sched_advise(lab->brain, lab->inquiry, lab_job(lab, behind), advices);
    assert_int_equal(count, 1);
    assert_int_equal(advices[0].kind, ADVICE_LIMIT);
    assert_in_range(advices[0].max_duration, 58 * USEC_PER_MIN, USEC_PER_HOUR);
    uint64_t follower = lab_submit(lab, "4", advices[0].max_duration);
    lab_settle(lab);
    assert_int_equal(lab_job(lab, follower)->state, JOB_GRANTED);
    assert_int_equal(lab_job(lab, behind)->state, JOB_QUEUED);
}

/* Asking changes nothing: those who were asked about and those who were not decide the same. */
static void asking_changes_nothing(void **unused)
{
    (void)unused;
    AUTO(lab) struct lab *lab = machine(4);
    struct text before = { 0 }, after = { 0 };
    struct advice advices[ADVICES_MAX];

    set_simple(lab);
    lab_submit(lab, "3", USEC_PER_HOUR);
    uint64_t wide = lab_submit(lab, "4", USEC_PER_HOUR);
    lab_settle(lab);
    lab_save(lab, &before);
    for (int i = 0; i < 5; i++) {
        estimate_of(lab, wide);
        sched_advise(lab->brain, lab->inquiry, lab_job(lab, wide), advices);
    }
    lab_save(lab, &after);
    assert_int_equal(before.length, after.length);
    assert_memory_equal(before.bytes, after.bytes, before.length);
    text_release(&before);
    text_release(&after);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_in_line_starts_when_its_promise_says),
        cmocka_unit_test(those_in_front_take_their_time),
        cmocka_unit_test(little_history_gives_a_wide_range),
        cmocka_unit_test(with_little_history_the_range_begins_with_short_runs),
        cmocka_unit_test(a_late_job_moves_the_estimates_behind_it),
        cmocka_unit_test(without_limits_there_is_no_end_in_sight),
        cmocka_unit_test(who_does_not_wait_has_no_estimate),
        cmocka_unit_test(a_start_teaches_and_a_snapshot_keeps_it),
        cmocka_unit_test(a_hundred_thousand_estimates_take_a_second_at_most),
        cmocka_unit_test(advice_is_followed_by_a_start),
        cmocka_unit_test(asking_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
