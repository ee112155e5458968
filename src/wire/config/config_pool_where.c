/* SPDX-License-Identifier: Apache-2.0 */
/* The conditions of a pool, of which two kinds have keys of their own. */
#include <errno.h>
#include <string.h>

#include "core/cluster/label.h"
#include "wire/config/config_keys.h"
#include "wire/json.h"
#include "wire/where_text.h"

enum { POOL_NAMES_MAX = 4096 };

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
int read_pool_names(const struct setting_place *place)
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

int read_where(const struct setting_place *place)
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
json_t *write_pool_names(const struct setting_view *of)
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
