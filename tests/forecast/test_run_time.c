/* SPDX-License-Identifier: Apache-2.0 */
#include "forecast/run_time.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../sched/lab.h"
#include "forecast/forecast.h"

enum { WORLDS = 1000, RUNS_MAX = 5 };

/* ---- random worlds ---- */

static uint64_t next(uint64_t *at)
{
    *at = *at * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *at >> 33;
}

static double uniform(uint64_t *at)
{
    return ((double)(next(at) % 1000000) + 0.5) / 1e6;
}

static double normal(uint64_t *at)
{
    double angle = 6.283185307179586 * uniform(at);

    return sqrt(-2 * log(uniform(at))) * cos(angle);
}

/* Jobs of one kind: run times around a mean, some of which end at once. */
struct kind {
    double mean, spread; /* log2 of microseconds, octaves */
    usec_t limit;
};

static struct kind any_kind(uint64_t *at)
{
    static const double spreads[] = { 0.2, 1, 2 };
    static const usec_t limits[] = { USEC_PER_HOUR, 4 * USEC_PER_HOUR, USEC_PER_DAY };
    usec_t limit = limits[next(at) % COUNT_OF(limits)];

    return (struct kind){ .mean = log2((double)limit) - 0.5 - 7 * uniform(at),
                          .spread = spreads[next(at) % COUNT_OF(spreads)],
                          .limit = limit };
}

static usec_t run_of(const struct kind *kind, uint64_t *at)
{
    bool is_short = next(at) % 20 == 0;
    double log = is_short ? log2(1e6) + 5 * uniform(at) : kind->mean + kind->spread * normal(at);
    usec_t run = (usec_t)exp2(log < 60 ? log : 60);

    return run < USEC_PER_SEC ? USEC_PER_SEC : run < kind->limit ? run : kind->limit;
}

static struct lab *machine(void)
{
    struct lab *lab = lab_create();

    lab->is_silent = true;
    lab->now = USEC_PER_DAY;
    lab_node(lab, "a", 64000, 64000);
    lab_gpus(lab, "a", "h100", 80000, 1);
    lab_tell(lab, &(struct event){ .kind = EVENT_SETTINGS,
                                   .settings = { .half_life = 7 * USEC_PER_DAY,
                                                 .backfill_depth = 1,
                                                 .predict = 1 } });
    return lab;
}

static void end_after(struct lab *lab, uint64_t job, usec_t run)
{
    lab_started(lab, job);
    lab->now += run;
    lab_ended(lab, job, 0);
    lab_settle(lab);
}

static int compare(const void *a, const void *b)
{
    const usec_t *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

struct range {
    usec_t low, median, high;
};

/* As a forecast takes it from so many samples. */
static struct range range_of(const struct lab *lab, uint64_t job, usec_t ran, uint32_t samples)
{
    usec_t draws[FORECAST_SAMPLES_MAX];

    for (uint32_t i = 0; i < samples; i++)
        draws[i] = run_time_draw(lab->state, lab_job(lab, job), ran, i);
    qsort(draws, samples, sizeof(draws[0]), compare);
    return (struct range){ draws[(samples - 1) * 10 / 100], draws[(samples - 1) / 2],
                           draws[((samples - 1) * 90 + 99) / 100] };
}

/* Runs of a kind, then one of which so much has passed that it still runs. */
static void count_world(uint64_t seed, uint32_t runs, uint32_t samples, uint32_t *below,
                        uint32_t *above, double *octaves)
{
    AUTO(lab) struct lab *lab = machine();
    uint64_t at = seed * 7919 + runs;
    lab->state->next_id = 1 + seed * 7; /* the draws depend on the number of the job */
    struct kind kind = any_kind(&at);

    for (uint32_t i = 0; i < runs; i++) {
        uint64_t job = lab_submit(lab, "1", kind.limit);
        lab_settle(lab);
        end_after(lab, job, run_of(&kind, &at));
    }
    usec_t actual = run_of(&kind, &at);
    struct range range = range_of(lab, lab_submit(lab, "1", kind.limit), 0, samples);
    assert_true(range.low <= range.median && range.median <= range.high);
    assert_true(range.high <= kind.limit);
    *below += actual < range.low;
    *above += actual > range.high;
    *octaves += log2((double)range.high / (double)range.low);
}

static void check_coverage(uint32_t runs, uint32_t samples)
{
    uint32_t below = 0, above = 0;
    double octaves = 0;

    for (uint64_t seed = 1; seed <= WORLDS; seed++)
        count_world(seed, runs, samples, &below, &above, &octaves);
    printf("%u runs, %u samples: below %.1f %%, above %.1f %%, range %.1f octaves\n", runs, samples,
           100.0 * below / WORLDS, 100.0 * above / WORLDS, octaves / WORLDS);
    assert_in_range(below, 0, WORLDS * 13 / 100);
    assert_in_range(above, 0, WORLDS * 13 / 100);
    assert_in_range(below + above, 0, WORLDS * 21 / 100);
    assert_true(octaves / WORLDS < 11);
}

/* With none, one, ... of five, as many as make it "enough", and many. */
static void eight_of_ten_runs_are_in_the_range_with_little_history(void **unused)
{
    static const uint32_t runs[] = { 0, 1, 2, 3, 4, 5, 8, 20 };
    (void)unused;

    for (size_t i = 0; i < COUNT_OF(runs); i++) {
        check_coverage(runs[i], FORECAST_SAMPLES_MIN);
        check_coverage(runs[i], FORECAST_SAMPLES_MAX);
    }
}

/* A limit of an hour and a run of 39 s, however few runs are known. */
static void a_short_run_is_not_below_the_range(void **unused)
{
    const usec_t run = 39 * USEC_PER_SEC;
    (void)unused;

    for (uint32_t runs = 0; runs <= 3; runs++) {
        AUTO(lab) struct lab *lab = machine();
        for (uint32_t i = 0; i < runs; i++) {
            uint64_t job = lab_submit(lab, "1", USEC_PER_HOUR);
            lab_settle(lab);
            end_after(lab, job, (2 + i) * USEC_PER_MIN);
        }
        struct range range =
            range_of(lab, lab_submit(lab, "1", USEC_PER_HOUR), 0, FORECAST_SAMPLES_MAX);
        assert_true(range.low <= run);
        assert_true(range.high > 8 * USEC_PER_MIN);
    }
}

/* ---- those that run ---- */

static struct range range_after(struct lab *lab, uint64_t job, usec_t ran)
{
    struct range range = range_of(lab, job, ran, FORECAST_SAMPLES_MAX);

    assert_true(range.low > ran && range.low <= range.median && range.median <= range.high);
    return range;
}

static uint64_t submit_estimated(struct lab *lab, usec_t estimate, usec_t limit)
{
    struct event event = { .kind = EVENT_SUBMIT,
                           .submit = { .id = lab->state->next_id,
                                       .name = "other",
                                       .user = "ben",
                                       .queue = "default",
                                       .external = "",
                                       .estimate = estimate } };

    request_default(&event.submit.request);
    event.submit.request.max_duration = limit;
    lab_tell(lab, &event);
    return event.submit.id;
}

/* Half of what it ran is the least that is left in the middle, whatever was expected of it. */
static void what_outlived_its_estimate_is_not_over_at_any_moment(void **unused)
{
    static const usec_t limits[] = { USEC_NEVER, USEC_PER_DAY };
    static const usec_t estimates[] = { 10 * USEC_PER_MIN, 0 };
    (void)unused;

    for (uint32_t runs = 0; runs <= 8; runs += 4) {
        for (size_t i = 0; i < COUNT_OF(limits) * COUNT_OF(estimates); i++) {
            AUTO(lab) struct lab *lab = machine();
            usec_t limit = limits[i % 2], estimate = estimates[i / 2];
            for (uint32_t k = 0; k < runs; k++) {
                uint64_t job = lab_submit(lab, "1", USEC_PER_HOUR);
                lab_settle(lab);
                end_after(lab, job, (9 + k % 3) * USEC_PER_MIN);
            }
            uint64_t job = submit_estimated(lab, estimate, limit);
            if (runs == 0 && limit == USEC_NEVER && estimate == 0)
                continue; /* nothing is known */
            for (usec_t ran = 20 * USEC_PER_MIN; ran < 8 * USEC_PER_HOUR; ran *= 2) {
                struct range range = range_after(lab, job, ran);
                assert_true(range.median - ran >= ran / 4);
                assert_true(range.low - ran >= ran / 100);
                assert_true(range.high <= limit && range.high <= 200 * ran);
            }
        }
    }
}

/* What is still to come of an estimate is not drawn from what has passed of it. */
static void what_runs_within_its_estimate_does_not_end_at_once(void **unused)
{
    const usec_t estimate = USEC_PER_HOUR, ran = 54 * USEC_PER_MIN;
    (void)unused;
    AUTO(lab) struct lab *lab = machine();
    uint64_t job = submit_estimated(lab, estimate, USEC_PER_DAY);
    uint32_t at_once = 0;

    for (uint32_t i = 0; i < 100; i++)
        at_once += run_time_draw(lab->state, lab_job(lab, job), ran, i) < ran + USEC_PER_SEC;
    assert_in_range(at_once, 0, 2);
    assert_int_equal(range_after(lab, job, ran).median, estimate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_of_ten_runs_are_in_the_range_with_little_history),
        cmocka_unit_test(a_short_run_is_not_below_the_range),
        cmocka_unit_test(what_outlived_its_estimate_is_not_over_at_any_moment),
        cmocka_unit_test(what_runs_within_its_estimate_does_not_end_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
