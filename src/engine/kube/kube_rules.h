/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_KUBE_RULES_H
#define ENGINE_KUBE_KUBE_RULES_H

/* kube_rules - which nodes the rules of pods about other pods exclude now
 *
 * Each different rule (kube_rule.h) that a waiting pod has, or by which a pod on a node keeps
 * others away, counts the pods on each node that it is about. From the counts follow the nodes that
 * it excludes: these get the label of the rule, and jobs of such pods require nodes without it.
 * Several jobs may be granted before labels follow: therefore a rule is checked again when a pod is
 * bound, and a pod counts as soon as its binding is requested.
 *
 * Order of calls:  create, (charge | touch | see_space | ask | settle | ...)*, destroy
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "engine/kube/objects/kube_node.h"
#include "engine/kube/objects/kube_pod.h"

/* The label of a node with more rules than there is room for: no pod with a rule goes there. */
#define KUBE_RULES_FULL "rule-full"

struct kube_rules;

/* What the caller knows. Nodes have numbers, which stay the same. */
struct kube_rules_world {
    const struct kube_node *(*about)(void *user, size_t node); /* NULL: it is not known */
    /* Calls kube_rules_charge() for each pod that is on a node, or is being bound to one. */
    void (*each)(void *user);
    void *user;
};

struct kube_rules *kube_rules_create(const struct kube_rules_world *world);
void kube_rules_destroy(struct kube_rules *rules); /* NULL is fine */

/* Nodes have changed: there are so many. */
void kube_rules_touch(struct kube_rules *rules, size_t count);
/* The labels of a namespace; NULL: it is gone. */
void kube_rules_see_space(struct kube_rules *rules, const char *name, const json_t *labels);

/* A pod is on a node (1), or not any more (-1). */
void kube_rules_charge(struct kube_rules *rules, const struct kube_pod *pod, size_t node, int sign);

/* The labels of the rules of a waiting pod, and of those of others against it: nodes have them from
 * now on, as long as they are asked for every few minutes. A list of text, new; NULL: none. */
json_t *kube_rules_ask(struct kube_rules *rules, const struct kube_pod *pod, uint64_t now_ms,
                       struct error *err);
/* The labels of namespaces, for kube_rule_concerns(). */
const json_t *kube_rules_spaces(const struct kube_rules *rules);
/* Whether a pod may go to a node now. If not, nodes get the label of the rule from now on;
 * ret_added: kube_rules_added() when it was added, for a rule of others, else 0. */
bool kube_rules_allow(struct kube_rules *rules, const struct kube_pod *pod, size_t node,
                      uint64_t now_ms, uint64_t *ret_added, struct error *err);
/* How many rules by which pods keep others away were added: a pod that asked before does not have
 * their labels. And how often what is excluded has changed. */
uint64_t kube_rules_added(const struct kube_rules *rules);
uint64_t kube_rules_moves(const struct kube_rules *rules);

/* Bring up to date what is excluded; changed() is told the nodes that differ. */
void kube_rules_settle(struct kube_rules *rules, void (*changed)(void *user, size_t node),
                       void *user);
/* Add the labels of the rules that exclude a node, comma-separated, up to this length in all. */
void kube_rules_label(const struct kube_rules *rules, size_t node, size_t most, struct text *ret);
/* The meaning of a label that words begin with, after "!"; false: there is none. */
bool kube_rules_spell(const struct kube_rules *rules, const char *words, size_t *ret_length,
                      struct text *ret);

#endif
