/* SPDX-License-Identifier: Apache-2.0 */
/* The conditions of a pool or a reservation, of which two kinds have keys of their own. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "core/cluster/label.h"
#include "wire/config/config_keys.h"
#include "wire/json.h"
#include "wire/where_text.h"

enum { NAMES_MAX = 4096 };

/* The member of a row, in a pool or a reservation, with its count. */
struct terms {
    const struct where_term *items;
    uint32_t count;
};
static_assert(offsetof(struct event_pool, where_count) - offsetof(struct event_pool, where) ==
                  offsetof(struct terms, count),
              "the conditions of a pool, and their count");
static_assert(offsetof(struct event_reservation, where_count) -
                      offsetof(struct event_reservation, where) ==
                  offsetof(struct terms, count),
              "the conditions of a reservation, and their count");

static struct terms *terms_of(const struct setting *row, const void *base)
{
    return (struct terms *)((uintptr_t)base + row->offset);
}

static void add_terms(const struct setting_place *place, const where_list *added)
{
    struct terms *terms = terms_of(place->row, place->base);

    LIST_EACH (const struct where_term, term, added)
        *(struct where_term *)CONFIG_NEW(place->config, terms->items, terms->count) = *term;
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
int read_terms(const struct setting_place *place)
{
    bool is_node = place->row->kind == SETTING_TERM_NODES;
    bool is_list = json_is_array(place->value);
    size_t count = is_list ? json_array_size(place->value) : 1;
    where_list terms = { 0 };
    int code = 0;

    for (size_t i = 0; i < count && code == 0; i++) {
        const char *word =
            json_string_value(is_list ? json_array_get(place->value, i) : place->value);
        bool is_good = word && (is_node ? name_is_valid(word) : is_label(word));
        AUTO_FREE char *condition = mem_printf("%s%s", is_node ? "node=" : "", word ? word : "");
        if (count > NAMES_MAX)
            code = place_fail(place, -E2BIG, "more than %d names", NAMES_MAX);
        else if (!is_good)
            code = place_fail(place, -EINVAL, "expected a name or a list of names, like %s",
                              place->row->example);
        else
            code = add_parsed(&terms, condition, place->reader->err);
    }
    for (size_t i = 0; i + 1 < terms.count && is_node; i++)
        terms.items[i].is_or = true;
    if (code == 0)
        add_terms(place, &terms);
    list_release(&terms);
    return code;
}

int read_where(const struct setting_place *place)
{
    where_list terms = { 0 };

    int code = where_read(place->reader, place->object, place->key, &terms);
    if (code == 0)
        add_terms(place, &terms);
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
        return SETTING_TERM_NODES;
    return count == 1 && !terms[0].has_value && !terms[0].is_not && !label_is_builtin(terms[0].key)
               ? SETTING_TERM_LABELS
               : SETTING_WHERE;
}

static void append_all(json_t *list, json_t *more)
{
    json_array_extend(list, more);
    json_decref(more);
}

/* The first condition about nodes is `nodes`, another one stands in `where`. */
json_t *write_terms(const struct setting_view *of)
{
    const struct terms *all = terms_of(of->row, of->base);
    bool has_nodes = false;
    json_t *list = json_array();

    for (uint32_t i = 0, end; i < all->count; i = end) {
        const struct where_term *terms = &all->items[i];
        end = where_end(all->items, all->count, i);
        enum setting_kind kind = key_of(terms, end - i);
        if (kind == SETTING_TERM_NODES && has_nodes)
            kind = SETTING_WHERE;
        has_nodes |= kind == SETTING_TERM_NODES;
        if (kind != of->row->kind)
            continue;
        if (kind == SETTING_TERM_NODES) {
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
