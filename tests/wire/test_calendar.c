/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/config/config_keys.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "time/civil.h"
#include "wire/json.h"

static usec_t moment(int64_t year, int month, int day, int hour, int minute)
{
    return civil_day(year, month, day) * USEC_PER_DAY + hour * USEC_PER_HOUR +
           minute * USEC_PER_MIN;
}

static struct calendar *calendar_of(const char *words)
{
    struct calendar *calendar = NULL;
    struct error err;

    if (calendar_parse(words, &calendar, &err) < 0)
        fail_msg("%s", err.text);
    return calendar;
}

static struct zone *zone_of(const char *rule)
{
    struct zone *zone = NULL;

    assert_int_equal(zone_of_rule("t", rule, &zone, NULL), 0);
    return zone;
}

static const char berlin[] = "CET-1CEST,M3.5.0,M10.5.0/3";
static const char new_york[] = "EST5EDT,M3.2.0,M11.1.0";
static const char lord_howe[] = "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0";

/* The spans as "YYYY-MM-DD hh:mm +minutes" in UTC. */
static char *expanded(const char *words, const struct zone *zone, usec_t from, usec_t until)
{
    AUTO(calendar) struct calendar *calendar = calendar_of(words);
    AUTO_RELEASE(span_list) struct span_list spans = { 0 };
    AUTO_RELEASE(text) struct text text = { 0 };
    struct error err;

    if (calendar_expand(calendar, zone, from, until, &spans, &err) < 0)
        fail_msg("%s: %s", words, err.text);
    assert_true(span_list_is_sorted(&spans));
    for (size_t i = 0; i < spans.count; i++) {
        usec_t at = spans.items[i].from;
        struct civil date = civil_of_day(civil_day_of(at));
        int minute = (int)((at - civil_day_of(at) * USEC_PER_DAY) / USEC_PER_MIN);

        text_printf(&text, "%s%02d-%02d %02d:%02d +%d", i > 0 ? ", " : "", date.month, date.day,
                    minute / 60, minute % 60, (int)((spans.items[i].until - at) / USEC_PER_MIN));
    }
    return text_take(&text);
}

static void words_become_spans(void **state)
{
    static const struct {
        const char *words;
        const char *spans; /* in the four weeks from Monday, 2 February 2026, in UTC */
    } cases[] = {
        { "sat 09:00-10:00", "02-07 09:00 +60, 02-14 09:00 +60, 02-21 09:00 +60, 02-28 09:00 +60" },
        { "fri 20:00 - mon 06:00",
          "02-02 00:00 +360, 02-06 20:00 +3480, 02-13 20:00 +3480, 02-20 20:00 +3480, "
          "02-27 20:00 +3120" },
        { "fri 20:00-mon 6:00 except 2026-02-03..2026-02-28",
          "02-02 00:00 +360, 03-01 00:00 +1440" },
        { "sun,sat", "02-07 00:00 +2880, 02-14 00:00 +2880, 02-21 00:00 +2880, 02-28 00:00 +2880" },
        { "2026-02-10", "02-10 00:00 +1440" },
        { "2026-02-10..2026-02-12", "02-10 00:00 +4320" },
        { "2026-02-10 08:00 .. 2026-02-12 18:00", "02-10 08:00 +3480" },
        { "2026-02-10T08:00..2026-02-12", "02-10 08:00 +3840" },
        { "2026-02-10 22:00-06:00", "02-10 22:00 +480" },
        { "2020-01-01..2026-02-02", "02-02 00:00 +1440" },
        { "2027-02-10", "" },
        { "first mon 06:00-12:00", "02-02 06:00 +360" },
        { "second TUESDAY", "02-10 00:00 +1440" },
        { "third sun; fourth thu 00:00-00:01", "02-15 00:00 +1440, 02-26 00:00 +1" },
        { "last fri 18:00-23:59", "02-27 18:00 +359" },
        { "month-day 31", "" },
        { "month-day last 23:00-24:00", "02-28 23:00 +60" },
        { "month-day 3,5-6 06:00-12:00", "02-03 06:00 +360, 02-05 06:00 +360, 02-06 06:00 +360" },
        { "cron 0 2 * * 6 for 1h30m",
          "02-07 02:00 +90, 02-14 02:00 +90, 02-21 02:00 +90, 02-28 02:00 +90" },
        { "cron 0 0 2 2 * for 2d; cron 30 23 1 2 * for 1h", "02-02 00:00 +2880" },
        { "cron */10 * 5 * * for 10m", "02-05 00:00 +1440" },
        { "00:00-24:00 except mon-fri,sun; 12:00-13:00",
          "02-07 00:00 +720, 02-07 13:00 +660, 02-14 00:00 +720, 02-14 13:00 +660, "
          "02-21 00:00 +720, 02-21 13:00 +660, 02-28 00:00 +720, 02-28 13:00 +660" },
        { "sat-sun except fri 12:00 - mon 12:00", "" },
        { "sun 00:00 - mon 24:00 except month-day 2-27", "03-01 00:00 +1440" },
    };
    (void)state;
    AUTO(zone) struct zone *utc = zone_utc();

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO_FREE char *spans =
            expanded(cases[i].words, utc, moment(2026, 2, 2, 0, 0), moment(2026, 3, 2, 0, 0));

        if (strcmp(spans, cases[i].spans) != 0)
            fail_msg("%s: %s, expected %s", cases[i].words, spans, cases[i].spans);
    }
}

static void clocks_that_jump_move_the_ends(void **state)
{
    static const struct {
        const char *words, *zone;
        int month, day; /* of 2026, from noon to noon UTC */
        const char *spans;
    } cases[] = {
        /* Berlin: 29 March, 02:00 to 03:00 is not; 25 October, 02:00 to 03:00 is twice. */
        { "22:00-06:00", berlin, 3, 28, "03-28 21:00 +420" },
        { "22:00-06:00", berlin, 10, 24, "10-24 20:00 +540" },
        { "02:30-06:00", berlin, 3, 28, "03-29 01:00 +180" },
        { "01:00-02:30", berlin, 3, 28, "03-29 00:00 +60" },
        { "02:15-02:45", berlin, 3, 28, "" },
        { "02:00-03:00", berlin, 3, 28, "" },
        { "02:30-06:00", berlin, 10, 24, "10-25 00:30 +270" },
        { "01:00-02:30", berlin, 10, 24, "10-24 23:00 +150" },
        { "02:15-02:45", berlin, 10, 24, "10-25 00:15 +90" },
        { "01:00-02:00", berlin, 10, 24, "10-24 23:00 +60" },
        { "02:00-03:00", berlin, 10, 24, "10-25 00:00 +120" },
        { "03:00-04:00", berlin, 10, 24, "10-25 02:00 +60" },
        { "cron 30 2 * * * for 1h", berlin, 3, 28, "03-29 01:00 +60" },
        { "cron 30 2 * * * for 1h", berlin, 10, 24, "10-25 00:30 +60" },
        { "cron 30 * 25 10 * for 1m; cron 0 2 * * * for 1m", berlin, 10, 24,
          "10-24 22:30 +1, 10-24 23:30 +1, 10-25 00:00 +1, 10-25 00:30 +1, 10-25 01:30 +1, "
          "10-25 02:30 +1, 10-25 03:30 +1, 10-25 04:30 +1, 10-25 05:30 +1, 10-25 06:30 +1, "
          "10-25 07:30 +1, 10-25 08:30 +1, 10-25 09:30 +1, 10-25 10:30 +1, 10-25 11:30 +1" },
        /* New York: 8 March and 1 November. */
        { "01:30-02:30", new_york, 3, 7, "03-08 06:30 +30" },
        { "00:30-01:30", new_york, 10, 31, "11-01 04:30 +120" },
        /* Lord Howe: by half an hour, 4 April (back, at 02:00) and 3 October (at 02:00). */
        { "01:45-02:15", lord_howe, 4, 4, "04-04 14:45 +60" },
        { "02:00-02:15", lord_howe, 10, 3, "" },
        { "01:00-02:15", lord_howe, 10, 3, "10-03 14:30 +60" },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO(zone) struct zone *zone = zone_of(cases[i].zone);
        usec_t noon = moment(2026, cases[i].month, cases[i].day, 12, 0);
        AUTO_FREE char *spans = expanded(cases[i].words, zone, noon, noon + USEC_PER_DAY);

        if (strcmp(spans, cases[i].spans) != 0)
            fail_msg("%s from %d-%d: %s, expected %s", cases[i].words, cases[i].month, cases[i].day,
                     spans, cases[i].spans);
    }
}

static void leap_days_and_ends_of_years_are_days(void **state)
{
    (void)state;
    AUTO(zone) struct zone *utc = zone_utc();
    AUTO_FREE char *leap = expanded("month-day 29 00:00-01:00; month-day last 12:00-13:00", utc,
                                    moment(2024, 2, 1, 0, 0), moment(2024, 3, 1, 0, 0));
    AUTO_FREE char *plain = expanded("month-day 29 00:00-01:00; month-day last 12:00-13:00", utc,
                                     moment(2100, 2, 1, 0, 0), moment(2100, 3, 1, 0, 0));
    AUTO_FREE char *turn =
        expanded("22:00-06:00", utc, moment(2026, 12, 31, 0, 0), moment(2027, 1, 1, 12, 0));

    assert_string_equal(leap, "02-29 00:00 +60, 02-29 12:00 +60");
    assert_string_equal(plain, "02-28 12:00 +60");
    assert_string_equal(turn, "12-31 00:00 +360, 12-31 22:00 +480");
}

static void words_come_back_in_normal_form(void **state)
{
    static const struct {
        const char *words, *normal;
    } cases[] = {
        { " 9:00 - 17:30 ", "09:00-17:30" },
        { "00:00-24:00", "00:00-24:00" },
        { "MON-fri 9:00-17:30", "mon-fri 09:00-17:30" },
        { "sun,sat,monday", "mon,sat,sun" },
        { "fri-mon", "mon,fri-sun" },
        { "mon-sun", "00:00-24:00" },
        { "sat 00:00-24:00", "sat" },
        { "fri 20:00-mon 06:00", "fri 20:00 - mon 06:00" },
        { "fri 20:00 - sat 06:00", "fri 20:00-06:00" },
        { "fri 20:00 - sun 24:00", "fri 20:00 - mon 00:00" },
        { "mon 08:00 - mon 07:00", "mon 08:00 - mon 07:00" },
        { "mon 08:00 - tue 08:00", "mon 08:00 - tue 08:00" },
        { "2026-12-24 .. 2026-12-24", "2026-12-24" },
        { "2026-12-24 .. 2026-12-27", "2026-12-24..2026-12-27" },
        { "2026-12-24 00:00 .. 2026-12-28 00:00", "2026-12-24..2026-12-27" },
        { "2026-12-24T08:00..2026-12-27T18:00", "2026-12-24 08:00 .. 2026-12-27 18:00" },
        { "2026-12-24 08:00 .. 2026-12-27", "2026-12-24 08:00 .. 2026-12-27 24:00" },
        { "2026-12-24 20:00 .. 2026-12-25 06:00", "2026-12-24 20:00-06:00" },
        { "month-day 31,1-2,5,6,7,last", "month-day 1,2,5-7,31,last" },
        { "month-day last 06:00-12:00", "month-day last 06:00-12:00" },
        { "First Monday", "first mon" },
        { "last fri 18:00-23:59", "last fri 18:00-23:59" },
        { "CRON  0 2 *  * MON-fri  for 90m", "cron 0 2 * * mon-fri for 1h30m" },
        { "cron 0 2 * * * for 31d", "cron 0 2 * * * for 31d" },
        { "22:00-06:00 ;sat,sun  EXCEPT 2026-12-24;first mon",
          "22:00-06:00; sat,sun except 2026-12-24; first mon" },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO(calendar) struct calendar *calendar = calendar_of(cases[i].words);
        AUTO_RELEASE(text) struct text once = { 0 };
        AUTO_RELEASE(text) struct text twice = { 0 };

        calendar_format(calendar, &once);
        assert_string_equal(text_string(&once), cases[i].normal);
        AUTO(calendar) struct calendar *again = calendar_of(once.bytes);
        calendar_format(again, &twice);
        assert_string_equal(text_string(&twice), cases[i].normal);
    }
}

static void what_is_wrong_is_said(void **state)
{
    static const struct {
        const char *words;
        int code;
        const char *text;
    } cases[] = {
        { "", -EINVAL, "'': ends where a time of day like 22:00, up to 24:00 was expected" },
        { "22:00", -EINVAL, "'22:00': ends where '-' and when it ends was expected" },
        { "22:00-", -EINVAL,
          "'22:00-': ends where a time of day like 22:00, up to 24:00 was expected" },
        { "22:00-25:00", -EINVAL,
          "'22:00-25:00': '25:00' where a time of day like 22:00, up to 24:00 was expected" },
        { "24:01-06:00", -EINVAL,
          "'24:01-06:00': '24:01-06:00' where a time of day like 22:00, up to 24:00 was expected" },
        { "22:60-06:00", -EINVAL,
          "'22:60-06:00': '22:60-06:00' where a time of day like 22:00, up to 24:00 was expected" },
        { "22:00-06:00:00", -EINVAL,
          "'22:00-06:00:00': '06:00:00' where a time of day like 22:00, up to 24:00 was expected" },
        { "22:00-06:00 mon", -EINVAL, "'22:00-06:00 mon': 'mon' where nothing more was expected" },
        { "08:00-08:00", -EINVAL,
          "'08:00-08:00': ends at the time at which it begins; a whole day is 00:00-24:00" },
        { "24:00-06:00", -EINVAL,
          "'24:00-06:00': begins at 24:00; expected 00:00 of the day after" },
        { "mon-fry 9:00-17:00", -EINVAL,
          "'mon-fry 9:00-17:00': 'fry' where a day like mon, tue, wed, thu, fri, sat or sun was "
          "expected" },
        { "nightly", -EINVAL,
          "'nightly': 'nightly' where a day like mon, tue, wed, thu, fri, sat or sun was "
          "expected" },
        { "mon;", -EINVAL, "'': ends where a time of day like 22:00, up to 24:00 was expected" },
        { "mon+tue", -EINVAL,
          "'mon+tue': '+tue' where ',' and another day, or a blank and a time of day was "
          "expected" },
        { "mon-fri 20:00 - sat 08:00", -EINVAL,
          "'mon-fri 20:00 - sat 08:00': several days before the time; expected one, like fri 20:00 "
          "- mon 06:00" },
        { "fri 20:00 - fri 20:00", -EINVAL,
          "'fri 20:00 - fri 20:00': ends at the time at which it begins; a whole day is "
          "00:00-24:00" },
        { "fri 20:00 - day 20:00", -EINVAL,
          "'fri 20:00 - day 20:00': 'day' where a day like mon, tue, wed, thu, fri, sat or sun was "
          "expected" },
        { "2026-02-29", -EINVAL,
          "'2026-02-29': '2026-02-29' where a date like 2026-12-24 was "
          "expected" },
        { "2026-02-10..2026-02-09", -EINVAL, "'2026-02-10..2026-02-09': ends before it begins" },
        { "2026-02-10 09:00 .. 2026-02-10 09:00", -EINVAL,
          "'2026-02-10 09:00 .. 2026-02-10 09:00': ends before it begins" },
        { "2026-02-10..2037-02-09", -ERANGE, "'2026-02-10..2037-02-09': longer than ten years" },
        { "2026-02-10 08:00", -EINVAL,
          "'2026-02-10 08:00': ends where '-' and when it ends was expected" },
        { "month-day 0", -EINVAL,
          "'month-day 0': '0' where a day of the month, 1 to 31, or last was expected" },
        { "month-day 1,32", -EINVAL,
          "'month-day 1,32': '32' where a day of the month, 1 to 31, or last was expected" },
        { "month-day 9-3", -EINVAL, "'month-day 9-3': a range of days that ends before it begins" },
        { "first day", -EINVAL,
          "'first day': 'day' where a day like mon, tue, wed, thu, fri, sat or sun was expected" },
        { "cron 0 2 * * *", -EINVAL,
          "'cron 0 2 * * *': expected five fields and a duration, like cron 0 2 * * 1-5 for 4h" },
        { "cron 0 2 * * for 4h", -EINVAL,
          "' 0 2 * *': not five fields; expected minute, hour, day, month and weekday, like 0 2 * "
          "* "
          "1-5" },
        { "cron 0 2 * * * for 32d", -ERANGE,
          "'cron 0 2 * * * for 32d': expected whole seconds after 'for', up to 31d" },
        { "cron 0 2 * * * for 500ms", -ERANGE,
          "'cron 0 2 * * * for 500ms': expected whole seconds after 'for', up to 31d" },
        { "except mon", -EINVAL, "no times; expected some like 22:00-06:00 or mon-fri" },
        { "mon except tue except wed", -EINVAL, "'mon except tue except wed': 'except' twice" },
        { "mon\x1b[31m", -EINVAL, "a control character or no UTF-8 in it" },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct calendar *calendar = NULL;
        struct error err;

        assert_int_equal(calendar_parse(cases[i].words, &calendar, &err), cases[i].code);
        assert_string_equal(err.text, cases[i].text);
        assert_null(calendar);
    }
}

static void what_is_too_much_is_refused(void **state)
{
    AUTO_RELEASE(text) struct text words = { 0 };
    AUTO_RELEASE(span_list) struct span_list spans = { 0 };
    struct calendar *calendar = NULL;
    struct error err;
    (void)state;
    AUTO(zone) struct zone *utc = zone_utc();
    AUTO(calendar) struct calendar *minutes = calendar_of("cron * * * * * for 30s");
    AUTO(calendar) struct calendar *all = calendar_of("cron * * * * * for 1m");

    for (int i = 0; i <= CALENDAR_RULES_MAX; i++)
        text_add(&words, i > 0 ? ";mon" : "mon");
    assert_int_equal(calendar_parse(words.bytes, &calendar, &err), -E2BIG);
    assert_string_equal(err.text, "more than 64 items");
    for (int i = 0; i < CALENDAR_WORDS_MAX; i++)
        text_add_char(&words, ' ');
    assert_int_equal(calendar_parse(words.bytes, &calendar, &err), -E2BIG);

    span_list_add(&spans, (struct span){ 1, 2 });
    assert_int_equal(calendar_expand(minutes, utc, 0, 30 * USEC_PER_DAY, &spans, &err), -E2BIG);
    assert_string_equal(err.text, "more than 10000 spans or 1048576 firings in 31 days");
    assert_int_equal(calendar_expand(all, utc, 0, 3000 * USEC_PER_DAY, &spans, &err), -E2BIG);
    assert_int_equal(calendar_expand(all, utc, 0, 3661 * USEC_PER_DAY, &spans, &err), -ERANGE);
    assert_string_equal(err.text, "more than 3660 days at once");
    assert_int_equal(calendar_expand(all, utc, 0, USEC_NEVER, &spans, &err), -ERANGE);
    assert_string_equal(err.text, "not within the years 1900 to 9999");
    assert_int_equal(calendar_expand(all, utc, -USEC_NEVER, 0, &spans, &err), -ERANGE);
    assert_int_equal(spans.count, 1);
    assert_int_equal(spans.items[0].until, 2);
    assert_int_equal(calendar_expand(all, utc, 0, 300 * USEC_PER_DAY, &spans, &err), 0);
    assert_int_equal(spans.count, 1);
    assert_int_equal(spans.items[0].until, 300 * USEC_PER_DAY);
    assert_int_equal(calendar_expand(all, utc, 7, 7, &spans, &err), 0);
    assert_int_equal(spans.count, 0);
}

/* Reads key `w` of a document as the window "nights". */
static int read_yaml(const char *yaml, struct calendar **ret, struct error *err)
{
    AUTO(yaml_lines) struct yaml_lines *lines = NULL;
    AUTO(json) json_t *document = NULL;

    if (yaml_parse(yaml, strlen(yaml), "t.yaml", &document, &lines, err) < 0)
        fail_msg("%s", err->text);
    struct reader reader = { .source = "t.yaml", .lines = lines, .err = err };
    return calendar_read(&reader, document, "w", "nights", ret);
}

static void a_document_gives_words_a_list_or_both_lists(void **state)
{
    static const struct {
        const char *yaml, *normal;
    } cases[] = {
        { "w: 22:00-06:00", "22:00-06:00" },
        { "w: 2026-12-24", "2026-12-24" },
        { "w: [mon, tue 9:00-10:00]", "mon; tue 09:00-10:00" },
        { "w:\n- sat,sun\n- except 2026-12-24..2026-12-27",
          "sat,sun except 2026-12-24..2026-12-27" },
        { "w: {during: [22:00-06:00, sun], except: first mon}",
          "22:00-06:00; sun except first mon" },
        { "w:\n  during: fri 20:00 - mon 06:00\n  except: [2026-12-24, month-day last]\n",
          "fri 20:00 - mon 06:00 except 2026-12-24; month-day last" },
    };
    struct calendar *none = NULL;
    struct error err;
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AUTO(calendar) struct calendar *calendar = NULL;
        AUTO_RELEASE(text) struct text text = { 0 };

        if (read_yaml(cases[i].yaml, &calendar, &err) < 0)
            fail_msg("%s", err.text);
        calendar_format(calendar, &text);
        assert_string_equal(text_string(&text), cases[i].normal);
    }
    assert_int_equal(read_yaml("v: mon", &none, &err), 0);
    assert_null(none);
}

static void the_largest_calendar_reads_back(void **state)
{
    AUTO(json) json_t *document = json_object();
    AUTO(calendar) struct calendar *calendar = NULL;
    AUTO(calendar) struct calendar *again = NULL;
    AUTO_RELEASE(text) struct text words = { 0 };
    struct reader reader = { 0 };
    struct error err;
    (void)state;
    json_t *during = json_array(), *except = json_array();

    for (int i = 0; i < CALENDAR_RULES_MAX; i++) {
        const char *item = "cron 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23 "
                           "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23 * * "
                           "mon,tue,wed for 2678399s";

        json_array_append_new(during, json_string(item));
        json_array_append_new(except, json_string(item));
    }
    json_object_set_new(document, "w", json_pack("{s:o,s:o}", "during", during, "except", except));
    reader.err = &err;
    if (calendar_read(&reader, document, "w", "large", &calendar) < 0)
        fail_msg("%s", err.text);
    calendar_format(calendar, &words);
    if (calendar_parse(words.bytes, &again, &err) < 0)
        fail_msg("%s", err.text);
}

static void errors_of_a_document_have_their_line(void **state)
{
    static const struct {
        const char *yaml, *text;
    } cases[] = {
        { "a: 1\nw: 22:00", "t.yaml:2: window nights: '22:00': ends where '-' and when it ends was "
                            "expected" },
        { "w:\n- mon\n- 7",
          "t.yaml:3: window nights: expected words like 22:00-06:00, not a number" },
        { "w:\n- mon\n- tues-fri",
          "t.yaml:3: window nights: 'tues-fri': 'tues-fri' where a day like mon, tue, wed, thu, "
          "fri, sat or sun was expected" },
        { "w: 7", "t.yaml:1: window nights: expected words like 22:00-06:00, not a number" },
        { "w: []", "t.yaml:1: window nights: no times; expected some like 22:00-06:00 or mon-fri" },
        { "w: {except: mon}",
          "t.yaml:1: window nights: no times; expected some like 22:00-06:00 or mon-fri" },
        { "w:\n  during: mon\n  excpet: tue",
          "t.yaml:3: window nights: unknown key 'excpet'; did you mean 'except'?" },
        { "w:\n  during: mon\n  except: [9:00]",
          "t.yaml:3: window nights: '9:00': ends where '-' and when it ends was expected" },
    };
    (void)state;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct calendar *calendar = NULL;
        struct error err = { 0 };

        assert_int_equal(read_yaml(cases[i].yaml, &calendar, &err), -EINVAL);
        assert_string_equal(err.text, cases[i].text);
        assert_null(calendar);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_become_spans),
        cmocka_unit_test(clocks_that_jump_move_the_ends),
        cmocka_unit_test(leap_days_and_ends_of_years_are_days),
        cmocka_unit_test(words_come_back_in_normal_form),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(what_is_too_much_is_refused),
        cmocka_unit_test(a_document_gives_words_a_list_or_both_lists),
        cmocka_unit_test(the_largest_calendar_reads_back),
        cmocka_unit_test(errors_of_a_document_have_their_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
