/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/defrag.h"

#include <stdlib.h>

#include "base/wide.h"
#include "core/elastic.h"
#include "sched/brain.h"
#include "sched/quota.h"

void defrag_release(struct defrag *defrag)
{
    list_release(&defrag->movers);
    list_release(&defrag->chosen);
    list_release(&defrag->nodes);
    list_release(&defrag->soon);
    fleet_release(&defrag->now);
}

/* ---- parts of leases ---- */

static bool has_slice(const struct fleet *fleet, const struct slice *slice)
{
    struct lease lease = { .slices = (struct slice *)(uintptr_t)slice, .slices_count = 1 };

    return fleet_has(fleet, &lease);
}

static bool has_device(const struct lease *lease, uint32_t device)
{
    for (uint32_t i = 0; i < lease->slices_count; i++) {
        if (lease->slices[i].device == device)
            return true;
    }
    return false;
}

/* The devices of a lease that are free in a fleet, and not of another lease; nothing else. */
static void free_part(struct arena *arena, const struct fleet *fleet, const struct lease *lease,
                      const struct lease *other, struct lease *ret)
{
    struct slice *slices = arena_take(arena, lease->slices_count + 1, sizeof(*slices));
    uint32_t count = 0;

    for (uint32_t i = 0; i < lease->slices_count; i++) {
        if (has_slice(fleet, &lease->slices[i]) &&
            (!other || !has_device(other, lease->slices[i].device)))
            slices[count++] = lease->slices[i];
    }
    *ret = *lease;
    ret->slices = slices;
    ret->slices_count = count;
    ret->cpu_milli = 0;
    ret->memory_mib = 0;
}

/* ---- those who are being moved ---- */

static bool is_moving(const struct job *job)
{
    return job && job->state == JOB_STOPPING && job->run->stop_cause == STOP_MOVE &&
           elastic_is_back(job);
}

bool defrag_is_under_way(const struct brain *brain, const struct job *job)
{
    const struct reclaim *reclaim = &brain->reclaim;

    if (job->is_awaited != AWAITED_FROM_OTHERS || !reclaim_place(reclaim, job->id))
        return false;
    for (size_t i = 0; i < reclaim->made.count; i++) {
        const struct job *other = state_job(brain->state, reclaim->made.items[i].job);
        if (is_moving(other) && other->run->moved_for == job->id)
            return true;
    }
    return false;
}

/* Somebody who was moved for it is not there yet where he goes. */
static bool is_waited_for(const struct brain *brain, const struct job *job)
{
    const struct elastic *elastic = &brain->elastic;

    for (size_t i = 0; i < elastic->back.count; i++) {
        if (elastic->back.items[i]->run->moved_for == job->id)
            return true;
    }
    return false;
}

/* What of it is free in the fleet that looks ahead, as if the job was gone from where it is. */
static void keep(struct brain *brain, const struct job *job, const struct lease *place)
{
    struct reserve *reserve = &brain->reserve;
    struct lease part;

    if (brain->defrag.kept == 0) {
        reserve_forget(reserve);
        fleet_follow(&reserve->ahead, &brain->fleet);
    }
    if (job_is_active(job))
        fleet_take(&reserve->ahead, job->run->lease, -1);
    if (!fleet_has(&reserve->ahead, place)) {
        free_part(&brain->arena, &reserve->ahead, place, NULL, &part);
        place = &part;
    }
    fleet_take(&reserve->ahead, place, 1);
    const struct job *taker = state_job(brain->state, job->run->moved_for);
    bool is_for_taker = job_is_active(job) && taker && taker->state == JOB_QUEUED;
    promise_add(&reserve->promises, is_for_taker ? taker->id : job->id, brain->state->now,
                USEC_NEVER, &reserve->ahead, place);
    brain->defrag.kept++;
}

void defrag_keep(struct brain *brain, bool with_takers)
{
    const struct reclaim *reclaim = &brain->reclaim;
    size_t before = brain->defrag.kept;

    brain->reserve.promises.count = 0;
    brain->defrag.kept = 0;
    for (size_t i = 0; i < reclaim->made.count; i++) {
        const struct made_room *made = &reclaim->made.items[i];
        const struct job *job = state_job(brain->state, made->job);
        if (is_moving(job) || (with_takers && job && job->is_awaited == AWAITED_FROM_OTHERS &&
                               is_waited_for(brain, job)))
            keep(brain, job, made->lease);
    }
    if (before > 0 && brain->defrag.kept == 0)
        reserve_forget(&brain->reserve); /* none of them is to be found again */
}

void defrag_keep_turns(struct brain *brain)
{
    const struct state *state = brain->state;

    for (size_t i = 0; brain->defrag.kept > 0 && i < brain->reclaim.made.count; i++) {
        const struct made_room *made = &brain->reclaim.made.items[i];
        const struct job *job = state_job(state, made->job);
        if (!job || job->state != JOB_QUEUED || !defrag_is_under_way(brain, job))
            continue;
        for (uint32_t at = job->queue;; at = state->queues.items[at].parent) {
            int64_t bound = quota_bound(state, at, RESOURCE_GPUS);
            if (bound != QUOTA_NONE)
                turn_keep(&brain->turns, state, job, bound, at, made->lease->milli);
            if (at == QUEUE_ROOT)
                break;
        }
    }
}

void defrag_respect(const struct brain *brain, const struct job *job, struct place_query *query)
{
    if (brain->defrag.kept == 0)
        return;
    query->promises = (struct promises *)(uintptr_t)&brain->reserve.promises;
    query->end = usec_after(brain->state->now, job->pending_bucket->most);
}

/* ---- what is free ---- */

struct search {
    struct brain *brain;
    struct job *job;
    const struct request *request;
    struct promises *promises; /* to others; NULL: somebody only asks */
    usec_t end;                /* of the job, if it starts now */
    int64_t gain;              /* GPU-time that it would wait */
    int32_t need_milli;        /* of a member, by the alternative that is looked for */
    uint32_t need_whole;
    uint32_t tries;
    struct lease lease; /* its place */
    int64_t loss;       /* of the set that was found */
    int64_t beyond;     /* the least that would be lost by one that the budget does not allow */
    usec_t later;       /* when somebody may be moved who may not yet; USEC_NEVER */
};

/* What holds changes in this search, so that all of it can be taken back. */
static void hold(struct search *search, const struct job *job, const struct lease *lease, int sign)
{
    struct brain *brain = search->brain;

    fleet_take(&brain->reclaim.ahead, lease, sign);
    if (cells_is_any(&brain->cells))
        cells_take(&brain->cells, &brain->layout, lease,
                   cells_guest_of(&brain->cells, job->queue, job->is_preemptible), sign);
}

static void take_free(struct search *search, const struct lease *lease)
{
    struct lease part;

    if (!fleet_has(&search->brain->reclaim.ahead, lease)) {
        free_part(&search->brain->arena, &search->brain->reclaim.ahead, lease, NULL, &part);
        lease = &part;
    }
    fleet_take(&search->brain->reclaim.ahead, lease, 1);
}

/* What is free now, but for what is kept for others, or will be taken in this plan. */
static void look_ahead(struct search *search)
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

static bool is_enough_in_all(const struct search *search)
{
    const struct brain *brain = search->brain;
    int64_t milli = 0, least = request_least_milli(search->request);

    for (size_t i = 0; i < brain->reclaim.ahead.nodes.count && milli < least; i++) {
        if (brain->layout.nodes.items[i].is_up)
            milli += brain->reclaim.ahead.nodes.items[i].milli;
    }
    return milli >= least;
}

/* ---- who could be moved ---- */

static void look_later(struct search *search, usec_t at)
{
    search->later = at < search->later ? at : search->later;
}

static bool may_move(struct search *search, const struct job *job)
{
    struct brain *brain = search->brain;
    usec_t now = brain->state->now, moved = job->run->moved;

    if (job->run->lease->milli == 0 || !elastic_is_settled(job) ||
        !reclaim_may_stop(&brain->reclaim, brain->state, job))
        return false;
    usec_t at = elastic_old_enough_at(job, now);
    if (moved > 0 && usec_after(moved, USEC_PER_HOUR) > at)
        at = usec_after(moved, USEC_PER_HOUR);
    if (at > now)
        look_later(search, at);
    return at <= now;
}

/* The least loss for a GPU first; of equals who started last. */
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

static void collect(struct search *search)
{
    struct brain *brain = search->brain;
    struct defrag *defrag = &brain->defrag;
    struct ends_walk walk = { .ends = &brain->ends };
    usec_t review = brain->reclaim.review;

    defrag->movers.count = defrag->chosen.count = 0;
    brain->reclaim.review = USEC_NEVER;
    for (const struct ends_entry *entry = ends_next(&walk); entry; entry = ends_next(&walk)) {
        struct mover mover = { .job = entry->job };
        if (!may_move(search, entry->job))
            continue;
        mover.again = job_unsaved(mover.job, brain->state->now) + elastic_cost_of(mover.job);
        mover.loss = move_loss(mover.job->run->lease, mover.again);
        list_add(&defrag->movers, mover);
    }
    look_later(search, brain->reclaim.review);
    brain->reclaim.review = review;
    if (defrag->movers.count > 1)
        qsort(defrag->movers.items, defrag->movers.count, sizeof(struct mover), compare_movers);
}

/* ---- machine by machine ---- */

static bool has_room(const struct search *search, const struct cleared *at)
{
    return at->milli >= search->need_milli && at->whole >= search->need_whole &&
           at->cpu_milli >= search->request->cpu_milli &&
           at->memory_mib >= search->request->memory_mib;
}

static void clear_for(struct search *search, struct cleared *at, uint32_t number, uint32_t rank)
{
    const struct mover *mover = &search->brain->defrag.movers.items[number];
    const struct lease *lease = mover->job->run->lease;

    for (uint32_t i = 0; i < lease->slices_count; i++) {
        if (lease->slices[i].rank != rank)
            continue;
        at->milli += (int32_t)lease->slices[i].milli;
        at->whole += lease->slices[i].milli == GPU_MILLI;
    }
    at->cpu_milli += lease->cpu_milli;
    at->memory_mib += lease->memory_mib;
    if (at->last != number + 1)
        at->loss += mover->loss;
    at->last = number + 1;
    at->is_enough = has_room(search, at);
}

static int compare_cleared(const void *left, const void *right)
{
    const struct cleared *a = left, *b = right;

    if (a->loss != b->loss)
        return a->loss < b->loss ? -1 : 1;
    return a->node < b->node ? -1 : 1;
}

/* Machines on which some would have to move for a member, and what that loses; cheapest first. */
static void price_nodes(struct search *search)
{
    struct brain *brain = search->brain;
    struct defrag *defrag = &brain->defrag;
    size_t kept = 0;

    defrag->nodes.count = 0;
    for (uint32_t i = 0; i < brain->reclaim.ahead.nodes.count; i++) {
        const struct fleet_node *node = &brain->reclaim.ahead.nodes.items[i];
        struct cleared at = {
            0, node->cpu_milli, node->memory_mib, node->milli, i, node->whole, 0, false
        };
        at.is_enough = !brain->layout.nodes.items[i].is_up || has_room(search, &at);
        list_add(&defrag->nodes, at);
    }
    for (uint32_t number = 0; number < defrag->movers.count; number++) {
        const struct lease *lease = defrag->movers.items[number].job->run->lease;
        for (uint32_t rank = 0; rank < lease->members_count; rank++) {
            struct cleared *at = &defrag->nodes.items[lease->members[rank].node];
            if (!at->is_enough)
                clear_for(search, at, number, rank);
        }
    }
    for (size_t i = 0; i < defrag->nodes.count; i++) {
        if (defrag->nodes.items[i].is_enough && defrag->nodes.items[i].loss > 0)
            defrag->nodes.items[kept++] = defrag->nodes.items[i];
    }
    defrag->nodes.count = kept;
    if (kept > 1)
        qsort(defrag->nodes.items, kept, sizeof(struct cleared), compare_cleared);
}

static bool is_on(const struct lease *lease, uint32_t node)
{
    for (uint32_t i = 0; i < lease->members_count; i++) {
        if (lease->members[i].node == node)
            return true;
    }
    return false;
}

static void choose(struct search *search, uint32_t number)
{
    struct defrag *defrag = &search->brain->defrag;
    struct mover *mover = &defrag->movers.items[number];

    hold(search, mover->job, mover->job->run->lease, -1);
    mover->is_chosen = true;
    list_add(&defrag->chosen, number);
}

static void spare(struct search *search, size_t at)
{
    struct defrag *defrag = &search->brain->defrag;
    struct mover *mover = &defrag->movers.items[defrag->chosen.items[at]];

    hold(search, mover->job, mover->job->run->lease, 1);
    mover->is_chosen = false;
    list_remove(&defrag->chosen, at);
}

static void spare_all(struct search *search)
{
    while (search->brain->defrag.chosen.count > 0)
        spare(search, search->brain->defrag.chosen.count - 1);
}

/* Those that make room for one member there; is_whole: all who could go. */
static void clear_node(struct search *search, uint32_t node, bool is_whole)
{
    struct brain *brain = search->brain;
    struct defrag *defrag = &brain->defrag;

    for (uint32_t i = 0; i < defrag->movers.count && defrag->chosen.count < DEFRAG_CHOSEN; i++) {
        const struct fleet_node *room = &brain->reclaim.ahead.nodes.items[node];
        struct cleared at = {
            0, room->cpu_milli, room->memory_mib, room->milli, node, room->whole, 0, false
        };
        if (!is_whole && has_room(search, &at))
            return;
        if (!defrag->movers.items[i].is_chosen &&
            is_on(defrag->movers.items[i].job->run->lease, node))
            choose(search, i);
    }
}

/* A place for the job as far as those who are chosen make one; on this machine, if it has but one
 * member. */
static bool try_place(struct search *search, uint32_t node, struct lease *ret)
{
    struct brain *brain = search->brain;
    struct place_query query;
    struct why why;

    brain_query(brain, search->job, &query);
    query.fleet = &brain->reclaim.ahead;
    query.shapes = NULL;
    query.promises = search->promises;
    query.end = search->end;
    query.only = search->request->members == 1 ? &node : NULL;
    query.only_count = 1;
    return place_job(&query, &brain->arena, ret, &why);
}

/* From this machine on, as many as it takes. */
static bool try_nodes(struct search *search, size_t first)
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

/* Whoever need not go stays; the dearest first. */
static void fill_back(struct search *search)
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
    struct quota_ask ask = { .queue = job->queue,
                             .user = job->user,
                             .gid = job->gid,
                             .is_preemptible = job->is_preemptible };
    struct amounts whole, held;
    struct why why;

    amounts_of_lease(brain->state, place, &whole);
    amounts_of_lease(brain->state, job->run->lease, &held);
    for (size_t i = 0; i < RESOURCES_MAX; i++)
        ask.amounts.of[i] = whole.of[i] > held.of[i] ? whole.of[i] - held.of[i] : 0;
    return hours_allow(brain, job, &ask.amounts, &why) && quota_allows(brain->state, &ask, &why) &&
           spend_allows(brain, job, &whole, &why);
}

/* Free now, or its own: so that it starts when it has stopped, whoever else still stops. */
static bool is_free_at_once(struct brain *brain, const struct job *job, const struct lease *place)
{
    struct fleet *now = &brain->defrag.now;

    fleet_follow(now, &brain->fleet);
    fleet_take(now, job->run->lease, -1);
    return fleet_has(now, place);
}

static bool place_mover(struct search *search, struct mover *mover)
{
    struct brain *brain = search->brain;
    const struct job *job = mover->job;
    const struct request *request = state_request(brain->state, job);
    struct place_query query;
    struct request sized;
    struct why why;

    brain_query(brain, job, &query);
    if (request_is_elastic(request)) {
        request_resize(request, job->run->lease->members_count, &sized);
        query.request = &sized;
    }
    query.fleet = &brain->reclaim.ahead;
    query.shapes = NULL;
    query.quota = PLACE_QUOTA_EVER;
    query.promises = search->promises;
    query.end = usec_after(job->run->expected_end, elastic_cost_of(job));
    if (!place_job(&query, &brain->arena, &mover->place, &why) ||
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
static bool place_all(struct search *search)
{
    struct brain *brain = search->brain;
    struct defrag *defrag = &brain->defrag;
    struct lease left[DEFRAG_MOVED];
    size_t placed = 0;
    bool is_free = true;

    sort_chosen(defrag);
    hold(search, search->job, &search->lease, 1);
    for (size_t i = 0; i < defrag->chosen.count; i++) {
        const struct mover *mover = &defrag->movers.items[defrag->chosen.items[i]];
        free_part(&brain->arena, &brain->reclaim.ahead, mover->job->run->lease, &search->lease,
                  &left[i]);
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

static bool is_within_budget(struct search *search)
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

static bool try_set(struct search *search, size_t first)
{
    struct brain *brain = search->brain;
    struct why why;

    if (!try_nodes(search, first))
        return false;
    fill_back(search);
    size_t count = brain->defrag.chosen.count;
    return count > 0 && count <= DEFRAG_MOVED &&
           brain_may_have(brain, search->job, &search->lease, &why) && place_all(search) &&
           is_within_budget(search);
}

/* Afterwards nothing is held differently; who moves is chosen. */
static bool find_set(struct search *search)
{
    struct defrag *defrag = &search->brain->defrag;
    bool is_found = false;

    for (uint32_t i = 0; i < search->request->gpu_alternatives && !is_found; i++) {
        const struct gpu_ask *ask = &search->request->gpus[i];
        search->need_whole = ask->kind == SHARE_WHOLE ? ask->count : 0;
        search->need_milli = (int32_t)ask->count * (int32_t)(ask->milli ? ask->milli : 1);
        if (ask->kind == SHARE_WHOLE)
            search->need_milli = (int32_t)ask->count * GPU_MILLI;
        price_nodes(search);
        for (size_t first = 0;
             first < defrag->nodes.count && search->tries < DEFRAG_TRIES && !is_found; first++) {
            search->tries++;
            is_found = try_set(search, first);
            if (!is_found)
                spare_all(search);
        }
    }
    return is_found;
}

/* What is kept for others counts among the cells, too. */
static bool find_in(struct search *search)
{
    reclaim_take_made(search->brain, search->job->id, 1);
    bool is_found = find_set(search);
    reclaim_take_made(search->brain, search->job->id, -1);
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
    struct event event = {
        .kind = EVENT_STOP,
        .at = brain->state->now,
        .stop = { .job = mover->job->id,
                  .cause = STOP_MOVE,
                  .other = job,
                  .rule = STOP_TO_MOVE,
                  .lost = mover->again,
                  .members = mover->place.members_count },
    };

    reclaim_keep(&brain->reclaim, mover->job->id, &mover->place);
    brain_decide(brain, &event, decisions);
}

/* Who moves holds again what he has, as far as the cells go, before that is decided. */
static void move_all(struct search *search, struct decisions *decisions)
{
    struct brain *brain = search->brain;
    struct defrag *defrag = &brain->defrag;
    const struct mover *movers[DEFRAG_MOVED];
    size_t count = defrag->chosen.count;

    for (size_t i = 0; i < count; i++)
        movers[i] = &defrag->movers.items[defrag->chosen.items[i]];
    spare_all(search);
    qsort(movers, count, sizeof(movers[0]), compare_numbers);
    for (size_t i = 0; i < count; i++)
        move(brain, movers[i], search->job->id, decisions);
    reclaim_keep(&brain->reclaim, search->job->id, &search->lease);
}

/* ---- for whom ---- */

static int compare_waiting(const void *left, const void *right)
{
    struct job *const *a = left, *const *b = right;

    if ((*a)->priority != (*b)->priority)
        return (*a)->priority > (*b)->priority ? -1 : 1;
    return (*a)->id < (*b)->id ? -1 : 1;
}

/* By every rule but room it could start, as plan_grants will see it. */
static bool is_free_to_start(struct brain *brain, const struct job *job, usec_t end)
{
    const struct state *state = brain->state;
    struct quota_ask ask = { .queue = job->queue,
                             .user = job->user,
                             .gid = job->gid,
                             .is_preemptible = job->is_preemptible };
    struct why why = { 0 };

    quota_least(state, state_request(state, job), &ask.amounts);
    if (brain_array_allows(state, job->pending_bucket, &why) &&
        hours_allow(brain, job, &ask.amounts, &why) && quota_allows(state, &ask, &why) &&
        spend_allows(brain, job, &ask.amounts, &why))
        return turn_allows(&brain->turns, state, job->queue, &ask.amounts, end, &why);
    if (why.kind == WHY_QUOTA)
        turn_make(&brain->turns, state, &brain->ends, job, &why);
    return false;
}

/* It will start in this plan, and needs nobody's help. */
static bool fits_now(struct search *search)
{
    struct brain *brain = search->brain;
    struct place_query query;
    struct lease lease;
    struct why why;

    brain_query(brain, search->job, &query);
    query.promises = search->promises;
    query.end = search->end;
    if (!place_job(&query, &brain->arena, &lease, &why))
        return false;
    list_add(&brain->defrag.soon, lease);
    return true;
}

static int64_t gain_until(const struct search *search, usec_t at)
{
    usec_t now = search->brain->state->now;
    uint64_t milli = (uint64_t)request_least_milli(search->request);

    if (at == USEC_NEVER || at - now > USEC_PER_DAY * 3650)
        return INT64_MAX;
    return (int64_t)wide_scale((uint64_t)(at - now), milli, GPU_MILLI);
}

/* GPU-time that it would wait; 0: it does not wait for long. It is promised that start. */
static int64_t gain_of(struct search *search)
{
    struct brain *brain = search->brain;
    usec_t now = brain->state->now, at;
    struct place_query query;

    brain_query(brain, search->job, &query);
    if (!reserve_make(&brain->reserve, &query, &brain->ends, search->job->pending_bucket->most,
                      &brain->arena, &at) ||
        (at != USEC_NEVER && at <= now + DEFRAG_WAIT_S * USEC_PER_SEC))
        return 0;
    return gain_until(search, at);
}

static void start_search(struct search *search, struct brain *brain, struct job *job)
{
    *search = (struct search){ .brain = brain,
                               .job = job,
                               .request = state_request(brain->state, job),
                               .end = usec_after(brain->state->now, job->pending_bucket->most),
                               .gain = INT64_MAX,
                               .later = USEC_NEVER };
}

/* Its own promise is the last one, and not in its way. */
static bool search_beside_promises(struct search *search)
{
    struct promises *promises = &search->brain->reserve.promises;

    look_ahead(search);
    collect(search);
    promises->count--;
    bool is_found = find_in(search);
    promises->count++;
    return is_found;
}

/* True: others are moved for it. */
static bool move_for(struct brain *brain, struct job *job, uint32_t *asked,
                     struct decisions *decisions)
{
    struct search search;

    guess_bucket(brain->state, job->pending_bucket);
    start_search(&search, brain, job);
    search.promises = &brain->reserve.promises;
    if (job->is_awaited != AWAITED_NOT || search.request->gpu_alternatives == 0 ||
        !is_free_to_start(brain, job, search.end) || fits_now(&search))
        return false;
    look_ahead(&search);
    if (!is_enough_in_all(&search))
        return false;
    search.gain = gain_of(&search);
    if (search.gain == 0)
        return false;
    ++*asked;
    if (search_beside_promises(&search)) {
        move_all(&search, decisions);
        return true;
    }
    brain_review(brain, search.later);
    if (search.beyond > 0 && search.beyond <= brain->state->settings.defrag_most)
        brain_review(brain, moves_renew_at(brain->state));
    return false;
}

void plan_moves(struct brain *brain, struct decisions *decisions)
{
    const struct pending *pending = &brain->pending;
    LIST(struct job *) waiting = { 0 };
    uint32_t asked = 0;

    if (brain->state->settings.defrag_most == 0 || pending->count == 0 || brain->preempt.count == 0)
        return;
    brain->defrag.soon.count = 0;
    for (size_t i = 0; i < pending->queues.count; i++) {
        const struct pending_queue *queue = &pending->queues.items[i];
        for (size_t k = 0; k < queue->buckets.count; k++)
            list_add(&waiting, queue->buckets.items[k]->first);
    }
    if (waiting.count > 1)
        qsort(waiting.items, waiting.count, sizeof(waiting.items[0]), compare_waiting);
    for (size_t i = 0; i < waiting.count && i < DEFRAG_LOOKS && asked < DEFRAG_ASKED; i++) {
        if (move_for(brain, waiting.items[i], &asked, decisions))
            break; /* one set at a time: when they have moved, all is looked at again */
    }
    brain->turns.held.count = 0;
    defrag_keep(brain, false);
    list_release(&waiting);
}

/* ---- when somebody asks ---- */

static uint32_t count_moving(const struct state *state, const struct reclaim *reclaim, uint64_t id)
{
    uint32_t count = 0;

    for (size_t i = 0; i < reclaim->made.count; i++) {
        const struct job *other = state_job(state, reclaim->made.items[i].job);
        count += is_moving(other) && other->run->moved_for == id;
    }
    return count;
}

/* As a plan would look for a set, but beside nobody's promise. */
static void ask_for(struct brain *brain, struct job *job, struct moves_ask *ret)
{
    const struct state *state = brain->state;
    usec_t at = job->pending_bucket->why.at;
    struct search search;

    start_search(&search, brain, job);
    if (search.request->gpu_alternatives == 0 ||
        (at > 0 && at <= state->now + DEFRAG_WAIT_S * USEC_PER_SEC))
        return;
    brain->defrag.soon.count = 0;
    look_ahead(&search);
    if (!is_enough_in_all(&search))
        return;
    if (at > 0)
        search.gain = gain_until(&search, at);
    collect(&search);
    bool is_found = find_in(&search);
    spare_all(&search);
    if (is_found)
        return; /* the next plan does it */
    if (search.beyond > 0) {
        bool is_ever = search.beyond <= state->settings.defrag_most;
        *ret = (struct moves_ask){ MOVES_OVER, 0, search.beyond, moves_left(state, state->now),
                                   is_ever ? moves_renew_at(state) : 0 };
    } else if (search.later != USEC_NEVER) {
        *ret = (struct moves_ask){ .answer = MOVES_LATER, .at = search.later };
    }
}

void sched_moves(struct brain *brain, struct job *job, struct moves_ask *ret)
{
    usec_t review = brain->review;

    *ret = (struct moves_ask){ .answer = MOVES_NONE };
    if (job->state != JOB_QUEUED || brain->state->settings.defrag_most == 0)
        return;
    if (defrag_is_under_way(brain, job)) {
        *ret = (struct moves_ask){
            .answer = MOVES_UNDER_WAY,
            .jobs = count_moving(brain->state, &brain->reclaim, job->id),
        };
        return;
    }
    brain_refresh(brain);
    arena_clear(&brain->arena);
    if (job->is_awaited == AWAITED_NOT)
        ask_for(brain, job, ret);
    brain->review = review; /* a question makes nobody get up */
}
