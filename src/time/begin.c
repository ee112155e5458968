/* SPDX-License-Identifier: Apache-2.0 */
#include "time/begin.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/text.h"

enum { TIME_TEXT_MAX = 40, LEAP_YEAR = 2000 };

/* Whether text has the shape, in which '0' stands for a digit. */
static bool has_shape(const char *text, const char *shape)
{
    for (; *shape; shape++, text++) {
        if (*shape == '0' ? !isdigit((unsigned char)*text) : *shape != *text)
            return false;
    }
    return *text == '\0';
}

static bool split_clock(const char *text, struct begin_fields *fields)
{
    if (!has_shape(text, "00:00") && !has_shape(text, "0:00") && !has_shape(text, "00:00:00"))
        return false;
    return sscanf(text, "%d:%d:%d", &fields->hour, &fields->minute, &fields->second) >= 2 &&
           fields->hour < 24 && fields->minute < 60 && fields->second < 60;
}

/* Times of day and days with a name. */
static bool split_word(const char *text, struct begin_fields *fields)
{
    static const struct {
        const char *name;
        struct begin_fields fields;
    } words[] = {
        { "midnight", { .hour = 0 } },
        { "noon", { .hour = 12 } },
        { "elevenses", { .hour = 11 } },
        { "fika", { .hour = 15 } },
        { "teatime", { .hour = 16 } },
        { "today", { .is_relative = true } },
        { "tomorrow", { .is_relative = true, .day = 1 } },
    };

    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (strcasecmp(words[i].name, text) != 0)
            continue;
        *fields = words[i].fields;
        return true;
    }
    return false;
}

/* "2:30pm", "2:30 PM": 12 is noon or midnight. */
static bool split_half_day(const char *text, struct begin_fields *fields)
{
    char clock[TIME_TEXT_MAX + 1];
    size_t length = strlen(text);

    if (length < strlen("0:00am") || length > TIME_TEXT_MAX)
        return false;
    bool is_late = strcasecmp(text + length - 2, "pm") == 0;
    if (!is_late && strcasecmp(text + length - 2, "am") != 0)
        return false;
    length -= 2;
    length -= text[length - 1] == ' ';
    snprintf(clock, sizeof(clock), "%.*s", (int)length, text);
    if (!split_clock(clock, fields) || fields->hour < 1 || fields->hour > 12)
        return false;
    fields->hour = fields->hour % 12 + (is_late ? 12 : 0);
    return true;
}

static bool split_date(const char *text, struct begin_fields *fields)
{
    static const int days[] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    int year, month, day;

    const bool has_slashes = has_shape(text, "00/00/00") || has_shape(text, "00.00.00");
    const bool lacks_year = has_shape(text, "00/00") || has_shape(text, "00.00");
    if (has_slashes && sscanf(text, "%d%*c%d%*c%d", &month, &day, &year) == 3)
        year += 2000;
    else if (lacks_year && sscanf(text, "%d%*c%d", &month, &day) == 2)
        year = LEAP_YEAR;
    else if (!has_shape(text, "0000-00-00") || sscanf(text, "%d-%d-%d", &year, &month, &day) != 3)
        return false;
    if (year < 1970 || month < 1 || month > 12 || day < 1 || day > days[month - 1])
        return false;
    bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (month == 2 && day == 29 && !is_leap)
        return false;
    fields->has_date = true;
    fields->lacks_year = lacks_year;
    fields->year = lacks_year ? 0 : year;
    fields->month = month;
    fields->day = day;
    return true;
}

static bool split_date_and_clock(const char *text, struct begin_fields *fields)
{
    char date[TIME_TEXT_MAX + 1];

    const bool is_iso = strcspn(text, "-") == strlen("0000");
    const size_t length = is_iso ? strcspn(text, "T ") : strcspn(text, "-");

    if (strlen(text) > TIME_TEXT_MAX || !text[length])
        return false;
    snprintf(date, sizeof(date), "%.*s", (int)length, text);
    return split_date(date, fields) &&
           (split_clock(text + length + 1, fields) || split_half_day(text + length + 1, fields));
}

bool begin_split(const char *text, struct begin_fields *ret)
{
    struct begin_fields fields = { 0 };

    if (!split_clock(text, &fields) && !split_date(text, &fields) &&
        !split_date_and_clock(text, &fields) && !split_word(text, &fields) &&
        !split_half_day(text, &fields))
        return false;
    *ret = fields;
    return true;
}

/* What follows "now": "", "+60", "+1hour", "+2days", "+1h30m". */
static int parse_delay(const char *text, usec_t *ret, struct error *err)
{
    static const struct {
        const char *name;
        const char *unit;
    } words[] = {
        { "seconds", "s" }, { "second", "s" }, { "minutes", "m" }, { "minute", "m" },
        { "hours", "h" },   { "hour", "h" },   { "days", "d" },    { "day", "d" },
        { "weeks", "w" },   { "week", "w" },
    };
    char spelt[TIME_TEXT_MAX + 2];

    size_t digits = strspn(text, "0123456789");
    for (size_t i = 0; i < COUNT_OF(words) && digits > 0 && digits < 12; i++) {
        if (strcmp(text + digits, words[i].name) != 0)
            continue;
        snprintf(spelt, sizeof(spelt), "%.*s%s", (int)digits, text, words[i].unit);
        return units_parse_duration(spelt, ret, err);
    }
    if (strpbrk(text, ":-"))
        return -EINVAL;
    return units_parse_duration(text, ret, err);
}

int begin_parse(const char *text, usec_t *ret_delay, char **ret_at, struct error *err)
{
    struct begin_fields fields;
    usec_t delay = 0;
    int code = 0;

    if (begin_split(text, &fields)) {
        *ret_delay = 0;
        *ret_at = mem_string(text);
        return 0;
    }
    if (string_starts(text, "now+"))
        code = parse_delay(text + strlen("now+"), &delay, err);
    else if (strcmp(text, "now") != 0)
        code = parse_delay(text, &delay, err);
    if (code == -ERANGE)
        return code;
    if (code < 0)
        return error_set(err, -EINVAL,
                         "'%.40s': not a time; expected one like now+1h, 14:30 or "
                         "2030-01-31T08:00",
                         text);
    *ret_delay = delay;
    *ret_at = NULL;
    return 0;
}
