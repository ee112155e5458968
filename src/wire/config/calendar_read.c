/* SPDX-License-Identifier: Apache-2.0 */

/* A calendar from a value of a document. */

#include "wire/config/calendar_read.h"

#include <errno.h>
#include <stdio.h>

#include "time/calendar_inside.h"

static const char *const keys[] = { "during", "except", NULL };

static int read_words(const struct reader *reader, const json_t *words, struct calendar *calendar,
                      struct calendar_rules *into)
{
    if (!json_is_string(words))
        return error_set(reader->err, -EINVAL, "expected words like 22:00-06:00, not %s",
                         reader_kind(words));
    return calendar_add(calendar, into, json_string_value(words), reader->err);
}

/* Words or a list of words at a key. */
static int read_rules(const struct reader *reader, const json_t *object, const char *key,
                      struct calendar *calendar, struct calendar_rules *into)
{
    const json_t *value = reader_get(object, key);
    int code = 0;

    if (!value)
        return 0;
    if (!json_is_array(value)) {
        code = read_words(reader, value, calendar, into);
        return code < 0 ? reader_place_line(reader, code, object, key) : 0;
    }
    for (size_t i = 0; i < json_array_size(value); i++) {
        code = read_words(reader, json_array_get(value, i), calendar, into);
        if (code < 0)
            return reader_place_item(reader, code, value, i);
    }
    return 0;
}

int calendar_read(const struct reader *reader, const json_t *object, const char *key,
                  const char *name, struct calendar **ret)
{
    const json_t *value = reader_get(object, key);
    AUTO(calendar) struct calendar *calendar = calendar_create();
    struct reader inner = *reader;
    int code = 0;

    snprintf(inner.where, sizeof(inner.where), "window %.80s", name);
    if (!value) {
        *ret = NULL;
        return 0;
    }
    if (json_is_object(value)) {
        code = reader_check_keys(&inner, value, keys);
        if (code == 0)
            code = read_rules(&inner, value, "during", calendar, &calendar->during);
        if (code == 0)
            code = read_rules(&inner, value, "except", calendar, &calendar->except);
    } else {
        code = read_rules(&inner, object, key, calendar, &calendar->during);
    }
    if (code < 0)
        return code;
    code = calendar_check(calendar, inner.err);
    if (code < 0)
        return reader_place_line(&inner, code, object, key);
    *ret = TAKE(calendar);
    return 0;
}
