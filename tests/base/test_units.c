/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/units.h"

static const char not_a_duration[] = ": not a duration; expected one like 90s, 1h30m or 2-12:00:00";

static uint64_t seed_of_run(void)
{
    const char *given = getenv("SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);

    print_message("seed %" PRIu64 "\n", seed);
    return seed * 2 + 1;
}

static uint64_t next_random(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random;
}

static void durations_are_read_as_people_write_them(void **state)
{
    static const struct {
        const char *string;
        usec_t duration;
    } cases[] = {
        { "0", 0 },
        { "90", 90 * USEC_PER_SEC },
        { "90s", 90 * USEC_PER_SEC },
        { "90sec", 90 * USEC_PER_SEC },
        { "250ms", 250 * USEC_PER_MS },
        { "7us", 7 },
        { "5m", 5 * USEC_PER_MIN },
        { "5min", 5 * USEC_PER_MIN },
        { "1h30m", 90 * USEC_PER_MIN },
        { "2d", 2 * USEC_PER_DAY },
        { "1w1d", 8 * USEC_PER_DAY },
        { "1h0m0s1ms", USEC_PER_HOUR + USEC_PER_MS },
        { "05:30", 330 * USEC_PER_SEC },
        { "04:00:00", 4 * USEC_PER_HOUR },
        { "2-12", 60 * USEC_PER_HOUR },
        { "2-12:30", 60 * USEC_PER_HOUR + 30 * USEC_PER_MIN },
        { "2-12:00:05", 60 * USEC_PER_HOUR + 5 * USEC_PER_SEC },
        { "3650d", 3650 * USEC_PER_DAY },
        { "3650-00", 3650 * USEC_PER_DAY },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct error err = { "" };
        usec_t duration = -1;

        if (units_parse_duration(cases[i].string, &duration, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(duration, cases[i].duration);
    }
}

static void what_is_no_duration_is_refused(void **state)
{
    static const char *const wrong[] = { "",    "s",   "1x",      "1h30",  "-5",    "1-",
                                         ":",   "1:",  "1:2:3:4", "1-2-3", "1.5h",  " 1",
                                         "1h ", "1hm", "1m30sx",  "1--2",  "-1:00", "1:-2" };
    static const char *const long_ones[] = {
        "3651d",    "99999999999999999999", "522w",        "87601h",  "3650-01", "3651-00",
        "99999-00", "1000000:00:00",        "99999999:00", "3650d1us"
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        AUTO_FREE char *expected = mem_printf("'%s'%s", wrong[i], not_a_duration);
        struct error err = { "" };
        usec_t duration = -7;

        if (units_parse_duration(wrong[i], &duration, &err) != -EINVAL)
            fail_msg("'%s' was taken: %s", wrong[i], err.text);
        assert_string_equal(err.text, expected);
        assert_int_equal(duration, -7);
    }
    for (size_t i = 0; i < COUNT_OF(long_ones); i++) {
        AUTO_FREE char *expected = mem_printf("'%s': longer than 10 years", long_ones[i]);
        struct error err = { "" };
        usec_t duration = -7;

        if (units_parse_duration(long_ones[i], &duration, &err) != -ERANGE)
            fail_msg("'%s': %s", long_ones[i], err.text);
        assert_string_equal(err.text, expected);
        assert_int_equal(duration, -7);
    }
}

static void slurm_counts_plain_numbers_in_minutes(void **state)
{
    usec_t duration;
    struct error err;

    (void)state;
    assert_int_equal(units_parse_slurm_time("90", &duration, &err), 0);
    assert_int_equal(duration, 90 * USEC_PER_MIN);
    assert_int_equal(units_parse_slurm_time("1:30", &duration, &err), 0);
    assert_int_equal(duration, 90 * USEC_PER_SEC);
    assert_int_equal(units_parse_slurm_time("1-0", &duration, &err), 0);
    assert_int_equal(duration, USEC_PER_DAY);
    assert_int_equal(units_parse_slurm_time("UNLIMITED", &duration, &err), 0);
    assert_true(duration == USEC_NEVER);
    assert_int_equal(units_parse_slurm_time("infinite", &duration, &err), 0);
    assert_true(duration == USEC_NEVER);
    assert_int_equal(units_parse_slurm_time("never", &duration, &err), -EINVAL);
    assert_string_equal(err.text,
                        "'never': not a duration; expected one like 90s, 1h30m or 2-12:00:00");
}

static void sizes_are_read_as_people_write_them(void **state)
{
    static const struct {
        const char *string;
        int64_t mib;
    } cases[] = {
        { "0", 0 },
        { "512", 512 },
        { "512M", 512 },
        { "512MiB", 512 },
        { "20G", 20480 },
        { "24GB", 24576 },
        { "24 gb", 24576 },
        { "1T", 1048576 },
        { "1.5T", 1572864 },
        { "0.5G", 512 },
        { "1K", 1 },
        { "1024KB", 1 },
        { "1025K", 2 },
        { "1.125GiB", 1152 },
        { "0.001M", 1 },
        { "10000000000", 10000000000 },
        { "1048576T", INT64_C(1) << 40 },
        { "1000000000", 1000000000 },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct error err = { "" };
        int64_t mib = -1;

        if (units_parse_mib(cases[i].string, &mib, &err) < 0)
            fail_msg("%s", err.text);
        if (mib != cases[i].mib)
            fail_msg("'%s' is %" PRId64, cases[i].string, mib);
    }
}

static void what_is_no_size_is_refused(void **state)
{
    static const char *const wrong[] = {
        "", "G", "-1G", "1X", "1GG", "1.2.3G", "one", "1G ", " 1G"
    };
    static const char *const large[] = { "1000000000T", "2000000T", "1048577T", "1099511627777",
                                         "99999999999999999999999G" };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        AUTO_FREE char *expected =
            mem_printf("'%s': not a size; expected one like 512M, 20G or 1.5T", wrong[i]);
        struct error err = { "" };
        int64_t mib = -7;

        if (units_parse_mib(wrong[i], &mib, &err) != -EINVAL)
            fail_msg("'%s' was taken: %s", wrong[i], err.text);
        assert_string_equal(err.text, expected);
        assert_int_equal(mib, -7);
    }
    for (size_t i = 0; i < COUNT_OF(large); i++) {
        AUTO_FREE char *expected = mem_printf("'%s': more than an exbibyte", large[i]);
        struct error err = { "" };
        int64_t mib = -7;

        if (units_parse_mib(large[i], &mib, &err) != -ERANGE)
            fail_msg("'%s': %s", large[i], err.text);
        assert_string_equal(err.text, expected);
        assert_int_equal(mib, -7);
    }
}

static void parts_of_one_are_read(void **state)
{
    static const struct {
        const char *string;
        int64_t milli;
    } cases[] = { { "0", 0 },        { "1", 1000 },   { "0.5", 500 },  { ".25", 250 },
                  { "1.001", 1001 }, { "0.050", 50 }, { "64", 64000 }, { "00.1", 100 } };
    static const struct {
        const char *string;
        int code;
        const char *text;
    } wrong[] = {
        { "", -EINVAL, "'': not a number with at most three decimals" },
        { ".", -EINVAL, "'.': not a number with at most three decimals" },
        { "1.", -EINVAL, "'1.': not a number with at most three decimals" },
        { "0.1234", -EINVAL, "'0.1234': not a number with at most three decimals" },
        { "-1", -EINVAL, "'-1': not a number with at most three decimals" },
        { "1e3", -EINVAL, "'1e3': not a number with at most three decimals" },
        { "64.001", -ERANGE, "'64.001': more than 64" },
        { "99999999999999999999", -ERANGE, "'99999999999999999999': more than 64" },
    };
    struct error err = { "" };
    int64_t milli;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        if (units_parse_milli(cases[i].string, 64000, &milli, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(milli, cases[i].milli);
    }
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        milli = -7;
        assert_int_equal(units_parse_milli(wrong[i].string, 64000, &milli, &err), wrong[i].code);
        assert_string_equal(err.text, wrong[i].text);
        assert_int_equal(milli, -7);
    }
    assert_int_equal(units_parse_milli("0.6", 500, &milli, &err), -ERANGE);
    assert_string_equal(err.text, "'0.6': more than 0.5");
}

static void sets_are_sorted_and_have_each_once(void **state)
{
    static const struct {
        const char *string;
        const char *values;
    } cases[] = {
        { "0", "0 " },
        { "0-3", "0 1 2 3 " },
        { "1,3,5-9", "1 3 5 6 7 8 9 " },
        { "0-20:5", "0 5 10 15 20 " },
        { "0-19:5", "0 5 10 15 " },
        { "9,1,5,1-2", "1 2 5 9 " },
        { "7-7", "7 " },
        { "100", "100 " },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_RELEASE(text) struct text text = { 0 };
        struct error err = { "" };
        uint32_t *values = NULL;
        size_t count;

        if (units_parse_set(cases[i].string, 10, 100, &values, &count, &err) < 0)
            fail_msg("%s", err.text);
        for (size_t k = 0; k < count; k++)
            text_printf(&text, "%" PRIu32 " ", values[k]);
        assert_string_equal(text_string(&text), cases[i].values);
        free(values);
    }
}

static void what_is_no_set_is_refused(void **state)
{
    static const char *const wrong[] = { "",     ",",     "1,",  ",1", "1-",  "-1",   "2-1",
                                         "1-2:", "1-2:0", "1:2", "a",  "1 2", "1-2-3" };
    static const char *const large[] = { "101",          "0-10",       "0-5,0-5",
                                         "0-4294967295", "4294967296", "0-99999999999999999999",
                                         "0-5,50-101:60" };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        AUTO_FREE char *expected =
            mem_printf("'%s': not a set of numbers; expected one like 0-9 or 1,3,5-20:5", wrong[i]);
        struct error err = { "" };
        uint32_t *values = NULL;
        size_t count = 7;

        if (units_parse_set(wrong[i], 10, 100, &values, &count, &err) != -EINVAL)
            fail_msg("'%s' was taken: %s", wrong[i], err.text);
        assert_string_equal(err.text, expected);
        assert_null(values);
        assert_int_equal(count, 7);
    }
    for (size_t i = 0; i < COUNT_OF(large); i++) {
        AUTO_FREE char *expected =
            mem_printf("'%s': at most 10 numbers, the largest 100", large[i]);
        struct error err = { "" };
        uint32_t *values = NULL;
        size_t count = 7;

        if (units_parse_set(large[i], 10, 100, &values, &count, &err) != -ERANGE)
            fail_msg("'%s': %s", large[i], err.text);
        assert_string_equal(err.text, expected);
        assert_null(values);
    }
}

/* A set that is written from values gives them back. */
static void sets_come_back_as_they_were_written(void **state)
{
    uint64_t random = seed_of_run();

    (void)state;
    for (int round = 0; round < 500; round++) {
        AUTO_RELEASE(text) struct text text = { 0 };
        bool wanted[200] = { false };
        uint32_t *values = NULL;
        size_t count, wanted_count = 0;

        for (uint64_t parts = 1 + next_random(&random) % 8; parts > 0; parts--) {
            uint32_t first = (uint32_t)(next_random(&random) % 200);
            uint32_t last = first + (uint32_t)(next_random(&random) % (200 - first));
            uint32_t step = 1 + (uint32_t)(next_random(&random) % 30);

            text_printf(&text, "%s%" PRIu32 "-%" PRIu32 ":%" PRIu32, text.length ? "," : "", first,
                        last, step);
            for (uint32_t value = first; value <= last; value += step)
                wanted[value] = true;
        }
        assert_int_equal(units_parse_set(text_string(&text), 2000, 199, &values, &count, NULL), 0);
        for (size_t i = 0; i < COUNT_OF(wanted); i++) {
            if (wanted[i])
                assert_int_equal(values[wanted_count++], i);
        }
        assert_int_equal(count, wanted_count);
        free(values);
    }
}

static void durations_are_written_for_people(void **state)
{
    static const struct {
        usec_t duration;
        const char *text;
    } cases[] = {
        { 0, "0s" },
        { 999, "0ms" },
        { 850 * USEC_PER_MS, "850ms" },
        { 12 * USEC_PER_SEC, "12s" },
        { 59 * USEC_PER_SEC + 999999, "59s" },
        { 60 * USEC_PER_SEC, "1m00s" },
        { 252 * USEC_PER_SEC, "4m12s" },
        { 62 * USEC_PER_MIN, "1h02m" },
        { 76 * USEC_PER_HOUR, "3d04h" },
        { USEC_NEVER, "unlimited" },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char buffer[UNITS_TEXT_SIZE];

        assert_ptr_equal(units_format_duration(buffer, cases[i].duration), buffer);
        assert_string_equal(buffer, cases[i].text);
    }
}

/* What is written can be read, and is what was meant but for what was left out as too small. */
static void written_durations_can_be_read(void **state)
{
    uint64_t random = seed_of_run();

    (void)state;
    for (int round = 0; round < 20000; round++) {
        usec_t duration = (usec_t)(next_random(&random) % (uint64_t)(3650 * USEC_PER_DAY));
        char buffer[UNITS_TEXT_SIZE];
        usec_t read;

        duration >>= next_random(&random) % 48;
        units_format_duration(buffer, duration);
        assert_int_equal(units_parse_duration(buffer, &read, NULL), 0);
        usec_t step = duration < USEC_PER_SEC    ? USEC_PER_MS
                      : duration < USEC_PER_HOUR ? USEC_PER_SEC
                      : duration < USEC_PER_DAY  ? USEC_PER_MIN
                                                 : USEC_PER_HOUR;
        if (read != duration - duration % step)
            fail_msg("%" PRId64 " was written '%s'", duration, buffer);
    }
}

static void sizes_are_written_for_people(void **state)
{
    static const struct {
        int64_t mib;
        const char *text;
    } cases[] = {
        { 0, "0 MiB" },        { 512, "512 MiB" },      { 1023, "1023 MiB" },
        { 1024, "1 GiB" },     { 1536, "1.5 GiB" },     { 81920, "80 GiB" },
        { 81559, "79.6 GiB" }, { 40536, "39.6 GiB" },   { 1572864, "1.5 TiB" },
        { 143771, "140 GiB" }, { 1048575, "1024 GiB" },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char buffer[UNITS_TEXT_SIZE];

        assert_string_equal(units_format_mib(buffer, cases[i].mib), cases[i].text);
    }
}

/* Reading what was written is off by less than the digits that were left out. */
static void written_sizes_can_be_read(void **state)
{
    uint64_t random = seed_of_run();

    (void)state;
    for (int round = 0; round < 20000; round++) {
        int64_t mib = (int64_t)(next_random(&random) % (INT64_C(999) << 20));
        char buffer[UNITS_TEXT_SIZE];
        int64_t read;

        mib >>= next_random(&random) % 30;
        units_format_mib(buffer, mib);
        assert_int_equal(units_parse_mib(buffer, &read, NULL), 0);
        int64_t unit = mib < 1024 ? 1 : mib < 1 << 20 ? 1024 : 1 << 20;
        int64_t off = read > mib ? read - mib : mib - read;
        bool has_tenths = mib < 100 * unit;
        if (off > (unit == 1 ? 0 : has_tenths ? unit / 20 + 1 : unit / 2 + 1))
            fail_msg("%" PRId64 " was written '%s'", mib, buffer);
    }
}

static void parts_of_one_come_back_as_they_were_written(void **state)
{
    (void)state;
    for (int64_t milli = 0; milli <= 70000; milli++) {
        char buffer[UNITS_TEXT_SIZE];
        int64_t read = -1;

        units_format_milli(buffer, milli);
        assert_int_equal(units_parse_milli(buffer, 70000, &read, NULL), 0);
        assert_int_equal(read, milli);
    }
    char buffer[UNITS_TEXT_SIZE];
    assert_string_equal(units_format_milli(buffer, 500), "0.5");
    assert_string_equal(units_format_milli(buffer, 2000), "2");
    assert_string_equal(units_format_milli(buffer, 10050), "10.05");
    assert_string_equal(units_format_milli(buffer, 0), "0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations_are_read_as_people_write_them),
        cmocka_unit_test(what_is_no_duration_is_refused),
        cmocka_unit_test(slurm_counts_plain_numbers_in_minutes),
        cmocka_unit_test(sizes_are_read_as_people_write_them),
        cmocka_unit_test(what_is_no_size_is_refused),
        cmocka_unit_test(parts_of_one_are_read),
        cmocka_unit_test(sets_are_sorted_and_have_each_once),
        cmocka_unit_test(what_is_no_set_is_refused),
        cmocka_unit_test(sets_come_back_as_they_were_written),
        cmocka_unit_test(durations_are_written_for_people),
        cmocka_unit_test(written_durations_can_be_read),
        cmocka_unit_test(sizes_are_written_for_people),
        cmocka_unit_test(written_sizes_can_be_read),
        cmocka_unit_test(parts_of_one_come_back_as_they_were_written),
    };

    return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
