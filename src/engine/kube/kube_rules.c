/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/kube/kube_rules.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "engine/kube/client/kube_json.h"
#include "engine/kube/objects/kube_fits.h"
#include "engine/kube/objects/kube_rule.h"

enum {
    ASKED_MAX = 500, /* rules of waiting pods */
    FORGET_MS = 600000,
    SWEEP_MS = 60000,
};

typedef LIST(int64_t) counts; /* pods, or thousandths of a resource, by node */

struct rule {
    json_t *about;
    char *label;
    enum kube_rule_kind kind;
    counts *parts; /* as kube_rule_is_of_parts() says */
    size_t part_count;
    LIST(bool) excluded; /* by node; and as it was told */
    LIST(bool) told;
    bool is_dirty, is_told;
    uint64_t added;    /* of HELD: how many there were when the first pod with it got a node */
    int64_t holders;   /* of HELD: pods on nodes */
    uint64_t asked_at; /* 0: by no pod that waits */
};

struct kube_rules {
    struct kube_rules_world world;
    LIST(struct rule) all;
    size_t nodes;
    json_t *spaces;   /* labels by namespace */
    bool is_counting; /* for the last rule */
    uint64_t added, moves, swept_at;
};

struct kube_rules *kube_rules_create(const struct kube_rules_world *world)
{
    struct kube_rules *rules = mem_zero(1, sizeof(*rules));

    rules->world = *world;
    rules->spaces = json_object();
    rules->moves = 1;
    return rules;
}

static void rule_release(struct rule *rule)
{
    for (size_t i = 0; i < rule->part_count; i++)
        list_release(&rule->parts[i]);
    free(rule->parts);
    free(rule->label);
    json_decref(rule->about);
    list_release(&rule->excluded);
    list_release(&rule->told);
}

void kube_rules_destroy(struct kube_rules *rules)
{
    if (!rules)
        return;
    LIST_EACH (struct rule, rule, &rules->all)
        rule_release(rule);
    list_release(&rules->all);
    json_decref(rules->spaces);
    free(rules);
}

void kube_rules_touch(struct kube_rules *rules, size_t count)
{
    rules->nodes = count;
    LIST_EACH (struct rule, rule, &rules->all)
        rule->is_dirty = true;
}

uint64_t kube_rules_added(const struct kube_rules *rules)
{
    return rules->added;
}

uint64_t kube_rules_moves(const struct kube_rules *rules)
{
    return rules->moves;
}

/* ---- which pods count ---- */

static void count(struct kube_rules *rules, struct rule *rule, const struct kube_pod *pod,
                  size_t node, int sign)
{
    for (size_t i = 0; i < rule->part_count; i++) {
        counts *part = &rule->parts[i];
        int64_t amount = kube_rule_counts(rule->about, i, pod, rules->spaces);
        if (amount == 0)
            continue;
        while (part->count <= node)
            list_add(part, 0);
        part->items[node] += sign * amount;
        rule->is_dirty = true;
        if (rule->kind != KUBE_RULE_HELD)
            continue;
        if (rule->holders == 0 && sign > 0)
            rule->added = ++rules->added;
        rule->holders += sign * amount;
    }
}

static void count_all(struct kube_rules *rules)
{
    rules->is_counting = true;
    if (rules->world.each)
        rules->world.each(rules->world.user);
    rules->is_counting = false;
}

static char *label_of(const json_t *about)
{
    AUTO_FREE char *text = json_dumps(about, JSON_COMPACT | JSON_SORT_KEYS);
    uint64_t hash = map_hash(text, strlen(text));

    return mem_printf("rule-%08" PRIx64, (hash ^ hash >> 32) & UINT32_MAX);
}

static struct rule *find(const struct kube_rules *rules, const char *label)
{
    LIST_EACH (struct rule, rule, &rules->all) {
        if (strcmp(rule->label, label) == 0)
            return rule;
    }
    return NULL;
}

/* Takes the rule over. */
static struct rule *find_or_add(struct kube_rules *rules, json_t *about)
{
    AUTO_FREE char *label = label_of(about);
    struct rule *known = find(rules, label);

    if (known) {
        json_decref(about);
        return known;
    }
    struct rule added = { .about = about,
                          .label = TAKE(label),
                          .kind = kube_rule_kind(about),
                          .part_count = 1,
                          .is_dirty = true };
    if (kube_rule_is_of_parts(about))
        added.part_count = json_array_size(json_object_get(about, "parts"));
    added.parts = mem_zero(added.part_count, sizeof(added.parts[0]));
    list_add(&rules->all, added);
    count_all(rules);
    return &rules->all.items[rules->all.count - 1];
}

/* What keeps others away from pods like this one. */
static void add_held(struct kube_rules *rules, const struct kube_pod *pod)
{
    json_t *about;
    size_t i;

    json_array_foreach(pod->rules, i, about)
    {
        if (kube_rule_kind(about) == KUBE_RULE_APART)
            find_or_add(rules, kube_rule_held(about));
    }
}

void kube_rules_charge(struct kube_rules *rules, const struct kube_pod *pod, size_t node, int sign)
{
    if (rules->is_counting) {
        count(rules, &rules->all.items[rules->all.count - 1], pod, node, sign);
        return;
    }
    if (sign > 0)
        add_held(rules, pod);
    LIST_EACH (struct rule, rule, &rules->all)
        count(rules, rule, pod, node, sign);
}

static bool selects_spaces(const struct rule *rule)
{
    json_t *part;
    size_t i;

    json_array_foreach(json_object_get(rule->about, "parts"), i, part)
    {
        if (json_object_get(part, "spaces"))
            return true;
    }
    return false;
}

/* Rules that choose namespaces by labels count anew: they move to the end of the list for it. */
void kube_rules_see_space(struct kube_rules *rules, const char *name, const json_t *labels)
{
    const json_t *known = json_object_get(rules->spaces, name);

    if (known ? json_equal(known, labels) : !labels)
        return;
    if (labels)
        json_object_set(rules->spaces, name, (json_t *)labels);
    else
        json_object_del(rules->spaces, name);
    for (size_t i = rules->all.count; i-- > 0;) {
        struct rule *last = &rules->all.items[rules->all.count - 1], rule = rules->all.items[i];
        if (!selects_spaces(&rule))
            continue;
        rules->all.items[i] = *last;
        for (size_t k = 0; k < rule.part_count; k++)
            rule.parts[k].count = 0;
        rule.holders = 0;
        rule.is_dirty = true;
        *last = rule;
        count_all(rules);
    }
}

/* ---- which nodes are excluded ---- */

static const char *domain_of(const struct kube_node *about, const json_t *part)
{
    return json_string_value(json_object_get(about->labels, kube_text(part, "key")));
}

static bool has_keys(const struct kube_node *about, const json_t *parts)
{
    json_t *part;
    size_t i;

    json_array_foreach(parts, i, part)
    {
        if (!domain_of(about, part))
            return false;
    }
    return true;
}

/* Whether the pods of a node, and its domain, count for a constraint. */
static bool is_included(const struct rule *rule, const json_t *part, const struct kube_node *about)
{
    const json_t *fits = json_object_get(rule->about, "fits");
    bool has_taints = json_is_true(json_object_get(part, "taints"));

    if (rule->kind != KUBE_RULE_SPREAD)
        return domain_of(about, part);
    return has_keys(about, json_object_get(rule->about, "parts")) &&
           (json_is_true(json_object_get(part, "any")) ||
            kube_fits_selects(fits, about->name, about->labels)) &&
           (!has_taints ||
            (!about->is_down && !about->is_drained && kube_fits_tolerates(fits, about->taints)));
}

static const struct kube_node *about_of(const struct kube_rules *rules, size_t node)
{
    return rules->world.about(rules->world.user, node);
}

static uint64_t key_of(const char *domain)
{
    return map_hash(domain, strlen(domain));
}

/* Pods by domain, also those with none. */
static struct map sums_of(const struct kube_rules *rules, const struct rule *rule, const counts *of,
                          const json_t *part)
{
    struct map sums = { 0 };

    for (size_t i = 0; i < rules->nodes; i++) {
        const struct kube_node *about = about_of(rules, i);
        uint64_t sum = 0;
        if (!about || !is_included(rule, part, about))
            continue;
        uint64_t key = key_of(domain_of(about, part));
        map_get(&sums, key, &sum);
        map_set(&sums, key, sum + (uint64_t)(i < of->count ? of->items[i] : 0));
    }
    return sums;
}

static uint64_t sum_at(const struct map *sums, const char *domain)
{
    uint64_t sum = 0;

    map_get(sums, key_of(domain), &sum);
    return sum;
}

/* The least of all domains; none: as if there were enough in each. */
static int64_t least_of(const struct map *sums, int64_t domains)
{
    uint64_t least = INT64_MAX;
    struct map_slot sum;

    if ((int64_t)sums->count < domains)
        return 0;
    for (size_t at = 0; map_next(sums, &at, &sum);)
        least = sum.value < least ? sum.value : least;
    return (int64_t)least;
}

static void spread(const struct kube_rules *rules, struct rule *rule)
{
    const json_t *parts = json_object_get(rule->about, "parts");
    json_t *part;
    size_t k;

    json_array_foreach(parts, k, part)
    {
        struct map sums = sums_of(rules, rule, &rule->parts[k], part);
        int64_t self = json_is_true(json_object_get(part, "self"));
        int64_t most = kube_number(part, "skew", 1) - self;
        int64_t least = least_of(&sums, kube_number(part, "least", 1));
        for (size_t i = 0; i < rules->nodes; i++) {
            const struct kube_node *about = about_of(rules, i);
            rule->excluded.items[i] |=
                about && (!has_keys(about, parts) ||
                          (int64_t)sum_at(&sums, domain_of(about, part)) - least > most);
        }
        map_release(&sums);
    }
}

/* The first pod of those that choose themselves may go anywhere. */
static bool is_first(const struct kube_rules *rules, const struct rule *rule)
{
    for (size_t i = 0; i < rule->parts[0].count; i++) {
        const struct kube_node *about = rule->parts[0].items[i] > 0 ? about_of(rules, i) : NULL;
        json_t *part;
        size_t k;
        json_array_foreach(about ? json_object_get(rule->about, "parts") : NULL, k, part)
        {
            if (domain_of(about, part))
                return false;
        }
    }
    return kube_rule_meets_itself(rule->about, rules->spaces);
}

/* is_with: only domains with such pods are left; else only those without. */
static void part_domains(const struct kube_rules *rules, struct rule *rule, bool is_with)
{
    bool is_any = is_with && is_first(rules, rule);
    json_t *part;
    size_t k;

    json_array_foreach(json_object_get(rule->about, "parts"), k, part)
    {
        struct map sums = sums_of(rules, rule, &rule->parts[0], part);
        for (size_t i = 0; i < rules->nodes; i++) {
            const struct kube_node *about = about_of(rules, i);
            const char *domain = about ? domain_of(about, part) : NULL;
            bool has_pods = domain && sum_at(&sums, domain) > 0;
            rule->excluded.items[i] |=
                about && (is_with ? !domain || (!has_pods && !is_any) : has_pods);
        }
        map_release(&sums);
    }
}

static void leave_room(const struct kube_rules *rules, struct rule *rule)
{
    json_t *part;
    size_t k;

    json_array_foreach(json_object_get(rule->about, "parts"), k, part)
    {
        for (size_t i = 0; i < rules->nodes; i++) {
            const struct kube_node *about = about_of(rules, i);
            int64_t has = kube_number(about ? about->others : NULL, kube_text(part, "resource"), 0);
            int64_t used = i < rule->parts[k].count ? rule->parts[k].items[i] : 0;
            rule->excluded.items[i] |= about && has - used < kube_number(part, "milli", 0);
        }
    }
}

static void bring_up_to_date(const struct kube_rules *rules, struct rule *rule)
{
    if (!rule->is_dirty)
        return;
    rule->is_dirty = rule->is_told = false;
    list_zero(&rule->excluded, rules->nodes);
    if (rule->kind == KUBE_RULE_SPREAD)
        spread(rules, rule);
    else if (rule->kind == KUBE_RULE_HAS)
        leave_room(rules, rule);
    else
        part_domains(rules, rule, rule->kind == KUBE_RULE_WITH);
}

void kube_rules_settle(struct kube_rules *rules, void (*changed)(void *user, size_t node),
                       void *user)
{
    LIST_EACH (struct rule, rule, &rules->all) {
        if (rule->asked_at == 0 || (!rule->is_dirty && rule->is_told))
            continue;
        bring_up_to_date(rules, rule);
        rule->is_told = true;
        while (rule->told.count < rules->nodes)
            list_add(&rule->told, false);
        for (size_t i = 0; i < rules->nodes; i++) {
            if (rule->told.items[i] == rule->excluded.items[i])
                continue;
            rule->told.items[i] = rule->excluded.items[i];
            rules->moves++;
            changed(user, i);
        }
    }
}

/* ---- waiting pods ---- */

static bool is_needed(const struct rule *rule, uint64_t now)
{
    return now - rule->asked_at < FORGET_MS || rule->holders > 0;
}

static void forget(struct kube_rules *rules, uint64_t now)
{
    if (now - rules->swept_at < SWEEP_MS)
        return;
    rules->swept_at = now;
    for (size_t i = rules->all.count; i-- > 0;) {
        struct rule *rule = &rules->all.items[i];
        if (now - rule->asked_at >= FORGET_MS) { /* its labels are gone with the next reports */
            rule->asked_at = rule->told.count = 0;
            rule->is_told = false;
        }
        if (is_needed(rule, now))
            continue;
        rule_release(rule);
        list_remove(&rules->all, i);
    }
}

static size_t asked_count(const struct kube_rules *rules)
{
    size_t asked = 0;

    LIST_EACH (const struct rule, rule, &rules->all)
        asked += rule->asked_at > 0;
    return asked;
}

static size_t not_asked_count(const struct kube_rules *rules, const struct kube_pod *pod)
{
    size_t more = 0, i;
    json_t *about;

    json_array_foreach(pod->rules, i, about)
    {
        AUTO_FREE char *label = label_of(about);
        const struct rule *rule = find(rules, label);
        more += !rule || rule->asked_at == 0;
    }
    return more;
}

/* Whether one of its own rules excludes all that this one does. */
static bool is_covered(const struct kube_rules *rules, const struct kube_pod *pod,
                       const struct rule *held)
{
    json_t *about;
    size_t i;

    json_array_foreach(pod->rules, i, about)
    {
        if (kube_rule_kind(about) == KUBE_RULE_APART &&
            json_equal(json_object_get(about, "parts"), json_object_get(held->about, "parts")) &&
            kube_rule_meets_itself(about, rules->spaces))
            return true;
    }
    return false;
}

static void ask(struct rule *rule, uint64_t now, json_t *labels)
{
    rule->asked_at = now;
    json_array_append_new(labels, json_string(rule->label));
}

json_t *kube_rules_ask(struct kube_rules *rules, const struct kube_pod *pod, uint64_t now_ms,
                       struct error *err)
{
    json_t *labels = json_array(), *about;
    size_t i;

    forget(rules, now_ms);
    size_t more = not_asked_count(rules, pod);
    if (more > 0 && asked_count(rules) + more > ASKED_MAX) {
        json_decref(labels);
        error_set(err, -ENOSPC,
                  "the pods of the cluster have too many different rules about other pods");
        return NULL;
    }
    json_array_foreach(pod->rules, i, about)
        ask(find_or_add(rules, json_incref(about)), now_ms, labels);
    LIST_EACH (struct rule, rule, &rules->all) {
        if (rule->kind == KUBE_RULE_HELD && rule->holders > 0 &&
            kube_rule_concerns(rule->about, pod, rules->spaces) && !is_covered(rules, pod, rule))
            ask(rule, now_ms, labels);
    }
    if (json_array_size(labels) > 0)
        json_array_append_new(labels, json_string(KUBE_RULES_FULL));
    return labels;
}

bool kube_rules_allow(struct kube_rules *rules, const struct kube_pod *pod, size_t node,
                      uint64_t now_ms, uint64_t *ret_added, struct error *err)
{
    json_t *about;
    size_t i, own = json_array_size(pod->rules);

    json_array_foreach(pod->rules, i, about) find_or_add(rules, json_incref(about));
    for (i = 0; i < own + rules->all.count; i++) {
        struct rule *rule = i < own ? find_or_add(rules, json_incref(json_array_get(pod->rules, i)))
                                    : &rules->all.items[i - own];
        if (i >= own &&
            (rule->kind != KUBE_RULE_HELD || !kube_rule_concerns(rule->about, pod, rules->spaces)))
            continue;
        bring_up_to_date(rules, rule);
        if (node >= rule->excluded.count || !rule->excluded.items[node])
            continue;
        AUTO_RELEASE(text) struct text text = { 0 };
        rule->asked_at = now_ms;
        *ret_added = rule->added;
        kube_rule_say(rule->about, &text);
        error_set(err, -EAGAIN, "%.120s excludes its node now", text_string(&text));
        return false;
    }
    return true;
}

const json_t *kube_rules_spaces(const struct kube_rules *rules)
{
    return rules->spaces;
}

/* ---- labels ---- */

void kube_rules_label(const struct kube_rules *rules, size_t node, size_t most, struct text *ret)
{
    size_t reserve = strlen("," KUBE_RULES_FULL);

    LIST_EACH (const struct rule, rule, &rules->all) {
        if (rule->asked_at == 0 || node >= rule->told.count || !rule->told.items[node])
            continue;
        bool is_full = ret->length + 1 + strlen(rule->label) + reserve > most;
        text_printf(ret, "%s%s", ret->length > 0 ? "," : "",
                    is_full ? KUBE_RULES_FULL : rule->label);
        if (is_full)
            return;
    }
}

bool kube_rules_spell(const struct kube_rules *rules, const char *words, size_t *ret_length,
                      struct text *ret)
{
    if (string_starts(words, KUBE_RULES_FULL)) {
        text_add(ret, "too many rules of pods about other pods");
        *ret_length = strlen(KUBE_RULES_FULL);
        return true;
    }
    LIST_EACH (const struct rule, rule, &rules->all) {
        if (!string_starts(words, rule->label))
            continue;
        kube_rule_say(rule->about, ret);
        *ret_length = strlen(rule->label);
        return true;
    }
    return false;
}
