/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cluster/window.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static struct window *window_of(const struct span *spans, size_t count)
{
    struct window *window = window_create("nights");

    assert_int_equal(window_set(window, spans, count, NULL), 0);
    return window;
}

static const struct span two[] = { { 10, 20 }, { 30, 40 } };

static void a_window_has_its_first_moment_and_not_its_last(void **state)
{
    static const struct {
        usec_t at;
        bool is_inside;
        usec_t until;
    } cases[] = {
        { -5, false, 10 }, { 9, false, 10 }, { 10, true, 20 }, { 19, true, 20 },
        { 20, false, 30 }, { 30, true, 40 }, { 39, true, 40 }, { 40, false, USEC_NEVER },
    };
    (void)state;
    AUTO(window) struct window *window = window_of(two, COUNT_OF(two));

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        usec_t until = 0;

        assert_int_equal(window_at(window, cases[i].at, &until), cases[i].is_inside);
        assert_int_equal(until, cases[i].until);
        assert_int_equal(window_next_edge(window, cases[i].at), cases[i].until);
    }
}

static void a_window_without_end_has_no_edge_inside(void **state)
{
    (void)state;
    AUTO(window) struct window *window = window_of(&(struct span){ 10, USEC_NEVER }, 1);

    assert_int_equal(window_next_edge(window, 9), 10);
    assert_true(window_at(window, 10, NULL));
    assert_int_equal(window_next_edge(window, 10), USEC_NEVER);
}

static void one_without_spans_is_never_open(void **state)
{
    (void)state;
    AUTO(window) struct window *window = window_create("never");

    assert_false(window_at(window, 0, NULL));
    assert_int_equal(window_next_edge(window, 0), USEC_NEVER);
    assert_false(window_overlaps(window, 0, USEC_NEVER));
}

static void touching_is_not_overlapping(void **state)
{
    (void)state;
    AUTO(window) struct window *window = window_of(two, COUNT_OF(two));

    assert_false(window_overlaps(window, 0, 10));
    assert_true(window_overlaps(window, 0, 11));
    assert_true(window_overlaps(window, 19, 20));
    assert_false(window_overlaps(window, 20, 30));
    assert_true(window_overlaps(window, 20, 31));
    assert_true(window_overlaps(window, 0, USEC_NEVER));
    assert_false(window_overlaps(window, 15, 15));
    assert_false(window_overlaps(window, 40, USEC_NEVER));
}

static void bad_spans_change_nothing(void **state)
{
    static const struct {
        struct span spans[2];
        const char *text;
    } cases[] = {
        { { { 5, 5 }, { 6, 7 } }, "window nights: span 1 ends before it begins" },
        { { { 5, 6 }, { 8, 7 } }, "window nights: span 2 ends before it begins" },
        { { { 5, 6 }, { 4, 7 } }, "window nights: span 2 does not begin after the previous span" },
        { { { 5, 6 }, { 6, 7 } }, "window nights: span 2 does not begin after the previous span" },
    };
    static struct span many[WINDOW_SPANS_MAX + 1];
    struct error err;
    (void)state;
    AUTO(window) struct window *window = window_of(two, COUNT_OF(two));

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(window_set(window, cases[i].spans, 2, &err), -EINVAL);
        assert_string_equal(err.text, cases[i].text);
        assert_int_equal(window->spans.count, 2);
    }
    for (size_t i = 0; i < COUNT_OF(many); i++)
        many[i] = (struct span){ (usec_t)i * 2, (usec_t)i * 2 + 1 };
    assert_int_equal(window_set(window, many, COUNT_OF(many), &err), -E2BIG);
    assert_string_equal(err.text, "window nights: 10001 spans, at most 10000 are accepted");
    assert_true(window_at(window, 35, NULL));
    assert_int_equal(window_set(window, many, WINDOW_SPANS_MAX, &err), 0);
    assert_int_equal(window->spans.count, WINDOW_SPANS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_has_its_first_moment_and_not_its_last),
        cmocka_unit_test(a_window_without_end_has_no_edge_inside),
        cmocka_unit_test(one_without_spans_is_never_open),
        cmocka_unit_test(touching_is_not_overlapping),
        cmocka_unit_test(bad_spans_change_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
