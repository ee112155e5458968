/* SPDX-License-Identifier: Apache-2.0 */
/* A time of day or a date: what a document takes, the daemon takes too, and nothing else. */
#include "time/begin.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/mem.h"
#include "control/when.h"

static void a_date_or_time_is_split_into_numbers(void **state)
{
    struct begin_fields fields;
    (void)state;

    assert_true(begin_split("2032-02-29T08:05:09", &fields));
    assert_true(fields.has_date);
    assert_int_equal(fields.year, 2032);
    assert_int_equal(fields.month, 2);
    assert_int_equal(fields.day, 29);
    assert_int_equal(fields.hour, 8);
    assert_int_equal(fields.minute, 5);
    assert_int_equal(fields.second, 9);
    assert_true(begin_split("9:30", &fields));
    assert_false(fields.has_date);
    assert_int_equal(fields.hour, 9);
    assert_int_equal(fields.minute, 30);
    assert_int_equal(fields.second, 0);
}

static void the_daemon_refuses_what_a_document_refuses(void **state)
{
    static const char *const cases[] = {
        "2030-02-31",
        "2030-02-29",
        "2030-04-31T08:00",
        "2030-13-01",
        "2030-00-10",
        "2030-01-00",
        "2030-01-32",
        "1969-12-31",
        "24:00",
        "12:60",
        "12:00:60",
        "12:0",
        "2030-1-31",
        "2030-01-31T",
        "2030-01-31T8",
        "2030-01-31x08:00",
        "2030-01-31T24:00",
        "2030-01-31 08:61",
        "2030-01-31T08:00:0",
        " 12:00",
        "+1:00",
        "12:00 ",
        "2030-01-31T 8:00",
        "",
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct begin_fields fields;
        struct error err;
        usec_t at;

        assert_false(begin_split(cases[i], &fields));
        assert_int_equal(when_parse("begin", cases[i], 0, &at, &err), -EINVAL);
        AUTO_FREE char *text =
            mem_printf("begin '%s': expected one like 14:30 or 2030-01-31T08:00", cases[i]);
        assert_string_equal(err.text, text);
    }
}

static void the_daemon_knows_when_it_is(void **state)
{
    static const usec_t then = (usec_t)1889997600 * USEC_PER_SEC; /* 2029-11-21T23:20 UTC */
    static const struct {
        const char *text;
        usec_t after; /* seconds from then */
    } cases[] = {
        { "23:21", 60 },
        { "23:20", 86400 },
        { "0:00", 2400 },
        { "2029-11-22", 2400 },
        { "2029-11-22T00:00:01", 2401 },
        { "2029-11-23 23:20", 2 * 86400 },
    };
    (void)state;

    setenv("TZ", "UTC", 1);
    tzset();
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct error err;
        usec_t at;

        assert_int_equal(when_parse("begin", cases[i].text, then, &at, &err), 0);
        assert_int_equal((at - then) / USEC_PER_SEC, cases[i].after);
    }
    struct error err;
    usec_t at;
    assert_int_equal(when_parse("begin", "2050-01-01", then, &at, &err), -EINVAL);
    assert_string_equal(err.text, "begin '2050-01-01': not within ten years");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_date_or_time_is_split_into_numbers),
        cmocka_unit_test(the_daemon_refuses_what_a_document_refuses),
        cmocka_unit_test(the_daemon_knows_when_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
