/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/text.h"
#include "wire/json.h"

enum { NAME_MAX_BYTES = 63 };

const char variable_letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

/* "SOURCE:LINE: WHERE: KEY", as much of it as is known. */
static int place(const struct reader *reader, int code, uint32_t line, const char *key)
{
    AUTO_RELEASE(text) struct text words = { 0 };

    if (reader->source)
        text_add(&words, reader->source);
    if (reader->source && line > 0)
        text_printf(&words, ":%" PRIu32, line);
    if (reader->where[0])
        text_printf(&words, "%s%s", words.length > 0 ? ": " : "", reader->where);
    if (key)
        text_printf(&words, "%s%.60s", words.length > 0 ? ": " : "", key);
    if (words.length == 0)
        return code;
    return error_prefix(reader->err, code, "%s", words.bytes);
}

int reader_place(const struct reader *reader, int code, const json_t *object, const char *key)
{
    return place(reader, code, key ? yaml_key_line(reader->lines, object, key) : 0, key);
}

int reader_place_line(const struct reader *reader, int code, const json_t *object, const char *key)
{
    return place(reader, code, yaml_key_line(reader->lines, object, key), NULL);
}

int reader_place_item(const struct reader *reader, int code, const json_t *array, size_t index)
{
    return place(reader, code, yaml_index_line(reader->lines, array, index), NULL);
}

int reader_fail(const struct reader *reader, int code, const json_t *object, const char *key,
                const char *format, ...)
{
    char words[ERROR_TEXT_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    error_set(reader->err, code, "%s", words);
    return reader_place(reader, code, object, key);
}

const char *reader_kind(const json_t *value)
{
    if (!value)
        return "nothing";
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "a map";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "true or false";
    case JSON_NULL:
        break;
    }
    return "nothing";
}

const char *reader_suggest(const char *word, const char *const *known, char *buffer, size_t size)
{
    const char *nearest = string_nearest(word, known);

    buffer[0] = '\0';
    if (nearest)
        snprintf(buffer, size, "; did you mean '%s'?", nearest);
    return buffer;
}

int reader_check_keys(const struct reader *reader, const json_t *object, const char *const *known)
{
    const char *key;
    json_t *value;
    char hint[READER_SCALAR_SIZE];

    if (!json_is_object(object))
        return reader_fail(reader, -EINVAL, object, NULL, "expected a map of keys, not %s",
                           reader_kind(object));
    /* jansson iterates over a const object as well, but does not say so. */
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        if (string_is_in(key, known))
            continue;
        error_set(reader->err, -EINVAL, "unknown key '%.60s'%s", key,
                  reader_suggest(key, known, hint, sizeof(hint)));
        return reader_place_line(reader, -EINVAL, object, key);
    }
    return 0;
}

const json_t *reader_get(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return value && !json_is_null(value) ? value : NULL;
}

int reader_string(const struct reader *reader, const json_t *object, const char *key,
                  size_t length_max, const char **ret)
{
    const json_t *value = reader_get(object, key);

    if (!value)
        return 0;
    if (!json_is_string(value))
        return reader_fail(reader, -EINVAL, object, key, "expected a string, not %s",
                           reader_kind(value));
    if (json_string_length(value) > length_max)
        return reader_fail(reader, -E2BIG, object, key, "%zu bytes, at most %zu are accepted",
                           json_string_length(value), length_max);
    *ret = json_string_value(value);
    return 0;
}

struct reader reader_at(const struct reader *reader, const char *format, ...)
{
    struct reader inner = *reader;
    va_list args;

    va_start(args, format);
    vsnprintf(inner.where, sizeof(inner.where), format, args);
    va_end(args);
    return inner;
}

struct reader reader_inside(const struct reader *reader, const char *key)
{
    return reader_at(reader, "%.*s%s%s", READER_WHERE_SIZE - 16, reader->where,
                     reader->where[0] ? ": " : "", key);
}

bool variable_is_valid(const char *name, size_t max)
{
    size_t length = strspn(name, variable_letters);

    return length > 0 && length <= max && name[length] == '\0' && !strchr("0123456789", name[0]);
}

const char *variable_text(const json_t *value, char *buffer)
{
    return json_is_string(value)    ? json_string_value(value)
           : json_is_boolean(value) ? json_is_true(value) ? "true" : "false"
           : json_is_number(value)  ? number_spell(value, buffer)
                                    : NULL;
}

bool name_is_valid(const char *name)
{
    return string_is_name(name, NAME_MAX_BYTES) && strcmp(name, ".") != 0 &&
           strcmp(name, "..") != 0;
}

int reader_check_line(const struct reader *reader, const json_t *object, const char *key,
                      const char *text)
{
    char words[CONTROL_WORDS_SIZE];

    if (!string_tell_control(text, words))
        return 0;
    return reader_fail(reader, -EINVAL, object, key, "%s; expected one line of visible characters",
                       words);
}

int reader_line(const struct reader *reader, const json_t *object, const char *key,
                size_t length_max, const char **ret)
{
    const char *text = NULL;

    int code = reader_string(reader, object, key, length_max, &text);
    if (code == 0 && text)
        code = reader_check_line(reader, object, key, text);
    if (code == 0 && text)
        *ret = text;
    return code;
}

static int fail_name(const struct reader *reader, const json_t *object, const char *key,
                     const char *name)
{
    char words[CONTROL_WORDS_SIZE];
    const char *odd = string_tell_control(name, words);

    return reader_fail(
        reader, -EINVAL, object, key,
        "'%.80s' is not a valid name%s%s; expected 1 to %d letters, digits and '._-+@'", name,
        odd ? ": " : "", odd ? odd : "", NAME_MAX_BYTES);
}

int reader_name(const struct reader *reader, const json_t *object, const char *key,
                const char **ret)
{
    const char *name = NULL;

    int code = reader_string(reader, object, key, SIZE_MAX, &name);
    if (code < 0 || !name)
        return code;
    if (!name_is_valid(name))
        return fail_name(reader, object, key, name);
    *ret = name;
    return 0;
}

int reader_bool(const struct reader *reader, const json_t *object, const char *key, bool *ret)
{
    AUTO(json) json_t *value = plain_read(reader_get(object, key));

    if (!value)
        return 0;
    if (!json_is_boolean(value))
        return reader_fail(reader, -EINVAL, object, key, "expected true or false, not %s",
                           reader_kind(value));
    *ret = json_is_true(value);
    return 0;
}

/* Digits that no integer has room for: yaml_parse() leaves them as they are. */
static bool is_long_integer(const json_t *value)
{
    const char *digits = json_is_string(value) ? json_string_value(value) : "";

    digits += *digits == '-' || *digits == '+';
    return strlen(digits) > 18 && digits[strspn(digits, "0123456789")] == '\0';
}

int reader_integer(const struct reader *reader, const json_t *object, const char *key, int64_t min,
                   int64_t max, int64_t *ret)
{
    AUTO(json) json_t *value = plain_read(reader_get(object, key));

    if (!value)
        return 0;
    if (is_long_integer(value))
        return reader_fail(reader, -ERANGE, object, key, "%.60s, expected %" PRId64 " to %" PRId64,
                           json_string_value(value), min, max);
    if (!json_is_integer(value))
        return reader_fail(reader, -EINVAL, object, key, "expected a whole number, not %s",
                           json_is_real(value) ? "one with decimals" : reader_kind(value));
    int64_t number = json_integer_value(value);
    if (number < min || number > max)
        return reader_fail(reader, -ERANGE, object, key,
                           "%" PRId64 ", expected %" PRId64 " to %" PRId64, number, min, max);
    *ret = number;
    return 0;
}

int reader_scalar(const struct reader *reader, const json_t *object, const char *key,
                  const char *expected, char *buffer, const char **ret_text)
{
    AUTO(json) json_t *value = plain_read(reader_get(object, key));

    *ret_text = NULL;
    if (!value)
        return 0;
    if (!json_is_string(value) && !json_is_number(value))
        return reader_fail(reader, -EINVAL, object, key, "expected %s, not %s", expected,
                           reader_kind(value));
    *ret_text = json_is_number(value) ? number_spell(value, buffer) : json_string_value(value);
    return 0;
}

int reader_duration(const struct reader *reader, const json_t *object, const char *key, usec_t *ret)
{
    char buffer[READER_SCALAR_SIZE];
    const char *text;

    int code = reader_scalar(reader, object, key, "a duration like 90s or 2h", buffer, &text);
    if (code < 0 || !text)
        return code;
    if (strcasecmp(text, "unlimited") == 0 || strcasecmp(text, "infinite") == 0) {
        *ret = USEC_NEVER;
        return 0;
    }
    code = units_parse_duration(text, ret, reader->err);
    return code < 0 ? reader_place(reader, code, object, key) : 0;
}

int reader_word(const struct reader *reader, const json_t *object, const char *key,
                const char *const *words, size_t *ret)
{
    AUTO_RELEASE(text) struct text all = { 0 };
    const char *word = NULL;

    int code = reader_string(reader, object, key, SIZE_MAX, &word);
    if (code < 0 || !word)
        return code;
    for (size_t i = 0; words[i]; i++) {
        if (strcmp(words[i], word) == 0) {
            *ret = i;
            return 0;
        }
        text_printf(&all, "%s%s", i == 0 ? "" : words[i + 1] ? ", " : " or ", words[i]);
    }
    return reader_fail(reader, -EINVAL, object, key, "'%.60s', expected %s", word, all.bytes);
}

int reader_milli(const struct reader *reader, const json_t *object, const char *key,
                 int64_t max_milli, int64_t *ret)
{
    char buffer[READER_SCALAR_SIZE];
    const char *text;

    int code = reader_scalar(reader, object, key, "a number", buffer, &text);
    if (code < 0 || !text)
        return code;
    code = units_parse_milli(text, max_milli, ret, reader->err);
    return code < 0 ? reader_place(reader, code, object, key) : 0;
}

static int check_list_name(const struct reader *reader, const json_t *object, const char *key,
                           const json_t *item, char **before, size_t count)
{
    if (!json_is_string(item))
        return reader_fail(reader, -EINVAL, object, key, "expected names, not %s",
                           reader_kind(item));
    const char *name = json_string_value(item);
    if (!name_is_valid(name))
        return fail_name(reader, object, key, name);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(before[i], name) == 0)
            return reader_fail(reader, -EINVAL, object, key, "'%s' is given twice", name);
    }
    return 0;
}

int reader_names(const struct reader *reader, const json_t *object, const char *key,
                 size_t count_max, char ***ret, size_t *ret_count)
{
    const json_t *value = reader_get(object, key);
    bool is_list = json_is_array(value);
    size_t count = !value ? 0 : is_list ? json_array_size(value) : 1;

    if (value && !is_list && !json_is_string(value))
        return reader_fail(reader, -EINVAL, object, key, "expected a list of names, not %s",
                           reader_kind(value));
    if (count > count_max)
        return reader_fail(reader, -E2BIG, object, key, "%zu names, at most %zu are accepted",
                           count, count_max);
    char **names = mem_zero(count + 1, sizeof(names[0]));
    for (size_t i = 0; i < count; i++) {
        const json_t *item = is_list ? json_array_get(value, i) : value;
        int code = check_list_name(reader, object, key, item, names, i);
        if (code < 0) {
            string_list_destroy(names);
            return code;
        }
        names[i] = mem_string(json_string_value(item));
    }
    *ret = names;
    *ret_count = count;
    return 0;
}

char **string_list_copy(char *const *strings)
{
    size_t count = 0;

    while (strings[count])
        count++;
    char **copy = mem_zero(count + 1, sizeof(copy[0]));
    for (size_t i = 0; i < count; i++)
        copy[i] = mem_string(strings[i]);
    return copy;
}

void string_list_destroy(char **strings)
{
    if (!strings)
        return;
    for (size_t i = 0; strings[i]; i++)
        free(strings[i]);
    free(strings);
}

int reader_real(const struct reader *reader, const json_t *object, const char *key, double min,
                double max, double *ret)
{
    AUTO(json) json_t *value = plain_read(reader_get(object, key));

    if (!value)
        return 0;
    if (!json_is_number(value))
        return reader_fail(reader, -EINVAL, object, key, "expected a number, not %s",
                           reader_kind(value));
    double number = json_number_value(value);
    if (!(number >= min && number <= max))
        return reader_fail(reader, -ERANGE, object, key, "%g, expected %g to %g", number, min, max);
    *ret = number;
    return 0;
}
