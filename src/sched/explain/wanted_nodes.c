/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/explain/wanted_nodes.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cluster/label.h"
#include "core/job/role.h"

#include "sched/backfill/time_rules.h"
#include "sched/explain/inquiry.h"
#include "sched/ordering/quota_check.h"

/* A type as it could be had: on demand, or as a spot node. */
struct offer {
    uint32_t type;
    bool is_spot;
    int64_t price_micro;
};

/* A node that is not there. */
struct dream {
    uint32_t wish;
    int64_t cpu_milli, memory_mib;
    int32_t milli[NODE_TYPE_GPUS_MAX];
};

struct candidate {
    struct job *job;
    int64_t milli, cpu_milli, memory_mib;
    bool is_done; /* it has room, or an earlier offer takes it */
};

struct scaling {
    struct brain *brain;
    struct scale_plan *plan;
    LIST(struct candidate) jobs;
    LIST(struct offer) offers;
    LIST(struct dream) dreams;
    LIST(struct amounts) poured; /* by queue */
    bool *is_promised;           /* by node */
    usec_t now;
};

static int compare_amounts(int64_t a, int64_t b)
{
    return (a < b) - (a > b);
}

static int compare_candidates(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    int order = compare_amounts(a->milli, b->milli);

    order = order != 0 ? order : compare_amounts(a->cpu_milli, b->cpu_milli);
    order = order != 0 ? order : compare_amounts(a->memory_mib, b->memory_mib);
    if (order != 0)
        return order;
    if (a->job->submitted != b->job->submitted)
        return a->job->submitted < b->job->submitted ? -1 : 1;
    return a->job->id < b->job->id ? -1 : 1;
}

static int compare_offers(const void *left, const void *right)
{
    const struct offer *a = left, *b = right;

    if (a->price_micro != b->price_micro)
        return a->price_micro < b->price_micro ? -1 : 1;
    if (a->type != b->type)
        return a->type < b->type ? -1 : 1;
    return a->is_spot - b->is_spot;
}

static void list_jobs(struct scaling *scaling)
{
    const struct state *state = scaling->brain->state;

    for (struct job *job = state->first_job; job; job = job->next) {
        const struct request *request;
        if (job->state != JOB_QUEUED)
            continue;
        request = state_request(state, job);
        list_add(&scaling->jobs, (struct candidate){ .job = job,
                                                     .milli = request_milli(request, 0, 0),
                                                     .cpu_milli = request_cpus(request),
                                                     .memory_mib = request_memory(request) });
    }
    list_sort(&scaling->jobs, compare_candidates);
    if (scaling->jobs.count > SCALE_JOBS_MAX)
        scaling->jobs.count = SCALE_JOBS_MAX;
}

static void list_offers(struct scaling *scaling)
{
    const struct state *state = scaling->brain->state;

    for (uint32_t i = 0; i < state->node_types.count; i++) {
        const struct node_type *type = &state->node_types.items[i];
        list_add(&scaling->offers, (struct offer){ i, false, type->price_micro });
        if (type->spot_micro > 0)
            list_add(&scaling->offers, (struct offer){ i, true, type->spot_micro });
    }
    list_sort(&scaling->offers, compare_offers);
}

/* Whether its queue and user could have it beside what was poured for that queue before. */
static bool may_have(struct scaling *scaling, const struct job *job)
{
    const struct state *state = scaling->brain->state;
    struct quota_ask ask = quota_ask_of(job);
    struct amounts *poured = &scaling->poured.items[job->queue];
    struct amounts own;
    struct why why;

    quota_least(state, state_request(state, job), &own);
    if (!time_rules_allow(scaling->brain, job, &own, &why) ||
        !budget_allows(scaling->brain, job, &own, &why))
        return false; /* it waits for other hours, or for money: it would not start */
    for (size_t i = 0; i < RESOURCES_MAX; i++)
        ask.amounts.of[i] = own.of[i] + poured->of[i];
    if (!quota_allows(state, &ask, &why) && why.kind != WHY_LENT)
        return false; /* what is not lent is of the nodes that are there */
    *poured = ask.amounts;
    return true;
}

/* ---- what will be free ---- */

static void free_by(struct brain *brain, usec_t at, struct fleet *ahead)
{
    fleet_follow(ahead, &brain->fleet);
    for (struct ends_walk walk = ends_first(&brain->ends); walk.job && walk.end <= at;
         ends_next(&walk))
        fleet_take(ahead, walk.job->run->lease, -1);
}

static bool finds_room(struct scaling *scaling, struct fleet *ahead, const struct job *job)
{
    struct place_query query = brain_query_ahead(scaling->brain, job, ahead, PLACE_QUOTA_NONE);
    struct lease lease;

    if (!place_job(&query, &scaling->brain->arena, &lease, NULL))
        return false;
    fleet_take(ahead, &lease, 1);
    for (uint32_t i = 0; i < lease.members_count; i++)
        scaling->is_promised[lease.members[i].node] = true;
    return true;
}

/* ---- nodes that are not there ---- */

/* The memory of such a device, as those that are there have it; 0: there is none. */
static int64_t device_memory(const struct state *state, const char *model)
{
    for (size_t i = 0; i < state->devices.count; i++) {
        if (strcmp(state->devices.items[i].model, model) == 0)
            return state->devices.items[i].memory_mib;
    }
    return 0;
}

static bool take_gpus(const struct state *state, const struct node_type *type,
                      const struct gpu_ask *ask, struct dream *dream)
{
    struct device like = { .model = (char *)(uintptr_t)type->model,
                           .memory_mib = device_memory(state, type->model) };
    int64_t milli = ask->kind == SHARE_WHOLE ? GPU_MILLI : ask->milli;
    uint32_t left = ask->count;

    if (ask->kind == SHARE_MIG || !device_is_asked_for(ask, &like))
        return false;
    if (milli == 0 && like.memory_mib > 0)
        milli = (ask->memory_mib * GPU_MILLI + like.memory_mib - 1) / like.memory_mib;
    if (milli == 0 || milli > GPU_MILLI)
        return false;
    for (uint32_t i = 0; i < type->gpus && left > 0; i++) {
        if (dream->milli[i] < milli)
            continue;
        dream->milli[i] -= (int32_t)milli;
        left--;
    }
    return left == 0;
}

/* Whether one member fits there; then it is there. */
static bool take_member(const struct state *state, const struct node_type *type,
                        const struct request *request, struct dream *dream)
{
    bool fits = request->gpu_alternatives == 0;
    struct dream taken = *dream;

    for (uint32_t i = 0; i < request->gpu_alternatives && !fits; i++) {
        taken = *dream;
        fits = take_gpus(state, type, &request->gpus[i], &taken);
    }
    taken.cpu_milli -= request->cpu_milli;
    taken.memory_mib -= request->memory_mib;
    if (!fits || taken.cpu_milli < 0 || taken.memory_mib < 0)
        return false;
    *dream = taken;
    return true;
}

static uint32_t count_there(const struct scaling *scaling, uint32_t type)
{
    const struct state *state = scaling->brain->state;
    uint32_t count = 0;

    for (size_t i = 0; i < state->nodes.count; i++)
        count += state->nodes.items[i].state != NODE_DOWN && state->nodes.items[i].going_at == 0 &&
                 strcmp(state->nodes.items[i].type, state->node_types.items[type].name) == 0;
    for (size_t i = 0; i < scaling->plan->wishes.count; i++)
        count +=
            scaling->plan->wishes.items[i].type == type ? scaling->plan->wishes.items[i].count : 0;
    return count;
}

static void add_dream(struct scaling *scaling, const struct node_type *type, uint32_t wish)
{
    struct dream dream = { .wish = wish,
                           .cpu_milli = type->cpu_milli,
                           .memory_mib = type->memory_mib };

    for (uint32_t i = 0; i < type->gpus; i++)
        dream.milli[i] = GPU_MILLI;
    list_add(&scaling->dreams, dream);
}

static bool dream_member(struct scaling *scaling, const struct node_type *type, uint32_t wish,
                         const struct request *request, uint32_t most)
{
    const struct state *state = scaling->brain->state;
    uint32_t count = 0;

    LIST_EACH (struct dream, dream, &scaling->dreams) {
        if (dream->wish != wish)
            continue;
        count++;
        if (take_member(state, type, request, dream))
            return true;
    }
    if (count >= most)
        return false;
    add_dream(scaling, type, wish);
    if (take_member(state, type, request, &scaling->dreams.items[scaling->dreams.count - 1]))
        return true;
    scaling->dreams.count--;
    return false;
}

/* Nothing is known of the labels of a node that can only be added. */
static bool holds_there(const struct state *state, const struct node_type *type, bool is_spot,
                        const struct request *request)
{
    struct node node = { .name = (char *)(uintptr_t) "",
                         .type = (char *)(uintptr_t)type->name,
                         .is_spot = is_spot };
    struct device like = { .model = (char *)(uintptr_t)type->model,
                           .memory_mib = device_memory(state, type->model) };

    return where_holds(request->where, request->where_count, &node,
                       request_wants_gpus(request) ? &like : NULL);
}

/* All members or none. */
static bool dream_job(struct scaling *scaling, const struct offer *offer, uint32_t wish,
                      const struct job *job, uint32_t most)
{
    const struct state *state = scaling->brain->state;
    const struct node_type *type = &state->node_types.items[offer->type];
    const struct request *request = state_request(state, job);
    size_t count = scaling->dreams.count;
    bool is_placed = true;

    if (offer->is_spot ? request->spot == SPOT_NEVER : request->spot == SPOT_ONLY)
        return false;
    if (request->pool[0] && (state_find_pool(state, request->pool) < 0 ||
                             state->pools.items[state_find_pool(state, request->pool)].is_static))
        return false; /* a static pool's nodes are named */
    if (!holds_there(state, type, offer->is_spot, request))
        return false;
    struct dream *before = mem_zero(count + 1, sizeof(*before));
    mem_copy(before, scaling->dreams.items, count * sizeof(*before));
    for (uint32_t i = 0, number; i < request->members && is_placed; i++)
        is_placed = dream_member(scaling, type, wish,
                                 request_part(request, request_part_of(request, i, &number)), most);
    assert(scaling->dreams.count >= count);
    if (!is_placed) {
        mem_copy(scaling->dreams.items, before, count * sizeof(*before));
        scaling->dreams.count = count;
    }
    free(before);
    return is_placed;
}

static void note_job(struct scaling *scaling, struct scale_wish *wish, uint32_t number,
                     struct job *job, usec_t there_at)
{
    struct start_estimate start;

    wish->first_job = wish->jobs++ == 0 ? job->id : wish->first_job;
    list_add(&scaling->plan->unblocked, job->id);
    list_add(&scaling->plan->unblocked_by, number);
    if (wish->jobs > SCALE_TOLD_MAX || wish->saved == USEC_NEVER)
        return;
    bool waits = !why_is_never(job->pending_bucket->why.kind);
    if (waits)
        estimate_start(scaling->brain, &(struct estimate_ask){ .job = job }, &start);
    if (!waits || start.median == USEC_NEVER)
        wish->saved = USEC_NEVER;
    else
        wish->saved += start.median > there_at ? start.median - there_at : 0;
}

static void count_dreams(struct scaling *scaling, uint32_t number, struct scale_wish *wish)
{
    const struct node_type *type = &scaling->brain->state->node_types.items[wish->type];

    for (size_t i = 0; i < scaling->dreams.count; i++)
        wish->count += scaling->dreams.items[i].wish == number;
    assert(wish->count > 0);
    wish->price_micro = wish->count * (wish->is_spot ? type->spot_micro : type->price_micro);
}

/* Room only gets less: of two alike the second finds none where the first did not. */
static void pour(struct scaling *scaling, const struct offer *offer)
{
    struct state *state = scaling->brain->state;
    const struct node_type *type = &state->node_types.items[offer->type];
    usec_t there_at = usec_after(scaling->now, type->boot);
    uint32_t number = (uint32_t)scaling->plan->wishes.count;
    uint32_t there = count_there(scaling, offer->type);
    uint32_t most = type->most > there ? type->most - there : 0;
    struct scale_wish wish = { .type = offer->type, .is_spot = offer->is_spot };
    struct fleet ahead = { 0 };
    uint32_t full = UINT32_MAX; /* the class that found no room last */

    free_by(scaling->brain, there_at, &ahead);
    list_zero(&scaling->poured, state->queues.count);
    LIST_EACH (struct candidate, candidate, &scaling->jobs) {
        if (!may_have(scaling, candidate->job) || candidate->is_done)
            continue;
        if (candidate->job->class != full && finds_room(scaling, &ahead, candidate->job))
            continue;
        full = candidate->job->class;
        if (scaling->now - candidate->job->queued < type->boot ||
            !dream_job(scaling, offer, number, candidate->job, most))
            continue;
        candidate->is_done = true;
        note_job(scaling, &wish, number, candidate->job, there_at);
    }
    fleet_release(&ahead);
    if (wish.jobs == 0)
        return;
    count_dreams(scaling, number, &wish);
    list_add(&scaling->plan->wishes, wish);
}

/* ---- nodes that may go ---- */

static const struct node_type *type_of(const struct state *state, const struct node *node,
                                       uint32_t *ret_number)
{
    for (uint32_t i = 0; i < state->node_types.count; i++) {
        *ret_number = i;
        if (strcmp(state->node_types.items[i].name, node->type) == 0)
            return &state->node_types.items[i];
    }
    return NULL;
}

static bool is_empty(const struct state *state, uint32_t number)
{
    const struct node *node = &state->nodes.items[number];

    if (state->room.nodes.items[number].cpu_milli != node->cpu_milli ||
        state->room.nodes.items[number].memory_mib != node->memory_mib)
        return false;
    for (size_t i = 0; i < state->devices.count; i++) {
        if (state->devices.items[i].node == number &&
            state->room.devices.items[i].milli != GPU_MILLI)
            return false;
    }
    return true;
}

/* Also one that asks for neither CPU nor memory holds its node. */
static bool is_held(const struct brain *brain, uint32_t number)
{
    for (struct ends_walk at = ends_first(&brain->ends); at.job; ends_next(&at)) {
        if (lease_is_on(at.job->run->lease, number))
            return true;
    }
    return false;
}

static bool is_wanted(const struct scale_plan *plan, uint32_t type)
{
    for (size_t i = 0; i < plan->wishes.count; i++) {
        if (plan->wishes.items[i].type == type)
            return true;
    }
    return false;
}

static void find_idle(struct scaling *scaling)
{
    const struct state *state = scaling->brain->state;

    for (uint32_t i = 0; i < state->nodes.count; i++) {
        const struct node *node = &state->nodes.items[i];
        uint32_t number;
        const struct node_type *type = type_of(state, node, &number);
        if (!type || node->state == NODE_DOWN || scaling->is_promised[i] ||
            is_wanted(scaling->plan, number) || scaling->now - node->used_at < type->idle)
            continue;
        if (is_empty(state, i) && !is_held(scaling->brain, i))
            list_add(&scaling->plan->may_go, i);
    }
}

static void begin(struct scaling *scaling, const struct brain *brain, struct inquiry *inquiry)
{
    scaling->brain = inquiry_follow(inquiry, brain);
    scaling->brain->budgets.count = 0;
    scaling->is_promised = mem_zero(brain->state->nodes.count + 1, sizeof(bool));
    list_jobs(scaling);
}

static void end(struct scaling *scaling)
{
    list_release(&scaling->jobs);
    list_release(&scaling->offers);
    list_release(&scaling->dreams);
    list_release(&scaling->poured);
    free(scaling->is_promised);
}

void sched_scale(const struct brain *brain, struct inquiry *inquiry, usec_t now,
                 struct scale_plan *ret)
{
    struct scaling scaling = { .plan = ret, .now = now };

    *ret = (struct scale_plan){ 0 };
    begin(&scaling, brain, inquiry);
    list_offers(&scaling);
    for (size_t i = 0; i < scaling.offers.count; i++)
        pour(&scaling, &scaling.offers.items[i]);
    find_idle(&scaling);
    end(&scaling);
}

/* ---- nodes on call ---- */

/* Nodes on call that are like each other. */
struct kind {
    uint32_t node, at;           /* the first of them, and its place in the call */
    const struct device *device; /* one of its own; NULL: it has none */
    struct node_type type;
};

struct calling {
    struct scaling scaling;
    struct fleet ahead;
    const struct scale_call *call;
    uint32_t *kind_of; /* of each node of the call: the place of the first of its kind */
    bool *is_wanted;   /* each node of the call */
    bool *is_tried;    /* for single members: the kind */
    uint32_t wanted;
    LIST(uint32_t) usable; /* nodes that are up, without a faulty or drained device */
    LIST(uint32_t) only;   /* nodes to look at */
};

/* What each of them is, in one look at all devices. */
static void describe(const struct state *state, const struct scale_call *call, struct kind *kinds)
{
    AUTO_FREE uint32_t *places = mem_zero(state->nodes.count + 1, sizeof(*places));

    for (uint32_t i = 0; i < call->count; i++) {
        const struct node *node = &state->nodes.items[call->nodes[i]];
        places[call->nodes[i]] = i + 1;
        kinds[i] = (struct kind){ .node = call->nodes[i],
                                  .at = i,
                                  .type = { .cpu_milli = node->cpu_milli,
                                            .memory_mib = node->memory_mib } };
    }
    for (size_t i = 0; i < state->devices.count; i++) {
        const struct device *device = &state->devices.items[i];
        uint32_t place = places[device->node];
        if (place == 0 || device->sick || device->drained || device->is_gone)
            continue;
        struct kind *kind = &kinds[place - 1];
        kind->device = device;
        snprintf(kind->type.model, sizeof(kind->type.model), "%s", device->model);
        kind->type.gpus++;
    }
}

static bool is_alike(const struct state *state, const struct kind *a, const struct kind *b)
{
    const char *labels = a->device ? a->device->labels : NULL;

    return a->type.cpu_milli == b->type.cpu_milli && a->type.memory_mib == b->type.memory_mib &&
           a->type.gpus == b->type.gpus && strcmp(a->type.model, b->type.model) == 0 &&
           string_equal(state->nodes.items[a->node].labels, state->nodes.items[b->node].labels) &&
           string_equal(labels, b->device ? b->device->labels : NULL);
}

static void list_kinds(struct calling *calling)
{
    const struct state *state = calling->scaling.brain->state;
    const struct scale_call *call = calling->call;
    AUTO_FREE struct kind *kinds = mem_zero(call->count + 1, sizeof(*kinds));
    LIST(uint32_t) firsts = { 0 };

    describe(state, call, kinds);
    for (uint32_t i = 0; i < call->count; i++) {
        calling->kind_of[i] = i;
        LIST_EACH (const uint32_t, first, &firsts) {
            if (is_alike(state, &kinds[*first], &kinds[i])) {
                calling->kind_of[i] = *first;
                break;
            }
        }
        if (calling->kind_of[i] == i)
            list_add(&firsts, i);
    }
    list_release(&firsts);
}

static void list_usable(struct calling *calling)
{
    const struct state *state = calling->scaling.brain->state;
    AUTO_FREE bool *is_bad = mem_zero(state->nodes.count + 1, sizeof(bool));

    for (size_t i = 0; i < state->devices.count; i++) {
        const struct device *device = &state->devices.items[i];
        is_bad[device->node] |= device->sick || device->drained || device->is_gone;
    }
    for (uint32_t i = 0; i < state->nodes.count; i++) {
        if (node_is_usable(&state->nodes.items[i]) && !is_bad[i])
            list_add(&calling->usable, i);
    }
}

/* A single member is tried where others did not leave it room: on what is wanted already, then on
 * one more node of each kind. A gang may be spread over all that is there and can be had. */
static void list_only(struct calling *calling, bool is_gang, bool with_more, uint32_t left)
{
    const struct scale_call *call = calling->call;

    calling->only.count = 0;
    memset(calling->is_tried, 0, call->count * sizeof(bool));
    for (size_t i = 0; is_gang && i < calling->usable.count; i++)
        list_add(&calling->only, calling->usable.items[i]);
    for (uint32_t i = 0; i < call->count; i++) {
        if (calling->is_wanted[i])
            list_add(&calling->only, call->nodes[i]);
    }
    for (uint32_t i = 0; with_more && i < call->count && left > 0; i++) {
        bool *is_tried = &calling->is_tried[calling->kind_of[i]];
        if (calling->is_wanted[i] || (!is_gang && *is_tried))
            continue;
        *is_tried = true;
        left -= is_gang;
        list_add(&calling->only, call->nodes[i]);
    }
}

static bool place_there(struct calling *calling, const struct job *job, struct lease *ret)
{
    struct brain *brain = calling->scaling.brain;
    struct place_query query = brain_query_ahead(brain, job, &calling->ahead, PLACE_QUOTA_NONE);

    if (calling->only.count == 0)
        return false;
    query.ignore_health = true;
    query.only = calling->only.items;
    query.only_count = (uint32_t)calling->only.count;
    calling->ahead.ignores_health = true;
    bool is_placed = place_job(&query, &brain->arena, ret, NULL);
    calling->ahead.ignores_health = false;
    return is_placed;
}

/* Places in the call of nodes that are not wanted yet; the number of them. */
static uint32_t count_new(const struct calling *calling, const struct lease *lease, bool *ret_new)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < calling->call->count; i++) {
        ret_new[i] = !calling->is_wanted[i] && lease_is_on(lease, calling->call->nodes[i]);
        count += ret_new[i];
    }
    return count;
}

/* As few more nodes as placement happens to need; if these are too many, as many as may be. */
static bool call_for(struct calling *calling, const struct job *job)
{
    const struct request *request = state_request(calling->scaling.brain->state, job);
    AUTO_FREE bool *is_new = mem_zero(calling->call->count + 1, sizeof(bool));
    uint32_t left = calling->call->most - calling->wanted, count = 0;
    bool is_gang = request->members > 1;
    struct lease lease;

    list_only(calling, is_gang, false, 0);
    bool is_placed = place_there(calling, job, &lease);
    for (int i = 0; i < 2 && !is_placed && left > 0; i++) {
        list_only(calling, is_gang, true, i == 0 ? UINT32_MAX : left);
        is_placed = place_there(calling, job, &lease) &&
                    (count = count_new(calling, &lease, is_new)) <= left;
    }
    if (!is_placed)
        return false;
    fleet_take(&calling->ahead, &lease, 1);
    calling->wanted += count;
    for (uint32_t i = 0; count > 0 && i < calling->call->count; i++)
        calling->is_wanted[i] |= is_new[i];
    return true;
}

/* Room only gets less: of two alike the second finds none where the first did not. */
static void call_for_all(struct calling *calling)
{
    struct scaling *scaling = &calling->scaling;
    uint32_t full = UINT32_MAX, hopeless = UINT32_MAX; /* classes */

    free_by(scaling->brain, scaling->now, &calling->ahead);
    list_zero(&scaling->poured, scaling->brain->state->queues.count);
    LIST_EACH (const struct candidate, candidate, &scaling->jobs) {
        uint32_t class = candidate->job->class;
        if (!may_have(scaling, candidate->job))
            continue;
        if (class != full && finds_room(scaling, &calling->ahead, candidate->job))
            continue;
        full = class;
        if (class != hopeless && !call_for(calling, candidate->job))
            hopeless = class;
    }
}

void sched_want_nodes(const struct brain *brain, struct inquiry *inquiry, usec_t now,
                      const struct scale_call *call, uint32_t *ret_wanted)
{
    struct calling calling = { .scaling = { .now = now }, .call = call };

    memset(ret_wanted, 0, call->count * sizeof(*ret_wanted));
    begin(&calling.scaling, brain, inquiry);
    if (calling.scaling.jobs.count > 0) {
        calling.kind_of = mem_zero(call->count + 1, sizeof(*calling.kind_of));
        calling.is_wanted = mem_zero(call->count + 1, sizeof(bool));
        calling.is_tried = mem_zero(call->count + 1, sizeof(bool));
        list_kinds(&calling);
        list_usable(&calling);
        call_for_all(&calling);
        for (uint32_t i = 0; i < call->count; i++)
            ret_wanted[calling.kind_of[i]] += calling.is_wanted[i];
    }
    fleet_release(&calling.ahead);
    list_release(&calling.usable);
    list_release(&calling.only);
    free(calling.kind_of);
    free(calling.is_wanted);
    free(calling.is_tried);
    end(&calling.scaling);
}

void scale_release(struct scale_plan *plan)
{
    list_release(&plan->wishes);
    list_release(&plan->may_go);
    list_release(&plan->unblocked);
    list_release(&plan->unblocked_by);
}
