/* SPDX-License-Identifier: Apache-2.0 */
#include "time/cron.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "time/civil.h"

static usec_t moment(int64_t year, int month, int day, int hour, int minute)
{
    return civil_day(year, month, day) * USEC_PER_DAY + hour * USEC_PER_HOUR +
           minute * USEC_PER_MIN;
}

static struct cron cron_of(const char *words)
{
    struct cron cron;
    struct error err;

    if (cron_parse(words, &cron, &err) < 0)
        fail_msg("%s", err.text);
    return cron;
}

static void fields_are_sets(void **state)
{
    (void)state;
    struct cron cron = cron_of(" */15,59  0-6/3\t1,31 Jan-mar,12 MON-wed,fri-sun ");

    assert_string_equal(cron.words, "*/15,59 0-6/3 1,31 jan-mar,12 mon-wed,fri-sun");
    assert_true(cron.minutes == (UINT64_C(1) | UINT64_C(1) << 15 | UINT64_C(1) << 30 |
                                 UINT64_C(1) << 45 | UINT64_C(1) << 59));
    assert_int_equal(cron.hours, 1 | 1 << 3 | 1 << 6);
    assert_true(cron.days == (UINT32_C(1) << 1 | UINT32_C(1) << 31));
    assert_int_equal(cron.months, 1 << 1 | 1 << 2 | 1 << 3 | 1 << 12);
    assert_int_equal(cron.weekdays, 0x77);
    assert_false(cron.is_both);
    assert_false(cron.is_rhythm);
    assert_int_equal(cron_of("0 0 * * 0").weekdays, 1 << CIVIL_SUNDAY);
    assert_int_equal(cron_of("0 0 * * 7").weekdays, 1 << CIVIL_SUNDAY);
    assert_int_equal(cron_of("0 0 * * 5-7").weekdays, 0x70);
    assert_int_equal(cron_of("0 0 * * 0-2").weekdays, 0x43);
}

static void what_is_no_cron_is_refused_with_its_reason(void **state)
{
    static const struct {
        const char *words;
        int code;
        const char *text;
    } cases[] = {
        { "", -EINVAL,
          "'': not five fields; expected minute, hour, day, month and weekday, like "
          "0 2 * * 1-5" },
        { "0 2 * *", -EINVAL,
          "'0 2 * *': not five fields; expected minute, hour, day, month and "
          "weekday, like 0 2 * * 1-5" },
        { "0 2 * * 1 2", -EINVAL,
          "'0 2 * * 1 2': not five fields; expected minute, hour, day, "
          "month and weekday, like 0 2 * * 1-5" },
        { "60 2 * * *", -EINVAL,
          "'60 2 * * *': minute '60': expected like *, 5, 1-5, */2 or 1,3 of 0 to 59" },
        { "0 24 * * *", -EINVAL,
          "'0 24 * * *': hour '24': expected like *, 5, 1-5, */2 or 1,3 of 0 to 23" },
        { "0 0 0 * *", -EINVAL,
          "'0 0 0 * *': day '0': expected like *, 5, 1-5, */2 or 1,3 of 1 to 31" },
        { "0 0 * foo *", -EINVAL,
          "'0 0 * foo *': month 'foo': expected like *, 5, 1-5, */2 or 1,3 of 1 to 12" },
        { "0 0 * * 8", -EINVAL,
          "'0 0 * * 8': weekday '8': expected like *, 5, 1-5, */2 or 1,3 of 0 to 7" },
        { "5/10 0 * * *", -EINVAL,
          "'5/10 0 * * *': minute '5/10': expected like *, 5, 1-5, */2 or 1,3 of 0 to 59" },
        { "*/0 0 * * *", -EINVAL,
          "'*/0 0 * * *': minute '*/0': expected like *, 5, 1-5, */2 or 1,3 of 0 to 59" },
        { "9-5 0 * * *", -EINVAL,
          "'9-5 0 * * *': minute '9-5': expected like *, 5, 1-5, */2 or 1,3 of 0 to 59" },
        { "1, 0 * * *", -EINVAL,
          "'1, 0 * * *': minute '1,': expected like *, 5, 1-5, */2 or 1,3 of 0 to 59" },
        { "-1 0 * * *", -EINVAL,
          "'-1 0 * * *': minute '-1': expected like *, 5, 1-5, */2 or 1,3 of 0 to 59" },
        { "0 0 30 2 *", -ERANGE, "'0 0 30 2 *': no month of these has such a day" },
        { "0 0 31 4,6 *", -ERANGE, "'0 0 31 4,6 *': no month of these has such a day" },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct cron cron;
        struct error err;

        assert_int_equal(cron_parse(cases[i].words, &cron, &err), cases[i].code);
        assert_string_equal(err.text, cases[i].text);
    }
}

static void the_next_moment_is_later(void **state)
{
    static const struct {
        const char *words;
        usec_t after, next; /* as minutes of moment() below */
    } cases[] = {
        { "0 2 * * *", 0, 120 },        { "0 2 * * *", 120, 120 + 1440 },
        { "* * * * *", 7, 8 },          { "59 23 31 12 *", 0, 364 * 1440 + 1439 },
        { "0 0 1 1 *", 0, 365 * 1440 },
    };
    (void)state;
    AUTO(zone) struct zone *utc = zone_utc();
    usec_t start = moment(2026, 1, 1, 0, 0);

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct cron cron = cron_of(cases[i].words);
        usec_t next = cron_next(&cron, utc, start + cases[i].after * USEC_PER_MIN);

        assert_int_equal(next, start + cases[i].next * USEC_PER_MIN);
    }
    /* Within a minute, and before 1970. */
    struct cron cron = cron_of("* * * * *");
    assert_int_equal(cron_next(&cron, utc, start + 1), start + USEC_PER_MIN);
    assert_int_equal(cron_next(&cron, utc, -1), 0);
    assert_int_equal(cron_next(&cron, utc, -USEC_PER_MIN - 1), -USEC_PER_MIN);
}

static void leap_days_are_waited_for(void **state)
{
    (void)state;
    AUTO(zone) struct zone *utc = zone_utc();
    struct cron cron = cron_of("0 12 29 2 *"), monday = cron_of("0 12 29 2 */8");

    assert_int_equal(cron_next(&cron, utc, moment(2026, 1, 1, 0, 0)), moment(2028, 2, 29, 12, 0));
    assert_int_equal(cron_next(&cron, utc, moment(2096, 3, 1, 0, 0)), moment(2104, 2, 29, 12, 0));
    /* A weekday that begins with '*' must fit too: a leap day on a Sunday. */
    assert_int_equal(cron_next(&monday, utc, moment(2032, 3, 1, 0, 0)), moment(2060, 2, 29, 12, 0));
    assert_int_equal(cron_next(&monday, utc, moment(2088, 3, 1, 0, 0)), moment(2128, 2, 29, 12, 0));
}

static void day_or_weekday_will_do_unless_one_is_a_star(void **state)
{
    (void)state;
    AUTO(zone) struct zone *utc = zone_utc();
    struct cron either = cron_of("0 0 13 * 5"), both = cron_of("0 0 */13 * 5");

    /* 1 May 2026 is a Friday. */
    assert_int_equal(cron_next(&either, utc, moment(2026, 4, 30, 0, 0)), moment(2026, 5, 1, 0, 0));
    assert_int_equal(cron_next(&either, utc, moment(2026, 5, 8, 0, 0)), moment(2026, 5, 13, 0, 0));
    assert_int_equal(cron_next(&both, utc, moment(2026, 4, 30, 0, 0)), moment(2026, 5, 1, 0, 0));
    assert_int_equal(cron_next(&both, utc, moment(2026, 5, 1, 0, 0)), moment(2026, 8, 14, 0, 0));
}

static struct zone *berlin(void)
{
    struct zone *zone = NULL;

    assert_int_equal(zone_of_rule("t", "CET-1CEST,M3.5.0,M10.5.0/3", &zone, NULL), 0);
    return zone;
}

static void a_time_jumped_over_fires_once_at_the_jump(void **state)
{
    (void)state;
    AUTO(zone) struct zone *zone = berlin();
    struct cron half_past_two = cron_of("30 2 * * *"), quarters = cron_of("*/15 2,3 * * *");
    struct cron hourly = cron_of("30 * * * *");
    usec_t jump = moment(2026, 3, 29, 1, 0);

    usec_t at = cron_next(&half_past_two, zone, moment(2026, 3, 28, 12, 0));
    assert_int_equal(at, jump);
    assert_int_equal(cron_next(&half_past_two, zone, at), moment(2026, 3, 30, 0, 30));
    /* Four of the quarters are jumped over, and are one. */
    at = cron_next(&quarters, zone, moment(2026, 3, 28, 12, 0));
    assert_int_equal(at, jump);
    assert_int_equal(cron_next(&quarters, zone, at), jump + 15 * USEC_PER_MIN);
    /* A rhythm does not make up for anything. */
    at = cron_next(&hourly, zone, jump - 45 * USEC_PER_MIN);
    assert_int_equal(at, jump - 30 * USEC_PER_MIN);
    assert_int_equal(cron_next(&hourly, zone, at), jump + 30 * USEC_PER_MIN);
}

static void a_time_that_comes_twice_fires_the_first_time(void **state)
{
    (void)state;
    AUTO(zone) struct zone *zone = berlin();
    struct cron half_past_two = cron_of("30 2 * * *"), hourly = cron_of("30 * * * *");
    usec_t jump = moment(2026, 10, 25, 1, 0);

    usec_t at = cron_next(&half_past_two, zone, moment(2026, 10, 24, 12, 0));
    assert_int_equal(at, jump - 30 * USEC_PER_MIN);
    assert_int_equal(cron_next(&half_past_two, zone, at), moment(2026, 10, 26, 1, 30));
    at = cron_next(&hourly, zone, at);
    assert_int_equal(at, jump + 30 * USEC_PER_MIN);
    assert_int_equal(cron_next(&hourly, zone, at), jump + 90 * USEC_PER_MIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_sets),
        cmocka_unit_test(what_is_no_cron_is_refused_with_its_reason),
        cmocka_unit_test(the_next_moment_is_later),
        cmocka_unit_test(leap_days_are_waited_for),
        cmocka_unit_test(day_or_weekday_will_do_unless_one_is_a_star),
        cmocka_unit_test(a_time_jumped_over_fires_once_at_the_jump),
        cmocka_unit_test(a_time_that_comes_twice_fires_the_first_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
