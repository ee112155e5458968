/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/preemption/resize.h"

#include <assert.h>

#include "core/job/gang_size.h"
#include "sched/brain.h"
#include "sched/capacity/lease_part.h"
#include "sched/job_facts.h"
#include "sched/ordering/quota_check.h"
#include "sched/preemption/reclaim.h"

/* By what a restart loses per amount given up, least first; among equals, the last to start. */
static int compare_donors(const void *left, const void *right)
{
    const struct donor *a = left, *b = right;

    if (a->job->priority != b->job->priority)
        return a->job->priority < b->job->priority ? -1 : 1;
    if (job_restart_cost(a->job) != job_restart_cost(b->job))
        return job_restart_cost(a->job) < job_restart_cost(b->job) ? -1 : 1;
    return a->job->id > b->job->id ? -1 : 1;
}

/* Has run for its restart cost, so that its start was not in vain. */
static bool has_paid(struct brain *brain, const struct job *job)
{
    usec_t at = usec_after(job->run->started, job_restart_cost(job));

    if (at <= brain->state->now)
        return true;
    brain->elastic.review = at < brain->elastic.review ? at : brain->elastic.review;
    return false;
}

/* The order in which its members stay: first one on each of as many nodes as it wants at least. */
static uint32_t *order_of(struct brain *brain, const struct request *request,
                          const struct lease *lease)
{
    uint32_t count = lease->members_count, nodes = 0, next = 0;
    uint32_t least = request->per_node ? 1 : request->nodes_min; /* per_node: each has its own */
    uint32_t *order = arena_take(&brain->arena, count, sizeof(*order));
    bool *is_first = arena_take(&brain->arena, count, sizeof(*is_first));

    for (uint32_t i = 0; i < count; i++) {
        uint32_t k = 0;
        while (nodes < least && k < i && lease->members[k].node != lease->members[i].node)
            k++;
        is_first[i] = nodes < least && k == i;
        if (is_first[i])
            order[nodes++] = i;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!is_first[i])
            order[nodes + next++] = i;
    }
    return order;
}

/* The members of these places in the order. */
static void pick(struct brain *brain, const struct donor *donor, uint32_t first, uint32_t count,
                 struct lease *ret)
{
    bool *is_picked = arena_take(&brain->arena, donor->members, sizeof(*is_picked));

    for (uint32_t i = 0; i < donor->members; i++)
        is_picked[donor->order[i]] = i >= first && i < first + count;
    lease_part_pick(donor->job->run->lease, is_picked, &brain->arena, ret);
}

static size_t collect_donors(struct brain *brain, const struct job *job, struct donor **ret)
{
    const struct elastic *elastic = &brain->elastic;
    struct donor *donors = arena_take(&brain->arena, elastic->active.count + 1, sizeof(*donors));
    size_t count = 0;

    for (size_t i = 0; i < elastic->active.count; i++) {
        struct job *other = elastic->active.items[i];
        const struct request *request = state_request(brain->state, other);
        uint32_t members = other->run->lease->members_count;
        if (other == job || !job_is_settled(other) || members <= request->members ||
            !has_paid(brain, other) ||
            (other->queue != job->queue &&
             !victim_is_due(brain->state, other, &brain->reclaim.review)))
            continue;
        donors[count++] = (struct donor){ .job = other,
                                          .request = request,
                                          .members = members,
                                          .low = members,
                                          .order = order_of(brain, request, other->run->lease) };
    }
    mem_sort(donors, count, sizeof(donors[0]), compare_donors);
    *ret = donors;
    return count;
}

/* May the job have what these members hold? STOP_IN_QUEUE: no. */
static enum stop_rule right_to(struct brain *brain, const struct job *job,
                               const struct amounts *wanted, const struct job *other,
                               const struct amounts *held)
{
    if (other->queue == job->queue)
        return job->priority >= other->priority ? STOP_FOR_EARLIER : STOP_IN_QUEUE;
    return reclaim_rule_of(&brain->reclaim.shares, brain->state, job->queue, wanted, other->queue,
                           held);
}

/* Size by size, as far as a right to it goes. */
static void squeeze(struct brain *brain, const struct job *job, const struct amounts *wanted,
                    struct donor *donor)
{
    struct reclaim_shares_ahead *shares = &brain->reclaim.shares;

    for (;;) {
        uint32_t next = donor->low > 1 ? request_fit(donor->request, donor->low - 1) : 0;
        struct amounts held;
        struct lease part;
        if (next == 0)
            return;
        pick(brain, donor, next, donor->low - next, &part);
        amounts_of_lease(brain->state, &part, &held);
        enum stop_rule rule = right_to(brain, job, wanted, donor->job, &held);
        if (rule == STOP_IN_QUEUE)
            return;
        if (rule != STOP_FOR_EARLIER)
            reclaim_shares_take(shares, brain->state, job->queue, donor->job->queue, &held, rule,
                                -1);
        fleet_take(&brain->reclaim.ahead, &part, -1);
        donor->low = next;
        donor->rule = (uint8_t)rule;
    }
}

/* What it keeps after all, now that the place of the other is known: of the members that may have
 * to go, as many as an allowed size needs stay where they are. */
static void give_back(struct brain *brain, const struct donor *donor, struct lease *ret)
{
    const struct lease *held = donor->job->run->lease;
    struct fleet *ahead = &brain->reclaim.ahead;
    bool *stays = arena_take(&brain->arena, donor->members, sizeof(bool));
    uint32_t count = donor->low;
    struct lease part;

    assert(donor->low < donor->members);
    for (uint32_t i = 0; i < donor->members; i++) {
        uint32_t rank = donor->order[i];
        stays[rank] = i < donor->low;
        if (stays[rank])
            continue;
        lease_part_range(held, rank, 1, &brain->arena, &part);
        stays[rank] = fleet_has(ahead, &part);
        if (stays[rank])
            fleet_take(ahead, &part, 1);
        count += stays[rank];
    }
    uint32_t size = count < donor->members ? request_fit(donor->request, count) : count;
    for (uint32_t i = donor->members; i-- > 0 && count > size;) {
        uint32_t rank = donor->order[i];
        if (!stays[rank])
            continue;
        stays[rank] = false;
        count--;
        lease_part_range(held, rank, 1, &brain->arena, &part);
        fleet_take(ahead, &part, -1);
    }
    lease_part_pick(held, stays, &brain->arena, ret);
    assert(ret->members_count >= donor->low && ret->members_count <= donor->members);
}

/* Stop it to start again with `lease`; `taker` gets what it gives up. */
void shrink_resize(struct brain *brain, const struct job *job, const struct lease *lease,
                   uint64_t taker, uint8_t rule, struct decisions *decisions)
{
    struct event_stop stop = { .cause = STOP_RESIZE,
                               .other = taker,
                               .rule = rule,
                               .lost = job_lost(job, brain->state->now),
                               .members = lease->members_count };

    assert(job_is_settled(job) && lease->members_count > 0);
    kept_place_set(&brain->reclaim.made, job->id, lease);
    brain_stop(brain, job, stop, decisions);
}

bool shrink_squeeze(struct brain *brain, const struct job *job, const struct amounts *wanted,
                    struct donors *ret)
{
    bool is_any = false;

    ret->count = collect_donors(brain, job, &ret->items);
    for (size_t i = 0; i < ret->count; i++) {
        squeeze(brain, job, wanted, &ret->items[i]);
        is_any |= ret->items[i].low < ret->items[i].members;
    }
    return is_any;
}

bool shrink_takes_from(const struct donors *donors, const struct job *job)
{
    for (size_t i = 0; i < donors->count; i++) {
        if (donors->items[i].job == job)
            return donors->items[i].low < donors->items[i].members;
    }
    return false;
}

bool shrink_settle(struct brain *brain, const struct job *job, const struct lease *lease,
                   const struct donors *donors, struct decisions *decisions)
{
    bool is_any = false;

    fleet_take(&brain->reclaim.ahead, lease, 1);
    for (size_t i = donors->count; i-- > 0;) {
        const struct donor *donor = &donors->items[i];
        struct lease kept;
        if (donor->low == donor->members)
            continue;
        give_back(brain, donor, &kept);
        if (kept.members_count == donor->members)
            continue;
        shrink_resize(brain, donor->job, &kept, job->id, donor->rule, decisions);
        is_any = true;
    }
    return is_any;
}

static bool try_to_shrink(struct brain *brain, struct job *job, struct decisions *decisions)
{
    struct place_query query;
    struct amounts wanted;
    struct donors donors;
    struct lease lease;

    room_made_look_ahead(brain, job->id);
    quota_least(brain->state, state_request(brain->state, job), &wanted);
    if (!shrink_squeeze(brain, job, &wanted, &donors))
        return false;
    query = brain_query_ahead(brain, job, &brain->reclaim.ahead, PLACE_QUOTA_EVER);
    if (!place_job(&query, &brain->arena, &lease, NULL) ||
        !shrink_settle(brain, job, &lease, &donors, decisions))
        return false;
    kept_place_set(&brain->reclaim.made, job->id, &lease);
    return true;
}

bool shrink_for(struct brain *brain, struct job *job, usec_t natural, struct decisions *decisions)
{
    struct amounts wanted;

    if (brain->elastic.active.count == 0)
        return false;
    quota_least(brain->state, state_request(brain->state, job), &wanted);
    return room_made_is_needed(brain, job, natural, &wanted) &&
           try_to_shrink(brain, job, decisions);
}
