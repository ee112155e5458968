/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/ordering/quota_check.h"

#include <assert.h>

#include "core/job/role.h"

static const struct amounts *used_by(const struct state *state, const struct quota_ask *ask,
                                     uint32_t queue)
{
    return ask->used ? &ask->used[queue] : &state->queues.items[queue].used;
}

int64_t quota_bound(const struct state *state, uint32_t queue, uint32_t resource)
{
    const struct queue *q = &state->queues.items[queue];

    assert(resource < state->resources.count);
    return quota_most(&q->quota[resource], q->owned.of[resource]);
}

/* Only guaranteed resources can be taken back. */
static bool is_bound_to_guarantee(const struct queue *queue, const struct quota_ask *ask,
                                  uint32_t resource)
{
    return queue->firm_within && !ask->is_preemptible &&
           (resource == RESOURCE_GPUS || queue->quota[resource].guarantee > 0);
}

/* More than it may have now, but not than some window, or none, lets it have. */
static bool may_have_later(const struct state *state, uint32_t at, uint32_t resource,
                           int64_t wanted)
{
    const struct queue *queue = &state->queues.items[at];
    const usec_t none = queue->during.count > 0 ? state->now : USEC_NEVER;
    bool may = false;

    for (usec_t then = none, edge; then != USEC_NEVER && !may; then = edge) {
        struct quota quota;
        state_quota_at(state, at, resource, then, &quota);
        int64_t most = quota_most(&quota, queue->owned.of[resource]);
        may = most == QUOTA_NONE || wanted <= most;
        edge = USEC_NEVER;
        for (size_t i = 0; i < queue->during.count; i++) {
            const struct window *window =
                state->agenda.windows.items[queue->during.items[i].window];
            usec_t next = window_next_edge(window, then);
            edge = next < edge ? next : edge;
        }
    }
    return may;
}

static bool queue_allows(const struct state *state, uint32_t at, const struct quota_ask *ask,
                         struct why *why)
{
    const struct queue *queue = &state->queues.items[at];

    for (uint32_t i = 0; i < state->resources.count; i++) {
        int64_t wanted = ask->amounts.of[i], most = quota_bound(state, at, i);
        int64_t used = used_by(state, ask, at)->of[i];
        bool is_firm = false;
        if (is_bound_to_guarantee(queue, ask, i)) {
            int64_t owed = quota_owed(&queue->quota[i], queue->owned.of[i]);
            if (most == QUOTA_NONE || owed - queue->firm.of[i] < most - used) {
                most = owed;
                used = queue->firm.of[i];
                is_firm = true;
            }
        }
        if (wanted == 0 || most == QUOTA_NONE || used + wanted <= most)
            continue;
        bool is_never = wanted > most && !may_have_later(state, at, i, wanted);
        *why = (struct why){ .kind = is_never ? WHY_NEVER_QUOTA : WHY_QUOTA,
                             .queue = at,
                             .resource = i,
                             .is_firm = is_firm,
                             .wanted = wanted,
                             .free = most - used,
                             .most = most };
        return false;
    }
    return true;
}

static bool subject_allows(const struct state *state, uint32_t at,
                           const struct subject_limit *subject, const struct quota_ask *ask,
                           struct why *why)
{
    bool is_group = subject->kind == SUBJECT_GROUP;
    uint32_t id = is_group ? ask->gid : ask->user;
    int64_t wanted = ask->amounts.of[subject->resource];

    if (wanted == 0 || (subject->kind != SUBJECT_EACH_USER && id != subject->id))
        return true;
    const struct amounts *held =
        holding_of(&state->holdings, at, is_group ? SUBJECT_GROUP : SUBJECT_USER, id);
    int64_t used = held ? held->of[subject->resource] : 0;

    assert(used >= 0);
    if (used + wanted <= subject->limit)
        return true;
    *why = (struct why){ .kind = wanted > subject->limit ? WHY_NEVER_QUOTA : WHY_USER_LIMIT,
                         .queue = at,
                         .resource = subject->resource,
                         .is_group = is_group,
                         .is_of_user = true,
                         .wanted = wanted,
                         .free = subject->limit - used,
                         .most = subject->limit };
    return false;
}

/* A named user has a limit of their own instead of the limit for each user. */
static bool is_named(const struct queue *queue, const struct subject_limit *each, uint32_t user)
{
    LIST_EACH (const struct subject_limit, other, &queue->subjects) {
        if (other->kind == SUBJECT_USER && other->id == user && other->resource == each->resource)
            return true;
    }
    return false;
}

static bool subjects_allow(const struct state *state, uint32_t at, const struct quota_ask *ask,
                           struct why *why)
{
    const struct queue *queue = &state->queues.items[at];

    LIST_EACH (const struct subject_limit, subject, &queue->subjects) {
        if (subject->kind == SUBJECT_EACH_USER && is_named(queue, subject, ask->user))
            continue;
        if (!subject_allows(state, at, subject, ask, why))
            return false;
    }
    return true;
}

bool quota_user_may_ever(const struct state *state, const struct quota_ask *ask, struct why *why)
{
    for (uint32_t at = ask->queue; at != QUEUE_NONE; at = queue_above(state->queues.items, at)) {
        const struct queue *queue = &state->queues.items[at];

        LIST_EACH (const struct subject_limit, subject, &queue->subjects) {
            bool is_for_another =
                subject->kind == SUBJECT_EACH_USER && is_named(queue, subject, ask->user);
            if (!is_for_another && !subject_allows(state, at, subject, ask, why) &&
                why->kind == WHY_NEVER_QUOTA)
                return false;
        }
    }
    return true;
}

/* ---- what others do not lend ---- */

/* What other queues keep from the job, and the queue that keeps most. */
struct kept {
    int64_t sum, most;
    uint32_t keeper;
};

/* Add what a queue does not lend; its parent is on the way up from the job's queue. If the queue
 * lends all, those below it may still keep some back. */
static void add_kept(const struct state *state, const struct quota_ask *ask, uint32_t number,
                     uint32_t resource, struct kept *kept)
{
    const struct queue *queue = &state->queues.items[number];
    const struct quota *quota = &queue->quota[resource];

    if (queue->is_removed)
        return;
    if (quota->lend != QUOTA_NONE || queue->owned.of[resource] > 0) {
        int64_t here = quota->lend == QUOTA_NONE ? 0 : quota->guarantee - quota->lend;
        here += queue->owned.of[resource] - used_by(state, ask, number)->of[resource];
        here = here > 0 ? here : 0;
        kept->sum += here;
        if (here > kept->most) {
            kept->most = here;
            kept->keeper = number;
        }
        return;
    }
    for (uint32_t i = number + 1; queue->child_count > 0 && i < state->queues.count; i++) {
        if (state->queues.items[i].parent == number)
            add_kept(state, ask, i, resource, kept);
    }
}

static bool any_lends_less(const struct state *state, uint32_t resource)
{
    for (size_t i = 1; i < state->queues.count; i++) {
        const struct queue *queue = &state->queues.items[i];
        if (!queue->is_removed && queue->quota[resource].lend != QUOTA_NONE)
            return true;
    }
    return false;
}

static bool others_allow(const struct state *state, const struct quota_ask *ask, uint32_t resource,
                         struct why *why)
{
    int64_t free = state_capacity(state, resource) - used_by(state, ask, QUEUE_ROOT)->of[resource];
    struct kept kept = { 0 };

    for (uint32_t i = 1; i < state->queues.count; i++) {
        if (state_is_below(state, ask->queue, state->queues.items[i].parent) &&
            !state_is_below(state, ask->queue, i))
            add_kept(state, ask, i, resource, &kept);
    }
    free -= kept.sum;
    if (kept.sum == 0 || ask->amounts.of[resource] <= free)
        return true;
    *why = (struct why){ .kind = WHY_LENT,
                         .queue = kept.keeper,
                         .resource = resource,
                         .wanted = ask->amounts.of[resource],
                         .free = free > 0 ? free : 0,
                         .most = kept.most };
    return false;
}

bool quota_allows(const struct state *state, const struct quota_ask *ask, struct why *why)
{
    assert(ask->queue < state->queues.count);
    for (uint32_t at = ask->queue; at != QUEUE_NONE; at = queue_above(state->queues.items, at)) {
        if (!queue_allows(state, at, ask, why) ||
            (ask->user != QUOTA_NOBODY && !subjects_allow(state, at, ask, why)))
            return false;
    }
    for (uint32_t i = 0; i < state->resources.count; i++) {
        if (ask->amounts.of[i] > 0 && any_lends_less(state, i) && !others_allow(state, ask, i, why))
            return false;
    }
    return true;
}

/* What is no GPU counts for its kind; where alternatives differ in it, for nothing. */
static void move_others(const struct state *state, const struct request *part, struct amounts *ret)
{
    const char *kind = NULL;
    bool is_any_other = false, are_alike = true;

    for (uint32_t i = 0; i < part->gpu_alternatives; i++) {
        const char *own = state_kind_of_ask(state, &part->gpus[i]);
        is_any_other |= own[0] != '\0';
        are_alike &= !kind || strcmp(kind, own) == 0;
        kind = own;
    }
    if (!is_any_other)
        return;
    ret->of[RESOURCE_GPUS] -= request_least_milli(part);
    int number = are_alike ? resource_find(&state->resources, kind) : -1;
    bool is_model = part->gpu_alternatives == 1 && strcmp(kind, part->gpus[0].model) == 0;
    if (number >= RESOURCE_MODELS && !is_model)
        ret->of[number] += request_least_milli(part);
}

void quota_least(const struct state *state, const struct request *request, struct amounts *ret)
{
    *ret = (struct amounts){
        .of = { [RESOURCE_GPUS] = request_least_milli(request),
                [RESOURCE_CPUS] = request_cpus(request),
                [RESOURCE_MEMORY] = request_memory(request) },
    };
    for (uint32_t i = 0; i < request_parts(request); i++) {
        const struct request *part = request_part(request, i);
        if (state->has_others)
            move_others(state, part, ret);
        if (part->gpu_alternatives != 1 || !part->gpus[0].model[0])
            continue;
        int model = resource_find(&state->resources, part->gpus[0].model);
        if (model >= RESOURCE_MODELS)
            ret->of[model] += request_least_milli(part);
    }
}

bool quota_is_owed(const struct state *state, uint32_t queue, enum share kind)
{
    static const uint32_t of_kind[SHARES] = { RESOURCE_GPUS, RESOURCE_CPUS, RESOURCE_MEMORY };
    const struct queue *q = &state->queues.items[queue];
    uint32_t main = of_kind[kind];

    if (q->used.of[main] < quota_owed(&q->quota[main], q->owned.of[main]))
        return true;
    for (uint32_t i = RESOURCE_MODELS; kind == SHARE_OF_GPUS && i < state->resources.count; i++) {
        if (q->used.of[i] < quota_owed(&q->quota[i], q->owned.of[i]))
            return true;
    }
    return false;
}
