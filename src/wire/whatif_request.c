/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/whatif_request.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "wire/reader.h"

static const char *const keys[] = { "add_nodes", "drain", "remove", "cancel", "submit",
                                    "config",    "set",   "shown",  NULL };

static bool take_number(const char **text, uint32_t max, uint32_t *ret)
{
    char *end;

    if (**text < '0' || **text > '9')
        return false;
    unsigned long value = strtoul(*text, &end, 10);
    if (value < 1 || value > max || (*end && *end != ':'))
        return false;
    *ret = (uint32_t)value;
    *text = end + (*end == ':');
    return true;
}

int whatif_nodes_parse(const char *text, struct whatif_nodes *ret, struct error *err)
{
    struct whatif_nodes nodes = { 0 };
    const char *at = text;

    bool is_good = take_number(&at, WHATIF_NODES_MAX, &nodes.count);
    size_t length = strcspn(at, ":");
    is_good = is_good && length > 0 && length < sizeof(nodes.model) && at[length] == ':';
    for (size_t i = 0; is_good && i < length; i++) {
        nodes.model[i] = (char)tolower((unsigned char)at[i]);
        is_good = isalnum((unsigned char)at[i]) || strchr("-_.", at[i]);
    }
    if (is_good) {
        at += length + 1;
        is_good = take_number(&at, WHATIF_NODE_GPUS_MAX, &nodes.gpus);
    }
    if (is_good && strcmp(at, "spot") == 0) {
        nodes.is_spot = true;
        at += 4;
    }
    if (!is_good || *at || (!nodes.is_spot && text[strlen(text) - 1] == ':'))
        return error_set(err, -EINVAL,
                         "'%.80s': expected NODES:MODEL:GPUS, like 2:h100:8 or 2:h100:8:spot; up "
                         "to %d nodes with up to %d gpus",
                         text, WHATIF_NODES_MAX, WHATIF_NODE_GPUS_MAX);
    *ret = nodes;
    return 0;
}

/* The list at a key, to which one item is made; NULL when there is none. */
static json_t *list_of(json_t *document, const char *key, json_type type)
{
    json_t *value = json_object_get(document, key);

    if (!value || json_typeof(value) != type)
        return json_is_null(value) ? NULL : value;
    json_object_set_new(document, key, json_pack("[O]", value));
    return json_object_get(document, key);
}

/* A list of strings, or one string; NULL when there is none. */
static int read_strings(const struct reader *reader, json_t *document, const char *key,
                        const json_t **ret)
{
    const json_t *value = list_of(document, key, JSON_STRING), *item;
    size_t i;

    if (value && (!json_is_array(value) || json_array_size(value) > WHATIF_LIST_MAX))
        return reader_fail(reader, -EINVAL, document, key, "expected a list of up to %d strings",
                           WHATIF_LIST_MAX);
    json_array_foreach(value, i, item)
    {
        if (!json_is_string(item) || json_string_length(item) == 0 ||
            json_string_length(item) > 4096)
            return reader_fail(reader, -EINVAL, document, key, "expected strings");
    }
    *ret = value;
    return 0;
}

static int read_nodes(const struct reader *reader, json_t *document, struct whatif *whatif)
{
    const json_t *list = NULL, *item;
    uint32_t gpus = 0;
    size_t i;

    int code = read_strings(reader, document, "add_nodes", &list);
    if (code < 0)
        return code;
    json_array_foreach(list, i, item)
    {
        struct whatif_nodes *nodes = &whatif->nodes[whatif->node_count++];
        code = whatif_nodes_parse(json_string_value(item), nodes, reader->err);
        if (code < 0)
            return reader_place(reader, code, document, "add_nodes");
        gpus += nodes->count * nodes->gpus;
    }
    return gpus <= WHATIF_GPUS_MAX ? 0
                                   : reader_fail(reader, -EINVAL, document, "add_nodes",
                                                 "more than %d gpus", WHATIF_GPUS_MAX);
}

static int read_submit(const struct reader *reader, json_t *document, struct whatif *whatif)
{
    json_t *value = list_of(document, "submit", JSON_OBJECT);

    if (value && (!json_is_array(value) || json_array_size(value) > WHATIF_SUBMIT_MAX))
        return reader_fail(reader, -EINVAL, document, "submit", "expected up to %d job documents",
                           WHATIF_SUBMIT_MAX);
    whatif->submit = json_array_size(value) > 0 ? value : NULL;
    return 0;
}

static int read_all(const struct reader *reader, json_t *document, struct whatif *whatif)
{
    int64_t shown = WHATIF_SHOWN;

    int code = reader_check_keys(reader, document, keys);
    if (code == 0)
        code = read_nodes(reader, document, whatif);
    if (code == 0)
        code = read_strings(reader, document, "drain", &whatif->drain);
    if (code == 0)
        code = read_strings(reader, document, "remove", &whatif->remove);
    if (code == 0)
        code = read_strings(reader, document, "cancel", &whatif->cancel);
    if (code == 0)
        code = read_strings(reader, document, "set", &whatif->set);
    if (code == 0)
        code = read_submit(reader, document, whatif);
    if (code == 0)
        code = reader_integer(reader, document, "shown", 0, WHATIF_SHOWN_MAX, &shown);
    whatif->shown = (uint32_t)shown;
    whatif->config = reader_get(document, "config");
    return code;
}

int whatif_parse(json_t *document, struct whatif **ret, struct error *err)
{
    AUTO(whatif) struct whatif *whatif = mem_zero(1, sizeof(*whatif));
    struct reader reader = { .where = "whatif", .err = err };

    whatif->document = json_incref(document);
    int code = read_all(&reader, document, whatif);
    if (code < 0)
        return code;
    size_t count = whatif->node_count + json_array_size(whatif->drain) +
                   json_array_size(whatif->remove) + json_array_size(whatif->cancel) +
                   json_array_size(whatif->set) + json_array_size(whatif->submit);
    if (count == 0 && !whatif->config)
        return error_set(err, -EINVAL,
                         "whatif: nothing is changed; expected add_nodes, drain, remove, cancel, "
                         "submit, set or config");
    *ret = TAKE(whatif);
    return 0;
}

void whatif_destroy(struct whatif *whatif)
{
    if (!whatif)
        return;
    json_decref(whatif->document);
    free(whatif);
}
