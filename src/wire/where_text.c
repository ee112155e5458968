/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/where_text.h"

#include <errno.h>

int where_read(const struct reader *reader, const json_t *object, const char *key, where_list *ret)
{
    const json_t *value = reader_get(object, key);
    bool is_list = json_is_array(value);
    size_t count = is_list ? json_array_size(value) : 1;

    for (size_t i = 0; i < count; i++) {
        const char *text = json_string_value(is_list ? json_array_get(value, i) : value);
        if (!text)
            return reader_fail(reader, -EINVAL, object, key,
                               "expected a condition like zone=a, or a list of conditions");
        int code = where_parse(ret, text, reader->err);
        if (code < 0)
            return reader_place(reader, code, object, key);
    }
    return 0;
}

json_t *where_to_json(const struct where_term *terms, uint32_t count)
{
    json_t *list = json_array();

    for (uint32_t i = 0, end; i < count; i = end) {
        AUTO_RELEASE(text) struct text text = { 0 };
        end = where_end(terms, count, i);
        where_format(&terms[i], end - i, &text);
        json_array_append_new(list, json_string(text.bytes));
    }
    return list;
}
