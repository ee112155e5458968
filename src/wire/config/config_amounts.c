/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/config/config_amounts.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

enum { MEMORY_MIB_MAX = 1 << 30 };

bool lower_copy(char ret[REQUEST_MODEL_SIZE], const char *name)
{
    size_t length = strlen(name);

    for (size_t i = 0; i <= length && length < REQUEST_MODEL_SIZE; i++)
        ret[i] = (char)tolower((unsigned char)name[i]);
    return length < REQUEST_MODEL_SIZE;
}

int resource_read(const struct reader *reader, const json_t *object, const char *key, char *ret)
{
    if (name_is_valid(key) && lower_copy(ret, key))
        return 0;
    error_set(reader->err, -EINVAL, "'%.80s': expected gpus, cpus, memory or a model of GPUs", key);
    return reader_place_line(reader, -EINVAL, object, key);
}

/* The amount of the resource that the next item has. */
static int read_amount(const struct reader *reader, const json_t *object, const char *key,
                       struct resource_amounts *amounts)
{
    struct resource_amount *next = &amounts->items[amounts->count];
    char buffer[READER_SCALAR_SIZE];
    const char *text = NULL;
    int code;

    next->amount = ABSENT;
    if (strcmp(next->resource, "memory") != 0)
        code =
            reader_milli(reader, object, key, (int64_t)CONFIG_GPUS_MAX * GPU_MILLI, &next->amount);
    else
        code = reader_scalar(reader, object, key, "an amount of memory like 512G", buffer, &text);
    if (code == 0 && text) {
        code = units_parse_mib(text, &next->amount, reader->err);
        if (code == 0 && next->amount > MEMORY_MIB_MAX)
            code = error_set(reader->err, -EINVAL, "'%s': more than a pebibyte", text);
        if (code < 0)
            reader_place(reader, code, object, key);
    }
    amounts->count += next->amount != ABSENT;
    return code;
}

static bool is_listed(const char *name, const char *const *names)
{
    for (; names && *names; names++) {
        if (strcmp(name, *names) == 0)
            return true;
    }
    return false;
}

int amounts_read(const struct reader *reader, const json_t *object, const char *key,
                 const char *const *beside, struct resource_amounts *ret)
{
    const json_t *value = reader_get(object, key);
    const struct reader inner = reader_inside(reader, key);
    const char *name;
    json_t *each;
    int code = 0;

    *ret = (struct resource_amounts){ 0, { { "gpus", ABSENT } } };
    if (!json_is_object(value))
        return read_amount(reader, object, key, ret);
    json_object_foreach((json_t *)(uintptr_t)value, name, each)
    {
        if (is_listed(name, beside))
            continue;
        if (ret->count == RESOURCES_MAX)
            return reader_fail(reader, -E2BIG, object, key,
                               "%zu resources, at most %d are accepted", json_object_size(value),
                               RESOURCES_MAX);
        if (code == 0)
            code = resource_read(&inner, value, name, ret->items[ret->count].resource);
        if (code == 0)
            code = read_amount(&inner, value, name, ret);
    }
    return code;
}

json_t *amounts_shorten(json_t *map)
{
    json_t *gpus = json_object_get(map, "gpus");

    if (json_object_size(map) > 0 && (json_object_size(map) > 1 || !gpus))
        return map;
    json_incref(gpus);
    json_decref(map);
    return gpus;
}

void amounts_set(json_t *map, const char *resource, int64_t amount)
{
    char buffer[UNITS_TEXT_SIZE];

    json_object_set_new(map, resource,
                        strcmp(resource, "memory") == 0
                            ? json_string(amount_spell(buffer, resource, amount))
                            : decimal_to_json(amount, GPU_MILLI));
}
