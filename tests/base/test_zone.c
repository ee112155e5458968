/* SPDX-License-Identifier: Apache-2.0 */
#include "time/zone.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/text.h"
#include "time/civil.h"
#include "time/zone_rule.h"

static usec_t moment(int64_t year, int month, int day, int hour, int minute)
{
    return civil_day(year, month, day) * USEC_PER_DAY + hour * USEC_PER_HOUR +
           minute * USEC_PER_MIN;
}

static struct zone *zone_of(const char *rule)
{
    struct zone *zone = NULL;
    struct error err;

    if (zone_of_rule("test", rule, &zone, &err) < 0)
        fail_msg("%s", err.text);
    return zone;
}

static const char berlin[] = "CET-1CEST,M3.5.0,M10.5.0/3";

static void a_jump_forward_leaves_out_an_hour(void **state)
{
    (void)state;
    AUTO(zone) struct zone *zone = zone_of(berlin);
    usec_t jump = moment(2026, 3, 29, 1, 0);

    assert_int_equal(zone_wall(zone, jump - 1), moment(2026, 3, 29, 2, 0) - 1);
    assert_int_equal(zone_wall(zone, jump), moment(2026, 3, 29, 3, 0));
    assert_int_equal(zone_first(zone, moment(2026, 3, 29, 1, 59)), jump - USEC_PER_MIN);
    assert_int_equal(zone_last(zone, moment(2026, 3, 29, 1, 59)), jump - USEC_PER_MIN);
    for (int minute = 0; minute <= 60; minute++) {
        usec_t wall = moment(2026, 3, 29, 2, 0) + minute * USEC_PER_MIN;

        assert_int_equal(zone_first(zone, wall), jump);
        assert_int_equal(zone_last(zone, wall), jump);
    }
    assert_int_equal(zone_first(zone, moment(2026, 3, 29, 3, 1)), jump + USEC_PER_MIN);
}

static void a_jump_back_gives_an_hour_twice(void **state)
{
    (void)state;
    AUTO(zone) struct zone *zone = zone_of(berlin);
    usec_t jump = moment(2026, 10, 25, 1, 0);

    assert_int_equal(zone_wall(zone, jump - 1), moment(2026, 10, 25, 3, 0) - 1);
    assert_int_equal(zone_wall(zone, jump), moment(2026, 10, 25, 2, 0));
    assert_int_equal(zone_first(zone, moment(2026, 10, 25, 2, 30)), jump - 30 * USEC_PER_MIN);
    assert_int_equal(zone_last(zone, moment(2026, 10, 25, 2, 30)), jump + 30 * USEC_PER_MIN);
    /* At two it goes back to two: nothing before two is shown a second time. */
    assert_int_equal(zone_first(zone, moment(2026, 10, 25, 2, 0)), jump - USEC_PER_HOUR);
    assert_int_equal(zone_last(zone, moment(2026, 10, 25, 2, 0)), jump - USEC_PER_HOUR);
    assert_int_equal(zone_first(zone, moment(2026, 10, 25, 3, 0)), jump + USEC_PER_HOUR);
    assert_int_equal(zone_last(zone, moment(2026, 10, 25, 3, 0)), jump + USEC_PER_HOUR);
    assert_int_equal(zone_highest(zone, jump - 1), moment(2026, 10, 25, 3, 0) - 1);
    assert_int_equal(zone_highest(zone, jump + 5), moment(2026, 10, 25, 3, 0) - 1);
    assert_int_equal(zone_highest(zone, jump + USEC_PER_HOUR), moment(2026, 10, 25, 3, 0));
}

static void rules_say_when_summer_is(void **state)
{
    static const struct {
        const char *rule;
        int64_t year;
        usec_t standard, summer; /* minutes */
        int start_month, start_day, start_minute;
        int end_month, end_day, end_minute; /* UTC */
    } cases[] = {
        { "EST5EDT,M3.2.0,M11.1.0", 2026, -300, -240, 3, 8, 7 * 60, 11, 1, 6 * 60 },
        { "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", 2026, 630, 660, 10, 3, 15 * 60 + 30, 4, 4,
          15 * 60 },
        { "A3A1B,M3.2.0,M11.1.0", 0, 0, 0, 0, 0, 0, 0, 0, 0 },
        { "IST-1GMT0,M10.5.0,M3.5.0/1", 2026, 60, 0, 10, 25, 60, 3, 29, 60 },
        { "EET-2EEST,M3.4.4/50,M10.4.4/50", 2026, 120, 180, 3, 28, 0, 10, 23, 23 * 60 },
        { "<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 2026, -120, -60, 3, 29, 60, 10, 25, 60 },
        { "AAA0BBB,J60/0,J365/0", 2024, 0, 60, 3, 1, 0, 12, 30, 23 * 60 },
        { "AAA0BBB,59/0,364/0", 2024, 0, 60, 2, 29, 0, 12, 29, 23 * 60 },
        { "AAA0BBB,M2.1.5/0,M2.5.4/0:30:00", 2024, 0, 60, 2, 2, 0, 2, 28, 23 * 60 + 30 },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct zone_rule rule;
        usec_t start, end;

        bool is_rule = zone_rule_parse(cases[i].rule, &rule);
        if (is_rule != (cases[i].year > 0))
            fail_msg("%s", cases[i].rule);
        if (!is_rule)
            continue;
        zone_rule_summer(&rule, cases[i].year, &start, &end);
        assert_int_equal(rule.standard, cases[i].standard * USEC_PER_MIN);
        assert_int_equal(rule.summer, cases[i].summer * USEC_PER_MIN);
        assert_int_equal(start, moment(cases[i].year, cases[i].start_month, cases[i].start_day, 0,
                                       cases[i].start_minute));
        assert_int_equal(end, moment(cases[i].year, cases[i].end_month, cases[i].end_day, 0,
                                     cases[i].end_minute));
    }
}

static void what_is_no_rule_is_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "UTC",
        "CE-1",
        "<+1>",
        "<+01-1",
        "CET-1CEST",
        "CET-1CEST,M3.5.0",
        "CET-1CEST,M13.5.0,M10.5.0",
        "CET-1CEST,M3.6.0,M10.5.0",
        "CET-1CEST,M3.5.7,M10.5.0",
        "CET-1CEST,J0,J365",
        "CET-1CEST,J1,J366",
        "CET-1CEST,366,1",
        "CET-1CEST,M3.5.0/168,M10.5.0",
        "CET-1CEST,M3.5.0,M10.5.0 ",
        "CET-25",
        "CET-1:60",
        "CET-1:00:60",
        "CET-1CEST,M3.5.0/,M10.5.0",
        "CET99999999999999999999",
    };
    struct zone *zone = NULL;
    struct error err;
    (void)state;

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        if (zone_of_rule("x", bad[i], &zone, NULL) != -EINVAL)
            fail_msg("'%s' was taken", bad[i]);
    }
    assert_null(zone);
    assert_int_equal(zone_of_rule("x", "CET", &zone, &err), -EINVAL);
    assert_string_equal(err.text, "zone x: 'CET' is not a rule; expected one like "
                                  "CET-1CEST,M3.5.0,M10.5.0/3");
}

static void a_summer_that_lasts_all_year_has_no_winter(void **state)
{
    (void)state;
    AUTO(zone) struct zone *zone = zone_of("XXX3EDT4,0/0,J365/23");

    for (usec_t at = moment(2026, 1, 1, 0, 0); at < moment(2029, 1, 1, 0, 0); at += USEC_PER_HOUR)
        assert_int_equal(zone_wall(zone, at) - at, -4 * USEC_PER_HOUR);
}

static void utc_needs_nothing(void **state)
{
    (void)state;
    AUTO(zone) struct zone *zone = zone_utc();

    assert_string_equal(zone_name(zone), "UTC");
    assert_int_equal(zone_wall(zone, 12345), 12345);
    assert_int_equal(zone_first(zone, -12345), -12345);
    assert_int_equal(zone_last(zone, ZONE_TIME_MAX), ZONE_TIME_MAX);
    assert_int_equal(zone_highest(zone, -ZONE_TIME_MAX), -ZONE_TIME_MAX);
}

static void names_lead_nowhere_else(void **state)
{
    static const char *const good[] = { "UTC", "Europe/Berlin", "Etc/GMT+5",
                                        "America/Port-au-Prince",
                                        "America/Argentina/ComodRivadavia" };
    static const char *const bad[] = {
        "",
        "/",
        "/etc/passwd",
        "../../etc/passwd",
        "Europe/../../etc/passwd",
        "Europe/",
        "a//b",
        ".",
        "Europe/.hidden",
        "a b",
        "a\nb",
        "a\xc3\xa4",
        "localtime\\x",
        "x.tab",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(good); i++)
        assert_true(zone_name_is_valid(good[i]));
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_false(zone_name_is_valid(bad[i]));
}

/* A TZif file: an empty first part, a second with these changes, and a rule. */
struct change {
    int64_t seconds;
    int type;
};

static void add_number(struct text *text, uint64_t number, int bytes)
{
    while (bytes-- > 0)
        text_add_char(text, (char)(unsigned char)(number >> bytes * 8));
}

static void add_header(struct text *text, char version, size_t leaps, size_t times, size_t types)
{
    text_add(text, "TZif");
    text_add_char(text, version);
    add_number(text, 0, 8);
    add_number(text, 0, 7);
    add_number(text, 0, 4);
    add_number(text, 0, 4);
    add_number(text, leaps, 4);
    add_number(text, times, 4);
    add_number(text, types, 4);
    add_number(text, 0, 4);
}

static void add_file(struct text *text, const struct change *changes, size_t count,
                     const int32_t *offsets, size_t types, const char *rule)
{
    add_header(text, '2', 0, 0, 0);
    add_header(text, '2', 0, count, types);
    for (size_t i = 0; i < count; i++)
        add_number(text, (uint64_t)changes[i].seconds, 8);
    for (size_t i = 0; i < count; i++)
        add_number(text, (uint64_t)changes[i].type, 1);
    for (size_t i = 0; i < types; i++) {
        add_number(text, (uint32_t)offsets[i], 4);
        add_number(text, 0, 2);
    }
    text_printf(text, "\n%s\n", rule);
}

static const struct change steps[] = { { 1000, 1 }, { 2000, 0 }, { 3000, 2 } };
static const int32_t offsets[] = { 600, -1200, 3600 };

static void a_table_is_followed_by_its_rule(void **state)
{
    AUTO_RELEASE(text) struct text file = { 0 };
    struct zone *zone = NULL;
    (void)state;

    add_file(&file, steps, 3, offsets, 3, berlin);
    assert_int_equal(zone_parse("t", file.bytes, file.length, &zone, NULL), 0);
    assert_int_equal(zone_wall(zone, -1000000), -1000000 + 600 * USEC_PER_SEC);
    assert_int_equal(zone_wall(zone, 1000 * USEC_PER_SEC - 1), 1600 * USEC_PER_SEC - 1);
    assert_int_equal(zone_wall(zone, 1000 * USEC_PER_SEC), -200 * USEC_PER_SEC);
    assert_int_equal(zone_wall(zone, 2000 * USEC_PER_SEC), 2600 * USEC_PER_SEC);
    assert_int_equal(zone_wall(zone, moment(2400, 7, 1, 10, 0)), moment(2400, 7, 1, 12, 0));
    assert_int_equal(zone_wall(zone, moment(2400, 12, 1, 10, 0)), moment(2400, 12, 1, 11, 0));
    /* Between -200 s and 1600 s the clock was twice; the last second time ends with the table. */
    assert_int_equal(zone_first(zone, 500 * USEC_PER_SEC), -100 * USEC_PER_SEC);
    assert_int_equal(zone_last(zone, 500 * USEC_PER_SEC), 1700 * USEC_PER_SEC);
    zone_destroy(zone);
}

static void without_a_rule_the_last_offset_stays(void **state)
{
    static const struct change early[] = { { -(INT64_C(1) << 59), 1 },
                                           { 5, 2 },
                                           { INT64_C(1) << 59, 0 } };
    AUTO_RELEASE(text) struct text file = { 0 };
    struct zone *zone = NULL;
    (void)state;

    add_file(&file, early, 3, offsets, 3, "");
    assert_int_equal(zone_parse("t", file.bytes, file.length, &zone, NULL), 0);
    assert_int_equal(zone_wall(zone, 0), -1200 * USEC_PER_SEC);
    assert_int_equal(zone_wall(zone, moment(9999, 1, 1, 0, 0)), moment(9999, 1, 1, 1, 0));
    zone_destroy(zone);
}

static void check_refused(const struct text *file, size_t length, const char *words)
{
    struct zone *zone = NULL;
    struct error err = { 0 };

    /* A block of its very size, so that a sanitizer sees what is read behind it. */
    AUTO_FREE char *bytes = mem_zero(length > 0 ? length : 1, 1);
    memcpy(bytes, file->bytes, length);
    assert_int_equal(zone_parse("t", bytes, length, &zone, &err), -EINVAL);
    assert_null(zone);
    if (words)
        assert_string_equal(err.text, words);
}

static void a_file_that_is_cut_is_refused(void **state)
{
    AUTO_RELEASE(text) struct text file = { 0 };
    (void)state;

    add_file(&file, steps, 3, offsets, 3, berlin);
    for (size_t length = 0; length < file.length; length++)
        check_refused(&file, length, NULL);
    check_refused(&file, 40, "zone t: not a TZif file, or truncated");
    check_refused(&file, 60, "zone t: truncated in its second part");
    check_refused(&file, file.length - 1, "zone t: truncated before its rule");
}

static void a_bad_file_is_refused_with_its_reason(void **state)
{
    static const struct {
        struct change steps[3];
        int32_t offsets[3];
        size_t types;
        const char *rule;
        const char *words;
    } cases[] = {
        { { { 1, 0 }, { 1, 1 }, { 2, 0 } }, { 0 }, 3, "", "its times do not ascend" },
        { { { 1, 3 }, { 2, 1 }, { 3, 0 } },
          { 0 },
          3,
          "",
          "an offset from UTC that is missing or beyond 26 hours" },
        { { { 1, 0 }, { 2, 1 }, { 3, 0 } },
          { 0, 26 * 3600 + 1, 0 },
          3,
          "",
          "an offset from UTC that is missing or beyond 26 hours" },
        { { { 1, 0 }, { 2, 1 }, { 3, 0 } },
          { -26 * 3600 - 1, 0, 0 },
          3,
          "",
          "no first offset from UTC within 26 hours" },
        { { { 1, 0 }, { 2, 1 }, { 3, 0 } },
          { 0 },
          0,
          "",
          "no first offset from UTC within 26 hours" },
        { { { 1, 0 }, { 2, 1 }, { 3, 0 } },
          { 0 },
          3,
          "CET-1CEST",
          "an invalid rule for later years" },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_RELEASE(text) struct text file = { 0 };
        AUTO_FREE char *words = mem_printf("zone t: %s", cases[i].words);

        add_file(&file, cases[i].steps, 3, cases[i].offsets, cases[i].types, cases[i].rule);
        check_refused(&file, file.length, words);
    }

    AUTO_RELEASE(text) struct text old = { 0 };
    AUTO_RELEASE(text) struct text leaps = { 0 };
    add_header(&old, '\0', 0, 0, 0);
    check_refused(&old, old.length, "zone t: TZif version 1; expected 2 or later");
    add_header(&leaps, '2', 0, 0, 0);
    add_header(&leaps, '2', 1, 0, 0);
    add_number(&leaps, 0, 8);
    add_number(&leaps, 0, 4);
    text_add(&leaps, "\n\n");
    check_refused(&leaps, leaps.length, "zone t: leap seconds; expected a zone without them");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_jump_forward_leaves_out_an_hour),
        cmocka_unit_test(a_jump_back_gives_an_hour_twice),
        cmocka_unit_test(rules_say_when_summer_is),
        cmocka_unit_test(what_is_no_rule_is_refused),
        cmocka_unit_test(a_summer_that_lasts_all_year_has_no_winter),
        cmocka_unit_test(utc_needs_nothing),
        cmocka_unit_test(names_lead_nowhere_else),
        cmocka_unit_test(a_table_is_followed_by_its_rule),
        cmocka_unit_test(without_a_rule_the_last_offset_stays),
        cmocka_unit_test(a_file_that_is_cut_is_refused),
        cmocka_unit_test(a_bad_file_is_refused_with_its_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
