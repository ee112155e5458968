/* SPDX-License-Identifier: Apache-2.0 */
#include "time/period.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "time/civil.h"

static usec_t moment(int64_t year, int month, int day, int hour, int minute)
{
    return civil_day(year, month, day) * USEC_PER_DAY + hour * USEC_PER_HOUR +
           minute * USEC_PER_MIN;
}

static struct zone *zone_of(const char *rule)
{
    struct zone *zone = NULL;

    assert_int_equal(zone_of_rule("t", rule, &zone, NULL), 0);
    return zone;
}

static const char berlin[] = "CET-1CEST,M3.5.0,M10.5.0/3";

static void each_kind_begins_where_the_calendar_says(void **state)
{
    static const struct {
        enum period period;
        int start[5], next[5]; /* of the clock */
    } cases[] = {
        { PERIOD_HOUR, { 2024, 2, 29, 13, 0 }, { 2024, 2, 29, 14, 0 } },
        { PERIOD_DAY, { 2024, 2, 29, 0, 0 }, { 2024, 3, 1, 0, 0 } },
        { PERIOD_WEEK, { 2024, 2, 26, 0, 0 }, { 2024, 3, 4, 0, 0 } },
        { PERIOD_MONTH, { 2024, 2, 1, 0, 0 }, { 2024, 3, 1, 0, 0 } },
        { PERIOD_QUARTER, { 2024, 1, 1, 0, 0 }, { 2024, 4, 1, 0, 0 } },
        { PERIOD_YEAR, { 2024, 1, 1, 0, 0 }, { 2025, 1, 1, 0, 0 } },
    };
    (void)state;
    AUTO(zone) struct zone *kolkata = zone_of("IST-5:30");
    usec_t ahead = 330 * USEC_PER_MIN;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const int *s = cases[i].start, *n = cases[i].next;
        usec_t at = moment(2024, 2, 29, 13, 37) - ahead;
        usec_t start = moment(s[0], s[1], s[2], s[3], s[4]) - ahead;
        usec_t next = moment(n[0], n[1], n[2], n[3], n[4]) - ahead;

        assert_int_equal(period_start(cases[i].period, kolkata, at), start);
        assert_int_equal(period_next(cases[i].period, kolkata, at), next);
        assert_int_equal(period_start(cases[i].period, kolkata, start), start);
        assert_int_equal(period_start(cases[i].period, kolkata, next - 1), start);
        assert_int_equal(period_start(cases[i].period, kolkata, next), next);
    }
}

static void years_end_with_december(void **state)
{
    (void)state;
    AUTO(zone) struct zone *utc = zone_utc();
    usec_t at = moment(2026, 12, 31, 23, 59);

    assert_int_equal(period_next(PERIOD_MONTH, utc, at), moment(2027, 1, 1, 0, 0));
    assert_int_equal(period_start(PERIOD_QUARTER, utc, at), moment(2026, 10, 1, 0, 0));
    assert_int_equal(period_next(PERIOD_QUARTER, utc, at), moment(2027, 1, 1, 0, 0));
    assert_int_equal(period_next(PERIOD_WEEK, utc, at), moment(2027, 1, 4, 0, 0));
    assert_int_equal(period_start(PERIOD_YEAR, utc, -1), moment(1969, 1, 1, 0, 0));
    assert_int_equal(period_start(PERIOD_HOUR, utc, -1), -USEC_PER_HOUR);
}

static void days_of_23_and_25_hours_are_days(void **state)
{
    (void)state;
    AUTO(zone) struct zone *zone = zone_of(berlin);
    usec_t spring = moment(2026, 3, 29, 1, 0), autumn = moment(2026, 10, 25, 1, 0);

    usec_t start = period_start(PERIOD_DAY, zone, spring);
    assert_int_equal(start, moment(2026, 3, 28, 23, 0));
    assert_int_equal(period_next(PERIOD_DAY, zone, spring) - start, 23 * USEC_PER_HOUR);
    start = period_start(PERIOD_DAY, zone, autumn);
    assert_int_equal(period_next(PERIOD_DAY, zone, autumn) - start, 25 * USEC_PER_HOUR);
    /* The hour that comes twice is one, the one jumped over is none. */
    assert_int_equal(period_start(PERIOD_HOUR, zone, autumn + USEC_PER_MIN),
                     autumn - USEC_PER_HOUR);
    assert_int_equal(period_next(PERIOD_HOUR, zone, autumn + USEC_PER_MIN), autumn + USEC_PER_HOUR);
    assert_int_equal(period_next(PERIOD_HOUR, zone, spring - 1), spring);
    assert_int_equal(period_next(PERIOD_HOUR, zone, spring), spring + USEC_PER_HOUR);
}

/* Every moment is in one period, whatever the clock does: at midnight, by half an hour, by a
 * whole day. */
static void periods_follow_each_other_without_a_gap(void **state)
{
    static const char *const rules[] = {
        "CET-1CEST,M3.5.0,M10.5.0/3",          "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
        "<-03>3<-02>,M10.3.0/0,M2.3.0/0",      "CST5CDT,M3.2.0/0,M11.1.0/1",
        "NST3:30NDT,M3.2.0/0:01,M11.1.0/0:01", "AAA-14BBB10,M12.5.0/0,M6.1.0/0",
    };
    (void)state;
    uint64_t seed = (uint64_t)time(NULL), random = seed * 2 + 1;

    print_message("seed %" PRIu64 "\n", seed);
    for (int round = 0; round < 3000; round++) {
        AUTO(zone) struct zone *zone = zone_of(rules[(size_t)round % COUNT_OF(rules)]);
        enum period period = (enum period)(round / 6 % PERIODS);

        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        usec_t at = moment(2000, 1, 1, 0, 0) +
                    (usec_t)((random >> 20) % (UINT64_C(100) * 366 * 86400)) * USEC_PER_SEC;
        if (round % 2 == 0)
            at = zone_piece_at(zone, at).until + (usec_t)(random >> 40) % USEC_PER_HOUR;
        usec_t start = period_start(period, zone, at), next = period_next(period, zone, at);
        bool is_right = start <= at && at < next && period_start(period, zone, start) == start &&
                        period_next(period, zone, start) == next &&
                        period_start(period, zone, next - 1) == start &&
                        period_start(period, zone, next) == next;
        if (!is_right)
            fail_msg("seed %" PRIu64 ", round %d: %s of %s", seed, round, period_name(period),
                     rules[(size_t)round % COUNT_OF(rules)]);
    }
}

static void periods_have_names(void **state)
{
    (void)state;
    for (int i = 0; i < PERIODS; i++) {
        enum period period;

        assert_true(period_of_name(period_name((enum period)i), &period));
        assert_int_equal(period, i);
    }
    assert_false(period_of_name("fortnight", &(enum period){ 0 }));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_begins_where_the_calendar_says),
        cmocka_unit_test(years_end_with_december),
        cmocka_unit_test(days_of_23_and_25_hours_are_days),
        cmocka_unit_test(periods_follow_each_other_without_a_gap),
        cmocka_unit_test(periods_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
