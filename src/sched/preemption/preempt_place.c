/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/preemption/preempt.h"

#include <assert.h>
#include <string.h>

#include "core/job/role.h"
#include "sched/job_facts.h"

void preempt_place_release(struct preempt_place *pack)
{
    fleet_release(&pack->ahead);
    list_release(&pack->nodes);
    list_release(&pack->order);
    list_release(&pack->fitting);
    list_release(&pack->takers);
    list_release(&pack->moved);
    list_release(&pack->misfits);
}

/* What is at hand while a claim is placed. */
struct packing {
    struct preempt_place *pack;
    struct contenders *claims;
    struct place_query query;
    struct arena *arena;
};

/* All members on one node? */
static bool is_local(const struct lease *lease)
{
    for (uint32_t i = 1; i < lease->members_count; i++) {
        if (lease->members[i].node != lease->members[0].node)
            return false;
    }
    return true;
}

/* GPUs that a member needs at least; of a gang with roles one of the role that needs least. */
static int32_t need_of(const struct request *request)
{
    int64_t least = INT64_MAX;

    for (uint32_t i = 0; i < request_parts(request); i++) {
        const struct request *part = request_part(request, i);
        for (uint32_t k = 0; k < part->gpu_alternatives; k++) {
            int64_t milli = request_milli(part, k, GPU_MILLI) / part->members;
            least = milli < least ? milli : least;
        }
        least = part->gpu_alternatives > 0 ? least : 0;
    }
    return (int32_t)least;
}

static void note_place(struct packing *packing, struct contender *claim, const struct lease *lease)
{
    struct preempt_place *pack = packing->pack;
    uint32_t number = (uint32_t)(claim - packing->claims->items.items) + 1;

    assert(number <= packing->claims->items.count);
    fleet_take(&pack->ahead, lease, 1);
    claim->first_node = (uint32_t)pack->nodes.count;
    claim->node_count = lease->members_count;
    for (uint32_t i = 0; i < lease->members_count; i++) {
        list_add(&pack->nodes, lease->members[i].node);
        uint32_t *taker = &pack->takers.items[lease->members[i].node];
        *taker = *taker == 0 || number < *taker ? number : *taker;
    }
}

static bool try_nodes(struct packing *packing, struct contender *claim)
{
    struct place_query *query = &packing->query;
    const struct class *class = query->state->classes.classes.items[claim->job->class];
    struct lease lease;

    query->request = state_request(query->state, claim->job);
    query->class = claim->job->class;
    query->labels = class->labels;
    query->apart = class->apart;
    query->job = claim->job->id;
    query->is_preemptible = claim->job->is_preemptible;
    query->user = claim->job->user;
    query->gid = claim->job->gid;
    query->stay = job_stay(claim->job);
    query->only = packing->pack->fitting.items;
    query->only_count = (uint32_t)packing->pack->fitting.count;
    if (query->only_count == 0 || !place_job(query, packing->arena, &lease, NULL))
        return false;
    note_place(packing, claim, &lease);
    return true;
}

/* Fewest free GPUs first; a gang takes from all that have enough for a member. */
static bool try_place(struct packing *packing, struct contender *claim)
{
    struct preempt_place *pack = packing->pack;
    const struct request *request = state_request(packing->query.state, claim->job);
    int32_t need = need_of(request), above = need - 1;

    for (;;) {
        int32_t least = INT32_MAX;
        pack->fitting.count = 0;
        for (uint32_t i = 0; i < pack->ahead.nodes.count; i++) {
            int32_t free = pack->ahead.nodes.items[i].milli;
            if (free <= above || (request->members == 1 && free > least))
                continue;
            if (request->members == 1 && free < least)
                pack->fitting.count = 0;
            least = free < least ? free : least;
            list_add(&pack->fitting, i);
        }
        if (pack->fitting.count == 0)
            return false;
        if (try_nodes(packing, claim))
            return true;
        if (request->members > 1)
            return false;
        above = least;
    }
}

/* May this one be moved for that one? */
static bool may_move(const struct contender *claim, const struct contender *other)
{
    bool is_firm = other->tier == CLAIM_FIXED ||
                   (other->tier == CLAIM_UNSAVED && other->job->priority == claim->job->priority);

    return other->is_kept && other->is_selected && !is_firm && other->milli < claim->milli &&
           other->job->priority <= claim->job->priority;
}

static void move(struct packing *packing, uint32_t number)
{
    struct contender *claim = &packing->claims->items.items[number];

    fleet_take(&packing->pack->ahead, claim->job->run->lease, -1);
    claim->is_kept = false;
    list_add(&packing->pack->moved, number);
}

/* The node with the most free GPUs on which moves would make enough; -1: none. */
static int64_t node_to_clear(struct packing *packing, const struct contender *claim, int32_t need)
{
    const struct fleet *ahead = &packing->pack->ahead;
    int32_t *movable = arena_take(packing->arena, ahead->nodes.count + 1, sizeof(*movable));
    int64_t best = -1;

    memset(movable, 0, ahead->nodes.count * sizeof(*movable));
    LIST_EACH (const struct contender, other, &packing->claims->items) {
        if (may_move(claim, other) && is_local(other->job->run->lease))
            movable[other->job->run->lease->members[0].node] += (int32_t)other->milli;
    }
    for (uint32_t i = 0; i < ahead->nodes.count; i++) {
        int32_t free = ahead->nodes.items[i].milli;
        if (free < need && free + movable[i] >= need &&
            (best < 0 || free > ahead->nodes.items[best].milli))
            best = i;
    }
    return best;
}

/* The largest there that is not above what is missing, else the smallest. */
static int64_t one_to_move(const struct packing *packing, const struct contender *claim,
                           uint32_t node, int64_t missing)
{
    const struct contender *items = packing->claims->items.items;
    int64_t best = -1;

    for (size_t i = 0; i < packing->claims->items.count; i++) {
        const struct contender *other = &items[i];
        if (!may_move(claim, other) || !is_local(other->job->run->lease) ||
            other->job->run->lease->members[0].node != node)
            continue;
        bool is_more = best >= 0 && other->milli > items[best].milli;
        bool was_above = best >= 0 && items[best].milli > missing;
        if (best < 0 || (was_above ? !is_more : is_more && other->milli <= missing))
            best = (int64_t)i;
    }
    return best;
}

static void undo_moves(struct packing *packing)
{
    struct preempt_place *pack = packing->pack;

    for (size_t i = 0; i < pack->moved.count; i++) {
        struct contender *claim = &packing->claims->items.items[pack->moved.items[i]];
        fleet_take(&pack->ahead, claim->job->run->lease, 1);
        claim->is_kept = true;
    }
    pack->moved.count = 0;
}

/* A gang on several nodes that may be moved: the last in order. */
static int64_t gang_to_move(const struct packing *packing, const struct contender *claim)
{
    for (size_t i = packing->claims->items.count; i-- > 0;) {
        const struct contender *other = &packing->claims->items.items[i];
        if (may_move(claim, other) && !is_local(other->job->run->lease))
            return (int64_t)i;
    }
    return -1;
}

static bool place_by_moving(struct packing *packing, struct contender *claim)
{
    struct preempt_place *pack = packing->pack;
    int32_t need = need_of(state_request(packing->query.state, claim->job));

    pack->moved.count = 0;
    for (;;) {
        int64_t node = node_to_clear(packing, claim, need), number;
        if (node >= 0) {
            while (pack->ahead.nodes.items[node].milli < need &&
                   (number = one_to_move(packing, claim, (uint32_t)node,
                                         need - pack->ahead.nodes.items[node].milli)) >= 0)
                move(packing, (uint32_t)number);
        } else {
            number = gang_to_move(packing, claim);
            if (number < 0)
                break;
            move(packing, (uint32_t)number);
        }
        if (!try_place(packing, claim))
            continue;
        for (size_t i = 0; i < pack->moved.count; i++) {
            packing->claims->items.items[pack->moved.items[i]].mover = claim;
            list_add(&pack->order, pack->moved.items[i]);
        }
        return true;
    }
    undo_moves(packing);
    return false;
}

/* One that has to go runs on if its place is free all the same. */
static bool keep(struct packing *packing, struct contender *claim)
{
    struct preempt_place *pack = packing->pack;

    if (!claim->is_running || !fleet_has(&pack->ahead, claim->job->run->lease))
        return false;
    fleet_take(&pack->ahead, claim->job->run->lease, 1);
    claim->is_kept = true;
    return true;
}

/* A claim never loses its place to one that is not better: then the latter has none. */
static bool place_claim(struct packing *packing, struct contender *claim)
{
    struct contender *loser = claim;

    if ((claim->is_running && keep(packing, claim)) || try_place(packing, claim) ||
        place_by_moving(packing, claim))
        return true;
    if (claim->mover && claim < claim->mover)
        loser = claim->mover;
    loser->is_homeless = true;
    return false;
}

/* The widest of those that are left to place; the order of claims among equals. */
static uint32_t take_widest(struct packing *packing)
{
    struct preempt_place *pack = packing->pack;
    const struct contender *items = packing->claims->items.items;
    size_t best = 0;

    for (size_t i = 1; i < pack->order.count; i++) {
        uint32_t a = pack->order.items[i], b = pack->order.items[best];
        if (items[a].milli > items[b].milli || (items[a].milli == items[b].milli && a < b))
            best = i;
    }
    uint32_t number = pack->order.items[best];
    list_remove(&pack->order, best);
    return number;
}

static int32_t most_free(const struct preempt_place *pack)
{
    int32_t most = 0;

    for (size_t i = 0; i < pack->ahead.nodes.count; i++)
        most = pack->ahead.nodes.items[i].milli > most ? pack->ahead.nodes.items[i].milli : most;
    return most;
}

/* The places of some jobs that were to stop are still free, and some selected claims found none.
 * What these leave is for the other claims, in order. */
static bool try_fill(struct packing *packing, struct contender *claim)
{
    struct preempt_place *pack = packing->pack;
    uint32_t class = claim->job->class;

    while (pack->misfits.count <= class)
        list_add(&pack->misfits, 0);
    /* Room only gets less; but what is shut for one is another's own. */
    bool are_alike = !packing->query.keepouts || packing->query.keepouts->items.count == 0;
    if (are_alike && pack->misfits.items[class] == pack->fillings)
        return false;
    if (try_place(packing, claim))
        return true;
    pack->misfits.items[class] = pack->fillings;
    return false;
}

static void fill(struct packing *packing)
{
    struct contenders *claims = packing->claims;
    int64_t left = claims->milli;
    int32_t most = most_free(packing->pack);

    packing->pack->fillings++;
    LIST_EACH (const struct contender, claim, &claims->items) {
        left -= claim->is_kept || claim->is_selected ? claim->milli : 0;
    }
    for (size_t i = 0; i < claims->items.count && most > 0 && left > 0; i++) {
        struct contender *claim = &claims->items.items[i];
        if (claim->is_kept || claim->is_selected || claim->milli > left)
            continue;
        if (claim->is_running)
            claim->is_selected = keep(packing, claim);
        else if (need_of(state_request(packing->query.state, claim->job)) <= most)
            claim->is_selected = try_fill(packing, claim);
        if (!claim->is_selected)
            continue;
        left -= claim->milli;
        most = most_free(packing->pack);
    }
}

bool preempt_place_make(struct preempt_place *pack, struct contenders *claims,
                        const struct place_query *query, struct arena *arena)
{
    struct packing packing = { .pack = pack, .claims = claims, .query = *query, .arena = arena };

    packing.query.fleet = &pack->ahead;
    packing.query.shapes = NULL;
    packing.query.quota = PLACE_QUOTA_EVER;
    pack->nodes.count = pack->order.count = 0;
    list_zero(&pack->takers, pack->ahead.nodes.count);
    for (uint32_t i = 0; i < claims->items.count; i++) {
        struct contender *claim = &claims->items.items[i];
        claim->node_count = 0;
        claim->mover = NULL;
        claim->is_kept = claim->is_running && claim->is_selected;
        if (claim->is_running && !claim->is_selected)
            fleet_take(&pack->ahead, claim->job->run->lease, -1);
        if (!claim->is_running && claim->is_selected)
            list_add(&pack->order, i);
    }
    bool is_packed = true;
    while (pack->order.count > 0) {
        struct contender *claim = &claims->items.items[take_widest(&packing)];
        is_packed &= place_claim(&packing, claim);
    }
    if (is_packed)
        fill(&packing);
    return is_packed;
}

const struct contender *preempt_place_taker(const struct preempt_place *pack,
                                            const struct contenders *claims,
                                            const struct lease *lease)
{
    uint32_t first = 0;

    for (uint32_t i = 0; i < lease->members_count; i++) {
        uint32_t taker = pack->takers.items[lease->members[i].node];
        if (taker > 0 && (first == 0 || taker < first))
            first = taker;
    }
    return first > 0 ? &claims->items.items[first - 1] : NULL;
}
