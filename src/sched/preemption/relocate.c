/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/preemption/defrag.h"

#include <assert.h>

#include "base/wide.h"
#include "core/job/gang_size.h"
#include "sched/brain.h"
#include "sched/capacity/lease_part.h"
#include "sched/grant.h"
#include "sched/job_facts.h"
#include "sched/ordering/quota_check.h"
#include "sched/preemption/reclaim.h"

void relocation_start(struct relocation *search, struct brain *brain, const struct job *job)
{
    assert(job->state == JOB_QUEUED);
    *search = (struct relocation){ .brain = brain,
                                   .job = job,
                                   .request = state_request(brain->state, job),
                                   .end = usec_after(brain->state->now, job->pending_bucket->most),
                                   .gain = INT64_MAX,
                                   .later = USEC_NEVER };
}

int64_t relocation_gain_until(const struct relocation *search, usec_t at)
{
    usec_t now = search->brain->state->now;
    uint64_t milli = (uint64_t)request_least_milli(search->request);

    if (at == USEC_NEVER || at - now > USEC_PER_DAY * 3650)
        return INT64_MAX;
    return (int64_t)wide_scale((uint64_t)(at - now), milli, GPU_MILLI);
}

/* ---- what is free ---- */

/* What holds changes in this search, so that all of it can be taken back. */
static void hold(struct relocation *search, const struct job *job, const struct lease *lease,
                 int sign)
{
    struct brain *brain = search->brain;

    fleet_take(&brain->reclaim.ahead, lease, sign);
    if (cells_is_any(&brain->cells))
        cells_take(&brain->cells, &brain->layout, lease,
                   cells_guest_of(&brain->cells, job->queue, job->is_preemptible), sign);
}

static void take_free(struct relocation *search, const struct lease *lease)
{
    struct lease part;

    if (!fleet_has(&search->brain->reclaim.ahead, lease)) {
        lease_part_free(&search->brain->arena, &search->brain->reclaim.ahead, lease, NULL, &part);
        lease = &part;
    }
    fleet_take(&search->brain->reclaim.ahead, lease, 1);
}

void relocation_look(struct relocation *search)
{
    struct brain *brain = search->brain;

    fleet_follow(&brain->reclaim.ahead, &brain->fleet);
    for (size_t i = 0; i < brain->reclaim.made.count; i++) {
        if (brain->reclaim.made.items[i].job != search->job->id)
            take_free(search, brain->reclaim.made.items[i].lease);
    }
    for (size_t i = 0; i < brain->defrag.soon.count; i++)
        take_free(search, &brain->defrag.soon.items[i]);
}

bool relocation_is_enough(const struct relocation *search)
{
    const struct brain *brain = search->brain;
    int64_t milli = 0, least = request_least_milli(search->request);

    for (size_t i = 0; i < brain->reclaim.ahead.nodes.count && milli < least; i++) {
        if (brain->layout.nodes.items[i].is_up)
            milli += brain->reclaim.ahead.nodes.items[i].milli;
    }
    return milli >= least;
}

/* ---- candidates ---- */

static bool may_move(struct relocation *search, const struct job *job)
{
    struct brain *brain = search->brain;
    const struct request *request = state_request(brain->state, job);
    usec_t now = brain->state->now, moved = job->run->moved;

    /* one that lost members may have a size with which it would not start elsewhere */
    if (job->run->lease->milli == 0 || !job_is_settled(job) || request->roles_count > 0 ||
        !request_allows(request, job->run->lease->members_count) ||
        !victim_may_stop(brain->state, job, &search->later))
        return false;
    usec_t at = job_old_enough_at(job, now);
    if (moved > 0 && usec_after(moved, USEC_PER_HOUR) > at)
        at = usec_after(moved, USEC_PER_HOUR);
    if (at > now && at < search->later)
        search->later = at;
    return at <= now;
}

/* By loss per GPU, least first; among equals, the job that started last. */
static int compare_movers(const void *left, const void *right)
{
    const struct mover *a = left, *b = right;
    int sign = wide_compare((uint64_t)a->loss, (uint64_t)b->job->run->lease->milli,
                            (uint64_t)b->loss, (uint64_t)a->job->run->lease->milli);

    if (sign != 0)
        return sign;
    if (a->job->run->started != b->job->run->started)
        return a->job->run->started > b->job->run->started ? -1 : 1;
    return a->job->id > b->job->id ? -1 : 1;
}

void relocation_collect(struct relocation *search)
{
    struct brain *brain = search->brain;
    struct defrag *defrag = &brain->defrag;

    defrag->movers.count = defrag->chosen.count = 0;
    for (struct ends_walk at = ends_first(&brain->ends); at.job; ends_next(&at)) {
        struct mover mover = { .job = at.job };
        if (!may_move(search, at.job))
            continue;
        mover.again = job_unsaved(mover.job, brain->state->now) + job_restart_cost(mover.job);
        mover.loss = move_loss(mover.job->run->lease, mover.again);
        list_add(&defrag->movers, mover);
    }
    list_sort(&defrag->movers, compare_movers);
}

/* ---- node by node ---- */

static bool has_room(const struct relocation *search, uint32_t node)
{
    return member_need_fits(&search->need, &search->brain->reclaim.ahead.nodes.items[node], 1);
}

/* As if that member was gone from there. */
static void clear_member(struct relocation *search, uint32_t number, uint32_t rank)
{
    struct defrag *defrag = &search->brain->defrag;
    const struct mover *mover = &defrag->movers.items[number];
    const struct lease *lease = mover->job->run->lease;
    struct cleared *at = &defrag->nodes.items[lease->members[rank].node];

    fleet_take_member(&search->brain->reclaim.ahead, lease, rank, -1);
    list_add(&defrag->gone, ((struct gone){ number, rank }));
    if (at->last != number + 1)
        at->loss += mover->loss;
    at->last = number + 1;
    at->is_enough = has_room(search, at->node);
}

static void bring_back(struct relocation *search)
{
    struct defrag *defrag = &search->brain->defrag;

    LIST_EACH (const struct gone, gone, &defrag->gone) {
        fleet_take_member(&search->brain->reclaim.ahead,
                          defrag->movers.items[gone->number].job->run->lease, gone->rank, 1);
    }
    defrag->gone.count = 0;
}

static int compare_cleared(const void *left, const void *right)
{
    const struct cleared *a = left, *b = right;

    if (a->loss != b->loss)
        return a->loss < b->loss ? -1 : 1;
    return a->node < b->node ? -1 : 1;
}

/* Nodes on which some would have to move for a member, and what that loses; cheapest first. */
static void price_nodes(struct relocation *search)
{
    struct brain *brain = search->brain;
    struct defrag *defrag = &brain->defrag;
    size_t kept = 0;

    assert(defrag->gone.count == 0);
    defrag->nodes.count = 0;
    for (uint32_t i = 0; i < brain->reclaim.ahead.nodes.count; i++) {
        bool is_enough = !brain->layout.nodes.items[i].is_up || has_room(search, i);
        list_add(&defrag->nodes, ((struct cleared){ .node = i, .is_enough = is_enough }));
    }
    for (uint32_t number = 0; number < defrag->movers.count; number++) {
        const struct lease *lease = defrag->movers.items[number].job->run->lease;
        for (uint32_t rank = 0; rank < lease->members_count; rank++) {
            if (!defrag->nodes.items[lease->members[rank].node].is_enough)
                clear_member(search, number, rank);
        }
    }
    bring_back(search);
    for (size_t i = 0; i < defrag->nodes.count; i++) {
        if (defrag->nodes.items[i].is_enough && defrag->nodes.items[i].loss > 0)
            defrag->nodes.items[kept++] = defrag->nodes.items[i];
    }
    defrag->nodes.count = kept;
    list_sort(&defrag->nodes, compare_cleared);
}

static void choose(struct relocation *search, uint32_t number)
{
    struct defrag *defrag = &search->brain->defrag;
    struct mover *mover = &defrag->movers.items[number];

    assert(!mover->is_chosen);
    hold(search, mover->job, mover->job->run->lease, -1);
    mover->is_chosen = true;
    list_add(&defrag->chosen, number);
}

static void spare(struct relocation *search, size_t at)
{
    struct defrag *defrag = &search->brain->defrag;
    struct mover *mover = &defrag->movers.items[defrag->chosen.items[at]];

    assert(mover->is_chosen);
    hold(search, mover->job, mover->job->run->lease, 1);
    mover->is_chosen = false;
    list_remove(&defrag->chosen, at);
}

void relocation_drop(struct relocation *search)
{
    while (search->brain->defrag.chosen.count > 0)
        spare(search, search->brain->defrag.chosen.count - 1);
}

/* Choose movers that make room for one member there; is_whole: all that could go. */
static void clear_node(struct relocation *search, uint32_t node, bool is_whole)
{
    struct defrag *defrag = &search->brain->defrag;

    for (uint32_t i = 0; i < defrag->movers.count && defrag->chosen.count < DEFRAG_CHOSEN; i++) {
        if (!is_whole && has_room(search, node))
            return;
        if (!defrag->movers.items[i].is_chosen &&
            lease_is_on(defrag->movers.items[i].job->run->lease, node))
            choose(search, i);
    }
}

/* A place for the job in the room that the chosen movers leave; on this node, if the job has
 * only one member. */
static bool try_place(struct relocation *search, uint32_t node, struct lease *ret)
{
    struct brain *brain = search->brain;
    struct place_query query =
        brain_query_ahead(brain, search->job, &brain->reclaim.ahead, PLACE_QUOTA_NOW);

    query.promises = search->promises;
    query.end = search->end;
    query.only = search->request->members == 1 ? &node : NULL;
    query.only_count = 1;
    return place_job(&query, &brain->arena, ret, NULL);
}

/* From this node on, as many as it takes. */
static bool try_nodes(struct relocation *search, size_t first)
{
    struct defrag *defrag = &search->brain->defrag;

    for (size_t i = first; i < defrag->nodes.count && defrag->chosen.count < DEFRAG_CHOSEN; i++) {
        uint32_t node = defrag->nodes.items[i].node;
        clear_node(search, node, false);
        if (try_place(search, node, &search->lease))
            return true;
        if (search->request->members > 1)
            continue;
        clear_node(search, node, true); /* it may be that they are linked the wrong way */
        return try_place(search, node, &search->lease);
    }
    return false;
}

/* Release movers that need not go, the most expensive first. */
static void fill_back(struct relocation *search)
{
    struct brain *brain = search->brain;
    struct defrag *defrag = &brain->defrag;
    struct lease other;

    for (size_t i = defrag->chosen.count; i-- > 0;) {
        const struct mover *mover = &defrag->movers.items[defrag->chosen.items[i]];
        struct job *job = mover->job;
        hold(search, job, job->run->lease, 1);
        bool may_stay = try_place(search, search->lease.members[0].node, &other);
        hold(search, job, job->run->lease, -1);
        if (!may_stay)
            continue;
        spare(search, i);
        search->lease = other;
    }
}

/* ---- where they go ---- */

/* It could start there, as far as quotas, hours and budgets go: what it has now is its own. */
static bool may_have(struct brain *brain, const struct job *job, const struct lease *place)
{
    struct quota_ask ask = quota_ask_of(job);
    struct amounts whole, held;
    struct why why;

    amounts_of_lease(brain->state, place, &whole);
    amounts_of_lease(brain->state, job->run->lease, &held);
    for (size_t i = 0; i < RESOURCES_MAX; i++)
        ask.amounts.of[i] = whole.of[i] > held.of[i] ? whole.of[i] - held.of[i] : 0;
    return time_rules_allow(brain, job, &ask.amounts, &why) &&
           quota_allows(brain->state, &ask, &why) && budget_allows(brain, job, &whole, &why);
}

/* Free now, or its own: so it starts again when it has stopped, even if other jobs still stop. */
static bool is_free_at_once(struct brain *brain, const struct job *job, const struct lease *place)
{
    struct fleet *now = &brain->defrag.now;

    fleet_follow(now, &brain->fleet);
    fleet_take(now, job->run->lease, -1);
    return fleet_has(now, place);
}

static bool place_mover(struct relocation *search, struct mover *mover)
{
    struct brain *brain = search->brain;
    const struct job *job = mover->job;
    const struct request *request = state_request(brain->state, job);
    struct place_query query =
        brain_query_ahead(brain, job, &brain->reclaim.ahead, PLACE_QUOTA_EVER);
    struct request sized;

    if (request_is_elastic(request)) {
        request_resize(request, job->run->lease->members_count, &sized);
        query.request = &sized;
    }
    query.promises = search->promises;
    query.end = usec_after(job->run->expected_end, job_restart_cost(job));
    if (!place_job(&query, &brain->arena, &mover->place, NULL) ||
        !may_have(brain, job, &mover->place))
        return false;
    hold(search, job, &mover->place, 1);
    return true;
}

/* The largest first. */
static void sort_chosen(struct defrag *defrag)
{
    for (size_t i = 1; i < defrag->chosen.count; i++) {
        uint32_t number = defrag->chosen.items[i];
        int64_t milli = defrag->movers.items[number].job->run->lease->milli;
        size_t at = i;
        for (; at > 0; at--) {
            uint32_t before = defrag->chosen.items[at - 1];
            if (defrag->movers.items[before].job->run->lease->milli >= milli)
                break;
            defrag->chosen.items[at] = before;
        }
        defrag->chosen.items[at] = number;
    }
}

/* All of them have places that are free at once, beside the job's. What one of them leaves, and the
 * job does not take, is no place for another: it may still be stopping then. */
static bool place_all(struct relocation *search)
{
    struct brain *brain = search->brain;
    struct defrag *defrag = &brain->defrag;
    struct lease left[DEFRAG_MOVED];
    size_t placed = 0;
    bool is_free = true;

    assert(defrag->chosen.count > 0 && defrag->chosen.count <= DEFRAG_MOVED);
    sort_chosen(defrag);
    hold(search, search->job, &search->lease, 1);
    for (size_t i = 0; i < defrag->chosen.count; i++) {
        const struct mover *mover = &defrag->movers.items[defrag->chosen.items[i]];
        lease_part_free(&brain->arena, &brain->reclaim.ahead, mover->job->run->lease,
                        &search->lease, &left[i]);
        fleet_take(&brain->reclaim.ahead, &left[i], 1);
    }
    for (size_t i = 0; i < defrag->chosen.count && is_free; i++) {
        struct mover *mover = &defrag->movers.items[defrag->chosen.items[i]];
        fleet_take(&brain->reclaim.ahead, &left[i], -1);
        left[i].slices_count = 0;
        is_free = place_mover(search, mover);
        placed += is_free;
        is_free = is_free && is_free_at_once(brain, mover->job, &mover->place);
    }
    for (size_t i = 0; i < defrag->chosen.count; i++) {
        const struct mover *mover = &defrag->movers.items[defrag->chosen.items[i]];
        fleet_take(&brain->reclaim.ahead, &left[i], -1);
        if (i < placed)
            hold(search, mover->job, &mover->place, -1);
    }
    hold(search, search->job, &search->lease, -1);
    return is_free;
}

/* ---- all of it ---- */

static bool is_within_budget(struct relocation *search)
{
    const struct defrag *defrag = &search->brain->defrag;
    const struct state *state = search->brain->state;
    int64_t loss = 0;

    for (size_t i = 0; i < defrag->chosen.count; i++)
        loss += defrag->movers.items[defrag->chosen.items[i]].loss;
    search->loss = loss;
    if (loss > search->gain / DEFRAG_GAIN)
        return false;
    if (loss <= moves_left(state, state->now))
        return true;
    if (search->beyond == 0 || loss < search->beyond)
        search->beyond = loss;
    return false;
}

/* It may start only when they have gone: until it is done then, nothing of its place is kept for
 * others. Which devices a reservation of GPUs keeps is settled anew each time, free ones first: its
 * place may then be among them. */
static bool is_open_for_it(const struct relocation *search)
{
    const struct brain *brain = search->brain;
    const struct state *state = brain->state;
    const struct job *job = search->job;
    usec_t grace = 0;

    for (size_t i = 0; i < brain->defrag.chosen.count; i++) {
        const struct mover *mover = &brain->defrag.movers.items[brain->defrag.chosen.items[i]];
        usec_t its = state_grace(state, mover->job);
        grace = its > grace ? its : grace;
    }
    struct keepout_ask ask = { job->queue, job->user, state->now,
                               usec_after(usec_after(state->now, grace), job_stay(job)) };
    LIST_EACH (const struct keepout, keepout, &brain->keepouts.items) {
        bool is_near = keepout->slots != 0 || keepout_has(keepout, &brain->layout, &search->lease);
        if (is_near && keepout_bars(keepout, state, &ask))
            return false;
    }
    return true;
}

static bool try_set(struct relocation *search, size_t first)
{
    struct brain *brain = search->brain;
    struct why why;

    if (!try_nodes(search, first))
        return false;
    fill_back(search);
    size_t count = brain->defrag.chosen.count;
    return count > 0 && count <= DEFRAG_MOVED &&
           brain_may_have(brain, search->job, &search->lease, &why) && is_open_for_it(search) &&
           place_all(search) && is_within_budget(search);
}

/* Choose the jobs that move. What is held is the same afterwards. */
static bool find_set(struct relocation *search)
{
    struct defrag *defrag = &search->brain->defrag;
    bool is_found = false;

    for (uint32_t i = 0; i < search->request->gpu_alternatives && !is_found; i++) {
        search->need = member_need_of(search->request, i);
        price_nodes(search);
        for (size_t first = 0;
             first < defrag->nodes.count && search->tries < DEFRAG_TRIES && !is_found; first++) {
            search->tries++;
            is_found = try_set(search, first);
            if (!is_found)
                relocation_drop(search);
        }
    }
    return is_found;
}

/* What is kept for others counts among the cells, too. */
bool relocation_find(struct relocation *search)
{
    room_made_take(search->brain, search->job->id, 1);
    bool is_found = find_set(search);
    room_made_take(search->brain, search->job->id, -1);
    return is_found;
}

static int compare_numbers(const void *left, const void *right)
{
    const struct mover *const *a = left, *const *b = right;

    return (*a)->job->id < (*b)->job->id ? -1 : 1;
}

static void move(struct brain *brain, const struct mover *mover, uint64_t job,
                 struct decisions *decisions)
{
    struct event_stop stop = { .cause = STOP_MOVE,
                               .other = job,
                               .rule = STOP_TO_MOVE,
                               .lost = mover->again,
                               .members = mover->place.members_count };

    kept_place_set(&brain->reclaim.made, mover->job->id, &mover->place);
    brain_stop(brain, mover->job, stop, decisions);
}

/* Before the moves are decided, the cells count for each mover what it holds now. */
void relocation_make(struct relocation *search, struct decisions *decisions)
{
    struct brain *brain = search->brain;
    struct defrag *defrag = &brain->defrag;
    const struct mover *movers[DEFRAG_MOVED];
    size_t count = defrag->chosen.count;

    assert(count > 0 && count <= DEFRAG_MOVED);
    for (size_t i = 0; i < count; i++)
        movers[i] = &defrag->movers.items[defrag->chosen.items[i]];
    relocation_drop(search);
    mem_sort(movers, count, sizeof(movers[0]), compare_numbers);
    for (size_t i = 0; i < count; i++)
        move(brain, movers[i], search->job->id, decisions);
    kept_place_set(&brain->reclaim.made, search->job->id, &search->lease);
}
