/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_KUBE_DRA_DRA_FILTERS_H
#define ENGINE_KUBE_DRA_DRA_FILTERS_H

/* dra_filters - which devices the requests of claims ask for
 *
 * A filter is a class, selectors, and attributes that must be equal. Filters are few and repeat:
 * each gets a label, "dra-3f2a91c0", which the engine reports for every device that it selects; a
 * job requires the label of its claims.
 *
 * All devices of a filter that a member gets are of one node. An attribute that must be equal is
 * so only if all devices of the node that the filter selects agree on it: else it selects none
 * there.
 *
 * Limits: DRA_FILTERS_MAX filters in use
 */

#include "engine/kube/dra/dra_claims.h"
#include "engine/kube/dra/dra_pools.h"

enum { DRA_FILTERS_MAX = 18 };

struct dra_filters;

struct dra_filters *dra_filters_create(const struct dra_claims *claims,
                                       const struct dra_pools *pools);
void dra_filters_destroy(struct dra_filters *filters); /* NULL is fine */

/* The label of a filter, a text of dra_demand; it is reported as long as it is asked for every few
 * minutes. ret_kind: of the devices ("": GPUs), which are all of one kind. NULL and the reason: it
 * selects nothing, or cannot be evaluated. */
const char *dra_filters_label(struct dra_filters *filters, const char *filter, uint64_t now_ms,
                              const char **ret_kind, struct error *err);

/* The labels of the devices of a node, in the order of dra_pools_of(); malloc'd, as are the labels
 * in it. */
char **dra_filters_of(struct dra_filters *filters, const char *node);

/* What a text that begins with the label of a filter means; new. NULL: it begins with none. */
char *dra_filters_spell(const struct dra_filters *filters, const char *words, size_t *ret_length);

/* Counts the changes of filters: labels of all devices may differ. */
uint64_t dra_filters_version(struct dra_filters *filters);

#endif
