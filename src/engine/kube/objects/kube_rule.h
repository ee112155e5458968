/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_KUBE_RULE_H
#define ENGINE_KUBE_KUBE_RULE_H

/* kube_rule - what a pod requires of the pods on other nodes
 *
 * A rule says which nodes a pod may go to, given the pods that are on nodes: topology spread with
 * DoNotSchedule, required podAffinity, required podAntiAffinity, and that of other pods against it
 * (HELD). Pods alike have equal rules. A rule counts pods in one or more parts, by node; which
 * nodes follow from the counts is the matter of kube_rules.h.
 *
 *   { "kind": SPREAD, "home": NAMESPACE, "fits": conditions (kube_fits.h),
 *     "parts": [{ "key": topologyKey, "labels": LabelSelector, "skew": maxSkew, "least":
 * minDomains, "self": whether it counts itself, "any", "taints": its policies }] } { "kind": WITH |
 * APART | HELD, "home": NAMESPACE, "self": whether it meets all of its own terms, "parts": [{
 * "key", "labels", "in": [NAMESPACE], "spaces": namespaceSelector }] }
 *
 * Source: the Kubernetes API reference, TopologySpreadConstraint and PodAffinityTerm.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

enum kube_rule_kind { KUBE_RULE_SPREAD, KUBE_RULE_WITH, KUBE_RULE_APART, KUBE_RULE_HELD };

struct kube_pod;

/* Labels of an object as one text, for selectors; NULL: none. May be shared (kube_json_share()). */
json_t *kube_labels_read(const json_t *labels);
/* Whether a LabelSelector chooses an object with these labels. NULL selects nothing. */
bool kube_selector_holds(const json_t *selector, const json_t *labels);

/* The rules of a pod with these labels, as a list; NULL: none. May be shared. */
json_t *kube_rules_read(const json_t *spec, const json_t *fits, const char *namespace,
                        const json_t *labels);
/* The rule by which the holder of an APART rule keeps others away; new. */
json_t *kube_rule_held(const json_t *apart);

enum kube_rule_kind kube_rule_kind(const json_t *rule);
/* Whether the topology of all parts is a node each. */
bool kube_rule_is_of_nodes(const json_t *rule);
/* Whether the pod counts in a part. spaces: the labels of namespaces by their names. */
bool kube_rule_counts(const json_t *rule, size_t part, const struct kube_pod *pod,
                      const json_t *spaces);
/* Whether any part concerns pods like this one. */
bool kube_rule_concerns(const json_t *rule, const struct kube_pod *pod, const json_t *spaces);
/* Whether a pod with the rule would meet it by itself. */
bool kube_rule_meets_itself(const json_t *rule, const json_t *spaces);

/* For people: "required podAffinity to app=web in zone". */
void kube_rule_say(const json_t *rule, struct text *text);

#endif
