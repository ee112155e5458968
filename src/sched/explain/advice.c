/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/explain/advice.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "sched/explain/inquiry.h"
#include "sched/explain/openings.h"
#include "sched/grant.h"
#include "sched/ordering/quota_check.h"

enum {
    MODELS_MOST = 8,
    QUEUES_MOST = 32,
    MUCH_EARLIER = 2,       /* waits at most half as long */
    LIMIT_SLACK_PART = 100, /* of a shorter limit, for the time until it is submitted */
};

/* A hypothetical job that is not pending: a changed copy of a job, or one not submitted yet. */
struct stranger {
    struct inquiry *inquiry;
    struct job job;
    uint32_t class; /* in the inquiry's own brain */
    const struct request *request;
    struct pending_bucket bucket;
};

static void make_stranger(struct inquiry *inquiry, struct stranger *stranger,
                          const struct job *like, const struct request *request)
{
    stranger->inquiry = inquiry;
    stranger->job = *like;
    stranger->class = class_claim(&inquiry->classes, request);
    stranger->request = class_request(&inquiry->classes, stranger->class);
    stranger->job.pending_next = stranger->job.pending_previous = NULL;
    stranger->job.pending_bucket = NULL;
    if (stranger->job.estimate > stranger->job.max_duration)
        stranger->job.estimate = stranger->job.max_duration;
    stranger->bucket = (struct pending_bucket){
        .queue = like->queue,
        .priority = like->priority,
        .max_duration = like->max_duration,
        .estimate = like->estimate,
        .array = like->pending_bucket ? like->pending_bucket->array : 0,
        .first = &stranger->job,
        .last = &stranger->job,
        .count = 1,
    };
    run_time_bucket_for(inquiry->own.state, stranger->request, &stranger->bucket);
}

static void drop_stranger(const struct stranger *stranger)
{
    class_release(&stranger->inquiry->classes, stranger->class);
}

/* A copy that may be written to, but for the lease. */
static struct promise promise_in(struct arena *arena, const struct layout *layout,
                                 const struct promise *promise)
{
    struct promise copy = *promise;

    copy.spots.items = arena_take(arena, promise->spots.count + 1, sizeof(copy.spots.items[0]));
    for (size_t i = 0; i < promise->spots.count; i++) {
        struct promise_spot *spot = &copy.spots.items[i];
        *spot = promise->spots.items[i];
        size_t slots = layout->nodes.items[spot->node].count;
        spot->slots = arena_take(arena, slots + 1, sizeof(spot->slots[0]));
        memcpy(spot->slots, promise->spots.items[i].slots, slots * sizeof(spot->slots[0]));
    }
    copy.pools.items = arena_take(arena, promise->pools.count + 1, sizeof(copy.pools.items[0]));
    mem_copy(copy.pools.items, promise->pools.items,
             promise->pools.count * sizeof(copy.pools.items[0]));
    return copy;
}

/* The promises of all others, as a list of our own. */
static void promises_of_others(struct brain *own, uint64_t job, struct promises *ret)
{
    const struct promises *all = &own->reserve.promises;

    *ret = (struct promises){ .from = all->from };
    ret->held.items = arena_take(&own->arena, all->count + 1, sizeof(struct promise));
    for (size_t i = 0; i < all->count; i++) {
        if (all->held.items[i].job != job)
            ret->held.items[ret->count++] =
                promise_in(&own->arena, &own->layout, &all->held.items[i]);
    }
    ret->held.count = ret->count;
}

/* Without backfill, no job may pass another: only the first in order starts. */
static bool is_barred(const struct brain *brain, const struct stranger *stranger)
{
    const struct job *waiting = state_job(brain->state, stranger->job.id);

    return brain->state->settings.backfill_depth == 0 && brain->pending.count > 0 &&
           (!waiting || !waiting->pending_bucket ||
            waiting->pending_bucket->why.kind == WHY_BEHIND);
}

static bool fits_now(const struct stranger *stranger)
{
    struct brain *brain = &stranger->inquiry->own;
    const struct state *state = brain->state;
    const struct group *array = state_group(state, stranger->bucket.array);
    usec_t window = stranger->bucket.most;
    usec_t end = usec_after(state->now, window);
    struct quota_ask ask = quota_ask_of(&stranger->job);
    struct reserved_share_ask turn = { stranger->job.id, stranger->job.queue, &ask.amounts, end };
    struct promises promises;
    struct lease lease;
    struct why why;

    quota_least(state, stranger->request, &ask.amounts);
    if ((array && array->active_count >= array->max_running) || is_barred(brain, stranger) ||
        !brain_rules_allow(brain, &stranger->job, &ask, &why) ||
        !reserved_share_allows(&brain->reserved_shares, state, &turn, &why))
        return false;
    arena_clear(&brain->arena);
    promises_of_others(brain, stranger->job.id, &promises);
    struct place_query query = brain_query_for(brain, &stranger->job, stranger->request);
    query.shapes = NULL;
    query.promises = &promises;
    query.end = end;
    return place_job(&query, &brain->arena, &lease, &why) &&
           brain_may_have(brain, &stranger->job, &lease, &why);
}

static bool starts_now(struct inquiry *inquiry, const struct job *like,
                       const struct request *request)
{
    struct stranger stranger;

    make_stranger(inquiry, &stranger, like, request);
    bool fits = fits_now(&stranger);
    drop_stranger(&stranger);
    return fits;
}

bool sched_estimate_like(const struct brain *brain, struct inquiry *inquiry, const struct job *like,
                         const struct request *request, struct start_estimate *ret_estimate)
{
    struct brain *own = inquiry_follow(inquiry, brain);
    usec_t now = own->state->now;
    struct stranger stranger;

    make_stranger(inquiry, &stranger, like, request);
    bool fits = like->begin <= now && fits_now(&stranger);
    if (fits)
        *ret_estimate =
            (struct start_estimate){ .low = now, .median = now, .high = now, .limits_only = now };
    else
        estimate_start(own,
                       &(struct estimate_ask){ &stranger.job, stranger.request, &stranger.bucket },
                       ret_estimate);
    drop_stranger(&stranger);
    return fits;
}

/* ---- what to try ---- */

struct advising {
    const struct brain *brain;
    struct inquiry *inquiry;
    const struct job *job;
    const struct request *request;
    struct start_estimate as_it_is;
    struct advice *advices;
    size_t count;
};

static struct advice as_it_is(const struct advising *advising, enum advice_kind kind)
{
    return (struct advice){ .kind = kind,
                            .is_now = true,
                            .start = advising->brain->state->now,
                            .request = *advising->request,
                            .queue = advising->job->queue,
                            .max_duration = advising->job->max_duration };
}

static bool is_good(const struct advising *advising, const struct advice *advice)
{
    struct job changed = *advising->job;

    changed.queue = advice->queue;
    changed.max_duration = advice->max_duration;
    if (changed.estimate > changed.max_duration)
        changed.estimate = changed.max_duration;
    return starts_now(advising->inquiry, &changed, &advice->request);
}

static bool try_now(struct advising *advising, const struct advice *advice)
{
    bool is = is_good(advising, advice);

    if (is && advising->count < ADVICES_MAX)
        advising->advices[advising->count++] = *advice;
    return is;
}

/* It would not start now; would it start much earlier? */
static void try_later(struct advising *advising, struct advice *advice)
{
    usec_t now = advising->brain->state->now, median = advising->as_it_is.median;
    struct start_estimate estimate;

    if (advising->count == ADVICES_MAX ||
        sched_estimate_like(advising->brain, advising->inquiry, advising->job, &advice->request,
                            &estimate) ||
        estimate.median == USEC_NEVER ||
        (median != USEC_NEVER && (estimate.median - now) * MUCH_EARLIER > median - now))
        return;
    advice->is_now = false;
    advice->start = estimate.median;
    advising->advices[advising->count++] = *advice;
}

static bool set_gpus(struct request *request, uint16_t count)
{
    bool is_less = false;

    for (uint32_t i = 0; i < request->gpu_alternatives; i++) {
        is_less |= request->gpus[i].count > count;
        if (request->gpus[i].count > count)
            request->gpus[i].count = count;
    }
    return is_less;
}

/* The largest count that is enough: what fits with more fits with fewer. */
static void try_gpus(struct advising *advising)
{
    struct advice advice = as_it_is(advising, ADVICE_GPUS), found;
    uint16_t most = 0;

    for (uint32_t i = 0; i < advice.request.gpu_alternatives; i++)
        most = advice.request.gpus[i].count > most ? advice.request.gpus[i].count : most;
    uint16_t low = 0, high = most;
    while (high - low > 1) {
        uint16_t middle = (uint16_t)((low + high) / 2);
        advice.request = *advising->request;
        if (set_gpus(&advice.request, middle) && is_good(advising, &advice)) {
            low = middle;
            found = advice;
        } else {
            high = middle;
        }
    }
    if (low > 0) {
        advising->advices[advising->count++] = found;
        return;
    }
    advice.request = *advising->request;
    if (most > 1 && set_gpus(&advice.request, most / 2))
        try_later(advising, &advice);
}

/* Whether what repeats leaves no time for it. */
static bool why_is_for_ever(const struct advising *advising)
{
    return sched_first_opening(advising->brain, advising->inquiry, advising->job,
                               advising->brain->state->now, NULL) == USEC_NEVER;
}

/* A limit that ends in time, with some slack; 0: there is none that is shorter than now. */
static usec_t limit_within(const struct advising *advising, usec_t time)
{
    if (time == USEC_NEVER)
        return 0;
    usec_t limit = time - time / LIMIT_SLACK_PART - USEC_PER_SEC;

    limit -= limit % USEC_PER_SEC;
    return limit >= USEC_PER_SEC && limit < advising->job->max_duration ? limit : 0;
}

static void try_limit_until(struct advising *advising, struct advice *advice, usec_t at,
                            usec_t *best)
{
    usec_t now = advising->brain->state->now;
    usec_t limit = at > now ? limit_within(advising, at == USEC_NEVER ? at : at - now) : 0;

    if (limit <= *best)
        return;
    advice->max_duration = limit;
    *best = is_good(advising, advice) ? limit : *best;
}

/* Ends that are early enough for those in front, and for windows and reservations. The longest that
 * is enough; else one that fits between what repeats. */
static void try_limit(struct advising *advising)
{
    const struct brain *brain = &advising->inquiry->own;
    const struct promises *promises = &brain->reserve.promises;
    struct advice advice = as_it_is(advising, ADVICE_LIMIT);
    struct sched_edges edges;
    usec_t best = 0;

    for (size_t i = 0; i < promises->count; i++)
        try_limit_until(advising, &advice, promises->held.items[i].at, &best);
    for (size_t i = 0; i < brain->reserved_shares.count; i++)
        try_limit_until(advising, &advice, brain->reserved_shares.items[i].at, &best);
    sched_next_edges(advising->brain, advising->inquiry, advising->job, &edges);
    for (uint32_t i = 0; i < edges.count; i++)
        try_limit_until(advising, &advice, edges.at[i], &best);
    advice.is_now = best > 0;
    if (best == 0 && why_is_for_ever(advising))
        best = limit_within(advising, edges.longest_gap);
    advice.max_duration = best;
    if (best > 0)
        advising->advices[advising->count++] = advice;
}

static bool names_model(const struct request *request, const char *model)
{
    for (uint32_t i = 0; i < request->gpu_alternatives; i++) {
        if (strcmp(request->gpus[i].model, model) == 0)
            return true;
    }
    return false;
}

static void try_models(struct advising *advising)
{
    const struct brain *brain = &advising->inquiry->own;
    const struct request *request = advising->request;
    const char *tried[MODELS_MOST];
    size_t count = 0;

    if (request->gpu_alternatives == 0 || names_model(request, ""))
        return;
    for (size_t i = 0; i < brain->layout.kinds.count && count < MODELS_MOST; i++) {
        const struct device *device =
            &brain->state->devices.items[brain->layout.kinds.items[i].device];
        bool is_new = !names_model(request, device->model);
        for (size_t k = 0; k < count; k++)
            is_new &= strcmp(tried[k], device->model) != 0;
        if (!is_new)
            continue;
        tried[count++] = device->model;
        struct advice advice = as_it_is(advising, ADVICE_MODEL);
        memset(&advice.request.gpus[1], 0,
               sizeof(advice.request.gpus) - sizeof(advice.request.gpus[0]));
        advice.request.gpu_alternatives = 1;
        memset(advice.request.gpus[0].model, 0, sizeof(advice.request.gpus[0].model));
        snprintf(advice.request.gpus[0].model, sizeof(advice.request.gpus[0].model), "%s",
                 device->model);
        if (try_now(advising, &advice))
            return;
    }
}

static void try_nodes(struct advising *advising)
{
    const struct request *request = advising->request;
    uint32_t each = request->members / (request->nodes_min > 0 ? request->nodes_min : 1);

    if (request->nodes_min < 2 || each * request->nodes_min != request->members)
        return;
    /* By halves: a placement of a gang over many nodes is dear. */
    for (uint32_t nodes = request->nodes_min / 2; nodes > 0; nodes /= 2) {
        struct advice advice = as_it_is(advising, ADVICE_NODES);
        advice.request.nodes_min = advice.request.nodes_max = nodes;
        advice.request.members = each * nodes;
        if (try_now(advising, &advice))
            return;
    }
}

/* Whole CPUs, or whole GiB, down by halves. */
static void try_beside(struct advising *advising, enum advice_kind kind)
{
    struct advice advice = as_it_is(advising, kind);
    int64_t *amount = kind == ADVICE_CPUS ? &advice.request.cpu_milli : &advice.request.memory_mib;
    int64_t unit = kind == ADVICE_CPUS ? 1000 : 1024, low = 0, high = (*amount + unit - 1) / unit;

    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        *amount = middle * unit;
        if (is_good(advising, &advice))
            low = middle;
        else
            high = middle;
    }
    *amount = low * unit;
    if (low > 0 && advising->count < ADVICES_MAX)
        advising->advices[advising->count++] = advice;
}

static void try_pools(struct advising *advising)
{
    const struct state *state = advising->brain->state;
    struct advice advice = as_it_is(advising, ADVICE_POOL);

    if (!advising->request->pool[0])
        return;
    memset(advice.request.pool, 0, sizeof(advice.request.pool));
    if (try_now(advising, &advice))
        return;
    for (size_t i = 0; i < state->pools.count && i < QUEUES_MOST; i++) {
        const struct pool *pool = &state->pools.items[i];
        if (pool->is_removed || strcmp(pool->name, advising->request->pool) == 0)
            continue;
        memset(advice.request.pool, 0, sizeof(advice.request.pool));
        snprintf(advice.request.pool, sizeof(advice.request.pool), "%s", pool->name);
        if (try_now(advising, &advice))
            return;
    }
}

/* All: the user may not be allowed to submit to the first. */
static void try_queues(struct advising *advising)
{
    const struct state *state = advising->brain->state;
    struct advice advice = as_it_is(advising, ADVICE_QUEUE);

    for (uint32_t i = QUEUE_DEFAULT; i < state->queues.count && i < QUEUES_MOST; i++) {
        const struct queue *queue = &state->queues.items[i];
        if (queue->is_removed || queue->child_count > 0 || i == advising->job->queue)
            continue;
        advice.queue = i;
        try_now(advising, &advice);
    }
}

size_t sched_advise(const struct brain *brain, struct inquiry *inquiry, const struct job *job,
                    struct advice advices[ADVICES_MAX])
{
    struct advising advising = {
        .brain = brain, .inquiry = inquiry, .job = job, .advices = advices
    };

    if (job->state != JOB_QUEUED || why_is_never(job->pending_bucket->why.kind))
        return 0;
    inquiry_follow(inquiry, brain);
    enum why_kind kind = job->pending_bucket->why.kind;
    advising.request = state_request(brain->state, job);
    if (!sched_estimate_start(brain, inquiry, job, &advising.as_it_is))
        return 0;
    bool is_alike = advising.request->roles_count == 0; /* roles are not ours to change */
    if (is_alike)
        try_gpus(&advising);
    try_limit(&advising);
    if (is_alike)
        try_models(&advising);
    if (is_alike)
        try_nodes(&advising);
    if (is_alike && (kind == WHY_CPUS || advising.request->gpu_alternatives == 0))
        try_beside(&advising, ADVICE_CPUS);
    if (is_alike && advising.request->memory_mib > 0)
        try_beside(&advising, ADVICE_MEMORY);
    try_pools(&advising);
    try_queues(&advising);
    assert(advising.count <= ADVICES_MAX);
    return advising.count;
}
