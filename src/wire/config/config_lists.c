/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of values that are lists: names, labels, numbers and files of devices, silences. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/cluster/label.h"
#include "time/begin.h"
#include "time/civil.h"
#include "wire/config/config_keys.h"
#include "wire/json.h"

/* ---- lists of names, with commas between ---- */

/* A name, or a name and a value. Those of core/cluster/label.h are of every node and device. */
bool is_label(const char *word)
{
    size_t length = strcspn(word, "=");
    AUTO_FREE char *key = mem_string_of(word, length);

    return name_is_valid(key) && !label_is_builtin(key) &&
           (!word[length] || name_is_valid(word + length + 1));
}

/* One or a list; words just have no comma and no blank. */
int read_words(const struct setting_place *place)
{
    const json_t *value = place->value;
    size_t count = json_is_array(value) ? json_array_size(value) : 1;
    AUTO_RELEASE(text) struct text list = { 0 };

    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_is_array(value) ? json_array_get(value, i) : value;
        const char *word = json_string_value(item);
        bool is_good =
            word && (place->row->kind == SETTING_LABELS ? is_label(word)
                                                        : word[0] && !strpbrk(word, ", \t\n"));
        if (!is_good && word && place->row->kind == SETTING_LABELS)
            return place_fail(place, -EINVAL,
                              "'%.60s': expected names, or names with values, like %s; node, rack, "
                              "block, type, spot, model and kind are labels already",
                              word, place->row->example);
        if (!is_good)
            return place_fail(place, -EINVAL, "expected a name or a list of names, like %s",
                              place->row->example);
        text_printf(&list, "%s%s", i > 0 ? "," : "", word);
    }
    if (place->row->most > 0 && list.length >= (size_t)place->row->most)
        return place_fail(place, -E2BIG, "more than %d bytes in all", (int)place->row->most - 1);
    return setting_store_text(place, text_string(&list));
}

json_t *write_names(const struct setting_view *of)
{
    const char *names = setting_text(of->row, of->base);
    return names[0] ? json_names(names) : NULL;
}

/* ---- labels of the devices of a node: "0:big,3:zone=b" ---- */

int read_gpu_labels(const struct setting_place *place)
{
    json_t *map = (json_t *)(uintptr_t)place->value, *value;
    AUTO_RELEASE(text) struct text list = { 0 };
    const char *key;

    if (!json_is_object(map))
        return place_fail(place, -EINVAL, "expected a map like %s", place->row->example);
    json_object_foreach(map, key, value)
    {
        bool is_list = json_is_array(value);
        size_t count = is_list ? json_array_size(value) : 1;
        bool is_good = key[0] && strspn(key, "0123456789") == strlen(key) && strlen(key) < 5;
        for (size_t i = 0; i < count && is_good; i++) {
            const char *word = json_string_value(is_list ? json_array_get(value, i) : value);
            is_good = word && is_label(word);
            if (is_good)
                text_printf(&list, "%s%d:%s", list.length > 0 ? "," : "", atoi(key), word);
        }
        if (!is_good)
            return place_fail(place, -EINVAL,
                              "'%.20s': expected numbers of GPUs, and names or names with values, "
                              "like %s",
                              key, place->row->example);
    }
    if (list.length >= (size_t)place->row->most)
        return place_fail(place, -E2BIG, "more than %d bytes in all", (int)place->row->most - 1);
    return setting_store_text(place, text_string(&list));
}

json_t *write_gpu_labels(const struct setting_view *of)
{
    const char *labels = setting_text(of->row, of->base);
    json_t *map = labels[0] ? json_object() : NULL;

    for (const char *at = labels; *at; at += *at == ',') {
        size_t number = strcspn(at, ":"), length = strcspn(at, ",");
        AUTO_FREE char *key = mem_string_of(at, number);
        if (!json_object_get(map, key))
            json_object_set_new(map, key, json_array());
        json_array_append_new(json_object_get(map, key),
                              json_stringn(at + number + 1, length - number - 1));
        at += length;
    }
    return map;
}

void tell_gpu_labels(const struct setting_view *of, struct properties *ret)
{
    property_add(ret, of->row->label, setting_text(of->row, of->base), "");
}

/* ---- numbers of devices, a bit each ---- */

int read_devices(const struct setting_place *place)
{
    const json_t *list = place->value;
    uint64_t devices = 0;
    int64_t before = -1;

    if (!json_is_array(list) || json_array_size(list) == 0)
        return place_fail(place, -EINVAL, "expected a list of numbers of devices");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        int64_t index = json_integer_value(item);
        if (!json_is_integer(item) || index < 0 || index > place->row->most)
            return place_fail(place, -EINVAL, "expected numbers of devices, 0 to %d",
                              (int)place->row->most);
        if (index <= before)
            return place_fail(place, -EINVAL,
                              "%" PRId64 " after %" PRId64 ", expected them ascending, each once",
                              index, before);
        before = index;
        devices |= UINT64_C(1) << index;
    }
    setting_store(place->row, place->base, (int64_t)devices);
    return 0;
}

json_t *write_devices(const struct setting_view *of)
{
    uint64_t devices = (uint64_t)setting_load(of->row, of->base);
    json_t *list = devices != 0 ? json_array() : NULL;

    for (int i = 0; i < 64; i++) {
        if (devices >> i & 1)
            json_array_append_new(list, json_integer(i));
    }
    return list;
}

/* ---- templates of devices, a line each ---- */

/* Whether only these names are used, and nothing that would break a list of lines. */
static bool is_template(const char *template, bool is_of_one)
{
    const struct device_words one = { .index = "0" };
    const struct device_words all = { .indices = "0", .uuids = "0", .count = "1" };
    AUTO_RELEASE(text) struct text expanded = { 0 };

    return !string_has_control(template) &&
           device_type_expand(template, is_of_one ? &one : &all, &expanded);
}

int read_env(const struct setting_place *place)
{
    json_t *env = (json_t *)(uintptr_t)place->value, *value;
    AUTO_RELEASE(text) struct text lines = { 0 };
    const char *name;

    if (!json_is_object(env))
        return place_fail(place, -EINVAL, "expected a map from name to text");
    json_object_foreach(env, name, value)
    {
        const char *template = json_string_value(value);
        if (!variable_is_valid(name, SIZE_MAX))
            return reader_fail(place->reader, -EINVAL, env, name,
                               "is not a valid name of a variable");
        if (!template || !is_template(template, false))
            return reader_fail(place->reader, -EINVAL, env, name,
                               "expected a string, in which ${indices}, ${uuids} and ${count} "
                               "stand for the devices of a job");
        text_printf(&lines, "%s=%s\n", name, template);
    }
    return setting_store_text(place, text_string(&lines));
}

int read_files(const struct setting_place *place)
{
    const json_t *files = place->value;
    const struct device_type *type = place->base;
    AUTO_RELEASE(text) struct text lines = { 0 };

    if (!json_is_array(files))
        return place_fail(place, -EINVAL, "expected a list like [\"/dev/accel${index}\"]");
    for (size_t i = 0; i < json_array_size(files); i++) {
        const char *file = json_string_value(json_array_get(files, i));
        if (!file || !string_starts(file, "/dev/") || !is_template(file, true))
            return place_fail(
                place, -EINVAL,
                "expected files below /dev, in which ${index} stands for the number of a "
                "device");
        if (type->count > 1 && !strstr(file, "${index}"))
            return place_fail(place, -EINVAL,
                              "expected ${index} in each, because there are several devices");
        text_printf(&lines, "%s\n", file);
    }
    return setting_store_text(place, text_string(&lines));
}

/* The lines as a list, or as a map where they are NAME=TEXT. */
json_t *write_lines(const struct setting_view *of)
{
    AUTO_FREE char *copy = mem_string(setting_text(of->row, of->base));
    bool is_map = of->row->kind == SETTING_ENV;
    char *rest = copy;

    if (copy[0] == '\0')
        return NULL;
    json_t *all = is_map ? json_object() : json_array();
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
        char *value = is_map ? strchr(line, '=') : NULL;
        if (value) {
            *value = '\0';
            json_object_set_new(all, line, json_string(value + 1));
        } else if (line[0] && !is_map)
            json_array_append_new(all, json_string(line));
    }
    return all;
}

/* ---- alerts that are not told: "FAULT UUID UNTIL" with commas between ---- */

/* A date with or without a time, in UTC. */
int read_until(const struct setting_place *place)
{
    struct begin_fields fields;
    const char *text = NULL;
    char date[32];

    int code = reader_string(place->reader, place->object, place->key, sizeof(date) - 1, &text);
    if (code < 0)
        return code;
    snprintf(date, sizeof(date), "%s", text);
    if (date[0] && date[strlen(date) - 1] == 'Z')
        date[strlen(date) - 1] = '\0';
    if (!begin_split(date, &fields) || !fields.has_date)
        return place_fail(place, -EINVAL, "expected a date in UTC, like 2030-01-31T08:00");
    setting_store(place->row, place->base,
                  civil_day(fields.year, fields.month, fields.day) * USEC_PER_DAY +
                      (fields.hour * 3600 + fields.minute * 60 + fields.second) * USEC_PER_SEC);
    return 0;
}

json_t *write_until(const struct setting_view *of)
{
    time_t seconds = (time_t)(setting_load(of->row, of->base) / USEC_PER_SEC);
    struct tm date;
    char text[32];

    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &date));
    return seconds == 0 ? NULL : json_string(text);
}

static int read_silence(const struct setting_place *place, const struct reader *reader,
                        const json_t *object, struct text *text)
{
    struct config_silence silence = { "", "", 0 };

    int code = keys_read(place->config, reader, object, KEYS_SILENCE, &silence);
    const char *fault = silence.fault[0] ? silence.fault : "*";
    const char *uuid = silence.uuid[0] ? silence.uuid : "*";
    if (code < 0)
        return code;
    if (strcmp(fault, "*") != 0 && !alert_name_is_known(fault))
        return reader_fail(reader, -EINVAL, object, "fault", "'%.40s': no such alert", fault);
    if (strpbrk(uuid, ", \t\n") || (reader_get(object, "uuid") && !silence.uuid[0]))
        return reader_fail(reader, -EINVAL, object, "uuid", "expected the UUID of a GPU");
    text_printf(text, "%s%s %s %" PRId64, text->length > 0 ? "," : "", fault, uuid,
                silence.until / USEC_PER_SEC);
    return 0;
}

int read_silences(const struct setting_place *place)
{
    const json_t *list = place->value;
    AUTO_RELEASE(text) struct text text = { 0 };

    if (!json_is_array(list))
        return place_fail(place, -EINVAL, "expected a list of {fault, uuid, until}");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const struct reader reader = reader_at(place->reader, "alerts.silence[%zu]", i);
        int code = read_silence(place, &reader, json_array_get(list, i), &text);
        if (code < 0)
            return code;
    }
    return setting_store_text(place, text_string(&text));
}

json_t *write_silences(const struct setting_view *of)
{
    const char *silences = setting_text(of->row, of->base);
    json_t *list = silences[0] ? json_array() : NULL;

    for (const char *at = silences; *at; at += *at == ',') {
        struct config_silence silence = { "", "", 0 };
        sscanf(at, "%31s %95s %" SCNd64, silence.fault, silence.uuid, &silence.until);
        silence.until *= USEC_PER_SEC;
        if (strcmp(silence.fault, "*") == 0)
            silence.fault[0] = '\0';
        if (strcmp(silence.uuid, "*") == 0)
            silence.uuid[0] = '\0';
        json_array_append_new(list, keys_to_json(of->config, KEYS_SILENCE, &silence));
        at += strcspn(at, ",");
    }
    return list;
}
