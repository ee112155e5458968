/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cluster/label.h"

#include <string.h>

#include "core/cluster/node.h"

bool label_is_builtin(const char *key)
{
    static const char *const keys[] = { "node", "rack",  "block", "type",
                                        "spot", "model", "kind",  NULL };

    return string_is_in(key, keys);
}

/* A list has it: the name, and the value where it counts. */
static bool is_among(const char *labels, const struct where_term *term)
{
    size_t key = strlen(term->key), value = strlen(term->value);

    for (const char *at = labels ? labels : ""; *at; at += *at == ',') {
        size_t length = strcspn(at, ",");
        bool is_key = strncmp(at, term->key, key) == 0 && (at[key] == '=' || length == key);
        if (is_key && (!term->has_value || (length == key + 1 + value && at[key] == '=' &&
                                            strncmp(at + key + 1, term->value, value) == 0)))
            return true;
        at += length;
    }
    return false;
}

const char *label_value(const char *labels, const char *key)
{
    size_t length = strlen(key);

    for (const char *at = labels ? labels : ""; *at; at += *at == ',') {
        if (strncmp(at, key, length) == 0 && at[length] == '=')
            return at + length + 1;
        at += strcspn(at, ",");
    }
    return NULL;
}

/* The value of a built-in label; NULL: it has none. */
static const char *builtin(const char *key, const struct node *node, const struct device *device)
{
    const char *value = NULL;

    if (strcmp(key, "node") == 0)
        value = node->name;
    else if (strcmp(key, "rack") == 0)
        value = node->rack;
    else if (strcmp(key, "block") == 0)
        value = node->block;
    else if (strcmp(key, "type") == 0)
        value = node->type;
    else if (strcmp(key, "spot") == 0)
        return node->is_spot ? "" : NULL;
    else if (strcmp(key, "model") == 0)
        value = device ? device->model : NULL;
    else if (device)
        value = device->kind && device->kind[0] ? device->kind : "gpu";
    return value && value[0] ? value : NULL;
}

static bool has(const struct where_term *term, const struct node *node, const struct device *device)
{
    if (label_is_builtin(term->key)) {
        const char *value = builtin(term->key, node, device);
        return value && (!term->has_value || strcmp(value, term->value) == 0);
    }
    if (device && !term->has_value && string_equal(device->model, term->key))
        return true;
    return is_among(node->labels, term) || (device && is_among(device->labels, term));
}

bool where_holds(const struct where_term *terms, uint32_t count, const struct node *node,
                 const struct device *device)
{
    for (uint32_t i = 0, end; i < count; i = end) {
        bool holds = false;
        end = where_end(terms, count, i);
        for (uint32_t k = i; k < end && !holds; k++)
            holds = has(&terms[k], node, device) != (terms[k].is_not != 0);
        if (!holds)
            return false;
    }
    return true;
}
