/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "core/health/diagnosis.h"
#include "core/health/tally.h"

enum { PERCENT = READING_RATIO_ONE / 100 };

static uint64_t seed = 1;

static int64_t dice(int64_t below)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)(seed >> 33) % below;
}

/* Whatever the drivers say of each, the jobs of a device sum up to the device. */
static void the_jobs_of_a_device_sum_up_to_it(void **state)
{
    (void)state;

    for (int world = 0; world < 500; world++) {
        struct tally tally = { 0 };
        struct reading before = { 0 }, now = { 0 };
        int64_t use = 0, power = 0, energy = 0;
        uint32_t count = 1 + (uint32_t)dice(7);
        struct tally_part parts[8];
        reading_set(&now, READING_ENERGY, 1000);
        for (int step = 0; step < 20; step++) {
            bool is_known = dice(3) > 0;
            before = now;
            reading_set(&now, READING_GPU_USE, dice(READING_RATIO_ONE + 1));
            reading_set(&now, READING_POWER, dice(700000));
            reading_set(&now, READING_ENERGY, before.values[READING_ENERGY] + dice(900000));
            for (uint32_t i = 0; i < count; i++)
                parts[i] = (struct tally_part){ .job = i + 1,
                                                .attempt = 1,
                                                .use = is_known ? dice(READING_RATIO_ONE) : -1,
                                                .memory_mib = (int64_t)i * 100 };
            tally_add(&tally, &(struct tally_ask){ 7, &now, &before, 1000, parts, count });
            use += now.values[READING_GPU_USE] * 1000;
            power += now.values[READING_POWER] * 1000;
            energy += now.values[READING_ENERGY] - before.values[READING_ENERGY];
        }
        for (uint32_t i = 0; i < count; i++) {
            const struct usage *usage = tally_look(&tally, i + 1, 1);
            assert_non_null(usage);
            assert_int_equal(usage->watched_ms, 20000);
            assert_int_equal(usage_peak(usage, USAGE_MEMORY), (int64_t)i * 100);
            use -= usage->sums[USAGE_GPU].sum;
            power -= usage->sums[USAGE_POWER].sum;
            energy -= usage->energy_mj;
        }
        assert_int_equal(use, 0);
        assert_int_equal(power, 0);
        assert_int_equal(energy, 0);
        tally_release(&tally);
    }
}

/* The counter counts; without one, or where it jumped, the power adds up. */
static void energy_without_a_counter_is_that_of_the_power(void **state)
{
    static const struct {
        int64_t before, now, power, energy_mj; /* -1: not read */
    } cases[] = {
        { 5000, 605000, 500000, 600000 }, { -1, -1, 500000, 1000000 },
        { 605000, 0, 500000, 1000000 },   { 0, INT64_MAX, 500000, 1000000 },
        { 5000, 605000, -1, 600000 },     { -1, -1, -1, 0 },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct tally_part part = { .job = 1, .attempt = 1, .use = -1, .memory_mib = -1 };
        struct reading before = { 0 }, now = { 0 };
        struct tally tally = { 0 };
        if (cases[i].before >= 0)
            reading_set(&before, READING_ENERGY, cases[i].before);
        if (cases[i].now >= 0)
            reading_set(&now, READING_ENERGY, cases[i].now);
        if (cases[i].power >= 0)
            reading_set(&now, READING_POWER, cases[i].power);
        tally_add(&tally, &(struct tally_ask){ 7, &now, &before, 2000, &part, 1 });
        assert_int_equal(tally_look(&tally, 1, 1)->energy_mj, cases[i].energy_mj);
        tally_release(&tally);
    }
}

static void step(struct tally *tally, int64_t use, int seconds)
{
    struct tally_part part = { .job = 1, .attempt = 2, .use = use, .memory_mib = 50 };
    struct reading now = { 0 };

    reading_set(&now, READING_GPU_USE, use);
    reading_set(&now, READING_POWER, 500000);
    for (int i = 0; i < seconds; i++)
        tally_add(tally, &(struct tally_ask){ 7, &now, NULL, 1000, &part, 1 });
}

/* With what was reported last, the sums are those without a restart. */
static void a_restart_goes_on_from_what_was_reported(void **state)
{
    struct tally whole = { 0 }, first = { 0 }, second = { 0 };
    (void)state;

    step(&whole, 90 * PERCENT, 60);
    step(&whole, 0, 40);
    step(&first, 90 * PERCENT, 60);
    step(&first, 0, 30);
    struct usage *reported = usage_copy(tally_look(&first, 1, 2));
    tally_restore(&second, 1, 2, reported);
    step(&second, 0, 10);
    const struct usage *is = tally_look(&second, 1, 2), *was = tally_look(&whole, 1, 2);
    assert_int_equal(is->watched_ms, was->watched_ms);
    assert_int_equal(is->energy_mj, was->energy_mj);
    assert_int_equal(is->low_ms, was->low_ms);
    assert_int_equal(is->idle_ms, was->idle_ms);
    assert_int_equal(is->gpus[0].use, was->gpus[0].use);
    assert_int_equal(usage_mean(is, USAGE_GPU), usage_mean(was, USAGE_GPU));
    assert_null(tally_look(&second, 1, 3));
    usage_destroy(reported);
    tally_release(&whole);
    tally_release(&first);
    tally_release(&second);
}

/* A crash loses a fifth of a short time, and five minutes of a long one. */
static void usage_is_reported_more_seldom_the_longer_it_is(void **state)
{
    struct tally tally = { 0 };
    int64_t reported_s = 0, count = 0;
    (void)state;

    assert_false(tally_is_due(&tally, 1));
    for (int64_t now_s = 1; now_s <= 36000; now_s++) {
        int64_t most_s = reported_s / 4 < 1 ? 1 : reported_s / 4 > 300 ? 300 : reported_s / 4 + 1;
        step(&tally, 90 * PERCENT, 1);
        if (tally_is_due(&tally, 1)) {
            reported_s = now_s;
            count++;
        }
        assert_true(now_s - reported_s <= most_s);
    }
    assert_true(count < 160);
    tally_release(&tally);
}

static void another_attempt_begins_anew_and_who_is_forgotten_is_gone(void **state)
{
    (void)state;
    struct tally tally = { 0 };
    struct reading now = { 0 };
    struct tally_part part = { .job = 3, .attempt = 1, .use = -1, .memory_mib = -1 };
    struct tally_ask ask = { 1, &now, NULL, 1000, &part, 1 };

    reading_set(&now, READING_GPU_USE, 0);
    for (int i = 0; i < 10; i++)
        tally_add(&tally, &ask);
    assert_int_equal(tally_idle_ms(&tally, 3), 10000);
    reading_set(&now, READING_GPU_USE, 50 * PERCENT);
    tally_add(&tally, &ask);
    assert_int_equal(tally_idle_ms(&tally, 3), 0);
    part.attempt = 2;
    tally_add(&tally, &ask);
    assert_null(tally_look(&tally, 3, 1));
    assert_int_equal(tally_look(&tally, 3, 2)->watched_ms, 1000);
    part.job = 4;
    tally_add(&tally, &ask);
    tally_forget(&tally, 3);
    assert_null(tally_look(&tally, 3, 2));
    assert_non_null(tally_look(&tally, 4, 2));
    tally_release(&tally);
}

/* A job idles while none of its devices works. */
static void one_that_works_is_enough(void **state)
{
    (void)state;
    struct tally tally = { 0 };

    for (int i = 0; i < 20; i++) {
        for (uint32_t device = 0; device < 3; device++) {
            struct reading now = { 0 };
            struct tally_part part = { .job = 1, .attempt = 1, .rank = 0, .use = -1 };
            reading_set(&now, READING_GPU_USE, i < 10 && device == 1 ? 50 * PERCENT : 0);
            tally_add(&tally, &(struct tally_ask){ device, &now, NULL, 1000, &part, 1 });
        }
        assert_int_equal(tally_idle_ms(&tally, 1), i < 10 ? 0 : (i - 9) * 1000);
    }
    tally_release(&tally);
}

/* What a job's readings say, and the one thing that follows. */
static void a_signature_has_its_diagnosis(void **state)
{
    static const struct {
        enum diagnosis_id id; /* DIAGNOSES: nothing is said */
        int gpu, sm, tensor, fp32, dram;
        int64_t memory, links;
        int low, swings;
        int64_t idle_ms, cpu_ms;
    } cases[] = {
        { DIAGNOSES, 90, 80, 60, 10, 40, 60000, 100, 0, 0, 0, -1 },
        { DIAGNOSES, 70, 60, 40, 10, 40, 60000, 100, 0, 0, 0, -1 },
        { DIAGNOSIS_IDLE, 2, 1, 0, 0, 0, 60000, 0, 100, 0, 0, -1 },
        { DIAGNOSIS_INPUT, 50, 40, 20, 10, 20, 60000, 0, 45, 60, 0, -1 },
        { DIAGNOSIS_CPU, 50, 40, 20, 10, 20, 60000, 0, 0, 0, 0, 2400000 },
        { DIAGNOSIS_LAUNCH, 95, 20, 10, 10, 20, 60000, 0, 0, 0, 0, -1 },
        { DIAGNOSIS_MEMORY_BOUND, 80, 70, 10, 10, 70, 60000, 0, 0, 0, 0, -1 },
        { DIAGNOSIS_NO_TENSOR, 80, 70, 1, 50, 40, 60000, 0, 0, 0, 0, -1 },
        { DIAGNOSIS_MEMORY_FULL, 80, 70, 40, 10, 40, 79000, 0, 0, 0, 0, -1 },
        { DIAGNOSIS_MEMORY_UNUSED, 60, 50, 30, 10, 40, 9000, 0, 0, 0, 0, -1 },
        { DIAGNOSIS_HANG, 60, 50, 30, 10, 40, 60000, 0, 30, 0, 1000000, -1 },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const int64_t minutes = 10, ms = minutes * 60000;
        struct usage usage = { .sums_count = USAGE_KINDS,
                               .watched_ms = ms,
                               .device_mib = 81559,
                               .low_ms = ms / 100 * cases[i].low,
                               .swings = cases[i].swings,
                               .idle_ms = cases[i].idle_ms };
        struct diagnosis found[4];
        usage_add(&usage.sums[USAGE_GPU], cases[i].gpu * PERCENT, ms);
        usage_add(&usage.sums[USAGE_SM], cases[i].sm * PERCENT, ms);
        usage_add(&usage.sums[USAGE_TENSOR], cases[i].tensor * PERCENT, ms);
        usage_add(&usage.sums[USAGE_FP32], cases[i].fp32 * PERCENT, ms);
        usage_add(&usage.sums[USAGE_DRAM], cases[i].dram * PERCENT, ms);
        usage_add(&usage.sums[USAGE_MEMORY], cases[i].memory, ms);
        usage_add(&usage.sums[USAGE_LINKS], cases[i].links, ms);
        struct diagnosis_ask ask = {
            .usage = &usage, .run_ms = ms, .cpu_ms = cases[i].cpu_ms, .cpu_milli = 4000
        };
        size_t count = diagnose(&ask, found, COUNT_OF(found));
        assert_int_equal(count, cases[i].id != DIAGNOSES);
        if (count > 0) {
            assert_int_equal(found[0].id, cases[i].id);
            assert_true(found[0].evidence[0] != '\0');
        }
        usage.watched_ms = DIAGNOSIS_LEAST_MS - 1; /* too short to say anything */
        assert_int_equal(diagnose(&ask, found, COUNT_OF(found)), 0);
    }
}

static void members_are_compared(void **state)
{
    (void)state;
    struct usage_gpu gpus[] = { { .rank = 0, .use = 900000, .clock_mhz = 1980 },
                                { .rank = 1, .use = 900000, .clock_mhz = 1300 },
                                { .rank = 2, .use = 900000, .clock_mhz = 1970 } };
    struct usage usage = {
        .sums_count = USAGE_KINDS, .watched_ms = 600000, .gpus = gpus, .gpus_count = 3
    };
    struct diagnosis found[2];
    struct diagnosis_ask ask = { .usage = &usage, .run_ms = 200000, .cpu_ms = -1 };

    usage_add(&usage.sums[USAGE_GPU], 90 * PERCENT, 600000);
    assert_int_equal(diagnose(&ask, found, 2), 1);
    assert_int_equal(found[0].id, DIAGNOSIS_STRAGGLER);
    assert_string_equal(found[0].evidence, "rank 1: 1300 MHz, the others 1975");
    gpus[1] = (struct usage_gpu){ .rank = 1, .use = 300000, .clock_mhz = 1980 };
    assert_int_equal(diagnose(&ask, found, 2), 1);
    assert_int_equal(found[0].id, DIAGNOSIS_STRAGGLER);
    assert_string_equal(found[0].evidence,
                        "rank 1: busy 30 % of the time, the others at least 90 %");
    ask.has_roles = true; /* one that does something else is no straggler, */
    assert_int_equal(diagnose(&ask, found, 2), 0);
    ask = (struct diagnosis_ask){ .usage = &usage, .run_ms = 200000, .cpu_ms = -1 };
    gpus[2].use = 300000; /* nor are those who wait for the one that works */
    assert_int_equal(diagnose(&ask, found, 2), 0);
    gpus[2].use = 900000;
    gpus[1] = (struct usage_gpu){ .rank = 1 };
    assert_int_equal(diagnose(&ask, found, 2), 1);
    assert_int_equal(found[0].id, DIAGNOSIS_UNUSED);
    assert_string_equal(found[0].evidence, "1 of 3 GPUs: 0 %");
}

static void what_was_not_read_is_no_signature(void **state)
{
    (void)state;
    struct usage_gpu gpus[] = { { .rank = 0, .use = 900000 }, { .rank = 0, .use = 900000 } };
    struct usage usage = {
        .sums_count = USAGE_KINDS, .watched_ms = 1200000, .gpus = gpus, .gpus_count = 2
    };
    struct diagnosis found[2];
    struct diagnosis_ask ask = { .usage = &usage, .run_ms = 600000, .cpu_ms = -1 };

    assert_int_equal(diagnose(&ask, found, 2), 0); /* its use is not known: it is not idle */
    usage_add(&usage.sums[USAGE_GPU], 70 * PERCENT, 1200000);
    usage_add(&usage.sums[USAGE_LINKS], 9000, 1200000);
    assert_int_equal(diagnose(&ask, found, 2), 0); /* nor is what its SMs do */
    usage_add(&usage.sums[USAGE_SM], 30 * PERCENT, 1200000);
    assert_int_equal(diagnose(&ask, found, 2), 1);
    assert_int_equal(found[0].id, DIAGNOSIS_COMMUNICATION);
    usage.gpus_count = 1; /* and one alone has nobody to talk to */
    assert_int_equal(diagnose(&ask, found, 2), 0);
}

static void watch_for(struct tally *tally, const int64_t *uses, const int64_t *clocks, int seconds)
{
    for (int i = 0; i < seconds; i++) {
        for (uint32_t device = 0; device < 3; device++) {
            struct reading now = { 0 };
            struct tally_part part = { .job = 1, .attempt = 1, .rank = device, .use = -1 };
            reading_set(&now, READING_GPU_USE, uses[device] * PERCENT);
            reading_set(&now, READING_SM_CLOCK, clocks[device] * 1000000);
            tally_add(tally,
                      &(struct tally_ask){
                          .device = device, .now = &now, .ms = 1000, .parts = &part, .count = 1 });
        }
    }
}

static struct straggler look_now(const struct tally *tally)
{
    return straggler_find(&(struct straggler_ask){
        .usage = tally_look(tally, 1, 1), .is_lately = true, .are_alike = true });
}

/* After hours of good work, too: it is there within a minute, and gone within a minute. */
static void a_straggler_comes_and_goes(void **state)
{
    static const int64_t same[] = { 95, 95, 95 }, idler[] = { 95, 10, 95 }, one[] = { 95, 5, 5 };
    static const int64_t fast[] = { 1980, 1980, 1980 }, slower[] = { 1980, 1980, 900 };
    (void)state;
    struct tally tally = { 0 };

    watch_for(&tally, same, fast, 7200);
    assert_int_equal(look_now(&tally).of, STRAGGLER_OF_NONE);
    watch_for(&tally, idler, fast, 60);
    assert_int_equal(look_now(&tally).of, STRAGGLER_OF_USE);
    assert_int_equal(look_now(&tally).gpu->rank, 1);
    watch_for(&tally, same, fast, 60);
    assert_int_equal(look_now(&tally).of, STRAGGLER_OF_NONE);
    watch_for(&tally, same, slower, 60);
    assert_int_equal(look_now(&tally).of, STRAGGLER_OF_CLOCK);
    assert_int_equal(look_now(&tally).gpu->rank, 2);
    watch_for(&tally, one, slower, 60); /* who waits for the one that works is no straggler */
    assert_int_equal(look_now(&tally).of, STRAGGLER_OF_NONE);
    tally_release(&tally);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_jobs_of_a_device_sum_up_to_it),
        cmocka_unit_test(energy_without_a_counter_is_that_of_the_power),
        cmocka_unit_test(a_restart_goes_on_from_what_was_reported),
        cmocka_unit_test(usage_is_reported_more_seldom_the_longer_it_is),
        cmocka_unit_test(another_attempt_begins_anew_and_who_is_forgotten_is_gone),
        cmocka_unit_test(one_that_works_is_enough),
        cmocka_unit_test(a_signature_has_its_diagnosis),
        cmocka_unit_test(what_was_not_read_is_no_signature),
        cmocka_unit_test(members_are_compared),
        cmocka_unit_test(a_straggler_comes_and_goes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
