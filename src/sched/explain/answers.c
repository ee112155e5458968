/* SPDX-License-Identifier: Apache-2.0 */
/* The answers to questions about a waiting job and about where a queue stands. */
#include "sched/explain/inquiry.h"

#include "sched/explain/openings.h"
#include "sched/job_facts.h"
#include "sched/ordering/fair_share.h"
#include "sched/ordering/quota_check.h"
#include "sched/preemption/defrag.h"
#include "sched/preemption/reclaim.h"

static void why_waiting(const struct brain *brain, const struct job *job, struct why *ret_why)
{
    const struct need_table *needs = &brain->state->needs;
    const struct need *need;

    *ret_why = (struct why){ .kind = WHY_BEGIN, .at = job->begin };
    for (uint32_t at = need_first_of(needs, job->id); at != 0; at = need->next_of_job) {
        need = &needs->needs.items[at - 1];
        if (ret_why->kind != WHY_NEEDS || need->on < ret_why->job)
            *ret_why = (struct why){ .kind = WHY_NEEDS, .job = need->on, .wanted = need->kind };
    }
}

static bool has_spot(const struct state *state)
{
    LIST_EACH (const struct node, node, &state->nodes) {
        if (node->is_spot)
            return true;
    }
    return false;
}

/* Whether it would start at once if it took spot nodes and others alike. */
static bool is_kept_by_spot(struct brain *own, const struct place_query *query)
{
    struct place_query other = *query;
    struct request any = *query->request;
    struct lease lease;

    other.shapes = NULL;
    if ((any.spot != SPOT_NEVER && any.spot != SPOT_ONLY) ||
        (any.spot == SPOT_NEVER && !has_spot(own->state)) ||
        place_job(&other, &own->arena, &lease, NULL))
        return false; /* it is something else that keeps it */
    any.spot = SPOT_ALLOW;
    other.request = &any;
    return place_job(&other, &own->arena, &lease, NULL);
}

/* Whether it would start at once if it had no conditions. */
static bool is_kept_by_where(struct brain *own, const struct place_query *query)
{
    struct place_query other = *query;
    struct request any = *query->request;
    struct lease lease;

    other.shapes = NULL;
    if (any.where_count == 0 || place_job(&other, &own->arena, &lease, NULL))
        return false; /* it is something else that keeps it */
    any.where_count = 0;
    other.request = &any;
    return place_job(&other, &own->arena, &lease, NULL);
}

/* The first running job that keeps it from the node where it would start at once; 0: it is
 * something else that keeps it. */
static uint64_t kept_apart_by(struct brain *own, const struct place_query *query)
{
    struct place_query other = *query;
    struct lease lease;

    other.shapes = NULL;
    if ((query->labels | query->apart) == 0 || place_job(&other, &own->arena, &lease, NULL))
        return 0;
    other.labels = other.apart = 0;
    if (!place_job(&other, &own->arena, &lease, NULL))
        return 0;
    for (const struct job *job = own->state->first_active; job; job = job->run->active_next) {
        const struct lease *held = job->run->lease;
        for (uint32_t i = 0; i < lease.members_count; i++) {
            if (lease_is_apart(held, query->labels, query->apart) &&
                lease_is_on(held, lease.members[i].node))
                return job->id;
        }
    }
    return 0; /* a promise does */
}

/* There was no room: what exactly was missing is computed only for an inquiry. */
static void why_no_room(struct inquiry *inquiry, const struct brain *brain, const struct job *job,
                        struct why *why)
{
    struct brain *own = inquiry_follow(inquiry, brain);
    struct place_query query = brain_query(own, job);
    const struct why *admitted =
        why->at == 0 ? admissions_ask(&own->admissions, own->state, job) : NULL;
    usec_t at = why->at;

    if (admitted && admitted->kind != WHY_NONE) {
        *why = *admitted;
        return;
    }
    if (why_is_of_pool(why->kind))
        return; /* there was room, but not for this pool */
    arena_clear(&own->arena);
    uint64_t apart = kept_apart_by(own, &query);
    if (is_kept_by_spot(own, &query))
        *why = (struct why){ .kind = WHY_SPOT, .wanted = query.request->spot };
    else if (is_kept_by_where(own, &query))
        *why = (struct why){ .kind = WHY_WHERE };
    else if (apart != 0)
        *why = (struct why){ .kind = WHY_APART, .job = apart };
    else
        place_explain(&query, &own->arena, why);
    why->at = at;
}

/* More than a limit of its queues or of its user allows at any time. */
static bool is_beyond_limits(const struct state *state, const struct job *job, struct why *ret_why)
{
    struct quota_ask ask = quota_ask_of(job);
    struct why why = { .kind = WHY_NONE };

    quota_least(state, state_request(state, job), &ask.amounts);
    if (quota_allows(state, &ask, &why) || why.kind != WHY_NEVER_QUOTA)
        return false;
    *ret_why = why;
    return true;
}

bool sched_lacks_room(const struct brain *brain, const struct job *job, const struct why *why)
{
    struct quota_ask ask = quota_ask_of(job);
    struct why limit;

    if (job->state != JOB_QUEUED || !why_is_of_nodes(why->kind))
        return false;
    quota_least(brain->state, state_request(brain->state, job), &ask.amounts);
    return quota_allows(brain->state, &ask, &limit);
}

bool job_can_start(const struct state *state, const struct job *job)
{
    struct why why;

    if (job->state == JOB_QUEUED && why_is_never(job->pending_bucket->why.kind))
        return false;
    if (is_beyond_limits(state, job, &why))
        return false;
    if (state_request(state, job)->spot != SPOT_ONLY)
        return true;
    LIST_EACH (const struct node, node, &state->nodes) {
        if (node->is_spot)
            return true;
    }
    return false;
}

/* What repeats too often for the job is in its way, whatever else is missing now. */
static void why_for_ever(struct inquiry *inquiry, const struct brain *brain, const struct job *job,
                         struct why *why)
{
    struct why shut;

    if (why_is_never(why->kind))
        return;
    usec_t opening = sched_first_opening(brain, inquiry, job, brain->state->now, &shut);
    if (opening != USEC_NEVER) {
        if (why_is_of_pool(shut.kind) && why_is_of_pool(why->kind))
            why->at = opening;
        return;
    }
    *why = shut;
    why->is_forever = true;
    why->at = USEC_NEVER;
}

void sched_why(const struct brain *brain, struct inquiry *inquiry, const struct job *job,
               struct why *ret_why, uint32_t *ret_ahead)
{
    if (ret_ahead)
        *ret_ahead = 0;
    *ret_why = (struct why){ .kind = WHY_NONE };
    if (job->state == JOB_HELD)
        ret_why->kind = WHY_HELD;
    else if (job->state == JOB_WAITING) {
        why_waiting(brain, job, ret_why);
        why_for_ever(inquiry, brain, job, ret_why);
    }
    if (job->state != JOB_QUEUED)
        return;
    *ret_why = job->pending_bucket->why;
    if (ret_why->kind >= WHY_GPUS && ret_why->kind <= WHY_POOL_MIN &&
        !why_is_of_quota(ret_why->kind) && !is_beyond_limits(brain->state, job, ret_why))
        why_no_room(inquiry, brain, job, ret_why);
    why_for_ever(inquiry, brain, job, ret_why);
    bool is_of_time = why_is_of_time(ret_why->kind) || why_is_of_pool(ret_why->kind);
    if (job != job->pending_bucket->first && !is_of_time)
        ret_why->at = 0; /* the promise is the head's */
    for (const struct job *at = job->pending_bucket->first; ret_ahead && at != job;
         at = at->pending_next)
        ++*ret_ahead;
}

const struct job *sched_served_first(const struct brain *brain, uint32_t queue, usec_t *ret_by)
{
    if (queue >= brain->pending.queues.count)
        return NULL;
    const struct pending_queue *line = &brain->pending.queues.items[queue];
    const struct job *job = line->served != 0 ? state_job(brain->state, line->served) : NULL;
    *ret_by = line->served_by;
    return job && job->state == JOB_QUEUED && line->served_by > 0 ? job : NULL;
}

/* It started in the plain schedule of a queue in which jobs are stopped for others. */
static bool find_due(const struct brain *brain, const struct job *job, struct protected_start *ret)
{
    plain_due_list dues = { 0 };
    bool is_found = false;

    plain_list_due(&brain->plain, job->queue, &dues);
    for (size_t i = 0; i < dues.count && !is_found; i++) {
        is_found = dues.items[i].job == job->id;
        ret->at = contender_line(job, dues.items[i].due, brain->state->now);
        ret->plain = dues.items[i].start;
    }
    list_release(&dues);
    return is_found;
}

bool sched_protected_start(const struct brain *brain, const struct job *job,
                           struct protected_start *ret)
{
    const struct state *state = brain->state;
    plain_claim_list claims = { 0 };

    if (job->state != JOB_QUEUED || state->settings.order != ORDER_DEFAULT ||
        (state->settings.backfill_depth == 0 && !job->pending_bucket->is_settled))
        return false;
    ret->is_preemptive = job->pending_bucket->is_settled;
    bool is_found = ret->is_preemptive && find_due(brain, job, ret);
    plain_list(&brain->plain, state, job->queue, &claims);
    for (size_t i = 0; i < claims.count && !is_found; i++) {
        is_found = claims.items[i].job == job->id;
        ret->at = claims.items[i].protected;
        ret->plain = claims.items[i].start;
        if (ret->is_preemptive) /* it is foreseen */
            ret->at = contender_line(job, ret->at, state->now);
    }
    list_release(&claims);
    return is_found;
}

void sched_give_back(const struct brain *brain, struct inquiry *inquiry, const struct job *job,
                     struct give_back *ret)
{
    struct brain *own = inquiry_follow(inquiry, brain);
    struct reclaim *reclaim = &own->reclaim;
    const struct state *state = brain->state;
    struct amounts wanted;
    int64_t most = 0;

    *ret = (struct give_back){ .rule = STOP_IN_QUEUE };
    quota_least(state, state_request(state, job), &wanted);
    if (wanted.of[RESOURCE_GPUS] == 0 || !reclaim_share_is_borrowed(state))
        return;
    room_made_count_shares(own, job->id);
    for (struct ends_walk at = ends_first(&brain->ends); at.job; ends_next(&at)) {
        const struct job *other = at.job;
        struct amounts held;
        amounts_of_lease(state, other->run->lease, &held);
        enum stop_rule rule = other->state == JOB_STOPPING
                                  ? STOP_IN_QUEUE
                                  : reclaim_rule_of(&reclaim->shares, state, job->queue, &wanted,
                                                    other->queue, &held);
        int64_t milli = held.of[RESOURCE_GPUS];
        if (rule == STOP_IN_QUEUE)
            continue;
        ret->rule = rule;
        usec_t review = USEC_NEVER;
        if (!other->is_preemptible)
            ret->firm += milli;
        else if (victim_may_stop(state, other, &review))
            ret->could += milli;
        else {
            ret->young += milli;
            if (review != USEC_NEVER && (ret->young_until == 0 || review < ret->young_until))
                ret->young_until = review;
        }
        const struct queue *queue = &state->queues.items[other->queue];
        if (queue->used.of[RESOURCE_GPUS] > most) {
            most = queue->used.of[RESOURCE_GPUS];
            ret->queue = other->queue;
        }
    }
}

static uint32_t count_moving(const struct state *state, const struct reclaim *reclaim, uint64_t id)
{
    uint32_t count = 0;

    for (size_t i = 0; i < reclaim->made.count; i++) {
        const struct job *other = state_job(state, reclaim->made.items[i].job);
        count += (other && job_is_moving(other)) && other->run->moved_for == id;
    }
    return count;
}

/* Search a set of jobs to move as a plan does, but without regard to promises. */
static void ask_for(struct brain *brain, const struct job *job, struct moves_ask *ret)
{
    const struct state *state = brain->state;
    usec_t at = job->pending_bucket->why.at;
    struct relocation search;

    relocation_start(&search, brain, job);
    if (search.request->gpu_alternatives == 0 ||
        (at > 0 && at <= state->now + DEFRAG_WAIT_S * USEC_PER_SEC))
        return;
    brain->defrag.soon.count = 0;
    relocation_look(&search);
    if (!relocation_is_enough(&search))
        return;
    if (at > 0)
        search.gain = relocation_gain_until(&search, at);
    relocation_collect(&search);
    bool is_found = relocation_find(&search);
    relocation_drop(&search);
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

void sched_moves(const struct brain *brain, struct inquiry *inquiry, const struct job *job,
                 struct moves_ask *ret)
{
    *ret = (struct moves_ask){ .answer = MOVES_NONE };
    if (job->state != JOB_QUEUED || brain->state->settings.defrag_most == 0)
        return;
    if (defrag_is_under_way(brain, job))
        *ret = (struct moves_ask){
            .answer = MOVES_UNDER_WAY,
            .jobs = count_moving(brain->state, &brain->reclaim, job->id),
        };
    else if (job->is_awaited == AWAITED_NOT)
        ask_for(inquiry_follow(inquiry, brain), job, ret);
}

/* What jobs of this queue could take back from others now, one after the other; milli-GPUs. */
static int64_t claimable(struct brain *brain, uint32_t queue, int64_t most)
{
    struct reclaim *reclaim = &brain->reclaim;
    const struct state *state = brain->state;
    const struct amounts wanted = { .of = { [RESOURCE_GPUS] = GPU_MILLI } };
    usec_t review = USEC_NEVER;
    int64_t sum = 0;

    if (!reclaim_share_is_borrowed(state))
        return 0;
    room_made_count_shares(brain, 0);
    for (struct ends_walk at = ends_first(&brain->ends); at.job && sum < most; ends_next(&at)) {
        const struct job *job = at.job;
        struct amounts held, taken = { 0 };
        amounts_of_lease(state, job->run->lease, &held);
        enum stop_rule rule =
            reclaim_rule_of(&reclaim->shares, state, queue, &wanted, job->queue, &held);
        if (rule == STOP_IN_QUEUE || !victim_may_stop(state, job, &review))
            continue;
        taken.of[RESOURCE_GPUS] = held.of[RESOURCE_GPUS];
        reclaim_shares_take(&reclaim->shares, state, queue, job->queue, &held, rule, -1);
        reclaim_shares_take(&reclaim->shares, state, job->queue, queue, &taken, STOP_IN_QUEUE, 1);
        sum += held.of[RESOURCE_GPUS];
    }
    return sum < most ? sum : most;
}

/* The least that its bound and those above leave it; INT64_MAX: no bound. */
static int64_t left_of(const struct state *state, uint32_t queue)
{
    int64_t least = INT64_MAX;

    for (uint32_t at = queue; at != QUEUE_NONE; at = queue_above(state->queues.items, at)) {
        int64_t bound = quota_bound(state, at, RESOURCE_GPUS);
        int64_t left = bound - state->queues.items[at].used.of[RESOURCE_GPUS];
        if (bound != QUOTA_NONE && left < least)
            least = left > 0 ? left : 0;
    }
    return least;
}

void sched_standing(const struct brain *brain, struct inquiry *inquiry, struct queue_standing *ret)
{
    struct brain *own = inquiry_follow(inquiry, brain);
    const struct state *state = brain->state;
    const struct queue *root = &state->queues.items[QUEUE_ROOT];
    int64_t idle = state->capacity.milli - root->used.of[RESOURCE_GPUS];
    fair_list fair = { 0 };

    idle = idle > 0 ? idle : 0;
    fair_divide(&fair, state, &brain->pending);
    for (uint32_t i = 0; i < state->queues.count; i++) {
        const struct queue *queue = &state->queues.items[i];
        int64_t unused = fair_owed(state, i) - queue->used.of[RESOURCE_GPUS];
        int64_t most = left_of(state, i), taken = 0;
        if (i != QUEUE_ROOT && !queue->is_removed && most > idle)
            taken = claimable(own, i, most - idle);
        ret[i] = (struct queue_standing){
            .wanted = fair.items[i].wanted_milli,
            .fair = fair.items[i].fair_milli,
            .borrowed =
                i == QUEUE_ROOT ? 0 : reclaim_share_borrowed(queue, &queue->used, RESOURCE_GPUS),
            .lent = unused > idle ? unused - idle : 0,
            .claim = most < idle ? most : idle + taken,
        };
    }
    list_release(&fair);
}
