/* SPDX-License-Identifier: Apache-2.0 */
#include "time/civil.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

static void every_day_of_a_thousand_years_is_that_of_the_c_library(void **state)
{
    (void)state;
    for (int64_t day = civil_day(1600, 1, 1); day < civil_day(2600, 1, 1); day++) {
        time_t seconds = (time_t)day * 86400;
        struct civil date = civil_of_day(day);
        struct tm parts;

        gmtime_r(&seconds, &parts);
        assert_int_equal(date.year, parts.tm_year + 1900);
        assert_int_equal(date.month, parts.tm_mon + 1);
        assert_int_equal(date.day, parts.tm_mday);
        assert_int_equal(civil_weekday(day), (parts.tm_wday + 6) % 7);
        assert_int_equal(civil_day(date.year, date.month, date.day), day);
        assert_int_equal(civil_day_of(day * USEC_PER_DAY), day);
        assert_int_equal(civil_day_of((day + 1) * USEC_PER_DAY - 1), day);
    }
}

static void far_years_come_back(void **state)
{
    (void)state;
    for (int64_t year = -400000; year < 400000; year += 7) {
        struct civil date = civil_of_day(civil_day(year, 2, 28) + 1);

        assert_int_equal(date.year, year);
        assert_int_equal(date.month, civil_is_leap(year) ? 2 : 3);
    }
}

static void february_has_29_days_in_leap_years(void **state)
{
    (void)state;
    assert_int_equal(civil_month_days(2024, 2), 29);
    assert_int_equal(civil_month_days(2023, 2), 28);
    assert_int_equal(civil_month_days(2100, 2), 28);
    assert_int_equal(civil_month_days(2000, 2), 29);
    assert_int_equal(civil_month_days(2100, 12), 31);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_day_of_a_thousand_years_is_that_of_the_c_library),
        cmocka_unit_test(far_years_come_back),
        cmocka_unit_test(february_has_29_days_in_leap_years),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
