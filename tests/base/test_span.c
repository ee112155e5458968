/* SPDX-License-Identifier: Apache-2.0 */
#include "time/span.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { MOMENTS = 64, ROUNDS = 3000 };

static uint64_t next_random(uint64_t *random)
{
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *random >> 33;
}

/* Random spans, and the same as a set of moments. */
static void fill(uint64_t *random, struct span_list *list, bool *moments)
{
    for (uint64_t count = next_random(random) % 12; count > 0; count--) {
        usec_t from = (usec_t)(next_random(random) % MOMENTS);
        usec_t until = from + (usec_t)(next_random(random) % 9);

        until = until > MOMENTS ? MOMENTS : until;
        span_list_add(list, (struct span){ from, until });
        for (usec_t at = from; at < until; at++)
            moments[at] = true;
    }
}

static void check(const struct span_list *list, const bool *moments, uint64_t seed)
{
    bool is_right = span_list_is_sorted(list);

    for (usec_t at = 0; at < MOMENTS; at++) {
        size_t i = span_list_find(list, at);
        is_right &= (i < list->count && list->items[i].from <= at) == moments[at];
    }
    if (!is_right)
        fail_msg("seed %" PRIu64, seed);
}

static void lists_are_the_sets_of_their_moments(void **state)
{
    (void)state;
    uint64_t seed = (uint64_t)time(NULL), random = seed * 2 + 1;

    print_message("seed %" PRIu64 "\n", seed);
    for (int round = 0; round < ROUNDS; round++) {
        AUTO_RELEASE(span_list) struct span_list list = { 0 };
        AUTO_RELEASE(span_list) struct span_list without = { 0 };
        bool moments[MOMENTS] = { false }, taken[MOMENTS] = { false };
        usec_t from = (usec_t)(next_random(&random) % MOMENTS);
        usec_t until = from + (usec_t)(next_random(&random) % 30);

        fill(&random, &list, moments);
        fill(&random, &without, taken);
        span_list_sort(&list);
        check(&list, moments, seed);
        span_list_sort(&without);
        span_list_subtract(&list, &without);
        for (size_t at = 0; at < MOMENTS; at++)
            moments[at] &= !taken[at];
        check(&list, moments, seed);
        span_list_clip(&list, from, until);
        for (usec_t at = 0; at < MOMENTS; at++)
            moments[at] &= at >= from && at < until;
        check(&list, moments, seed);
    }
}

static void spans_that_touch_become_one(void **state)
{
    (void)state;
    AUTO_RELEASE(span_list) struct span_list list = { 0 };

    span_list_add(&list, (struct span){ 1, 3 });
    span_list_add(&list, (struct span){ 3, 5 });
    span_list_add(&list, (struct span){ 7, 7 });
    span_list_add(&list, (struct span){ 6, USEC_NEVER });
    assert_int_equal(list.count, 2);
    assert_int_equal(list.items[0].until, 5);
    assert_true(list.items[1].until == USEC_NEVER);
    assert_true(span_list_is_sorted(&list));
    list.items[1].from = 5;
    assert_false(span_list_is_sorted(&list));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_the_sets_of_their_moments),
        cmocka_unit_test(spans_that_touch_become_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
