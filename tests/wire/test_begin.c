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

static void words_of_slurm_are_times(void **state)
{
    static const struct {
        const char *text;
        int hour, minute, later; /* days; -1: no day */
    } cases[] = {
        { "midnight", 0, 0, -1 },   { "noon", 12, 0, -1 },    { "fika", 15, 0, -1 },
        { "Teatime", 16, 0, -1 },   { "today", 0, 0, 0 },     { "tomorrow", 0, 0, 1 },
        { "elevenses", 11, 0, -1 }, { "2:30pm", 14, 30, -1 }, { "12:05 AM", 0, 5, -1 },
        { "12:05pm", 12, 5, -1 },
    };
    struct begin_fields fields;
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_true(begin_split(cases[i].text, &fields));
        assert_false(fields.has_date);
        assert_int_equal(fields.is_relative, cases[i].later >= 0);
        assert_int_equal(fields.hour, cases[i].hour);
        assert_int_equal(fields.minute, cases[i].minute);
        if (fields.is_relative)
            assert_int_equal(fields.day, cases[i].later);
    }
    static const char *const dates[] = {
        "01/31/30-08:05", "01.31.30-8:05",    "01/31-08:05:00",
        "01.31-08:05am",  "2030-01-31T08:05", "2030-01-31 8:05am"
    };
    for (size_t i = 0; i < COUNT_OF(dates); i++) {
        assert_true(begin_split(dates[i], &fields));
        assert_true(fields.has_date);
        assert_int_equal(fields.lacks_year, i == 2 || i == 3);
        assert_int_equal(fields.year, fields.lacks_year ? 0 : 2030);
        assert_int_equal(fields.month, 1);
        assert_int_equal(fields.day, 31);
        assert_int_equal(fields.hour, 8);
        assert_int_equal(fields.minute, 5);
    }
    static const char *const bad[] = {
        "13/01",       "01/32/30",    "02.30",  "01/31/2030", "2030-01-31-08:00x",
        "01/31-25:00", "2030-01-31T", "01/31-", "0131",       "1:2:3"
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_false(begin_split(bad[i], &fields));
    assert_true(begin_split("02/29/32", &fields));
    assert_true(fields.has_date);
    assert_int_equal(fields.year, 2032);
    assert_int_equal(fields.month, 2);
    assert_int_equal(fields.day, 29);
    assert_false(begin_split("13:00pm", &fields));
    assert_false(begin_split("0:30am", &fields));
    assert_false(begin_split("02/30/32", &fields));
    assert_false(begin_split("yesterday", &fields));
}

static void tomorrow_is_the_next_midnight(void **state)
{
    usec_t now = 1900000000 * USEC_PER_SEC, at, today; /* 2030-03-17 */
    struct error err;
    (void)state;

    assert_int_equal(when_parse("begin", "tomorrow", now, &at, &err), 0);
    assert_true(at > now && at <= now + USEC_PER_DAY + USEC_PER_HOUR);
    assert_int_equal(when_parse("begin", "today", now, &today, &err), 0);
    assert_true(today <= now && today > now - USEC_PER_DAY - USEC_PER_HOUR);
}

static void a_date_without_a_year_is_the_next_one(void **state)
{
    const usec_t now = 1900000000 * USEC_PER_SEC; /* 2030-03-17 */
    usec_t at[3];
    struct error err;
    (void)state;

    assert_int_equal(when_parse("begin", "04/01", now, &at[0], &err), 0);
    assert_int_equal(when_parse("begin", "2030-04-01", now, &at[1], &err), 0);
    assert_true(at[0] == at[1]);
    assert_int_equal(when_parse("begin", "02.01-08:00", now, &at[0], &err), 0);
    assert_int_equal(when_parse("begin", "2031-02-01T08:00", now, &at[1], &err), 0);
    assert_true(at[0] == at[1]);
    assert_int_equal(when_parse("begin", "02/29", now, &at[0], &err), -EINVAL);
    assert_string_equal(err.text, "begin '02/29': the year has no such day");
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
        cmocka_unit_test(words_of_slurm_are_times),
        cmocka_unit_test(tomorrow_is_the_next_midnight),
        cmocka_unit_test(a_date_without_a_year_is_the_next_one),
        cmocka_unit_test(the_daemon_refuses_what_a_document_refuses),
        cmocka_unit_test(the_daemon_knows_when_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
