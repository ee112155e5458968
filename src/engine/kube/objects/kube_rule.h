/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_KUBE_RULE_H
#define ENGINE_KUBE_KUBE_RULE_H

/* kube_rule - what a pod requires of the pods that are on nodes
 *
 * A rule says which nodes a pod may go to, given the pods that are on nodes: topology spread with
 * DoNotSchedule, required podAffinity, required podAntiAffinity, that of other pods against it
 * (HELD), and what they leave of resources that tarn knows by name only (HAS). Pods alike have
 * equal rules. A rule counts pods by node; which nodes follow from the counts is the matter of
 * kube_rules.h. It is JSON:
 *
 *   kind    of all rules
 *   parts   of SPREAD: constraints with key (topologyKey), labels (a LabelSelector), skew, least
 *           (minDomains), self (it counts itself), any and taints (its policies for nodes); of HAS:
 *           resource and milli; of others: terms with key, labels, in (namespaces), and spaces (a
 *           namespaceSelector)
 *   home    the namespace of its pods, but for HELD and HAS
 *   fits    of SPREAD: the conditions of its pods (kube_fits.h)
 *   self    of WITH and APART: the terms choose the labels of its own pods
 *
 * Source: the Kubernetes API reference, TopologySpreadConstraint and PodAffinityTerm.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

enum kube_rule_kind {
    KUBE_RULE_SPREAD,
    KUBE_RULE_WITH,
    KUBE_RULE_APART,
    KUBE_RULE_HELD,
    KUBE_RULE_HAS,
};

struct kube_pod;

/* Labels of an object as one text, for selectors; NULL: none. May be shared (kube_json_share()). */
json_t *kube_labels_read(const json_t *labels);
/* Whether a LabelSelector chooses an object with these labels. NULL selects nothing. */
bool kube_selector_holds(const json_t *selector, const json_t *labels);

/* The rules of a pod whose labels and requests are known, as a list; NULL: none. May be shared. */
json_t *kube_rules_read(const json_t *spec, const struct kube_pod *pod);
/* The rule by which the holder of an APART rule keeps others away; new. */
json_t *kube_rule_held(const json_t *apart);

enum kube_rule_kind kube_rule_kind(const json_t *rule);
/* Whether each part has a count of its own; else one count is for all parts. */
bool kube_rule_is_of_parts(const json_t *rule);
/* Whether the topology of all parts is a node each. */
bool kube_rule_is_of_nodes(const json_t *rule);
/* How much the pod counts in a part. spaces: the labels of namespaces by their names. */
int64_t kube_rule_counts(const json_t *rule, size_t part, const struct kube_pod *pod,
                         const json_t *spaces);
/* Whether any part concerns pods like this one. */
bool kube_rule_concerns(const json_t *rule, const struct kube_pod *pod, const json_t *spaces);
/* Whether a pod with the rule would meet it by itself. */
bool kube_rule_meets_itself(const json_t *rule, const json_t *spaces);

/* Whether pods that start together can meet a rule of one of them that concerns others of them.
 * ret_nodes: on how many nodes; 0: any number. */
int kube_rules_check_gang(const struct kube_pod *const *pods, uint32_t count, const json_t *spaces,
                          uint32_t *ret_nodes, struct error *err);

/* For people: "required podAffinity to app=web in zone". */
void kube_rule_say(const json_t *rule, struct text *text);

#endif
