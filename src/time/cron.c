/* SPDX-License-Identifier: Apache-2.0 */
#include "time/cron.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "time/civil.h"

enum { FIELDS = 5, MINUTE = 0, HOUR, DAY, MONTH, WEEKDAY };
enum { DAY_MINUTES = 24 * 60, SEARCH_DAYS = 40 * 366, FIELD_SIZE = 80, NAME_LENGTH = 3 };

static const struct field {
    const char *name;
    int min, max;
    const char *names; /* of three letters each, the first is min */
} fields[FIELDS] = {
    [MINUTE] = { "minute", 0, 59, "" },
    [HOUR] = { "hour", 0, 23, "" },
    [DAY] = { "day", 1, 31, "" },
    [MONTH] = { "month", 1, 12, "janfebmaraprmayjunjulaugsepoctnovdec" },
    [WEEKDAY] = { "weekday", 0, 7, "sunmontuewedthufrisat" },
};

/* A number or a name at *s. */
static bool take_value(const char **s, const struct field *field, int *ret)
{
    int number = 0, digits = 0;

    for (; isdigit((unsigned char)**s) && digits < 3; digits++, (*s)++)
        number = number * 10 + (**s - '0');
    for (int i = 0; digits == 0 && field->names[i * NAME_LENGTH]; i++) {
        if (strncmp(*s, field->names + (size_t)i * NAME_LENGTH, NAME_LENGTH) != 0)
            continue;
        *s += NAME_LENGTH;
        *ret = field->min + i;
        return true;
    }
    *ret = number;
    return digits > 0 && number >= field->min && number <= field->max;
}

/* "*", "*" "/5", "3", "1-5", "1-5/2" at *s. */
static bool take_range(const char **s, const struct field *field, uint64_t *bits)
{
    int first = field->min, last = field->max, step = 1;
    bool is_wide = **s == '*';

    if (is_wide) {
        (*s)++;
    } else {
        if (!take_value(s, field, &first))
            return false;
        last = first;
        if (**s == '-') {
            (*s)++;
            if (!take_value(s, field, &last))
                return false;
            /* A week may end with its Sunday. */
            if (field == &fields[WEEKDAY] && last == 0 && first > 0)
                last = 7;
            is_wide = true;
        }
    }
    if (**s == '/') {
        static const struct field steps = { "step", 1, 99, "" };
        (*s)++;
        if (!is_wide || !take_value(s, &steps, &step))
            return false;
    }
    for (int value = first; value <= last; value += step)
        *bits |= UINT64_C(1) << value;
    return first <= last;
}

static int parse_field(const char *text, const struct field *field, uint64_t *ret,
                       struct error *err)
{
    const char *s = text;
    uint64_t bits = 0;
    bool is_good = take_range(&s, field, &bits);

    while (is_good && *s == ',') {
        s++;
        is_good = take_range(&s, field, &bits);
    }
    if (!is_good || *s != '\0')
        return error_set(err, -EINVAL,
                         "%s '%.40s': expected like *, 5, 1-5, */2 or 1,3 of %d to %d", field->name,
                         text, field->min, field->max);
    *ret = bits;
    return 0;
}

/* Blanks and letters made alike. Returns how many fields there are; more than five count as six. */
static int split(const char *words, char *copy, char parts[FIELDS][FIELD_SIZE])
{
    int count = 0;

    copy[0] = '\0';
    for (const char *s = words + strspn(words, " \t"); *s; s += strspn(s, " \t")) {
        size_t length = strcspn(s, " \t"), used = strlen(copy);

        if (count == FIELDS || length >= FIELD_SIZE || used + length + 2 > CRON_WORDS_SIZE)
            return FIELDS + 1;
        for (size_t i = 0; i < length; i++)
            parts[count][i] = (char)tolower((unsigned char)s[i]);
        parts[count][length] = '\0';
        if (count > 0)
            copy[used++] = ' ';
        memcpy(copy + used, parts[count], length + 1);
        count++;
        s += length;
    }
    return count;
}

/* Bit 0 is Sunday in cron, and bit 7 too. */
static uint8_t from_sunday(uint64_t bits)
{
    uint64_t sunday = (bits | bits >> 7) & 1;

    return (uint8_t)((bits >> 1 & 0x3f) | sunday << CIVIL_SUNDAY);
}

/* 31 April, whatever the weekday. */
static bool ever_comes(const struct cron *cron)
{
    if (!cron->is_both)
        return true;
    for (int month = 1; month <= 12; month++) {
        int day_count = civil_month_days(2000, month);
        if ((cron->months >> month & 1) && (cron->days & ((UINT64_C(2) << day_count) - 1)))
            return true;
    }
    return false;
}

int cron_parse(const char *words, struct cron *ret, struct error *err)
{
    char parts[FIELDS][FIELD_SIZE];
    uint64_t bits[FIELDS];
    struct cron cron = { 0 };

    if (split(words, cron.words, parts) != FIELDS)
        return error_set(err, -EINVAL,
                         "'%.80s': not five fields; expected minute, hour, day, month and weekday, "
                         "like 0 2 * * 1-5",
                         words);
    for (int i = 0; i < FIELDS; i++) {
        int code = parse_field(parts[i], &fields[i], &bits[i], err);
        if (code < 0)
            return error_prefix(err, code, "'%.80s'", words);
    }
    cron.minutes = bits[MINUTE];
    cron.hours = (uint32_t)bits[HOUR];
    cron.days = (uint32_t)bits[DAY];
    cron.months = (uint16_t)bits[MONTH];
    cron.weekdays = from_sunday(bits[WEEKDAY]);
    cron.is_both = parts[DAY][0] == '*' || parts[WEEKDAY][0] == '*';
    cron.is_rhythm = cron.hours == (UINT32_C(1) << 24) - 1;
    if (!ever_comes(&cron))
        return error_set(err, -ERANGE, "'%.80s': no month of these has such a day", words);
    *ret = cron;
    return 0;
}

static bool fits_day(const struct cron *cron, int64_t number)
{
    struct civil date = civil_of_day(number);

    if (!(cron->months >> date.month & 1))
        return false;
    bool day = cron->days >> date.day & 1;
    bool weekday = cron->weekdays >> civil_weekday(number) & 1;
    return cron->is_both ? day && weekday : day || weekday;
}

/* The first minute of a day, from `minute` on, that fits; DAY_MINUTES: none. */
static int next_minute(const struct cron *cron, int minute)
{
    for (; minute < DAY_MINUTES; minute++) {
        if (!(cron->hours >> minute / 60 & 1))
            minute += 59 - minute % 60;
        else if (cron->minutes >> minute % 60 & 1)
            break;
    }
    return minute;
}

/* The first wall time at or after `wall` that fits. */
static usec_t next_wall(const struct cron *cron, usec_t wall)
{
    int64_t day = civil_day_of(wall);
    /* Of a day's last minute not all is left: then it is DAY_MINUTES, and the day is over. */
    int minute = (int)((wall - day * USEC_PER_DAY + USEC_PER_MIN - 1) / USEC_PER_MIN);

    for (int i = 0; i < SEARCH_DAYS; i++, day++, minute = 0) {
        if (!fits_day(cron, day))
            continue;
        minute = next_minute(cron, minute);
        if (minute < DAY_MINUTES)
            return day * USEC_PER_DAY + minute * USEC_PER_MIN;
    }
    return USEC_NEVER;
}

/* Whenever the clock shows it: piece by piece in which it runs evenly. */
static usec_t next_shown(const struct cron *cron, const struct zone *zone, usec_t from)
{
    usec_t limit = from + SEARCH_DAYS * USEC_PER_DAY;

    while (from < limit) {
        struct zone_piece piece = zone_piece_at(zone, from);

        usec_t wall = next_wall(cron, from + piece.offset);
        if (wall != USEC_NEVER && wall - piece.offset < piece.until)
            return wall - piece.offset;
        if (piece.until == USEC_NEVER)
            break;
        from = piece.until;
    }
    return USEC_NEVER;
}

usec_t cron_next(const struct cron *cron, const struct zone *zone, usec_t after)
{
    if (cron->is_rhythm)
        return next_shown(cron, zone, after + 1);
    /* What the clock has shown, or jumped over, has fired. */
    usec_t wall = next_wall(cron, zone_highest(zone, after) + 1);
    return wall == USEC_NEVER ? USEC_NEVER : zone_first(zone, wall);
}
