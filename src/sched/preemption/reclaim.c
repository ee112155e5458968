/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/preemption/reclaim.h"

#include <assert.h>

#include "base/wide.h"
#include "sched/brain.h"
#include "sched/job_facts.h"
#include "sched/ordering/quota_check.h"
#include "sched/preemption/resize.h"

void reclaim_release(struct reclaim *reclaim)
{
    reclaim_shares_release(&reclaim->shares);
    fleet_release(&reclaim->ahead);
    list_release(&reclaim->victims);
    list_release(&reclaim->by_node);
    list_release(&reclaim->first_of);
    list_release(&reclaim->chosen);
    list_release(&reclaim->nodes);
    kept_places_release(&reclaim->made);
}

/* ---- candidates ---- */

struct search {
    struct brain *brain;
    const struct job *job;
    const struct request *request;
    const struct amounts *wanted;
    struct place_query query;
    struct donors donors;    /* what gangs give up is gone from `ahead` */
    struct member_need need; /* by the alternative that is looked for */
    bool is_for_cell;        /* whole cells that its queue is owed (cells.h) */
};

static int64_t cost_of(const struct job *job, usec_t now)
{
    usec_t lost = job_lost(job, now) + USEC_PER_SEC;
    wide_t cost = (wide_t)(uint64_t)(lost / 1000) * (uint64_t)job->run->lease->milli *
                  (1 + job->run->preemptions);

    return cost < INT64_MAX / 4096 ? (int64_t)cost : INT64_MAX / 4096;
}

/* Lower priorities first: a job of a higher one would preempt those of its queue in its turn. Then
 * by cost per GPU, least first; among equals, the job that started last. */
static int compare_victims(const void *left, const void *right)
{
    const struct victim *a = left, *b = right;

    if (a->job->priority != b->job->priority)
        return a->job->priority < b->job->priority ? -1 : 1;
    int sign = wide_compare((uint64_t)a->cost, (uint64_t)b->held.of[RESOURCE_GPUS],
                            (uint64_t)b->cost, (uint64_t)a->held.of[RESOURCE_GPUS]);

    if (sign != 0)
        return sign;
    if (a->job->run->started != b->job->run->started)
        return a->job->run->started > b->job->run->started ? -1 : 1;
    return a->job->id > b->job->id ? -1 : 1;
}

/* The rule by which a job of the other queue may be stopped. If a queue is owed a cell, the job in
 * that cell gives it back even if its own queue is within its guarantee: a guarantee counts GPUs,
 * and there are others. */
static enum stop_rule rule_for(const struct search *search, uint32_t other,
                               const struct amounts *held)
{
    const struct brain *brain = search->brain;
    enum stop_rule rule = reclaim_rule_of(&brain->reclaim.shares, brain->state, search->job->queue,
                                          search->wanted, other, held);

    uint32_t owner = cells_guest_of(&brain->cells, search->job->queue, false).owner;
    bool may_have_it = search->is_for_cell && held->of[RESOURCE_GPUS] > 0 &&
                       cells_guest_of(&brain->cells, other, false).owner != owner;
    return rule == STOP_IN_QUEUE && may_have_it ? STOP_FOR_GUARANTEE : rule;
}

static void collect(struct search *search)
{
    struct brain *brain = search->brain;
    const struct job *job = search->job;
    struct reclaim *reclaim = &brain->reclaim;
    const struct state *state = brain->state;

    reclaim->victims.count = reclaim->chosen.count = 0;
    for (struct ends_walk at = ends_first(&brain->ends); at.job; ends_next(&at)) {
        struct victim victim = { .job = at.job };
        if (at.job->queue == job->queue || at.job->run->lease->milli == 0 ||
            shrink_takes_from(&search->donors, at.job))
            continue;
        amounts_of_lease(state, at.job->run->lease, &victim.held);
        if (rule_for(search, at.job->queue, &victim.held) == STOP_IN_QUEUE ||
            !victim_may_stop(state, at.job, &reclaim->review))
            continue;
        victim.cost = cost_of(at.job, state->now);
        list_add(&reclaim->victims, victim);
    }
    assert(reclaim->chosen.count == 0);
    list_sort(&reclaim->victims, compare_victims);
}

/* Victims by node, each once, cheapest first: a counting sort. */
static void sort_by_node(struct reclaim *reclaim, size_t nodes)
{
    reclaim->by_node.count = 0;
    list_zero(&reclaim->first_of, nodes + 2);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < reclaim->victims.count; i++) {
            const struct lease *lease = reclaim->victims.items[i].job->run->lease;
            for (uint32_t k = 0; k < lease->members_count; k++) {
                uint32_t node = lease->members[k].node;
                if (k > 0 && lease->members[k - 1].node == node)
                    continue;
                if (pass == 0) {
                    reclaim->first_of.items[node + 2]++;
                    list_add(&reclaim->by_node, 0);
                } else
                    reclaim->by_node.items[reclaim->first_of.items[node + 1]++] = i;
            }
        }
        for (size_t i = 2; pass == 0 && i <= nodes + 1; i++)
            reclaim->first_of.items[i] += reclaim->first_of.items[i - 1];
    }
}

/* ---- node by node ---- */

static void take_members(struct fleet *fleet, const struct lease *lease, uint32_t node, int sign)
{
    for (uint32_t rank = 0; rank < lease->members_count; rank++) {
        if (lease->members[rank].node == node)
            fleet_take_member(fleet, lease, rank, sign);
    }
}

/* A node, the highest priority among those that have to go for its next member, and their cost. */
struct offer {
    int64_t cost;
    int32_t priority;
    uint32_t node, members;
};

/* What it takes to have room for so many members there. False: it can't be had. */
static bool make_offer(struct search *search, uint32_t node, uint32_t members, struct offer *ret)
{
    struct reclaim *reclaim = &search->brain->reclaim;
    const struct fleet_node *room = &reclaim->ahead.nodes.items[node];
    uint32_t first = reclaim->first_of.items[node], last = reclaim->first_of.items[node + 1], at;
    struct offer offer = { .priority = INT32_MIN, .node = node, .members = members };

    assert(first <= last && last <= reclaim->by_node.count);
    for (at = first; at < last && !member_need_fits(&search->need, room, members); at++) {
        const struct victim *victim = &reclaim->victims.items[reclaim->by_node.items[at]];
        if (victim->is_chosen)
            continue;
        offer.cost += victim->cost;
        offer.priority =
            victim->job->priority > offer.priority ? victim->job->priority : offer.priority;
        take_members(&reclaim->ahead, victim->job->run->lease, node, -1);
    }
    bool is_enough = member_need_fits(&search->need, room, members);
    while (at-- > first) {
        const struct victim *victim = &reclaim->victims.items[reclaim->by_node.items[at]];
        if (!victim->is_chosen)
            take_members(&reclaim->ahead, victim->job->run->lease, node, 1);
    }
    if (is_enough)
        *ret = offer;
    return is_enough;
}

/* False: no rule lets it go any more. */
static bool choose_victim(struct search *search, uint32_t number)
{
    struct reclaim *reclaim = &search->brain->reclaim;
    const struct state *state = search->brain->state;
    struct victim *victim = &reclaim->victims.items[number];
    enum stop_rule rule = rule_for(search, victim->job->queue, &victim->held);

    if (rule == STOP_IN_QUEUE)
        return false;
    reclaim_shares_take(&reclaim->shares, state, search->job->queue, victim->job->queue,
                        &victim->held, rule, -1);
    fleet_take(&reclaim->ahead, victim->job->run->lease, -1);
    victim->is_chosen = true;
    victim->rule = (uint8_t)rule;
    list_add(&reclaim->chosen, number);
    return true;
}

static void spare_victim(struct search *search, uint32_t number)
{
    struct reclaim *reclaim = &search->brain->reclaim;
    struct victim *victim = &reclaim->victims.items[number];

    reclaim_shares_take(&reclaim->shares, search->brain->state, search->job->queue,
                        victim->job->queue, &victim->held, (enum stop_rule)victim->rule, 1);
    fleet_take(&reclaim->ahead, victim->job->run->lease, 1);
    victim->is_chosen = false;
}

/* All that were chosen after these. */
static void spare_after(struct search *search, size_t count)
{
    struct reclaim *reclaim = &search->brain->reclaim;

    while (reclaim->chosen.count > count)
        spare_victim(search, reclaim->chosen.items[--reclaim->chosen.count]);
}

/* Those that must go for so many members there. False: not all of them may. */
static bool clear_node(struct search *search, uint32_t node, uint32_t members)
{
    struct reclaim *reclaim = &search->brain->reclaim;
    const struct fleet_node *room = &reclaim->ahead.nodes.items[node];
    size_t before = reclaim->chosen.count;
    uint32_t last = reclaim->first_of.items[node + 1];

    for (uint32_t at = reclaim->first_of.items[node];
         at < last && !member_need_fits(&search->need, room, members); at++) {
        uint32_t number = reclaim->by_node.items[at];
        if (!reclaim->victims.items[number].is_chosen)
            choose_victim(search, number);
    }
    if (member_need_fits(&search->need, room, members))
        return true;
    spare_after(search, before);
    return false;
}

typedef LIST(struct offer) offer_heap;

static bool is_cheaper(const void *left, const void *right)
{
    const struct offer *a = left, *b = right;

    if (a->priority != b->priority)
        return a->priority < b->priority;
    return a->cost != b->cost ? a->cost < b->cost : a->node < b->node;
}

static bool may_hold_members(const struct search *search, uint32_t node, uint32_t members)
{
    const struct request *request = search->request;
    uint32_t spread = request->nodes_min > 1
                          ? (request->members + request->nodes_min - 1) / request->nodes_min
                          : request->members;

    return search->brain->layout.nodes.items[node].is_up && members <= spread;
}

static void make_offers(struct search *search, offer_heap *offers)
{
    struct offer offer;

    for (uint32_t i = 0; i < search->brain->reclaim.ahead.nodes.count; i++) {
        if (may_hold_members(search, i, 1) && make_offer(search, i, 1, &offer))
            list_add(offers, offer);
    }
    list_heap(offers, is_cheaper);
}

/* The cheapest nodes, a member at a time. What an offer costs may have become less by what was
 * chosen for others (a gang on several nodes), and is looked at again when its turn comes. */
static bool choose_nodes(struct search *search)
{
    struct reclaim *reclaim = &search->brain->reclaim;
    offer_heap offers = { 0 };
    uint32_t left = search->request->members;

    reclaim->nodes.count = 0;
    make_offers(search, &offers);
    while (left > 0 && offers.count > 0) {
        struct offer *top = &offers.items[0];
        struct offer now = *top;
        if (!clear_node(search, now.node, now.members)) {
            *top = offers.items[--offers.count];
            list_sift(&offers, 0, is_cheaper);
            continue;
        }
        left--;
        if (now.members == 1)
            list_add(&reclaim->nodes, now.node);
        if (!may_hold_members(search, now.node, now.members + 1) ||
            !make_offer(search, now.node, now.members + 1, top))
            *top = offers.items[--offers.count];
        list_sift(&offers, 0, is_cheaper);
    }
    list_release(&offers);
    return left == 0;
}

static bool try_place(struct search *search, bool only_chosen, struct lease *ret_lease)
{
    struct reclaim *reclaim = &search->brain->reclaim;

    search->query.only = only_chosen ? reclaim->nodes.items : NULL;
    search->query.only_count = (uint32_t)reclaim->nodes.count;
    return place_job(&search->query, &search->brain->arena, ret_lease, NULL);
}

/* All that may go, cheapest first, twice as many each time. */
static bool choose_greedily(struct search *search, struct lease *ret_lease)
{
    struct reclaim *reclaim = &search->brain->reclaim;
    size_t wave = 1;

    for (uint32_t i = 0; i < reclaim->victims.count;) {
        size_t before = reclaim->chosen.count;
        for (; i < reclaim->victims.count && reclaim->chosen.count < before + wave; i++) {
            if (!reclaim->victims.items[i].is_chosen)
                choose_victim(search, i);
        }
        if (reclaim->chosen.count > before && try_place(search, false, ret_lease))
            return true;
        wave *= 2;
    }
    return false;
}

enum { PLACED_ANEW_MOST = 32 }; /* of more victims, only those that are not in the way are spared */

/* Whether there is a place for the job without this one's; *lease is that one then. */
static bool may_stay(struct search *search, const struct lease *held, struct lease *lease)
{
    struct reclaim *reclaim = &search->brain->reclaim;
    struct lease other;

    if (fleet_has(&reclaim->ahead, held))
        return true;
    if (reclaim->chosen.count > PLACED_ANEW_MOST)
        return false;
    fleet_take(&reclaim->ahead, lease, -1);
    fleet_take(&reclaim->ahead, held, 1);
    bool is_placed = try_place(search, false, &other);
    fleet_take(&reclaim->ahead, held, -1);
    if (is_placed)
        *lease = other;
    fleet_take(&reclaim->ahead, lease, 1);
    return is_placed;
}

/* Release victims that need not go, the most expensive first. */
static void fill_back(struct search *search, struct lease *lease)
{
    struct reclaim *reclaim = &search->brain->reclaim;

    fleet_take(&reclaim->ahead, lease, 1);
    for (size_t i = reclaim->chosen.count; i-- > 0;) {
        uint32_t number = reclaim->chosen.items[i];
        if (!may_stay(search, reclaim->victims.items[number].job->run->lease, lease))
            continue;
        spare_victim(search, number);
        list_remove(&reclaim->chosen, i);
    }
    fleet_take(&reclaim->ahead, lease, -1);
}

/* The first alternative that can be had. Node by node only for members that are alike. */
static bool search_alternatives(struct search *search, struct lease *ret_lease)
{
    bool is_alike = search->request->roles_count == 0;

    for (uint32_t i = 0; is_alike && i < search->request->gpu_alternatives; i++) {
        search->need = member_need_of(search->request, i);
        if (choose_nodes(search) && try_place(search, true, ret_lease))
            return true;
        spare_after(search, 0);
    }
    return choose_greedily(search, ret_lease);
}

static int compare_jobs(const void *left, const void *right)
{
    const struct victim *a = left, *b = right;

    return a->job->id < b->job->id ? -1 : 1;
}

/* The jobs to stop, beside what gangs give up, and the place where the waiting job would start. */
static bool search_victims(struct search *search, struct lease *ret_lease)
{
    struct brain *brain = search->brain;

    collect(search);
    if (brain->reclaim.victims.count == 0)
        return false;
    sort_by_node(&brain->reclaim, brain->fleet.nodes.count);
    search->query = brain_query_ahead(brain, search->job, &brain->reclaim.ahead, PLACE_QUOTA_EVER);
    return search_alternatives(search, ret_lease);
}

/* Gangs that can be shrunk are; else they have to go like others; else for a cell that is owed. */
static bool search_place(struct search *search, bool is_owed_cells, struct lease *ret_lease)
{
    struct brain *brain = search->brain;

    search->donors.count = 0;
    room_made_look_ahead(brain, search->job->id);
    bool has_donors = shrink_squeeze(brain, search->job, search->wanted, &search->donors);
    if (search_victims(search, ret_lease))
        return true;
    for (int i = has_donors ? 0 : 1; i < 1 + is_owed_cells; i++) {
        search->donors.count = 0;
        search->is_for_cell = i == 1;
        room_made_look_ahead(brain, search->job->id);
        if (search_victims(search, ret_lease))
            return true;
    }
    return false;
}

/* What is not lent stays free, also of what is given back: more may have to go than the place
 * takes. False: it would not be enough. */
static bool meet_quota(struct search *search, const struct lease *lease)
{
    struct reclaim *reclaim = &search->brain->reclaim;
    const struct job *job = search->job;
    struct quota_ask ask = quota_ask_of(job);
    struct why why;

    ask.used = reclaim->shares.used.items;
    amounts_of_lease(search->brain->state, lease, &ask.amounts);
    fleet_take(&reclaim->ahead, lease, 1);
    bool is_met = quota_allows(search->brain->state, &ask, &why);
    for (uint32_t i = 0; !is_met && why.kind == WHY_LENT && i < reclaim->victims.count; i++) {
        if (!reclaim->victims.items[i].is_chosen && choose_victim(search, i))
            is_met = quota_allows(search->brain->state, &ask, &why);
    }
    fleet_take(&reclaim->ahead, lease, -1);
    return is_met;
}

bool reclaim_for(struct brain *brain, struct job *job, usec_t natural, struct decisions *decisions)
{
    struct reclaim *reclaim = &brain->reclaim;
    struct search search = { .brain = brain, .job = job };
    struct amounts wanted;
    struct lease lease;

    assert(job->state == JOB_QUEUED);
    if (shrink_for(brain, job, natural, decisions))
        return true;
    search.request = state_request(brain->state, job);
    search.wanted = &wanted;
    /* One that may be stopped makes no cell its queue's own: it would be owed it for ever. */
    bool is_owed_cells =
        !job->is_preemptible &&
        cells_own_kind(&brain->cells, cells_guest_of(&brain->cells, job->queue, false).owner,
                       search.request) != CELLS_NONE;
    if (search.request->gpu_alternatives == 0 || brain->preempt.count == 0 ||
        (!is_owed_cells && !reclaim_share_is_borrowed(brain->state)))
        return false;
    quota_least(brain->state, search.request, &wanted);
    if (!room_made_is_needed(brain, job, natural, &wanted))
        return false;
    room_made_take(brain, job->id, 1);
    bool is_found = search_place(&search, is_owed_cells, &lease);
    room_made_take(brain, job->id, -1);
    if (!is_found)
        return false;
    fill_back(&search, &lease);
    if (!meet_quota(&search, &lease))
        return false;
    struct victim *chosen =
        arena_take(&brain->arena, reclaim->chosen.count + 1, sizeof(struct victim));
    size_t count = reclaim->chosen.count;
    for (size_t i = 0; i < count; i++)
        chosen[i] = reclaim->victims.items[reclaim->chosen.items[i]];
    mem_sort(chosen, count, sizeof(chosen[0]), compare_jobs);
    for (size_t i = 0; i < count; i++)
        brain_stop(brain, chosen[i].job,
                   (struct event_stop){ .cause = STOP_PREEMPT,
                                        .other = job->id,
                                        .rule = chosen[i].rule,
                                        .lost = job_lost(chosen[i].job, brain->state->now) },
                   decisions);
    bool is_any = shrink_settle(brain, job, &lease, &search.donors, decisions) || count > 0;
    if (is_any)
        kept_place_set(&reclaim->made, job->id, &lease);
    return is_any;
}
