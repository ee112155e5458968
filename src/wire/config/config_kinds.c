/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of values: how each is read, written, and told in a difference. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/mem.h"
#include "core/cluster/label.h"
#include "core/health/alert.h"
#include "time/begin.h"
#include "time/civil.h"
#include "wire/config/config_keys.h"
#include "wire/json.h"
#include "wire/where_text.h"

enum { WORDS_MAX = 12, WORDS_SIZE = 128, POOL_NAMES_MAX = 4096 };

static int store_text(const struct setting_place *place, const char *text)
{
    char *at = (char *)place->base + place->row->offset;

    if (!(place->row->flags & SETTING_IN_PLACE)) {
        const char *own = config_text(place->config, text);
        memcpy(at, &own, sizeof(own));
        return 0;
    }
    if (strlen(text) >= place->row->size)
        return place_fail(place, -EINVAL, "longer than %d letters in all", place->row->size - 1);
    snprintf(at, place->row->size, "%s", text);
    return 0;
}

/* ---- numbers ---- */

/* So many parts of a member are one in the document. */
static int64_t scale_of(const struct setting *row)
{
    return row->kind == SETTING_MONEY                                  ? 1000000
           : row->kind == SETTING_HOURS                                ? USEC_PER_HOUR
           : row->kind == SETTING_MILLI || row->kind == SETTING_MILLIS ? 1000
                                                                       : 1;
}

static int read_number(const struct setting_place *place)
{
    const struct setting *row = place->row;
    int64_t value = 0, scale = scale_of(row);

    int code = row->kind == SETTING_MILLI
                   ? reader_milli(place->reader, place->object, place->key, row->most, &value)
                   : reader_integer(place->reader, place->object, place->key, row->least / scale,
                                    row->most / scale, &value);
    setting_store(row, place->base, row->kind == SETTING_MILLI ? value : value * scale);
    return code;
}

static int read_memory(const struct setting_place *place)
{
    char buffer[READER_SCALAR_SIZE];
    const char *text = NULL;
    int64_t mib = 0;

    int code =
        reader_scalar(place->reader, place->object, place->key, "a size like 512G", buffer, &text);
    if (code < 0)
        return code;
    if (units_parse_mib(text, &mib, place->reader->err) < 0)
        return reader_place(place->reader, -EINVAL, place->object, place->key);
    setting_store(place->row, place->base, mib);
    return 0;
}

static int read_decimal(const struct setting_place *place)
{
    const json_t *value = place->value;
    double number = json_number_value(value), scale = (double)scale_of(place->row);
    double most = (double)place->row->most / scale;
    bool is_money = place->row->kind == SETTING_MONEY;
    bool is_none = !is_money && json_is_false(value);

    if (!is_none && (!json_is_number(value) || number < 0 || number > most))
        return is_money ? place_fail(place, -EINVAL, "expected a price per hour, 0 to %.0f", most)
                        : place_fail(place, -EINVAL, "expected a number (%s), 0 to %.0f",
                                     place->row->unit, most);
    setting_store(place->row, place->base, (int64_t)(number * scale + 0.5));
    return 0;
}

static int read_duration(const struct setting_place *place)
{
    char least[UNITS_TEXT_SIZE], most[UNITS_TEXT_SIZE];
    usec_t value = 0;

    int code = reader_duration(place->reader, place->object, place->key, &value);
    if (code < 0)
        return code;
    if (value < place->row->least || value > place->row->most)
        return place_fail(place, -ERANGE, "expected %s to %s",
                          duration_spell(least, place->row->least),
                          duration_spell(most, place->row->most));
    setting_store(place->row, place->base, value);
    return 0;
}

static json_t *write_number(const struct setting_view *of)
{
    int64_t value = setting_load(of->row, of->base), scale = scale_of(of->row);
    char buffer[UNITS_TEXT_SIZE];

    if (of->row->kind == SETTING_DURATION)
        return json_string(duration_spell(buffer, value));
    return of->row->flags & SETTING_REAL ? json_real((double)value / (double)scale)
                                         : decimal_to_json(value, scale);
}

/* ---- words ---- */

/* ": a, b" as its words; they stand in buffer. */
static void split_words(const char *words, char buffer[WORDS_SIZE], const char *ret[WORDS_MAX])
{
    size_t count = 0;
    char *rest = buffer;

    snprintf(buffer, WORDS_SIZE, "%s", words[0] ? words + 2 : "");
    for (char *word = strsep(&rest, ","); word && count < WORDS_MAX - 1; word = strsep(&rest, ","))
        ret[count++] = word + (word[0] == ' ');
    ret[count] = NULL;
}

static int read_word(const struct setting_place *place)
{
    const char *words[WORDS_MAX];
    char buffer[WORDS_SIZE];
    size_t value = 0;

    split_words(place->row->words, buffer, words);
    int code = reader_word(place->reader, place->object, place->key, words, &value);
    setting_store(place->row, place->base, (int64_t)value);
    return code;
}

/* A number, or a word that stands for one. */
static int read_depth(const struct setting_place *place)
{
    if (json_is_number(place->value))
        return read_number(place);
    int code = read_word(place);
    if (code == 0 && setting_load(place->row, place->base) == 2)
        setting_store(place->row, place->base, place->row->most);
    return code;
}

static int read_bool(const struct setting_place *place)
{
    bool value = false;

    int code = reader_bool(place->reader, place->object, place->key, &value);
    setting_store(place->row, place->base, value);
    return code;
}

static json_t *write_word(const struct setting_view *of)
{
    const char *words[WORDS_MAX];
    char buffer[WORDS_SIZE];

    split_words(of->row->words, buffer, words);
    return json_string(words[setting_load(of->row, of->base)]);
}

static json_t *write_bool(const struct setting_view *of)
{
    return json_boolean(setting_load(of->row, of->base));
}

/* ---- texts ---- */

static int read_text(const struct setting_place *place)
{
    size_t most =
        place->row->flags & SETTING_IN_PLACE ? place->row->size - 1u : WATCH_TEXT_SIZE - 1u;
    const char *text = NULL;

    int code = reader_string(place->reader, place->object, place->key, most, &text);
    return code < 0 ? code : store_text(place, text);
}

/* HOST, HOST:PORT or [ADDRESS]:PORT, with or without a user name before it. */
static bool has_host(const char *rest)
{
    size_t length = strcspn(rest, "/?#");
    const char *end = rest + length, *name = memrchr(rest, '@', length);
    const char *host = name ? name + 1 : rest;
    bool is_address = host[0] == '[';
    size_t host_length = strcspn(host, is_address ? "]" : ":/?#");
    const char *port = host + host_length + is_address;

    if (host_length < 1u + is_address || port > end)
        return false;
    if (port == end)
        return true;
    size_t digits = strspn(port + 1, "0123456789");
    return *port == ':' && digits > 0 && digits <= 5 && port + 1 + digits == end;
}

/* One of two schemes and a host. */
static bool is_url(const char *url, const char *plain, const char *safe)
{
    const char *scheme = string_starts(url, plain) ? plain : safe;

    return string_starts(url, scheme) && has_host(url + strlen(scheme)) && !strchr(url, ' ') &&
           !string_has_control(url);
}

/* A command for the shell, the program of which is not searched for, a URL or a domain. What
 * nothing could be sent to is refused here already. */
static int read_place(const struct setting_place *place)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789.-";
    int code = read_text(place);
    const char *text = setting_text(place->row, place->base);

    if (code < 0 || !text[0])
        return code;
    if (place->row->kind == SETTING_COMMAND && text[0] != '/')
        return place_fail(place, -EINVAL, "expected an absolute path");
    if (place->row->kind == SETTING_WEB && !is_url(text, "http://", "https://"))
        return place_fail(place, -EINVAL, "expected http:// or https://, and a host");
    if (place->row->kind == SETTING_MAIL && !is_url(text, "smtp://", "smtps://"))
        return place_fail(place, -EINVAL, "expected smtp:// or smtps://, and a host");
    if (place->row->kind == SETTING_DOMAIN && (text[strspn(text, letters)] || text[0] == '.'))
        return place_fail(place, -EINVAL,
                          "expected the domain of the addresses (after the @), like example.org");
    return 0;
}

static int read_name(const struct setting_place *place)
{
    const char *name = NULL;

    int code = reader_name(place->reader, place->object, place->key, &name);
    return code < 0 ? code : store_text(place, name);
}

/* As devices have it: in lower case. */
static int read_model(const struct setting_place *place)
{
    char model[REQUEST_MODEL_SIZE];
    const char *name = NULL;

    int code = reader_name(place->reader, place->object, place->key, &name);
    if (code < 0)
        return code;
    if (!lower_copy(model, name))
        return place_fail(place, -EINVAL, "'%s': longer than %d bytes", name,
                          REQUEST_MODEL_SIZE - 1);
    return store_text(place, model);
}

/* Of a described device. One as long as it may be has to be given where the name is longer. */
static int read_accelerator(const struct setting_place *place)
{
    const struct device_type *type = place->base;
    char kind[DEVICE_KIND_SIZE] = "";
    const char *name = type->name;

    int code = place->value ? reader_name(place->reader, place->object, place->key, &name) : 0;
    if (code < 0)
        return code;
    if (strlen(name) >= sizeof(kind))
        return reader_fail(place->reader, -EINVAL, place->object, place->key,
                           "'%.40s': longer than %d letters; expected one like tpu", name,
                           DEVICE_KIND_SIZE - 1);
    for (size_t i = 0; name[i]; i++)
        kind[i] = (char)tolower((unsigned char)name[i]);
    return store_text(place, strcasecmp(kind, type->name) == 0 ? "" : kind);
}

static json_t *write_text(const struct setting_view *of)
{
    const char *text = setting_text(of->row, of->base);

    return text[0] ? json_string(text) : NULL;
}

/* ---- lists of names, with commas between ---- */

static int read_names(const struct setting_place *place)
{
    AUTO_RELEASE(text) struct text list = { 0 };
    char **names = NULL;
    size_t count = 0;

    int code = reader_names(place->reader, place->object, place->key, (size_t)place->row->most,
                            &names, &count);
    for (size_t i = 0; i < count && code == 0; i++)
        text_printf(&list, "%s%s", i > 0 ? "," : "", names[i]);
    if (code == 0) {
        string_list_destroy(names);
        code = store_text(place, text_string(&list));
    }
    return code;
}

/* A name, or a name and a value. Those of core/cluster/label.h are of every node and device. */
static bool is_label(const char *word)
{
    size_t length = strcspn(word, "=");
    AUTO_FREE char *key = mem_string_of(word, length);

    return name_is_valid(key) && !label_is_builtin(key) &&
           (!word[length] || name_is_valid(word + length + 1));
}

/* One or a list; words just have no comma and no blank. */
static int read_words(const struct setting_place *place)
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
    return store_text(place, text_string(&list));
}

static json_t *write_names(const struct setting_view *of)
{
    const char *names = setting_text(of->row, of->base);
    return names[0] ? json_names(names) : NULL;
}

/* ---- conditions of a pool, of which two kinds have keys of their own ---- */

static void add_terms(struct config *config, struct event_pool *pool, const where_list *terms)
{
    for (size_t i = 0; i < terms->count; i++)
        *(struct where_term *)CONFIG_NEW(config, pool->where, pool->where_count) = terms->items[i];
}

/* To a list of any length. */
static int add_parsed(where_list *terms, const char *condition, struct error *err)
{
    where_list one = { 0 };

    int code = where_parse(&one, condition, err);
    for (size_t i = 0; i < one.count && code == 0; i++)
        list_add(terms, one.items[i]);
    list_release(&one);
    return code;
}

/* A label stands for its condition. */
static int read_pool_names(const struct setting_place *place)
{
    bool is_node = place->row->kind == SETTING_POOL_NODES;
    bool is_list = json_is_array(place->value);
    size_t count = is_list ? json_array_size(place->value) : 1;
    where_list terms = { 0 };
    int code = 0;

    for (size_t i = 0; i < count && code == 0; i++) {
        const char *word =
            json_string_value(is_list ? json_array_get(place->value, i) : place->value);
        bool is_good = word && (is_node ? name_is_valid(word) : is_label(word));
        AUTO_FREE char *condition = mem_printf("%s%s", is_node ? "node=" : "", word ? word : "");
        if (count > POOL_NAMES_MAX)
            code = place_fail(place, -E2BIG, "more than %d names", POOL_NAMES_MAX);
        else if (!is_good)
            code = place_fail(place, -EINVAL, "expected a name or a list of names, like %s",
                              place->row->example);
        else
            code = add_parsed(&terms, condition, place->reader->err);
    }
    for (size_t i = 0; i + 1 < terms.count && is_node; i++)
        terms.items[i].is_or = true;
    if (code == 0)
        add_terms(place->config, place->base, &terms);
    list_release(&terms);
    return code;
}

static int read_where(const struct setting_place *place)
{
    where_list terms = { 0 };

    int code = where_read(place->reader, place->object, place->key, &terms);
    if (code == 0)
        add_terms(place->config, place->base, &terms);
    list_release(&terms);
    return code;
}

/* Which key says the condition. */
static enum setting_kind key_of(const struct where_term *terms, uint32_t count)
{
    bool is_node = true;

    for (uint32_t i = 0; i < count; i++)
        is_node =
            is_node && strcmp(terms[i].key, "node") == 0 && terms[i].has_value && !terms[i].is_not;
    if (is_node)
        return SETTING_POOL_NODES;
    return count == 1 && !terms[0].has_value && !terms[0].is_not && !label_is_builtin(terms[0].key)
               ? SETTING_POOL_LABELS
               : SETTING_WHERE;
}

static void append_all(json_t *list, json_t *more)
{
    json_array_extend(list, more);
    json_decref(more);
}

/* The first condition about nodes is `nodes`, another one stands in `where`. */
static json_t *write_pool_names(const struct setting_view *of)
{
    const struct event_pool *pool = of->base;
    bool has_nodes = false;
    json_t *list = json_array();

    for (uint32_t i = 0, end; i < pool->where_count; i = end) {
        const struct where_term *terms = &pool->where[i];
        end = where_end(pool->where, pool->where_count, i);
        enum setting_kind kind = key_of(terms, end - i);
        if (kind == SETTING_POOL_NODES && has_nodes)
            kind = SETTING_WHERE;
        has_nodes |= kind == SETTING_POOL_NODES;
        if (kind != of->row->kind)
            continue;
        if (kind == SETTING_POOL_NODES) {
            for (uint32_t k = 0; k < end - i; k++)
                json_array_append_new(list, json_string(terms[k].value));
        } else
            append_all(list, where_to_json(terms, end - i));
    }
    if (json_array_size(list) > 0)
        return list;
    json_decref(list);
    return NULL;
}

/* ---- labels of the devices of a node: "0:big,3:zone=b" ---- */

static int read_gpu_labels(const struct setting_place *place)
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
    return store_text(place, text_string(&list));
}

static json_t *write_gpu_labels(const struct setting_view *of)
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

static void tell_gpu_labels(const struct setting_view *of, struct properties *ret)
{
    property_add(ret, of->row->label, setting_text(of->row, of->base), "");
}

/* ---- numbers of devices, a bit each ---- */

static int read_devices(const struct setting_place *place)
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

static json_t *write_devices(const struct setting_view *of)
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

static int read_env(const struct setting_place *place)
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
    return store_text(place, text_string(&lines));
}

static int read_files(const struct setting_place *place)
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
    return store_text(place, text_string(&lines));
}

/* The lines as a list, or as a map where they are NAME=TEXT. */
static json_t *write_lines(const struct setting_view *of)
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
static int read_until(const struct setting_place *place)
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

static json_t *write_until(const struct setting_view *of)
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

static int read_silences(const struct setting_place *place)
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
    return store_text(place, text_string(&text));
}

static json_t *write_silences(const struct setting_view *of)
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

/* ---- told in a difference ---- */

/* As it is written, a list in one line. */
static void spell(const struct setting *row, const json_t *value, struct text *out)
{
    const char *separator = row->kind == SETTING_NAMES || row->kind == SETTING_POOL_NODES ||
                                    row->kind == SETTING_DEVICES
                                ? " "
                            : row->kind == SETTING_WHERE ? ", "
                                                         : ",";

    if (json_is_string(value))
        text_add(out, json_string_value(value));
    else if (json_is_integer(value))
        text_printf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        text_printf(out, "%.6g", json_real_value(value));
    else if (json_is_boolean(value))
        text_add(out, json_is_true(value) ? "true" : "false");
    for (size_t i = 0; i < json_array_size(value); i++) {
        text_add(out, i > 0 ? separator : "");
        spell(row, json_array_get(value, i), out);
    }
}

static void tell_value(const struct setting_view *of, struct properties *ret)
{
    const struct setting *row = of->row;
    bool is_default = row->kind < SETTING_TEXT && setting_load(row, of->base) == row->fallback;
    AUTO_RELEASE(text) struct text words = { 0 };

    if (is_default && row->flags & SETTING_SILENT)
        return;
    json_t *value = setting_ops[row->kind].write(of);
    if (row->kind == SETTING_SILENCES)
        text_add(&words, setting_text(row, of->base));
    else if (row->kind == SETTING_DURATION && setting_load(row, of->base) == 0)
        text_add(&words, "never");
    else if (!is_default || !(row->flags & SETTING_QUIET))
        spell(row, value, &words);
    if (row->kind == SETTING_PARENT && !value)
        text_add(&words, "root");
    json_decref(value);
    property_add(ret, row->label, text_string(&words), "");
}

static void tell_millis(const struct setting_view *of, struct properties *ret)
{
    int64_t value = setting_load(of->row, of->base);

    property_add_amount(ret, of->row->label, "gpus",
                        value == of->row->fallback ? QUOTA_NONE : value);
}

const struct setting_ops setting_ops[SETTING_KINDS] = {
#define KIND(ID, type, json, read, write, tell) { read, write, tell },
#include "wire/config/config_kinds.def"
};
