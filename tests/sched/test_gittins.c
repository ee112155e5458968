/* SPDX-License-Identifier: Apache-2.0 */

/* How far jobs came (core/predict/residual.h), and the ranks that follow: against the definition,
 * worked out anew in floating point, one choice of an end after another. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "sched/ordering/gittins.h"

static double hazard(const struct residual *residual, uint32_t class, uint32_t bin)
{
    double prior = bin % 2 == 1 ? 1.0 / 3 : 1.0 / 4;
    double all = (residual->ended[RESIDUAL_ALL][bin] + GITTINS_WEIGHT * prior) /
                 (residual->left[RESIDUAL_ALL][bin] + GITTINS_WEIGHT);

    return (residual->ended[class][bin] + GITTINS_WEIGHT * all) /
           (residual->left[class][bin] + GITTINS_WEIGHT);
}

/* Stop after bin `last` at the latest: what an end costs then. */
static double price(const struct residual *residual, uint32_t class, uint32_t from, uint32_t last)
{
    double here = 1, run = 0;

    for (uint32_t bin = from; bin <= last; bin++) {
        double next = here * (1 - hazard(residual, class, bin));
        run += (here + next) / 2 * (double)(residual_start(bin + 1) - residual_start(bin));
        here = next;
    }
    return run / (1 - here);
}

static double best_price(const struct residual *residual, uint32_t class, uint32_t from)
{
    double best = INFINITY;

    for (uint32_t last = from; last + 1 < RESIDUAL_BINS; last++)
        best = fmin(best, price(residual, class, from, last));
    return best;
}

static uint32_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33);
}

static void fill(struct residual *residual, uint64_t seed, uint32_t jobs)
{
    for (uint32_t i = 0; i < jobs; i++) {
        uint32_t class = next_random(&seed) % RESIDUAL_SIZES;
        uint32_t bin = (next_random(&seed) % 12 + next_random(&seed) % 12) * (class + 1) / 4;
        residual_pass(residual, class, 0, bin);
        if (next_random(&seed) % 4 > 0)
            residual_end(residual, class, bin);
    }
}

static void the_ranks_are_the_least_price_of_an_end(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct residual residual = { 0 };
        struct gittins gittins;

        fill(&residual, seed, seed < 4 ? (uint32_t)seed - 1 : 1000);
        gittins_make(&gittins, &residual, GITTINS_ALL);
        for (uint32_t class = 0; class < RESIDUAL_SIZES; class ++) {
            for (uint32_t bin = 1; bin + 20 < RESIDUAL_BINS; bin++) {
                double wanted = best_price(&residual, class, bin);
                double got = (double)gittins.ranks[class][bin];
                if (fabs(got - wanted) > wanted / 500)
                    fail_msg("seed %d, class %u, bin %u: %.0f, not %.0f", (int)seed, class, bin,
                             got, wanted);
            }
        }
    }
}

static void without_history_the_rank_grows_as_what_was_attained(void **state)
{
    const struct residual nothing = { 0 };
    struct gittins gittins;
    (void)state;

    gittins_make(&gittins, &nothing, GITTINS_ALL);
    for (uint32_t bin = 3; bin + 20 < RESIDUAL_BINS; bin++) {
        usec_t rank = gittins.ranks[0][bin], twice = gittins.ranks[3][bin + 2];
        assert_true(llabs(twice - 2 * rank) < rank / 100);
    }
}

static void jobs_that_all_end_by_then_are_nearly_there(void **state)
{
    struct residual residual = { 0 };
    struct gittins gittins;
    uint32_t bin = residual_bin(4 * USEC_PER_HOUR);
    (void)state;

    for (int i = 0; i < 10000; i++) {
        residual_pass(&residual, 0, 0, bin);
        residual_end(&residual, 0, bin);
    }
    gittins_make(&gittins, &residual, GITTINS_ALL);
    /* Just before, an end is near; an hour in, it is still far. */
    assert_true(gittins.ranks[0][bin] < gittins.ranks[0][bin - 4]);
}

static void every_time_lies_in_its_bin(void **state)
{
    (void)state;
    assert_int_equal(residual_bin(0), 0);
    assert_int_equal(residual_bin(-1), 0);
    assert_int_equal(residual_start(1), USEC_PER_MIN);
    assert_int_equal(residual_start(2), 90 * USEC_PER_SEC);
    assert_int_equal(residual_start(3), 2 * USEC_PER_MIN);
    for (uint32_t bin = 0; bin + 1 < RESIDUAL_BINS; bin++) {
        usec_t start = residual_start(bin), end = residual_start(bin + 1);
        assert_true(start < end);
        assert_int_equal(residual_bin(start), bin);
        assert_int_equal(residual_bin(end - 1), bin);
    }
    assert_int_equal(residual_bin(USEC_NEVER), RESIDUAL_BINS - 1);
}

static void sizes_are_octaves_of_gpus(void **state)
{
    static const struct {
        int64_t milli;
        uint32_t class;
    } cases[] = { { 250, 0 },  { 1000, 0 }, { 1999, 0 },  { 2000, 1 },
                  { 3000, 1 }, { 8000, 3 }, { 64000, 6 }, { 4096000, 6 } };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(residual_class(cases[i].milli), cases[i].class);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_ranks_are_the_least_price_of_an_end),
        cmocka_unit_test(without_history_the_rank_grows_as_what_was_attained),
        cmocka_unit_test(jobs_that_all_end_by_then_are_nearly_there),
        cmocka_unit_test(every_time_lies_in_its_bin),
        cmocka_unit_test(sizes_are_octaves_of_gpus),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
