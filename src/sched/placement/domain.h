/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PLACEMENT_DOMAIN_H
#define SCHED_PLACEMENT_DOMAIN_H

/* domain - keeping a gang close together: in a rack, in a block, or anywhere
 *
 * The smallest level at which one domain can hold all members is used, and of its domains the one
 * with the least room to spare (policies 2.8). If none can, the domains with most room are used
 * one after the other, so that the gang touches few. Without racks and blocks, or for a single
 * member: anywhere.
 */

#include "base/arena.h"
#include "sched/placement/shape.h"

enum domain_level { DOMAIN_RACK, DOMAIN_BLOCK, DOMAIN_LEVELS };

struct place_query;

struct domain {
    bool is_bounded;
    enum domain_level level;
    uint32_t number;
    const struct layout *layout;
    bool *tried;      /* by number: it was tried */
    uint32_t *counts; /* by number: members that fit */
};

void domain_start(struct domain *domain, const struct place_query *query, struct shape *shape,
                  struct arena *arena);
/* The present domain is full: go on to the next. False: there is none. */
bool domain_next(struct domain *domain);

static inline bool domain_has(const struct domain *domain, uint32_t node)
{
    if (!domain->is_bounded)
        return true;
    const struct layout_node *at = &domain->layout->nodes.items[node];
    return (domain->level == DOMAIN_RACK ? at->rack : at->block) == domain->number;
}

#endif
