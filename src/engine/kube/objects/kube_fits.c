/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/objects/kube_fits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "engine/kube/client/kube_json.h"

json_t *kube_fits_read(const json_t *spec)
{
    static struct kube_shared shared;
    json_t *fits = json_object();
    json_t *terms =
        kube_at(spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution",
                "nodeSelectorTerms", NULL);
    json_t *selector = json_object_get(spec, "nodeSelector"), *toleration;
    json_t *tolerations = json_array();
    size_t i;

    if (json_object_size(selector) > 0)
        json_object_set(fits, "selector", selector);
    if (terms)
        json_object_set(fits, "terms", terms);
    json_array_foreach(json_object_get(spec, "tolerations"), i, toleration)
    {
        if (!string_equal(kube_text(toleration, "effect"), "NoExecute") ||
            !json_object_get(toleration, "tolerationSeconds"))
            json_array_append(tolerations, toleration);
    }
    if (json_array_size(tolerations) > 0)
        json_object_set(fits, "tolerations", tolerations);
    json_decref(tolerations);
    return kube_json_share(&shared, fits);
}

char *kube_fits_label(const json_t *fits)
{
    char *text = json_dumps(fits, JSON_COMPACT | JSON_SORT_KEYS);
    uint64_t hash = map_hash(text, strlen(text));

    free(text);
    return mem_printf("fits-%08" PRIx64, (hash ^ hash >> 32) & UINT32_MAX);
}

void kube_expressions_say(const json_t *expressions, struct text *text)
{
    json_t *expression, *value;
    size_t i, k;

    json_array_foreach(expressions, i, expression)
    {
        text_printf(text, "%s%s %s", i > 0 ? " and " : "", kube_text(expression, "key"),
                    kube_text(expression, "operator"));
        json_array_foreach(json_object_get(expression, "values"), k, value)
            text_printf(text, "%s%s", k > 0 ? "|" : " ", json_string_value(value));
    }
}

static void say_terms(struct text *text, const char *what, const json_t *terms)
{
    json_t *term;
    size_t i;

    json_array_foreach(terms, i, term)
    {
        text_add(text, i > 0 ? " or " : text->length > 0 ? ", " : "");
        text_add(text, i > 0 ? "" : what);
        kube_expressions_say(json_object_get(term, "matchExpressions"), text);
        kube_expressions_say(json_object_get(term, "matchFields"), text);
    }
}

char *kube_fits_words(const json_t *fits)
{
    struct text text = { 0 };
    json_t *value, *volume;
    const char *key;
    size_t i, count = 0;

    json_object_foreach(json_object_get(fits, "selector"), key, value) text_printf(
        &text, "%s%s=%s", count++ > 0 ? " " : "node selector ", key, json_string_value(value));
    say_terms(&text, "node affinity ", json_object_get(fits, "terms"));
    json_array_foreach(json_object_get(fits, "volumes"), i, volume)
        say_terms(&text, "node affinity of a volume or claim ", volume);
    text_add(&text, text.length > 0 ? ", or a taint" : "a taint");
    text_add(&text, " that it does not tolerate");
    return text_take(&text);
}

static bool has_value(const json_t *values, const char *value)
{
    json_t *item;
    size_t i;

    json_array_foreach(values, i, item)
    {
        if (string_equal(json_string_value(item), value))
            return true;
    }
    return false;
}

static bool is_number(const char *text, long long *ret)
{
    char *end;

    *ret = text ? strtoll(text, &end, 10) : 0;
    return text && text[0] && !*end;
}

bool kube_expression_holds(const json_t *expression, const char *value)
{
    const char *operator= kube_text(expression, "operator");
    const json_t *values = json_object_get(expression, "values");
    long long have, want;

    if (strcmp(operator, "In") == 0)
        return value && has_value(values, value);
    if (strcmp(operator, "NotIn") == 0)
        return !value || !has_value(values, value);
    if (strcmp(operator, "Exists") == 0)
        return value;
    if (strcmp(operator, "DoesNotExist") == 0)
        return !value;
    if (!is_number(value, &have) || !is_number(json_string_value(json_array_get(values, 0)), &want))
        return false;
    return strcmp(operator, "Gt") == 0 ? have > want : strcmp(operator, "Lt") == 0 && have < want;
}

/* All expressions of a term hold; an empty term holds for no node. */
static bool term_holds(const json_t *term, const char *node, const json_t *labels)
{
    const json_t *expressions = json_object_get(term, "matchExpressions");
    const json_t *fields = json_object_get(term, "matchFields");
    json_t *item;
    size_t i;

    json_array_foreach(expressions, i, item)
    {
        if (!kube_expression_holds(
                item, json_string_value(json_object_get(labels, kube_text(item, "key")))))
            return false;
    }
    json_array_foreach(fields, i, item)
    {
        bool is_name = strcmp(kube_text(item, "key"), "metadata.name") == 0;
        if (!kube_expression_holds(item, is_name ? node : NULL))
            return false;
    }
    return json_array_size(expressions) + json_array_size(fields) > 0;
}

static bool any_holds(const json_t *terms, const char *node, const json_t *labels)
{
    json_t *term;
    size_t i;

    json_array_foreach(terms, i, term)
    {
        if (term_holds(term, node, labels))
            return true;
    }
    return false;
}

bool kube_fits_selects(const json_t *fits, const char *node, const json_t *labels)
{
    json_t *selector = json_object_get(fits, "selector"), *terms = json_object_get(fits, "terms");
    json_t *value, *volume;
    const char *key;
    size_t i;

    json_object_foreach(selector, key, value)
    {
        if (!string_equal(json_string_value(json_object_get(labels, key)),
                          json_string_value(value)))
            return false;
    }
    json_array_foreach(json_object_get(fits, "volumes"), i, volume)
    {
        if (!any_holds(volume, node, labels))
            return false;
    }
    return !terms || any_holds(terms, node, labels);
}

static bool is_tolerated(const json_t *tolerations, const json_t *taint)
{
    json_t *toleration;
    size_t i;

    json_array_foreach(tolerations, i, toleration)
    {
        const char *key = kube_text(toleration, "key"), *effect = kube_text(toleration, "effect");
        bool is_any = strcmp(kube_text(toleration, "operator"), "Exists") == 0;
        if (effect[0] && strcmp(effect, kube_text(taint, "effect")) != 0)
            continue;
        if ((key[0] || !is_any) && strcmp(key, kube_text(taint, "key")) != 0)
            continue;
        if (is_any || strcmp(kube_text(toleration, "value"), kube_text(taint, "value")) == 0)
            return true;
    }
    return false;
}

bool kube_fits_tolerates(const json_t *fits, const json_t *taints)
{
    const json_t *tolerations = json_object_get(fits, "tolerations");
    json_t *taint;
    size_t i;

    json_array_foreach(taints, i, taint)
    {
        bool is_soft = strcmp(kube_text(taint, "effect"), "PreferNoSchedule") == 0;
        if (!is_soft && !is_tolerated(tolerations, taint))
            return false;
    }
    return true;
}

bool kube_fits(const json_t *fits, const char *node, const json_t *labels, const json_t *taints)
{
    return kube_fits_tolerates(fits, taints) && kube_fits_selects(fits, node, labels);
}
