/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/placement/placing.h"

static uint32_t domains_at(const struct layout *layout, enum domain_level level)
{
    return level == DOMAIN_RACK ? layout->rack_count : layout->block_count;
}

/* How many members each domain of the level could take; 0 is for nodes in none. */
static void count_room(struct domain *domain, const struct place_query *query, struct shape *shape,
                       enum domain_level level)
{
    for (uint32_t i = 0; i <= domains_at(domain->layout, level); i++)
        domain->counts[i] = 0;
    for (uint32_t i = 0; i < query->fleet->nodes.count; i++) {
        struct spot spot = spot_of(query->fleet, i);
        domain->counts[level == DOMAIN_RACK ? spot.at->rack : spot.at->block] +=
            score_count(query->scorer, shape, &spot, query->request->members);
    }
}

static bool choose(struct domain *domain, const struct place_query *query, enum domain_level level)
{
    uint32_t best = 0;

    for (uint32_t i = 1; i <= domains_at(domain->layout, level); i++) {
        if (domain->counts[i] >= query->request->members &&
            (best == 0 || domain->counts[i] < domain->counts[best]))
            best = i;
    }
    domain->level = level;
    domain->number = best;
    return best != 0;
}

void domain_start(struct domain *domain, const struct place_query *query, struct shape *shape,
                  struct arena *arena)
{
    const struct layout *layout = query->fleet->layout;

    *domain = (struct domain){ .layout = layout };
    if (query->request->members < 2 || query->request->roles_count > 0 ||
        (layout->rack_count == 0 && layout->block_count == 0))
        return;
    uint32_t most =
        layout->rack_count > layout->block_count ? layout->rack_count : layout->block_count;
    domain->counts = arena_take(arena, most + 1, sizeof(domain->counts[0]));
    domain->tried = arena_take(arena, most + 1, sizeof(domain->tried[0]));
    domain->is_bounded = true;
    for (int level = DOMAIN_RACK; level < DOMAIN_LEVELS; level++) {
        if (domains_at(layout, (enum domain_level)level) == 0)
            continue;
        count_room(domain, query, shape, (enum domain_level)level);
        if (choose(domain, query, (enum domain_level)level))
            return;
    }
    /* None holds it all: the largest racks first, or blocks where there are no racks. */
    domain->level = layout->rack_count > 0 ? DOMAIN_RACK : DOMAIN_BLOCK;
    count_room(domain, query, shape, domain->level);
    domain_next(domain);
}

bool domain_next(struct domain *domain)
{
    uint32_t best = 0;

    if (!domain->is_bounded)
        return false;
    if (domain->number != 0)
        domain->tried[domain->number] = true;
    for (uint32_t i = 1; i <= domains_at(domain->layout, domain->level); i++) {
        if (!domain->tried[i] && domain->counts[i] > 0 &&
            (best == 0 || domain->counts[i] > domain->counts[best]))
            best = i;
    }
    domain->number = best;
    domain->is_bounded = best != 0; /* at last also nodes that stand nowhere */
    return true;
}
