/* SPDX-License-Identifier: Apache-2.0 */
#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

/* Digits at *s as a number; -EINVAL when there are none, -ERANGE above max. */
static int take_number(const char **s, int64_t max, int64_t *ret)
{
    int64_t value = 0;

    if (!isdigit((unsigned char)**s))
        return -EINVAL;
    for (; isdigit((unsigned char)**s); (*s)++) {
        value = value * 10 + (**s - '0');
        if (value > max)
            return -ERANGE;
    }
    *ret = value;
    return 0;
}

static bool take_unit(const char **s, usec_t *ret)
{
    static const struct {
        const char *name;
        usec_t unit;
    } units[] = {
        { "ms", USEC_PER_MS },   { "us", 1 },           { "min", USEC_PER_MIN },
        { "sec", USEC_PER_SEC }, { "s", USEC_PER_SEC }, { "m", USEC_PER_MIN },
        { "h", USEC_PER_HOUR },  { "d", USEC_PER_DAY }, { "w", 7 * USEC_PER_DAY },
    };

    for (size_t i = 0; i < COUNT_OF(units); i++) {
        size_t length = strlen(units[i].name);
        if (strncmp(*s, units[i].name, length) == 0 && !isalpha((unsigned char)(*s)[length])) {
            *s += length;
            *ret = units[i].unit;
            return true;
        }
    }
    return false;
}

/* "D-HH", "D-HH:MM", "D-HH:MM:SS", "HH:MM:SS", "MM:SS" */
static int parse_clock(const char *s, usec_t *ret)
{
    int64_t days = 0, parts[3], count = 0;
    bool has_days = false;

    const char *dash = strchr(s, '-');
    if (dash) {
        int code = take_number(&s, 3650, &days);
        if (code < 0 || s != dash)
            return code < 0 ? code : -EINVAL;
        s++;
        has_days = true;
    }
    for (;;) {
        int code = count == 3 ? -EINVAL : take_number(&s, 1000000, &parts[count++]);
        if (code < 0)
            return code;
        if (*s == '\0')
            break;
        if (*s++ != ':')
            return -EINVAL;
    }

    usec_t total = days * USEC_PER_DAY;
    usec_t unit = has_days ? USEC_PER_HOUR : count == 3 ? USEC_PER_HOUR : USEC_PER_MIN;
    for (int64_t i = 0; i < count; i++, unit /= 60)
        total += parts[i] * unit;
    if (total > UNITS_DURATION_MAX)
        return -ERANGE;
    *ret = total;
    return 0;
}

static int parse_units(const char *s, usec_t plain_unit, usec_t *ret)
{
    usec_t total = 0;
    bool is_first = true;

    while (*s) {
        int64_t number;
        usec_t unit;

        int code = take_number(&s, UNITS_DURATION_MAX, &number);
        if (code < 0)
            return code;
        if (is_first && *s == '\0')
            unit = plain_unit;
        else if (!take_unit(&s, &unit))
            return -EINVAL;
        if (number > UNITS_DURATION_MAX / unit || total + number * unit > UNITS_DURATION_MAX)
            return -ERANGE;
        total += number * unit;
        is_first = false;
    }
    if (is_first)
        return -EINVAL;
    *ret = total;
    return 0;
}

static int parse_time(const char *string, usec_t plain_unit, usec_t *ret, struct error *err)
{
    bool is_clock = strpbrk(string, ":-") != NULL;
    usec_t value;

    int code = is_clock ? parse_clock(string, &value) : parse_units(string, plain_unit, &value);
    if (code == -ERANGE)
        return error_set(err, code, "'%.40s': longer than 10 years", string);
    if (code < 0)
        return error_set(err, code,
                         "'%.40s': not a duration; expected one like 90s, 1h30m or 2-12:00:00",
                         string);
    *ret = value;
    return 0;
}

int units_parse_duration(const char *string, usec_t *ret, struct error *err)
{
    return parse_time(string, USEC_PER_SEC, ret, err);
}

int units_parse_slurm_time(const char *string, usec_t *ret, struct error *err)
{
    if (strcasecmp(string, "infinite") == 0 || strcasecmp(string, "unlimited") == 0 ||
        strcmp(string, "-1") == 0) {
        *ret = USEC_NEVER;
        return 0;
    }
    return parse_time(string, USEC_PER_MIN, ret, err);
}

int units_parse_mib(const char *string, int64_t *ret_mib, struct error *err)
{
    static const struct {
        const char *name;
        int64_t kib;
    } units[] = {
        { "", 1024 },          { "K", 1 },         { "KB", 1 },         { "KiB", 1 },
        { "M", 1024 },         { "MB", 1024 },     { "MiB", 1024 },     { "G", 1048576 },
        { "GB", 1048576 },     { "GiB", 1048576 }, { "T", 1073741824 }, { "TB", 1073741824 },
        { "TiB", 1073741824 },
    };
    static const int64_t kib_max = INT64_C(1) << 50;
    const char *s = string;
    int64_t whole, fraction = 0, scale = 1;

    int code = take_number(&s, kib_max, &whole);
    if (code == -ERANGE)
        return error_set(err, code, "'%.40s': more than an exbibyte", string);
    if (code == 0 && *s == '.') {
        for (s++; isdigit((unsigned char)*s) && scale < 1000; s++, scale *= 10)
            fraction = fraction * 10 + (*s - '0');
    }
    while (*s == ' ')
        s++;
    for (size_t i = 0; code == 0 && i < COUNT_OF(units); i++) {
        if (strcasecmp(s, units[i].name) != 0)
            continue;
        int64_t kib = fraction * units[i].kib / scale;
        if (whole > (kib_max - kib) / units[i].kib)
            return error_set(err, -ERANGE, "'%.40s': more than an exbibyte", string);
        *ret_mib = (whole * units[i].kib + kib + 1023) / 1024;
        return 0;
    }
    return error_set(err, -EINVAL, "'%.40s': not a size; expected one like 512M, 20G or 1.5T",
                     string);
}

int units_parse_milli(const char *string, int64_t max_milli, int64_t *ret, struct error *err)
{
    const char *s = string;
    int64_t whole = 0, fraction = 0, scale = 100;

    int code = *s == '.' ? 0 : take_number(&s, INT64_C(1000000000), &whole);
    if (code == 0 && *s == '.') {
        s++;
        if (!isdigit((unsigned char)*s))
            code = -EINVAL;
        for (; isdigit((unsigned char)*s) && scale > 0; s++, scale /= 10)
            fraction += (*s - '0') * scale;
    }
    if (code == -EINVAL || (code == 0 && *s != '\0'))
        return error_set(err, -EINVAL, "'%.40s': not a number with at most three decimals", string);

    int64_t value = whole * 1000 + fraction;
    if (code < 0 || value > max_milli) {
        char most[UNITS_TEXT_SIZE];
        return error_set(err, -ERANGE, "'%.40s': more than %s", string,
                         units_format_milli(most, max_milli));
    }
    *ret = value;
    return 0;
}

static int compare_u32(const void *a, const void *b)
{
    uint32_t left, right;

    memcpy(&left, a, sizeof(left));
    memcpy(&right, b, sizeof(right));
    return (left > right) - (left < right);
}

/* One "a", "a-b" or "a-b:step" at *s. */
static int take_range(const char **s, int64_t *ret_first, int64_t *ret_last, int64_t *ret_step)
{
    *ret_step = 1;
    int code = take_number(s, UINT32_MAX, ret_first);
    *ret_last = *ret_first;
    if (code == 0 && **s == '-') {
        (*s)++;
        code = take_number(s, UINT32_MAX, ret_last);
        if (code == 0 && **s == ':') {
            (*s)++;
            code = take_number(s, UINT32_MAX, ret_step);
        }
    }
    if (code < 0)
        return code;
    return *ret_last < *ret_first || *ret_step < 1 ? -EINVAL : 0;
}

int units_parse_set(const char *string, size_t count_max, uint32_t value_max, uint32_t **ret_values,
                    size_t *ret_count, struct error *err)
{
    LIST(uint32_t) values = { 0 };
    const char *s = string;

    for (;;) {
        int64_t first, last, step;

        int code = take_range(&s, &first, &last, &step);
        if (code == 0 && *s != '\0' && *s != ',')
            code = -EINVAL;
        if (code == -EINVAL) {
            list_release(&values);
            return error_set(err, code,
                             "'%.40s': not a set of numbers; expected one like 0-9 or 1,3,5-20:5",
                             string);
        }
        if (code < 0 || last > value_max ||
            (size_t)((last - first) / step) >= count_max - values.count) {
            list_release(&values);
            return error_set(err, -ERANGE, "'%.40s': at most %zu numbers, the largest %" PRIu32,
                             string, count_max, value_max);
        }
        for (int64_t value = first; value <= last; value += step)
            list_add(&values, (uint32_t)value);
        if (*s++ == '\0')
            break;
    }

    list_sort(&values, compare_u32);
    size_t kept = 1;
    for (size_t i = 1; i < values.count; i++) {
        if (values.items[i] != values.items[kept - 1])
            values.items[kept++] = values.items[i];
    }
    *ret_values = values.items;
    *ret_count = kept;
    return 0;
}

char *units_format_duration(char *buffer, usec_t duration)
{
    usec_t s = duration / USEC_PER_SEC;

    if (duration == USEC_NEVER)
        snprintf(buffer, UNITS_TEXT_SIZE, "unlimited");
    else if (duration > 0 && s == 0)
        snprintf(buffer, UNITS_TEXT_SIZE, "%" PRId64 "ms", duration / USEC_PER_MS);
    else if (s < 60)
        snprintf(buffer, UNITS_TEXT_SIZE, "%" PRId64 "s", s);
    else if (s < 3600)
        snprintf(buffer, UNITS_TEXT_SIZE, "%" PRId64 "m%02" PRId64 "s", s / 60, s % 60);
    else if (s < 86400)
        snprintf(buffer, UNITS_TEXT_SIZE, "%" PRId64 "h%02" PRId64 "m", s / 3600, s / 60 % 60);
    else
        snprintf(buffer, UNITS_TEXT_SIZE, "%" PRId64 "d%02" PRId64 "h", s / 86400, s / 3600 % 24);
    return buffer;
}

char *units_format_mib(char *buffer, int64_t mib)
{
    static const char *const names[] = { "MiB", "GiB", "TiB", "PiB" };
    int64_t unit = 1;
    size_t i = 0;

    for (; mib >= unit * 1024 && i + 1 < COUNT_OF(names); i++)
        unit *= 1024;
    int64_t tenths = (mib * 10 + unit / 2) / unit;
    if (tenths % 10 == 0 || tenths >= 1000)
        snprintf(buffer, UNITS_TEXT_SIZE, "%" PRId64 " %s", (mib + unit / 2) / unit, names[i]);
    else
        snprintf(buffer, UNITS_TEXT_SIZE, "%" PRId64 ".%" PRId64 " %s", tenths / 10, tenths % 10,
                 names[i]);
    return buffer;
}

char *units_format_milli(char *buffer, int64_t milli)
{
    int length =
        snprintf(buffer, UNITS_TEXT_SIZE, "%" PRId64 ".%03" PRId64, milli / 1000, milli % 1000);

    while (buffer[length - 1] == '0')
        buffer[--length] = '\0';
    if (buffer[length - 1] == '.')
        buffer[length - 1] = '\0';
    return buffer;
}
