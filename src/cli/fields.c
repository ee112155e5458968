/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/fields.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

const char *value_text(const json_t *value)
{
    if (!json_is_string(value))
        return "";
    if (string_has_control(json_string_value(value))) {
        AUTO_RELEASE(text) struct text clean = { 0 };

        text_add_clean(&clean, json_string_value(value));
        json_string_set((json_t *)(uintptr_t)value, text_string(&clean));
    }
    return json_string_value(value);
}

const char *field_text(const json_t *object, const char *key)
{
    return value_text(json_object_get(object, key));
}

double field_real(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

/* libm is not loaded for this. */
static int64_t rounded(double value)
{
    return (int64_t)(value < 0 ? value - 0.5 : value + 0.5);
}

int64_t field_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_integer(value) ? json_integer_value(value) : rounded(json_number_value(value));
}

int64_t field_milli(const json_t *object, const char *key)
{
    return rounded(field_real(object, key) * 1000);
}

bool field_is_true(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

bool field_is_null(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return !value || json_is_null(value);
}

usec_t field_seconds(const json_t *object, const char *key)
{
    if (!json_is_number(json_object_get(object, key)))
        return FIELD_ABSENT;
    double seconds = field_real(object, key);
    return seconds < 0 ? 0 : rounded(seconds * (double)USEC_PER_SEC);
}

time_t field_time(const json_t *object, const char *key)
{
    struct tm parts = { 0 };

    if (!strptime(field_text(object, key), "%Y-%m-%dT%H:%M:%S", &parts))
        return 0;
    return timegm(&parts);
}

usec_t field_wall(const json_t *object, const char *key)
{
    const char *dot = strchr(field_text(object, key), '.');

    return field_time(object, key) * USEC_PER_SEC +
           (dot ? strtol(dot + 1, NULL, 10) * USEC_PER_MS : 0);
}

const char *field_duration(const json_t *object, const char *key, char *buffer)
{
    usec_t duration = field_seconds(object, key);

    if (duration == FIELD_ABSENT)
        return "";
    return units_format_duration(buffer, duration);
}

const char *clock_format(char *buffer, time_t when)
{
    time_t now = time(NULL);
    struct tm then_parts, now_parts;

    localtime_r(&when, &then_parts);
    localtime_r(&now, &now_parts);
    time_t apart = when > now ? when - now : now - when;
    if (then_parts.tm_yday == now_parts.tm_yday && then_parts.tm_year == now_parts.tm_year)
        strftime(buffer, CLOCK_SIZE, "%H:%M", &then_parts);
    else if (apart < 6 * 86400)
        strftime(buffer, CLOCK_SIZE, "%a %H:%M", &then_parts);
    else
        strftime(buffer, CLOCK_SIZE, "%Y-%m-%d %H:%M", &then_parts);
    return buffer;
}

void numbers_format(const json_t *array, struct text *text)
{
    size_t count = json_array_size(array);

    for (size_t i = 0; i < count;) {
        json_int_t first = json_integer_value(json_array_get(array, i));
        json_int_t last = first;

        for (i++; i < count && json_integer_value(json_array_get(array, i)) == last + 1; i++)
            last++;
        text_printf(text, "%s%" PRId64, text->length > 0 ? "," : "", (int64_t)first);
        if (last > first)
            text_printf(text, "%c%" PRId64, last == first + 1 ? ',' : '-', (int64_t)last);
    }
}

void upper_add(const char *string, struct text *text)
{
    for (; *string; string++)
        text_add_char(text, (char)toupper((unsigned char)*string));
}

usec_t clock_read(clockid_t which)
{
    struct timespec now;

    clock_gettime(which, &now);
    return now.tv_sec * USEC_PER_SEC + now.tv_nsec / 1000;
}
