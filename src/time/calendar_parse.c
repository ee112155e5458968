/* SPDX-License-Identifier: Apache-2.0 */

/* One item of a calendar, from words. What the words begin with says of which kind it is. */

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "time/begin.h"
#include "time/calendar_inside.h"

enum { WORD_SIZE = 24, DURATION_SIZE = 40 };

#define DURATION_MAX (31 * USEC_PER_DAY)

/* What is read, and how far. */
struct cursor {
    const char *words; /* all of them, for errors */
    const char *at;
    struct error *err;
};

static int fail(const struct cursor *cursor, int code, const char *problem)
{
    return error_set(cursor->err, code, "'%.80s': %s", cursor->words, problem);
}

/* With what stands at the cursor. */
static int fail_here(const struct cursor *cursor, const char *expected)
{
    int length = (int)strcspn(cursor->at, " \t");

    if (length == 0)
        return error_set(cursor->err, -EINVAL, "'%.80s': ends where %s was expected", cursor->words,
                         expected);
    return error_set(cursor->err, -EINVAL, "'%.80s': '%.*s' where %s was expected", cursor->words,
                     length < 30 ? length : 30, cursor->at, expected);
}

static void skip_blanks(struct cursor *cursor)
{
    cursor->at += strspn(cursor->at, " \t");
}

static bool take(struct cursor *cursor, const char *token)
{
    if (strncasecmp(cursor->at, token, strlen(token)) != 0)
        return false;
    cursor->at += strlen(token);
    return true;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c);
}

/* A whole word of letters. */
static bool take_word(struct cursor *cursor, const char *word)
{
    size_t length = strlen(word);

    if (strncasecmp(cursor->at, word, length) != 0 || is_word(cursor->at[length]))
        return false;
    cursor->at += length;
    return true;
}

/* One of the short words, or the long one that it stands for. Returns -1 for none. */
static int take_one_of(struct cursor *cursor, const char *const *shorts, const char *const *longs,
                       int first, int count)
{
    for (int i = first; i < count; i++) {
        if (take_word(cursor, shorts[i]) || (longs && take_word(cursor, longs[i])))
            return i;
    }
    return -1;
}

const char *const calendar_weekdays[CIVIL_WEEK_DAYS] = {
    "mon", "tue", "wed", "thu", "fri", "sat", "sun",
};
const char *const calendar_nths[CALENDAR_NTH_LAST + 1] = {
    "", "first", "second", "third", "fourth", "last",
};

static int take_weekday(struct cursor *cursor)
{
    static const char *const longs[CIVIL_WEEK_DAYS] = {
        "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
    };

    return take_one_of(cursor, calendar_weekdays, longs, 0, CIVIL_WEEK_DAYS);
}

static const char expected_weekday[] = "a day like mon, tue, wed, thu, fri, sat or sun";
static const char expected_clock[] = "a time of day like 22:00, up to 24:00";

/* "9:00" or "22:30", as minutes of the day; 24:00 is one. */
static int take_clock(struct cursor *cursor, int *ret)
{
    int hour = 0, minute = 0, digits = 0;
    const char *s = cursor->at;

    for (; isdigit((unsigned char)*s) && digits < 2; digits++, s++)
        hour = hour * 10 + (*s - '0');
    bool is_clock = digits > 0 && *s == ':' && isdigit((unsigned char)s[1]) &&
                    isdigit((unsigned char)s[2]) && !is_word(s[3]) && s[3] != ':';
    if (is_clock)
        minute = (s[1] - '0') * 10 + (s[2] - '0');
    if (!is_clock || minute > 59 || hour * 60 + minute > CALENDAR_DAY_MINUTES)
        return fail_here(cursor, expected_clock);
    cursor->at = s + 3;
    *ret = hour * 60 + minute;
    return 0;
}

/* Fails with what is wrong with a span of one day or several. */
static int check_hours(const struct cursor *cursor, const struct calendar_rule *rule)
{
    if (rule->from_minute == CALENDAR_DAY_MINUTES)
        return fail(cursor, -EINVAL, "begins at 24:00; expected 00:00 of the day after");
    if (rule->until_minute == rule->from_minute)
        return fail(cursor, -EINVAL,
                    "ends at the time at which it begins; a whole day is 00:00-24:00");
    return 0;
}

/* "22:00-06:00", or nothing: the whole day. */
static int take_hours(struct cursor *cursor, struct calendar_rule *rule)
{
    skip_blanks(cursor);
    if (*cursor->at == '\0') {
        rule->from_minute = 0;
        rule->until_minute = CALENDAR_DAY_MINUTES;
        return 0;
    }
    int code = take_clock(cursor, &rule->from_minute);
    if (code < 0)
        return code;
    skip_blanks(cursor);
    if (!take(cursor, "-"))
        return fail_here(cursor, "'-' and when it ends");
    skip_blanks(cursor);
    code = take_clock(cursor, &rule->until_minute);
    if (code < 0)
        return code;
    code = check_hours(cursor, rule);
    if (rule->until_minute < rule->from_minute)
        rule->until_minute += CALENDAR_DAY_MINUTES;
    return code;
}

/* "mon 06:00" after "fri 20:00 -": the next such time. */
static int take_week_end(struct cursor *cursor, int weekday, struct calendar_rule *rule)
{
    int minute = 0;

    skip_blanks(cursor);
    int last = take_weekday(cursor);
    if (last < 0)
        return fail_here(cursor, expected_weekday);
    skip_blanks(cursor);
    int code = take_clock(cursor, &minute);
    if (code < 0)
        return code;
    int from = weekday * CALENDAR_DAY_MINUTES + rule->from_minute;
    int until = last * CALENDAR_DAY_MINUTES + minute;
    if (until < from)
        until += CIVIL_WEEK_DAYS * CALENDAR_DAY_MINUTES;
    rule->until_minute = until - weekday * CALENDAR_DAY_MINUTES;
    return check_hours(cursor, rule);
}

/* Whether "fri 20:00 - mon 06:00" goes on behind "fri". */
static bool is_week_span(const struct cursor *cursor)
{
    struct cursor ahead = *cursor;
    int minute;

    ahead.err = NULL;
    skip_blanks(&ahead);
    if (take_clock(&ahead, &minute) < 0)
        return false;
    skip_blanks(&ahead);
    if (!take(&ahead, "-"))
        return false;
    skip_blanks(&ahead);
    return isalpha((unsigned char)*ahead.at);
}

static int parse_week_span(struct cursor *cursor, struct calendar_rule *rule)
{
    int weekday = 0;

    while (!(rule->weekdays >> weekday & 1))
        weekday++;
    if (rule->weekdays != UINT32_C(1) << weekday)
        return fail(cursor, -EINVAL,
                    "several days before the time; expected one, like "
                    "fri 20:00 - mon 06:00");
    skip_blanks(cursor);
    int code = take_clock(cursor, &rule->from_minute);
    if (code < 0)
        return code;
    skip_blanks(cursor);
    take(cursor, "-");
    return take_week_end(cursor, weekday, rule);
}

/* "mon-fri", "sat,sun", "fri-mon,wed" */
static int parse_weekdays(struct cursor *cursor, struct calendar_rule *rule)
{
    rule->kind = CALENDAR_WEEKDAYS;
    do {
        int first = take_weekday(cursor), last = first;

        if (first >= 0 && take(cursor, "-"))
            last = take_weekday(cursor);
        if (first < 0 || last < 0)
            return fail_here(cursor, expected_weekday);
        for (int day = first;; day = (day + 1) % CIVIL_WEEK_DAYS) {
            rule->weekdays |= UINT32_C(1) << day;
            if (day == last)
                break;
        }
    } while (take(cursor, ","));
    if (*cursor->at != '\0' && *cursor->at != ' ' && *cursor->at != '\t')
        return fail_here(cursor, "',' and another day, or a blank and a time of day");
    return is_week_span(cursor) ? parse_week_span(cursor, rule) : take_hours(cursor, rule);
}

static int take_month_day(struct cursor *cursor, int *ret)
{
    int number = 0, digits = 0;
    const char *s = cursor->at;

    for (; isdigit((unsigned char)*s) && digits < 2; digits++, s++)
        number = number * 10 + (*s - '0');
    if (digits == 0 || number < 1 || number > 31 || is_word(*s))
        return fail_here(cursor, "a day of the month, 1 to 31, or last");
    cursor->at = s;
    *ret = number;
    return 0;
}

/* "month-day 1,15-17,last" */
static int parse_month_days(struct cursor *cursor, struct calendar_rule *rule)
{
    rule->kind = CALENDAR_MONTH_DAYS;
    skip_blanks(cursor);
    do {
        int first = 0, last = 0;

        if (take_word(cursor, "last")) {
            rule->month_days |= CALENDAR_LAST_DAY;
            continue;
        }
        int code = take_month_day(cursor, &first);
        last = first;
        if (code == 0 && take(cursor, "-"))
            code = take_month_day(cursor, &last);
        if (code < 0)
            return code;
        if (last < first)
            return fail(cursor, -EINVAL, "a range of days that ends before it begins");
        for (int day = first; day <= last; day++)
            rule->month_days |= UINT32_C(1) << day;
    } while (take(cursor, ","));
    return take_hours(cursor, rule);
}

/* "mon 06:00-12:00" behind "first". */
static int parse_nth(struct cursor *cursor, int nth, struct calendar_rule *rule)
{
    rule->kind = CALENDAR_NTH;
    rule->nth = nth;
    skip_blanks(cursor);
    int weekday = take_weekday(cursor);
    if (weekday < 0)
        return fail_here(cursor, expected_weekday);
    rule->weekdays = UINT32_C(1) << weekday;
    return take_hours(cursor, rule);
}

/* "2026-12-24" */
static int take_date(struct cursor *cursor, int64_t *ret)
{
    struct begin_fields fields;
    char date[sizeof("0000-00-00")];

    snprintf(date, sizeof(date), "%s", cursor->at);
    if (!begin_split(date, &fields) || !fields.has_date ||
        isdigit((unsigned char)cursor->at[sizeof(date) - 1]))
        return fail_here(cursor, "a date like 2026-12-24");
    cursor->at += sizeof(date) - 1;
    *ret = civil_day(fields.year, fields.month, fields.day);
    return 0;
}

/* An optional " 08:00" or "T08:00" after a date; without it *ret is unchanged. */
static int take_date_clock(struct cursor *cursor, int *ret, bool *ret_there)
{
    bool is_joined = take(cursor, "T");

    *ret_there = is_joined;
    if (!is_joined) {
        skip_blanks(cursor);
        *ret_there = isdigit((unsigned char)*cursor->at);
    }
    return *ret_there ? take_clock(cursor, ret) : 0;
}

/* "2026-12-24", "2026-12-24 08:00-12:00", "2026-12-24 [08:00] .. 2026-12-27 [18:00]" */
static int parse_dates(struct cursor *cursor, struct calendar_rule *rule)
{
    int64_t last_day = 0;
    int until = CALENDAR_DAY_MINUTES;
    bool has_clock = false;

    rule->kind = CALENDAR_DATES;
    int code = take_date(cursor, &rule->first_day);
    const char *behind_date = cursor->at;
    if (code == 0)
        code = take_date_clock(cursor, &rule->from_minute, &has_clock);
    if (code < 0)
        return code;
    skip_blanks(cursor);
    if (!take(cursor, "..")) {
        cursor->at = behind_date;
        take(cursor, "T");
        return take_hours(cursor, rule);
    }
    skip_blanks(cursor);
    code = take_date(cursor, &last_day);
    if (code == 0)
        code = take_date_clock(cursor, &until, &has_clock);
    if (code < 0)
        return code;
    int64_t days = last_day - rule->first_day;
    if (days < 0 || days * CALENDAR_DAY_MINUTES + until <= rule->from_minute)
        return fail(cursor, -EINVAL, "ends before it begins");
    if (days > CALENDAR_DATES_DAYS_MAX)
        return fail(cursor, -ERANGE, "longer than ten years");
    rule->until_minute = (int)days * CALENDAR_DAY_MINUTES + until;
    return check_hours(cursor, rule);
}

/* "0 2 * * 1-5 for 4h" behind "cron". */
static int parse_cron(struct cursor *cursor, struct calendar_rule *rule)
{
    char fields[CRON_WORDS_SIZE];
    struct error inner;

    rule->kind = CALENDAR_CRON;
    const char *marker = strcasestr(cursor->at, " for ");
    if (!marker || (size_t)(marker - cursor->at) >= sizeof(fields))
        return fail(cursor, -EINVAL,
                    "expected five fields and a duration, like "
                    "cron 0 2 * * 1-5 for 4h");
    snprintf(fields, sizeof(fields), "%.*s", (int)(marker - cursor->at), cursor->at);
    int code = cron_parse(fields, &rule->cron, &inner);
    if (code < 0)
        return error_set(cursor->err, code, "%s", inner.text);
    cursor->at = marker + strlen(" for ");
    skip_blanks(cursor);
    code = units_parse_duration(cursor->at, &rule->duration, &inner);
    if (code < 0)
        return error_set(cursor->err, code, "'%.80s': %s", cursor->words, inner.text);
    if (rule->duration < USEC_PER_SEC || rule->duration > DURATION_MAX ||
        rule->duration % USEC_PER_SEC != 0)
        return fail(cursor, -ERANGE, "expected whole seconds after 'for', up to 31d");
    cursor->at += strlen(cursor->at);
    return 0;
}

static int parse_kind(struct cursor *cursor, struct calendar_rule *rule)
{
    static const char date_start[] = "0123456789";

    if (take_word(cursor, "cron"))
        return parse_cron(cursor, rule);
    if (take_word(cursor, "month-day"))
        return parse_month_days(cursor, rule);
    int nth = take_one_of(cursor, calendar_nths, NULL, 1, CALENDAR_NTH_LAST + 1);
    if (nth > 0)
        return parse_nth(cursor, nth, rule);
    if (strspn(cursor->at, date_start) >= 3)
        return parse_dates(cursor, rule);
    if (isalpha((unsigned char)*cursor->at))
        return parse_weekdays(cursor, rule);
    rule->kind = CALENDAR_WEEKDAYS;
    rule->weekdays = CALENDAR_WEEK_ALL;
    if (*cursor->at == '\0')
        return fail_here(cursor, expected_clock);
    return take_hours(cursor, rule);
}

int calendar_rule_parse(const char *words, struct calendar_rule *ret, struct error *err)
{
    struct cursor cursor = { words, words, err };
    struct calendar_rule rule = { 0 };

    skip_blanks(&cursor);
    int code = parse_kind(&cursor, &rule);
    if (code < 0)
        return code;
    skip_blanks(&cursor);
    if (*cursor.at != '\0')
        return fail_here(&cursor, "nothing more");
    *ret = rule;
    return 0;
}
