/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cluster/device_type.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

const char *device_type_kind(const struct device_type *type, device_kind buffer)
{
    const char *kind = type->kind[0] ? type->kind : type->name;
    size_t length = 0;

    for (; kind[length] && length < DEVICE_KIND_SIZE - 1; length++)
        buffer[length] = (char)tolower((unsigned char)kind[length]);
    buffer[length] = '\0';
    return strcmp(buffer, "gpu") == 0 ? "" : buffer;
}

static const char *word_of(const struct device_words *words, const char *name, size_t length)
{
    const struct {
        const char *name, *value;
    } known[] = { { "index", words->index },
                  { "indices", words->indices },
                  { "uuids", words->uuids },
                  { "count", words->count } };

    for (size_t i = 0; i < COUNT_OF(known); i++) {
        if (strlen(known[i].name) == length && strncmp(known[i].name, name, length) == 0)
            return known[i].value;
    }
    return NULL;
}

bool device_type_expand(const char *template, const struct device_words *words, struct text *ret)
{
    const char *s = template;

    for (const char *next = strstr(s, "${"); next; next = strstr(s, "${")) {
        const char *name = next + 2, *end = strchr(name, '}');
        const char *value = end ? word_of(words, name, (size_t)(end - name)) : NULL;
        text_add_bytes(ret, s, (size_t)(next - s));
        if (!value)
            return false;
        text_add(ret, value);
        s = end + 1;
    }
    text_add(ret, s);
    return true;
}

bool device_type_is(const struct device_type *type, const char *uuid, uint32_t *ret_number)
{
    size_t length = strlen(type->name);
    const char *number = uuid + length + 1;
    char *end;

    if (strncmp(uuid, type->name, length) != 0 || uuid[length] != '-' || number[0] < '0' ||
        number[0] > '9' || (number[0] == '0' && number[1] != '\0'))
        return false;
    unsigned long value = strtoul(number, &end, 10);
    if (*end != '\0' || value >= type->count)
        return false;
    *ret_number = (uint32_t)value;
    return true;
}
