/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/config/config_devices.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "wire/config/config.h"

/* Whether only these names are used, and nothing that would break a list of lines. */
static bool is_template(const char *template, bool is_of_one)
{
    const struct device_words one = { .index = "0" };
    const struct device_words all = { .indices = "0", .uuids = "0", .count = "1" };
    AUTO_RELEASE(text) struct text expanded = { 0 };

    return !string_has_control(template) &&
           device_type_expand(template, is_of_one ? &one : &all, &expanded);
}

static bool is_variable(const char *name)
{
    size_t length = 0;

    for (; isalnum((unsigned char)name[length]) || name[length] == '_'; length++)
        ;
    return length > 0 && name[length] == '\0' && !isdigit((unsigned char)name[0]);
}

static int add_line(const struct reader *reader, const json_t *object, const char *key,
                    const char *line, char *lines, size_t size)
{
    size_t length = strlen(lines);

    if (length + strlen(line) + 2 > size)
        return reader_fail(reader, -E2BIG, object, key, "more than %zu bytes in all", size - 2);
    snprintf(lines + length, size - length, "%s\n", line);
    return 0;
}

static int read_env(const struct reader *reader, const json_t *object, struct device_type *type)
{
    json_t *env = (json_t *)(uintptr_t)reader_get(object, "env"), *value;
    const char *name;

    if (!env)
        return 0;
    if (!json_is_object(env))
        return reader_fail(reader, -EINVAL, object, "env", "expected a map from name to text");
    json_object_foreach(env, name, value)
    {
        const char *template = json_string_value(value);
        if (!is_variable(name))
            return reader_fail(reader, -EINVAL, env, name, "is no name of a variable");
        if (!template || !is_template(template, false))
            return reader_fail(reader, -EINVAL, env, name,
                               "expected a text, in which ${indices}, ${uuids} and ${count} stand "
                               "for what a job has");
        AUTO_FREE char *line = mem_printf("%s=%s", name, template);
        int code = add_line(reader, object, "env", line, type->env, sizeof(type->env));
        if (code < 0)
            return code;
    }
    return 0;
}

static int read_files(const struct reader *reader, const json_t *object, struct device_type *type)
{
    const json_t *files = reader_get(object, "files");

    if (files && !json_is_array(files))
        return reader_fail(reader, -EINVAL, object, "files",
                           "expected a list like [\"/dev/accel${index}\"]");
    for (size_t i = 0; i < json_array_size(files); i++) {
        const char *file = json_string_value(json_array_get(files, i));
        if (!file || !string_starts(file, "/dev/") || !is_template(file, true))
            return reader_fail(reader, -EINVAL, object, "files",
                               "expected files below /dev, in which ${index} stands for the number "
                               "of a device");
        if (type->count > 1 && !strstr(file, "${index}"))
            return reader_fail(reader, -EINVAL, object, "files",
                               "expected ${index} in each, because there are several devices");
        int code = add_line(reader, object, "files", file, type->files, sizeof(type->files));
        if (code < 0)
            return code;
    }
    return 0;
}

int config_labels_read(const struct reader *reader, const json_t *object, char *ret, size_t size)
{
    const json_t *value = reader_get(object, "labels");
    size_t count = json_is_array(value) ? json_array_size(value) : 1, length = 0;

    for (size_t i = 0; value && i < count; i++) {
        const json_t *item = json_is_array(value) ? json_array_get(value, i) : value;
        const char *label = json_string_value(item);
        if (!label || !name_is_valid(label))
            return reader_fail(reader, -EINVAL, object, "labels",
                               "expected a name or a list of names, like [edge, low-power]");
        if (length + strlen(label) + 2 > size)
            return reader_fail(reader, -E2BIG, object, "labels", "more than %zu bytes in all",
                               size - 1);
        length +=
            (size_t)snprintf(ret + length, size - length, "%s%s", length > 0 ? "," : "", label);
    }
    return 0;
}

void config_labels_to_json(const char *labels, json_t *object)
{
    json_t *list = json_array();

    for (const char *at = labels; *at; at += strcspn(at, ","), at += *at == ',')
        json_array_append_new(list, json_stringn(at, strcspn(at, ",")));
    if (json_array_size(list) > 0)
        json_object_set(object, "labels", list);
    json_decref(list);
}

static int read_type(const struct reader *reader, const json_t *object, struct device_type *type)
{
    static const char *const keys[] = { "model", "vendor", "count",  "memory",
                                        "env",   "files",  "labels", NULL };
    char buffer[READER_SCALAR_SIZE];
    const char *memory = NULL, *model = NULL, *vendor = NULL;
    int64_t count = 1;

    int code = reader_check_keys(reader, object, keys);
    if (code == 0)
        code = reader_string(reader, object, "model", REQUEST_MODEL_SIZE - 1, &model);
    if (code == 0)
        code = reader_string(reader, object, "vendor", DEVICE_TYPE_VENDOR_SIZE - 1, &vendor);
    if (code == 0)
        code = reader_integer(reader, object, "count", 1, DEVICE_TYPE_COUNT_MAX, &count);
    if (code == 0)
        code = reader_scalar(reader, object, "memory", "a size like 16G", buffer, &memory);
    if (code == 0 && memory && units_parse_mib(memory, &type->memory_mib, reader->err) < 0)
        code = reader_place(reader, -EINVAL, object, "memory");
    if (code < 0)
        return code;
    if (!model || !name_is_valid(model))
        return reader_fail(reader, -EINVAL, object, "model",
                           "expected what jobs ask for it by, like v5e");
    if (vendor && !name_is_valid(vendor))
        return reader_fail(reader, -EINVAL, object, "vendor", "is no name");
    snprintf(type->model, sizeof(type->model), "%s", model);
    snprintf(type->vendor, sizeof(type->vendor), "%s", vendor ? vendor : "");
    type->count = (uint32_t)count;
    code = read_env(reader, object, type);
    if (code == 0)
        code = read_files(reader, object, type);
    return code < 0 ? code : config_labels_read(reader, object, type->labels, sizeof(type->labels));
}

int config_devices_read(const struct reader *above, const json_t *document, struct device_type *ret,
                        size_t *ret_count)
{
    const json_t *types = reader_get(document, "devices");
    const char *name;
    json_t *object;

    *ret_count = 0;
    if (!types)
        return 0;
    if (!json_is_object(types) || json_object_size(types) > DEVICE_TYPES_MAX)
        return reader_fail(above, -EINVAL, document, "devices",
                           "expected a map of at most %d from name to device", DEVICE_TYPES_MAX);
    json_object_foreach((json_t *)(uintptr_t)types, name, object)
    {
        struct reader reader = *above;
        struct device_type *type = &ret[(*ret_count)++];
        if (!name_is_valid(name))
            return reader_fail(above, -EINVAL, types, name, "is no name");
        *type = (struct device_type){ 0 };
        snprintf(type->name, sizeof(type->name), "%s", name);
        snprintf(reader.where, sizeof(reader.where), "device %s", name);
        int code = read_type(&reader, object, type);
        if (code < 0)
            return code;
    }
    return 0;
}

/* The lines as a list, or as a map where they are NAME=TEXT. */
static void add_lines(json_t *object, const char *key, const char *lines, bool is_map)
{
    AUTO_FREE char *copy = mem_string(lines);
    char *rest = copy;

    if (lines[0] == '\0')
        return;
    json_t *all = is_map ? json_object() : json_array();
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
        char *value = is_map ? strchr(line, '=') : NULL;
        if (value) {
            *value = '\0';
            json_object_set_new(all, line, json_string(value + 1));
        } else if (line[0] && !is_map)
            json_array_append_new(all, json_string(line));
    }
    json_object_set_new(object, key, all);
}

json_t *config_devices_to_json(const struct device_type *types, size_t count)
{
    json_t *all = json_object();

    for (size_t i = 0; i < count; i++) {
        const struct device_type *type = &types[i];
        json_t *object = json_pack("{s:s, s:i}", "model", type->model, "count", (int)type->count);
        if (type->vendor[0])
            json_object_set_new(object, "vendor", json_string(type->vendor));
        if (type->memory_mib > 0)
            json_object_set_new(object, "memory", json_integer(type->memory_mib));
        add_lines(object, "env", type->env, true);
        add_lines(object, "files", type->files, false);
        config_labels_to_json(type->labels, object);
        json_object_set_new(all, type->name, object);
    }
    return all;
}
