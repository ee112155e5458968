/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/objects/kube_rule.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "engine/kube/client/kube_json.h"
#include "engine/kube/objects/kube_fits.h"
#include "engine/kube/objects/kube_pod.h"

#define HOSTNAME "kubernetes.io/hostname"

enum { LABEL_SIZE = 64 }; /* longer values are no values of labels */

/* ---- labels ---- */

/* "key=value\n" of each. */
json_t *kube_labels_read(const json_t *labels)
{
    static struct kube_shared shared;
    AUTO_RELEASE(text) struct text text = { 0 };
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)labels, key, value)
    {
        if (json_is_string(value))
            text_printf(&text, "%s=%s\n", key, json_string_value(value));
    }
    return text.length > 0 ? kube_json_share(&shared, json_string(text.bytes)) : NULL;
}

static const char *find_label(const json_t *labels, const char *key, char value[LABEL_SIZE])
{
    size_t length = strlen(key);
    const char *at = labels ? json_string_value(labels) : "";

    for (; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        if (strncmp(at, key, length) != 0 || at[length] != '=')
            continue;
        at += length + 1;
        size_t size = strcspn(at, "\n");
        snprintf(value, LABEL_SIZE, "%.*s", (int)(size < LABEL_SIZE ? size : LABEL_SIZE - 1), at);
        return value;
    }
    return NULL;
}

bool kube_selector_holds(const json_t *selector, const json_t *labels)
{
    json_t *value, *expression;
    char found[LABEL_SIZE];
    const char *key;
    size_t i;

    if (!selector)
        return false;
    json_object_foreach(json_object_get(selector, "matchLabels"), key, value)
    {
        if (!string_equal(find_label(labels, key, found), json_string_value(value)))
            return false;
    }
    json_array_foreach(json_object_get(selector, "matchExpressions"), i, expression)
    {
        const char *label = kube_text(expression, "key");
        if (!kube_expression_holds(expression, find_label(labels, label, found)))
            return false;
    }
    return true;
}

/* ---- of a pod ---- */

/* These labels of the pod are conditions, too. */
static void add_keys(json_t *expressions, const json_t *keys, const char *operator,
                     const json_t * labels)
{
    char value[LABEL_SIZE];
    json_t *key;
    size_t i;

    json_array_foreach(keys, i, key)
    {
        const char *name = json_string_value(key);
        if (name && find_label(labels, name, value))
            json_array_append_new(expressions, json_pack("{s:s, s:s, s:[s]}", "key", name,
                                                         "operator", operator, "values", value));
    }
}

/* The labelSelector of a term, with its matchLabelKeys; NULL: it selects nothing. New. */
static json_t *selector_of(const json_t *term, const json_t *labels)
{
    const json_t *stated = json_object_get(term, "labelSelector");
    json_t *selector = stated ? json_copy((json_t *)stated) : NULL, *expressions;

    if (!json_is_object(selector)) {
        json_decref(selector);
        return NULL;
    }
    expressions = json_array();
    json_array_extend(expressions, json_object_get(stated, "matchExpressions"));
    add_keys(expressions, json_object_get(term, "matchLabelKeys"), "In", labels);
    add_keys(expressions, json_object_get(term, "mismatchLabelKeys"), "NotIn", labels);
    if (json_array_size(expressions) > 0)
        json_object_set(selector, "matchExpressions", expressions);
    json_decref(expressions);
    return selector;
}

static json_t *part_of(const json_t *term, const json_t *labels)
{
    json_t *part = json_pack("{s:s, s:o*}", "key", kube_text(term, "topologyKey"), "labels",
                             selector_of(term, labels));

    return part ? part : json_object();
}

static json_t *read_spread(const json_t *spec, const json_t *fits, const char *namespace,
                           const json_t *labels)
{
    json_t *parts = json_array(), *stated;
    size_t i;

    json_array_foreach(json_object_get(spec, "topologySpreadConstraints"), i, stated)
    {
        if (strcmp(kube_text(stated, "whenUnsatisfiable"), "DoNotSchedule") != 0)
            continue;
        json_t *part = part_of(stated, labels);
        bool is_self = kube_selector_holds(json_object_get(part, "labels"), labels);
        bool is_any = strcmp(kube_text(stated, "nodeAffinityPolicy"), "Ignore") == 0;
        bool has_taints = strcmp(kube_text(stated, "nodeTaintsPolicy"), "Honor") == 0;
        json_object_set_new(part, "skew", json_integer(kube_number(stated, "maxSkew", 1)));
        json_object_set_new(part, "least", json_integer(kube_number(stated, "minDomains", 1)));
        json_object_set_new(part, "self", json_boolean(is_self));
        json_object_set_new(part, "any", json_boolean(is_any));
        json_object_set_new(part, "taints", json_boolean(has_taints));
        json_array_append_new(parts, part);
    }
    if (json_array_size(parts) == 0) {
        json_decref(parts);
        return NULL;
    }
    return json_pack("{s:i, s:s, s:O, s:o}", "kind", KUBE_RULE_SPREAD, "home", namespace, "fits",
                     fits, "parts", parts);
}

/* Without namespaces it is about those of the pod's own. */
static json_t *read_term(const json_t *term, const char *namespace, const json_t *labels)
{
    const json_t *stated = json_object_get(term, "namespaces");
    const json_t *spaces = json_object_get(term, "namespaceSelector");
    json_t *part = part_of(term, labels), *in = json_array();

    json_array_extend(in, (json_t *)stated);
    if (json_array_size(in) == 0 && !json_is_object(spaces))
        json_array_append_new(in, json_string(namespace));
    json_object_set_new(part, "in", in);
    if (json_is_object(spaces))
        json_object_set(part, "spaces", (json_t *)spaces);
    return part;
}

/* Takes the parts over. */
static json_t *rule_of(enum kube_rule_kind kind, json_t *parts, const char *namespace,
                       const json_t *labels)
{
    json_t *part;
    bool is_self = true;
    size_t i;

    json_array_foreach(parts, i, part) is_self &=
        kube_selector_holds(json_object_get(part, "labels"), labels);
    return json_pack("{s:i, s:s, s:b, s:o}", "kind", kind, "home", namespace, "self", is_self,
                     "parts", parts);
}

static const json_t *required(const json_t *spec, const char *what)
{
    return kube_at(spec, "affinity", what, "requiredDuringSchedulingIgnoredDuringExecution", NULL);
}

static json_t *read_others(const json_t *others)
{
    json_t *parts = json_array(), *value;
    const char *resource;

    json_object_foreach((json_t *)others, resource, value)
        json_array_append_new(parts, json_pack("{s:s, s:O}", "resource", resource, "milli", value));
    return json_pack("{s:i, s:o}", "kind", KUBE_RULE_HAS, "parts", parts);
}

json_t *kube_rules_read(const json_t *spec, const struct kube_pod *pod)
{
    const char *namespace = pod->namespace;
    const json_t *labels = pod->labels;
    static struct kube_shared shared;
    const json_t *with = required(spec, "podAffinity"), *apart = required(spec, "podAntiAffinity");
    json_t *rules = json_array(), *spread = read_spread(spec, pod->fits, namespace, labels), *term;
    json_t *parts = json_array();
    size_t i;

    if (spread)
        json_array_append_new(rules, spread);
    json_array_foreach(with, i, term)
        json_array_append_new(parts, read_term(term, namespace, labels));
    if (json_array_size(parts) > 0)
        json_array_append_new(rules,
                              rule_of(KUBE_RULE_WITH, json_incref(parts), namespace, labels));
    json_decref(parts);
    json_array_foreach(apart, i, term)
    {
        json_t *one = json_pack("[o]", read_term(term, namespace, labels));
        json_array_append_new(rules, rule_of(KUBE_RULE_APART, one, namespace, labels));
    }
    if (pod->others)
        json_array_append_new(rules, read_others(pod->others));
    if (json_array_size(rules) > 0)
        return kube_json_share(&shared, rules);
    json_decref(rules);
    return NULL;
}

json_t *kube_rule_held(const json_t *apart)
{
    return json_pack("{s:i, s:O}", "kind", KUBE_RULE_HELD, "parts",
                     json_object_get(apart, "parts"));
}

/* ---- which pods count ---- */

enum kube_rule_kind kube_rule_kind(const json_t *rule)
{
    return (enum kube_rule_kind)kube_number(rule, "kind", 0);
}

static const json_t *part_at(const json_t *rule, size_t part)
{
    return json_array_get(json_object_get(rule, "parts"), part);
}

bool kube_rule_is_of_parts(const json_t *rule)
{
    enum kube_rule_kind kind = kube_rule_kind(rule);

    return kind == KUBE_RULE_SPREAD || kind == KUBE_RULE_HAS;
}

bool kube_rule_is_of_nodes(const json_t *rule)
{
    json_t *part;
    size_t i;

    if (kube_rule_kind(rule) == KUBE_RULE_HAS)
        return true;
    json_array_foreach(json_object_get(rule, "parts"), i, part)
    {
        if (strcmp(kube_text(part, "key"), HOSTNAME) != 0)
            return false;
    }
    return true;
}

static bool is_in(const json_t *part, const char *namespace, const json_t *spaces)
{
    const json_t *selector = json_object_get(part, "spaces");
    json_t *name;
    size_t i;

    json_array_foreach(json_object_get(part, "in"), i, name)
    {
        if (string_equal(json_string_value(name), namespace))
            return true;
    }
    return selector && kube_selector_holds(selector, json_object_get(spaces, namespace));
}

static bool meets(const json_t *part, const struct kube_pod *pod, const json_t *spaces)
{
    return is_in(part, pod->namespace, spaces) &&
           kube_selector_holds(json_object_get(part, "labels"), pod->labels);
}

static bool meets_all(const json_t *rule, const struct kube_pod *pod, const json_t *spaces)
{
    json_t *part;
    size_t i;

    json_array_foreach(json_object_get(rule, "parts"), i, part)
    {
        if (!meets(part, pod, spaces))
            return false;
    }
    return true;
}

/* Whether one of its own rules keeps others away by these terms. */
static bool holds(const struct kube_pod *pod, const json_t *parts)
{
    json_t *rule;
    size_t i;

    json_array_foreach(pod->rules, i, rule)
    {
        if (kube_rule_kind(rule) == KUBE_RULE_APART &&
            json_equal(json_object_get(rule, "parts"), parts))
            return true;
    }
    return false;
}

/* A pod is kept apart from those that its term chooses; if that is itself, too, also from those
 * that have the same term. */
int64_t kube_rule_counts(const json_t *rule, size_t part, const struct kube_pod *pod,
                         const json_t *spaces)
{
    const json_t *parts = json_object_get(rule, "parts");

    switch (kube_rule_kind(rule)) {
    case KUBE_RULE_SPREAD:
        return !pod->is_deleting && strcmp(kube_text(rule, "home"), pod->namespace) == 0 &&
               kube_selector_holds(json_object_get(part_at(rule, part), "labels"), pod->labels);
    case KUBE_RULE_WITH:
        return meets_all(rule, pod, spaces);
    case KUBE_RULE_APART:
        return meets_all(rule, pod, spaces) ||
               (kube_rule_meets_itself(rule, spaces) && holds(pod, parts));
    case KUBE_RULE_HELD:
        return holds(pod, parts);
    case KUBE_RULE_HAS:
        return kube_number(pod->others, kube_text(part_at(rule, part), "resource"), 0);
    }
    return 0;
}

bool kube_rule_concerns(const json_t *rule, const struct kube_pod *pod, const json_t *spaces)
{
    size_t count = json_array_size(json_object_get(rule, "parts"));

    if (kube_rule_kind(rule) == KUBE_RULE_HELD)
        return meets_all(rule, pod, spaces);
    for (size_t i = 0; i < count; i++) {
        if (kube_rule_counts(rule, i, pod, spaces) > 0)
            return true;
    }
    return false;
}

bool kube_rule_meets_itself(const json_t *rule, const json_t *spaces)
{
    json_t *part;
    size_t i;

    json_array_foreach(json_object_get(rule, "parts"), i, part)
    {
        if (!is_in(part, kube_text(rule, "home"), spaces))
            return false;
    }
    return json_is_true(json_object_get(rule, "self"));
}

/* ---- for people ---- */

static void say_selector(const json_t *selector, struct text *text)
{
    const json_t *expressions = json_object_get(selector, "matchExpressions");
    json_t *value;
    const char *key;
    size_t count = 0;

    json_object_foreach(json_object_get(selector, "matchLabels"), key, value)
        text_printf(text, "%s%s=%s", count++ > 0 ? "," : "", key, json_string_value(value));
    text_add(text, count > 0 && json_array_size(expressions) > 0 ? " and " : "");
    kube_expressions_say(expressions, text);
    if (count == 0 && json_array_size(expressions) == 0)
        text_add(text, "all pods");
}

void kube_rule_say(const json_t *rule, struct text *text)
{
    static const char *const names[] = {
        [KUBE_RULE_SPREAD] = "topology spread of ",
        [KUBE_RULE_WITH] = "required podAffinity to ",
        [KUBE_RULE_APART] = "required podAntiAffinity to ",
        [KUBE_RULE_HELD] = "required podAntiAffinity of other pods to ",
        [KUBE_RULE_HAS] = "the request for ",
    };
    enum kube_rule_kind kind = kube_rule_kind(rule);
    json_t *part;
    size_t i;

    text_add(text, names[kind]);
    json_array_foreach(json_object_get(rule, "parts"), i, part)
    {
        text_add(text, i > 0 ? " and " : "");
        text_add(text, kube_text(part, "resource"));
        if (kind == KUBE_RULE_HAS)
            continue;
        say_selector(json_object_get(part, "labels"), text);
        text_printf(text, " %s %s", kind == KUBE_RULE_SPREAD ? "over" : "in",
                    kube_text(part, "key"));
        if (kind == KUBE_RULE_SPREAD)
            text_printf(text, " (maxSkew %" PRId64 ")", kube_number(part, "skew", 1));
    }
}

/* ---- gangs ---- */

static bool concerns_any(const json_t *spaces, const json_t *about,
                         const struct kube_pod *const *pods, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if ((i == 0 || pods[i] != pods[i - 1]) && kube_rule_concerns(about, pods[i], spaces))
            return true;
    }
    return false;
}

/* Each on a node of its own, or all on one. */
static bool choose_nodes(const json_t *spaces, const json_t *about, bool is_alike, uint32_t count,
                         uint32_t *nodes)
{
    bool is_with = kube_rule_kind(about) == KUBE_RULE_WITH;
    uint32_t wanted = is_with ? 1 : count;

    if (!kube_rule_is_of_nodes(about) || !is_alike || (*nodes > 0 && *nodes != wanted) ||
        (is_with && !kube_rule_meets_itself(about, spaces)))
        return false;
    *nodes = wanted;
    return true;
}

int kube_rules_check_gang(const struct kube_pod *const *pods, uint32_t count, const json_t *spaces,
                          uint32_t *ret_nodes, struct error *err)
{
    bool is_alike = true;
    json_t *about;
    size_t k;

    *ret_nodes = 0;
    for (uint32_t i = 1; i < count; i++)
        is_alike &= pods[0]->rules ? json_equal(pods[i]->rules, pods[0]->rules) : !pods[i]->rules;
    for (uint32_t i = 0; i < count && count > 1; i++) {
        if (i > 0 && pods[i]->rules == pods[i - 1]->rules)
            continue;
        json_array_foreach(pods[i]->rules, k, about)
        {
            AUTO_RELEASE(text) struct text text = { 0 };
            if (!concerns_any(spaces, about, pods, count) ||
                choose_nodes(spaces, about, is_alike, count, ret_nodes))
                continue;
            kube_rule_say(about, &text);
            return error_set(err, -ENOTSUP,
                             "its pods start together, and %.120s is about themselves, which is "
                             "supported for pods with the same rules and nodes only",
                             text_string(&text));
        }
    }
    return 0;
}
