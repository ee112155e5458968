/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/config/config_types.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "wire/config/config.h"

enum { PRICE_MAX = 1000000 };

static int read_price(const struct reader *reader, const json_t *object, const char *key,
                      int64_t *ret)
{
    const json_t *value = reader_get(object, key);

    if (!value)
        return 0;
    if (!json_is_number(value) || json_number_value(value) < 0 ||
        json_number_value(value) > PRICE_MAX)
        return reader_fail(reader, -EINVAL, object, key,
                           "expected what it costs for an hour, 0 to %d", PRICE_MAX);
    *ret = (int64_t)(json_number_value(value) * 1e6 + 0.5);
    return 0;
}

static int read_size(const struct reader *reader, const json_t *object, struct node_type *type)
{
    char buffer[READER_SCALAR_SIZE];
    const char *memory = NULL, *model = NULL;
    int64_t gpus = 0, most = 1;

    int code = reader_integer(reader, object, "gpus", 0, NODE_TYPE_GPUS_MAX, &gpus);
    if (code == 0)
        code = reader_integer(reader, object, "most", 0, NODE_TYPE_MOST_MAX, &most);
    if (code == 0)
        code = reader_milli(reader, object, "cpus", INT64_C(100000000), &type->cpu_milli);
    if (code == 0)
        code = reader_scalar(reader, object, "memory", "a size like 512G", buffer, &memory);
    if (code == 0 && memory && units_parse_mib(memory, &type->memory_mib, reader->err) < 0)
        code = reader_place(reader, -EINVAL, object, "memory");
    if (code == 0)
        code = reader_string(reader, object, "model", REQUEST_MODEL_SIZE - 1, &model);
    if (code < 0)
        return code;
    type->gpus = (uint32_t)gpus;
    type->most = (uint32_t)most;
    snprintf(type->model, sizeof(type->model), "%s", model ? model : "");
    if (type->cpu_milli == 0 || type->memory_mib == 0)
        return reader_fail(reader, -EINVAL, object, NULL, "expected cpus and memory, above 0");
    if (gpus > 0 && !type->model[0])
        return reader_fail(reader, -EINVAL, object, "model", "expected the model of its gpus");
    return 0;
}

static int read_type(const struct reader *reader, const json_t *object, struct node_type *type)
{
    static const char *const keys[] = { "gpus", "model", "cpus", "memory",   "price", "spot_price",
                                        "boot", "most",  "idle", "cooldown", NULL };
    static const char *const times[] = { "boot", "idle", "cooldown" };
    usec_t *const places[] = { &type->boot, &type->idle, &type->cooldown };

    type->boot = 5 * USEC_PER_MIN;
    type->idle = type->cooldown = 10 * USEC_PER_MIN;
    int code = reader_check_keys(reader, object, keys);
    if (code == 0)
        code = read_size(reader, object, type);
    if (code == 0)
        code = read_price(reader, object, "price", &type->price_micro);
    if (code == 0)
        code = read_price(reader, object, "spot_price", &type->spot_micro);
    for (size_t i = 0; i < COUNT_OF(times) && code == 0; i++) {
        code = reader_duration(reader, object, times[i], places[i]);
        if (code == 0 && *places[i] > 30 * USEC_PER_DAY)
            code = reader_fail(reader, -ERANGE, object, times[i], "longer than 30 days");
    }
    return code;
}

int config_types_read(const struct reader *above, const json_t *document, struct node_type *ret,
                      size_t *ret_count)
{
    const json_t *types = reader_get(document, "node_types");
    const char *name;
    json_t *object;

    *ret_count = 0;
    if (!types)
        return 0;
    if (!json_is_object(types) || json_object_size(types) > NODE_TYPES_MAX)
        return reader_fail(above, -EINVAL, document, "node_types",
                           "expected a map of at most %d from name to machine", NODE_TYPES_MAX);
    json_object_foreach((json_t *)(uintptr_t)types, name, object)
    {
        struct reader reader = *above;
        struct node_type *type = &ret[(*ret_count)++];
        if (!name_is_valid(name))
            return reader_fail(above, -EINVAL, types, name, "is no name");
        *type = (struct node_type){ 0 };
        snprintf(type->name, sizeof(type->name), "%s", name);
        snprintf(reader.where, sizeof(reader.where), "node type %s", name);
        int code = read_type(&reader, object, type);
        if (code < 0)
            return code;
    }
    return 0;
}

static json_t *spell_micro(int64_t micro)
{
    return json_real((double)micro / 1e6);
}

json_t *config_types_to_json(const struct node_type *types, size_t count)
{
    json_t *all = json_object();

    for (size_t i = 0; i < count; i++) {
        const struct node_type *type = &types[i];
        char boot[UNITS_TEXT_SIZE], idle[UNITS_TEXT_SIZE], cooldown[UNITS_TEXT_SIZE];
        json_t *object =
            json_pack("{s:i, s:o, s:I, s:o, s:s, s:i, s:s, s:s}", "gpus", (int)type->gpus, "cpus",
                      json_real((double)type->cpu_milli / 1000), "memory",
                      (json_int_t)type->memory_mib, "price", spell_micro(type->price_micro), "boot",
                      config_duration_spell(boot, type->boot), "most", (int)type->most, "idle",
                      config_duration_spell(idle, type->idle), "cooldown",
                      config_duration_spell(cooldown, type->cooldown));
        if (type->model[0])
            json_object_set_new(object, "model", json_string(type->model));
        if (type->spot_micro > 0)
            json_object_set_new(object, "spot_price", spell_micro(type->spot_micro));
        json_object_set_new(all, type->name, object);
    }
    return all;
}
