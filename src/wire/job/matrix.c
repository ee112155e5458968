/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/job/matrix.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/map.h"
#include "base/mem.h"

/* How many names a text may have that are nearly keys: more are not looked at. */
enum { CHECKS_MAX = 64 };

struct matrix_axis {
    const char *name; /* of the document */
    LIST(char *) values;
};

void matrix_release(struct matrix *matrix)
{
    for (size_t i = 0; i < matrix->axis_count; i++) {
        for (size_t k = 0; k < matrix->axes[i].values.count; k++)
            free(matrix->axes[i].values.items[k]);
        list_release(&matrix->axes[i].values);
    }
    free(matrix->axes);
    *matrix = (struct matrix){ 0 };
}

/* What a file name may have: the rest becomes '_'. */
static void add_safe(struct text *text, const char *value)
{
    for (; *value; value++)
        text_add_char(text,
                      isalnum((unsigned char)*value) || strchr("._+@-", *value) ? *value : '_');
}

static int check_value(const struct reader *reader, const json_t *object, const char *name,
                       const char *value)
{
    if (strlen(value) > MATRIX_VALUE_MAX)
        return reader_fail(reader, -E2BIG, object, name, "a value of %zu bytes, at most %d",
                           strlen(value), MATRIX_VALUE_MAX);
    return reader_check_line(reader, object, name, value);
}

static int add_value(const struct reader *reader, const json_t *object, struct matrix_axis *axis,
                     const json_t *value)
{
    char buffer[READER_SCALAR_SIZE];
    const char *text = variable_text(value, buffer);

    if (!text)
        return reader_fail(reader, -EINVAL, object, axis->name,
                           "expected strings and numbers, not %s", reader_kind(value));
    int code = check_value(reader, object, axis->name, text);
    if (code == 0)
        list_add(&axis->values, mem_string(text));
    return code;
}

/* "1..3" gives 1, 2 and 3. Returns false when it is no range. */
static bool parse_range(const char *text, int64_t *ret_first, int64_t *ret_last)
{
    char rest;

    return strlen(text) <= 24 && strspn(text, "0123456789.-") == strlen(text) &&
           sscanf(text, "%" SCNd64 "..%" SCNd64 "%c", ret_first, ret_last, &rest) == 2;
}

static int add_range(const struct reader *reader, const json_t *object, struct matrix_axis *axis,
                     size_t count_max, int64_t first, int64_t last)
{
    static const int64_t limit = INT64_C(1000000000000);

    if (last < first)
        return reader_fail(reader, -EINVAL, object, axis->name, "the smaller number comes first");
    if (first < -limit || last > limit || (uint64_t)(last - first) >= count_max)
        return reader_fail(reader, -E2BIG, object, axis->name, "more than %zu values", count_max);
    for (int64_t value = first; value <= last; value++)
        list_add(&axis->values, mem_printf("%" PRId64, value));
    return 0;
}

/* Values that differ must differ as file names too. */
static int check_distinct(const struct reader *reader, const json_t *object,
                          const struct matrix_axis *axis)
{
    struct map seen = { 0 };
    int code = 0;

    for (size_t i = 0; i < axis->values.count && code == 0; i++) {
        AUTO_RELEASE(text) struct text safe = { 0 };
        uint64_t before;

        add_safe(&safe, axis->values.items[i]);
        uint64_t key = map_hash(text_string(&safe), safe.length);
        if (!map_get(&seen, key, &before))
            map_set(&seen, key, i);
        else if (strcmp(axis->values.items[before], axis->values.items[i]) == 0)
            code = reader_fail(reader, -EINVAL, object, axis->name, "'%.60s' is given twice",
                               axis->values.items[i]);
        else
            code = reader_fail(reader, -EINVAL, object, axis->name,
                               "'%.60s' and '%.60s' are the same as a file name",
                               axis->values.items[before], axis->values.items[i]);
    }
    map_release(&seen);
    return code;
}

static int read_axis(const struct reader *reader, const json_t *object, const json_t *value,
                     size_t count_max, struct matrix_axis *axis)
{
    int64_t first, last;
    int code = 0;

    if (!variable_is_valid(axis->name, MATRIX_NAME_MAX))
        return reader_fail(reader, -EINVAL, object, axis->name,
                           "not a valid parameter name; expected 1 to %d letters, digits and '_'",
                           MATRIX_NAME_MAX);
    if (json_is_string(value) && parse_range(json_string_value(value), &first, &last))
        return add_range(reader, object, axis, count_max, first, last);
    if (!json_is_array(value))
        return add_value(reader, object, axis, value);
    size_t count = json_array_size(value);
    if (count == 0)
        return reader_fail(reader, -EINVAL, object, axis->name, "no values");
    if (count > count_max)
        return reader_fail(reader, -E2BIG, object, axis->name, "more than %zu values", count_max);
    for (size_t i = 0; i < count && code == 0; i++)
        code = add_value(reader, object, axis, json_array_get(value, i));
    return code;
}

static int read_axes(const struct reader *reader, const json_t *axes, size_t combinations_max,
                     struct matrix *matrix)
{
    const char *name;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)axes, name, value)
    {
        struct matrix_axis *axis = &matrix->axes[matrix->axis_count++];

        axis->name = name;
        int code = read_axis(reader, axes, value, combinations_max, axis);
        if (code == 0)
            code = check_distinct(reader, axes, axis);
        if (code < 0)
            return code;
        if (axis->values.count > combinations_max / matrix->count)
            return reader_fail(reader, -E2BIG, axes, name, "more than %zu combinations",
                               combinations_max);
        matrix->count *= axis->values.count;
    }
    return 0;
}

int matrix_read(const struct reader *reader, const json_t *object, size_t combinations_max,
                struct matrix *ret)
{
    const json_t *axes = reader_get(object, "matrix");

    *ret = (struct matrix){ .count = 1 };
    if (!axes)
        return 0;
    if (!json_is_object(axes))
        return reader_fail(reader, -EINVAL, object, "matrix",
                           "expected a map from name to values, not %s", reader_kind(axes));
    size_t count = json_object_size(axes);
    if (count < 1 || count > MATRIX_AXES_MAX)
        return reader_fail(reader, -EINVAL, object, "matrix", "%zu parameters, expected 1 to %d",
                           count, MATRIX_AXES_MAX);
    ret->axes = mem_zero(count, sizeof(ret->axes[0]));
    const struct reader inner = reader_inside(reader, "matrix");
    int code = read_axes(&inner, axes, combinations_max, ret);
    if (code < 0)
        matrix_release(ret);
    return code;
}

static const char *value_of(const struct matrix *matrix, size_t index, size_t axis)
{
    for (size_t i = matrix->axis_count - 1; i > axis; i--)
        index /= matrix->axes[i].values.count;
    return matrix->axes[axis].values.items[index % matrix->axes[axis].values.count];
}

char *matrix_combination(const struct matrix *matrix, size_t index)
{
    struct text text = { 0 };

    assert(index < matrix->count);
    for (size_t i = 0; i < matrix->axis_count; i++)
        text_printf(&text, "%s%s=%s", i > 0 ? " " : "", matrix->axes[i].name,
                    value_of(matrix, index, i));
    return matrix->axis_count > 0 ? text_take(&text) : NULL;
}

char *matrix_directory(const struct matrix *matrix, size_t index)
{
    struct text text = { 0 };

    assert(index < matrix->count);
    for (size_t i = 0; i < matrix->axis_count; i++) {
        text_printf(&text, "%s%s=", i > 0 ? "," : "", matrix->axes[i].name);
        add_safe(&text, value_of(matrix, index, i));
    }
    return matrix->axis_count > 0 ? text_take(&text) : NULL;
}

static bool is_swap(const char *a, const char *b)
{
    return a[0] && a[1] && b[0] && a[0] == b[1] && a[1] == b[0] && strcmp(a + 2, b + 2) == 0;
}

/* One letter changed, added or left out, two swapped, or only the case is different. */
static bool is_nearly(const char *a, const char *b)
{
    if (strcasecmp(a, b) == 0)
        return true;
    if (strlen(a) < 3 || strlen(b) < 3)
        return false;
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return strcmp(a, *b ? b + 1 : b) == 0 || strcmp(*a ? a + 1 : a, b) == 0 ||
           (*a && *b && strcmp(a + 1, b + 1) == 0) || is_swap(a, b);
}

static bool comes_after(const char *text, const char *at, const char *word)
{
    size_t length = strlen(word);

    return (size_t)(at - text) >= length && memcmp(at - length, word, length) == 0;
}

/* Whether the text sets the variable itself: "name=", "for name", "read name". */
static bool is_assigned(const char *text, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = strstr(text, name); at; at = strstr(at + 1, name)) {
        if (at[length] && strchr(variable_letters, at[length]))
            continue;
        if (comes_after(text, at, "for ") || comes_after(text, at, "read "))
            return true;
        if (at[length] == '=' && (at == text || strchr(" \t\n;(&|`", at[-1])))
            return true;
    }
    return false;
}

static const struct matrix_axis *nearest_axis(const struct matrix *matrix, const char *name)
{
    for (size_t i = 0; i < matrix->axis_count; i++) {
        if (is_nearly(name, matrix->axes[i].name))
            return &matrix->axes[i];
    }
    return NULL;
}

/* The name in a "${name}" at text, or false when it is something else of the shell. */
static bool take_name(const char *text, char name[MATRIX_NAME_MAX + 1], size_t *ret_length)
{
    size_t length = text[1] == '{' ? strspn(text + 2, variable_letters) : 0;

    if (length < 1 || length > MATRIX_NAME_MAX || text[2 + length] != '}')
        return false;
    memcpy(name, text + 2, length);
    name[length] = '\0';
    *ret_length = length + 3;
    return true;
}

/* NAMES like this are the environment's: what will be in it is not known here. */
static bool is_environment(const char *name)
{
    while (*name && !islower((unsigned char)*name))
        name++;
    return *name == '\0';
}

static int undefined(const char *name, const struct matrix_axis *near, struct error *err)
{
    if (near)
        return error_set(err, -EINVAL,
                         "${%s} is not in the matrix; did you mean ${%s}? (a variable of the "
                         "shell is $%s)",
                         name, near->name, name);
    return error_set(err, -EINVAL,
                     "${%s} is neither in the matrix nor in env; a variable of the shell is $%s",
                     name, name);
}

int matrix_substitute(const struct matrix *matrix, size_t index, const char *text,
                      matrix_known_fn *is_known, void *user, struct text *ret_text,
                      struct error *err)
{
    const char *rest = text;
    int checks_left = CHECKS_MAX;

    while (matrix->axis_count > 0 && *rest) {
        char name[MATRIX_NAME_MAX + 1];
        size_t length, axis = 0;

        size_t plain = strcspn(rest, "$");
        text_add_bytes(ret_text, rest, plain);
        rest += plain;
        if (*rest == '\0')
            break;
        if (!take_name(rest, name, &length)) {
            text_add_char(ret_text, *rest++);
            continue;
        }
        while (axis < matrix->axis_count && strcmp(matrix->axes[axis].name, name) != 0)
            axis++;
        const struct matrix_axis *near = nearest_axis(matrix, name);
        if (axis < matrix->axis_count)
            text_add(ret_text, value_of(matrix, index, axis));
        else if ((near || !is_environment(name)) && checks_left-- > 0 && !is_known(user, name) &&
                 !is_assigned(text, name))
            return undefined(name, near, err);
        else
            text_add_bytes(ret_text, rest, length);
        rest += length;
    }
    text_add(ret_text, rest);
    return 0;
}
