/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_KUBE_FITS_H
#define ENGINE_KUBE_KUBE_FITS_H

/* kube_fits - which nodes a pod may run on: node selector, required node affinity, taints
 *
 * The conditions of pods are few and repeat, and nodes change: the engine gives each different set
 * of conditions a label, and reports that label for every node that meets them. A job requires the
 * label of its pods. So taints that come later, and operators that tarn does not have, hold, too.
 *
 * Source: the Kubernetes API reference, NodeSelectorTerm and Toleration.
 */

#include <jansson.h>
#include <stdbool.h>

/* The conditions of a pod's spec, in a form that is equal for equal conditions. Others may have the
 * same object: it is not to be changed. Only one thread may read. */
json_t *kube_fits_read(const json_t *spec);
/* "fits-3f2a91c0": 0-terminated label of the conditions; new. */
char *kube_fits_label(const json_t *fits);

/* For people: "node selector type=real, node affinity zone In a|b, or a taint ..."; new. */
char *kube_fits_words(const json_t *fits);
/* labels, taints: of the node; taints as in its spec. */
bool kube_fits(const json_t *fits, const char *node, const json_t *labels, const json_t *taints);
/* The same in two parts. */
bool kube_fits_selects(const json_t *fits, const char *node, const json_t *labels);
bool kube_fits_tolerates(const json_t *fits, const json_t *taints);

/* An item of matchExpressions; value NULL: there is no label with its key. */
bool kube_expression_holds(const json_t *expression, const char *value);
/* For people: "zone In a|b and gpu Exists". */
struct text;
void kube_expressions_say(const json_t *expressions, struct text *text);

#endif
