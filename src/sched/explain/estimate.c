/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/explain/estimate.h"

#include <assert.h>

#include "base/log2.h"
#include "base/wide.h"
#include "core/job/role.h"
#include "sched/explain/inquiry.h"
#include "sched/explain/list_schedule.h"

enum {
    ASKED_ALONE = 4,    /* so many questions after an event are answered one by one */
    UNCERTAIN_PART = 5, /* a fifth of the work with little history makes an estimate uncertain */
};

/* ---- where they go ---- */

/* What it would take of each kind; of a request without a class it is not kept. */
static const struct shape *shape_for(const struct schedule *walk, const struct job *job,
                                     uint32_t part, uint32_t alternative, struct shape *own)
{
    struct brain *brain = walk->brain;

    if (!walk->request || job != walk->wanted)
        return shape_claim(&brain->shapes, brain->state, &brain->layout, job->class, part,
                           alternative, 0, job->queue);
    shape_describe(own, brain->state, &brain->layout, request_part(walk->request, part),
                   alternative, 0, job->queue, false);
    return own;
}

/* The least of the alternatives of one kind of members; INT64_MAX: nothing serves it now. */
static int64_t describe_part(const struct schedule *walk, const struct job *job, uint32_t part,
                             struct profile_need *need)
{
    const struct request *request = request_part(schedule_request(walk, job), part);
    struct shape own = { 0 };
    int64_t least = 0;

    for (uint32_t k = 0; k < request->gpu_alternatives; k++) {
        const struct shape *shape = shape_for(walk, job, part, k, &own);
        for (size_t i = 0; i < shape->cuts.count; i++) {
            uint8_t lane = walk->estimator->lane_of_kind.items[i];
            int64_t milli =
                (int64_t)shape->cuts.items[i].milli * request->gpus[k].count * request->members;
            if (milli == 0 || lane == NO_LANE)
                continue;
            need->serves |= 1u << lane;
            least = least == 0 || milli < least ? milli : least;
        }
    }
    shape_release(&own);
    return request->gpu_alternatives > 0 && least == 0 ? INT64_MAX : least;
}

/* Roles are taken together: what one of them may have, all may. */
static void describe_gpus(const struct schedule *walk, const struct job *job,
                          struct profile_need *need)
{
    const struct request *request = schedule_request(walk, job);

    for (uint32_t i = 0; i < request_parts(request); i++) {
        int64_t milli = describe_part(walk, job, i, need);
        need->gpu = milli < INT64_MAX - need->gpu ? need->gpu + milli : INT64_MAX;
    }
}

static const struct profile_need *need_of(struct schedule *walk, struct estimate_entry *entry)
{
    struct estimator *estimator = walk->estimator;
    const struct job *job = entry->next;
    const struct request *request = schedule_request(walk, job);

    if (entry->need > 0)
        return &estimator->needs.items[entry->need - 1];
    struct profile_need need = { .run = schedule_run_of(walk, job, 0) };
    need.is_thin = estimator->is_thin;
    describe_gpus(walk, job, &need);
    need.amount[LANE_CPU] = request_cpus(request);
    need.amount[LANE_MEMORY] = request_memory(request);
    schedule_add_queues(walk, job->queue, need.gpu < INT64_MAX ? need.gpu : 0, need.amount);
    if (walk->array != 0 && schedule_is_in_array(walk->brain->state, job, walk->array))
        need.amount[LANE_ARRAY] = 1;
    list_add(&estimator->needs, need);
    entry->need = (uint32_t)estimator->needs.count;
    return &estimator->needs.items[entry->need - 1];
}

/* Of the GPUs that it may use, or of the CPUs, in parts of 2^20. */
static uint32_t share_of(const struct schedule *walk, const struct profile_need *need)
{
    int64_t gpus = 0, cpus = walk->brain->state->capacity.cpu_milli;

    for (size_t i = 0; i < PROFILE_GPU_LANES; i++)
        gpus += need->serves >> i & 1 ? walk->estimator->capacity[i] : 0;
    int64_t gpu = gpus > 0 && need->gpu <= gpus ? need->gpu * QUEUE_SHARE_ONE / gpus : 0;
    int64_t cpu = cpus > 0 ? need->amount[LANE_CPU] * QUEUE_SHARE_ONE / cpus : 0;
    return (uint32_t)(gpu > cpu ? gpu : cpu);
}

static void charge(struct schedule *walk, uint32_t queue, uint32_t share, int64_t milli)
{
    for (uint32_t at = queue; at != QUEUE_NONE && walk->line_count > 1;
         at = queue_above(walk->brain->state->queues.items, at)) {
        walk->estimator->extra_share.items[at] += share;
        walk->estimator->extra_milli.items[at] += milli < INT64_MAX ? milli : 0;
    }
}

/* When the hours come that it waits for; 0: it waits for none. */
static usec_t hours_of(const struct state *state, const struct job *job)
{
    const struct why *why = job->pending_bucket ? &job->pending_bucket->why : NULL;

    if (!why || !why_is_of_time(why->kind) || why->at == 0)
        return 0;
    const struct window *window =
        why->kind == WHY_WINDOW ? state->agenda.windows.items[why->window] : NULL;
    if (!window || window_at(window, state->now, NULL))
        return why->at;
    return window_next_edge(window, why->at); /* it begins then, and has to end first */
}

/* A job that waits for room starts at the earliest when another job releases resources. */
static usec_t earliest_of(const struct schedule *walk, const struct job *job)
{
    const struct state *state = walk->brain->state;
    usec_t hours = hours_of(state, job);
    usec_t ready = hours > job->begin ? hours : job->begin;

    return ready > schedule_now(walk) ? ready : walk->from;
}

static usec_t place(struct schedule *walk, const struct job *job, const struct profile_need *need)
{
    usec_t from = earliest_of(walk, job);
    uint32_t share = share_of(walk, need);

    charge(walk, job->queue, share, need->gpu);
    if (walk->placed++ < ESTIMATE_PLACED) {
        usec_t start = from == USEC_NEVER || need->gpu == INT64_MAX
                           ? USEC_NEVER
                           : profile_find(&walk->estimator->profile, need, from);
        if (start == USEC_NEVER)
            return start;
        assert(start >= schedule_now(walk));
        profile_take(&walk->estimator->profile, need, start);
        walk->behind = start > walk->behind ? start : walk->behind;
        return start;
    }
    usec_t start = walk->behind;
    usec_t work = need->run == USEC_NEVER
                      ? 0
                      : (usec_t)wide_scale((uint64_t)need->run, share, QUEUE_SHARE_ONE);
    walk->behind += work < USEC_NEVER / 4 - walk->behind ? work : 0;
    return start > from ? start : from;
}

/* From now on, in order, up to the job that is wanted. USEC_NEVER: open-ended. */
static usec_t go(struct schedule *walk, struct pending_bucket *candidate)
{
    struct estimator *estimator = walk->estimator;

    if (walk->mode == SCHEDULE_EXPECTED)
        estimator->thin = estimator->weighed = 0;
    schedule_refresh(walk->brain);
    schedule_start_profile(walk);
    walk->from =
        estimator->profile.steps.count > 1 ? estimator->profile.steps.items[1].at : USEC_NEVER;
    walk->behind = schedule_now(walk);
    schedule_start_lines(walk, candidate);
    while (walk->line_count > 0) {
        uint32_t number = schedule_next_line(walk);
        struct estimate_entry *top = &estimator->lines.items[number].heap.items[0];
        const struct job *job = top->next;
        if (candidate && job != walk->wanted && job->id == walk->wanted->id) {
            schedule_advance(walk, number); /* what it would be instead of */
            continue;
        }
        if (walk->mode == SCHEDULE_EXPECTED) /* its own run time does not matter to its start */
            estimator->is_uncertain = estimator->thin * UNCERTAIN_PART > estimator->weighed;
        struct profile_need need = *need_of(walk, top);
        schedule_weigh(walk, need.gpu, need.run, need.is_thin);
        usec_t start = place(walk, job, &need);
        if (job == walk->wanted)
            return start;
        bool is_doubtful = walk->mode == SCHEDULE_EXPECTED && estimator->is_uncertain;
        if (!walk->wanted)
            map_set(&estimator->starts[walk->mode], job->id, (uint64_t)start << 1 | is_doubtful);
        schedule_advance(walk, number);
    }
    return USEC_NEVER;
}

static usec_t walk_to(struct brain *brain, const struct estimate_ask *wanted,
                      enum schedule_mode mode)
{
    struct estimator *estimator = &brain->estimator;
    struct schedule walk = { .brain = brain, .estimator = estimator, .mode = mode };
    const struct job *job = wanted->job;
    struct pending_bucket *candidate = wanted->bucket;
    const struct pending_bucket *bucket = candidate ? candidate : job->pending_bucket;
    uint64_t found;

    walk.array = bucket->array;
    walk.wanted = job;
    walk.request = wanted->request;
    if (candidate || bucket->array != 0 ||
        (estimator->asked < ASKED_ALONE && !estimator->is_known[mode]))
        return go(&walk, candidate);
    if (!estimator->is_known[mode]) {
        walk.wanted = NULL;
        go(&walk, NULL);
        estimator->is_known[mode] = true;
    }
    bool is_in = map_get(&estimator->starts[mode], job->id, &found);
    if (mode == SCHEDULE_EXPECTED)
        estimator->is_uncertain = is_in && found & 1;
    return is_in ? (usec_t)(found >> 1) : USEC_NEVER;
}

/* ---- what is said ---- */

static usec_t now_of(const struct brain *brain)
{
    return brain->estimator.now > brain->state->now ? brain->estimator.now : brain->state->now;
}

static usec_t wait_from(usec_t now, usec_t at)
{
    return at == USEC_NEVER ? at : at > now ? at - now : 0;
}

/* When its promise says; 0: it has none. */
static usec_t promised_at(const struct brain *brain, const struct job *job)
{
    const struct promise *promise =
        job->pending_bucket ? promise_of(&brain->reserve.promises, job->id) : NULL;

    return promise ? promise->at : 0;
}

/* The promise holds whatever happens where it goes by limits; elsewhere it is a guess, too. */
static usec_t base_wait(struct brain *brain, const struct estimate_ask *wanted,
                        usec_t *ret_promised)
{
    const struct state *state = brain->state;
    usec_t promised = wanted->bucket ? 0 : promised_at(brain, wanted->job);
    usec_t at = walk_to(brain, wanted, SCHEDULE_EXPECTED);

    /* A promise by predicted run times that has passed was wrong: it says nothing any more. */
    if (brain->estimator.is_asked && state->settings.predict && promised <= now_of(brain))
        promised = 0;
    *ret_promised = promised > 0 && promised != USEC_NEVER ? promised : 0;
    if (*ret_promised > 0 && (!state->settings.predict || at == USEC_NEVER || at > *ret_promised))
        at = *ret_promised;
    return wait_from(now_of(brain), at);
}

/* The geometric mean of two waits, with a second more: nothing says which of them is nearer. */
static usec_t between(usec_t a, usec_t b)
{
    const usec_t tick = USEC_PER_SEC / 1000;

    if (b == USEC_NEVER)
        return a;
    int64_t ms = log2_power((log2_of(a / tick + 1000) + log2_of(b / tick + 1000)) / 2) - 1000;
    return ms > 0 ? ms * tick : 0;
}

/* Few scores, or few comparable runs: all that short and long run times would give. */
static void widen(struct brain *brain, const struct estimate_ask *wanted, usec_t wait,
                  struct start_estimate *ret)
{
    usec_t now = now_of(brain), soon = walk_to(brain, wanted, SCHEDULE_SOON);
    usec_t late = walk_to(brain, wanted, SCHEDULE_LATE);

    ret->low = soon < ret->low ? soon : ret->low;
    ret->high = late > ret->high ? late : ret->high;
    if (brain->estimator.is_uncertain)
        ret->median = usec_after(now, between(wait, wait_from(now, late)));
    ret->median = ret->median < ret->high ? ret->median : ret->high;
    ret->low = ret->low < ret->median ? ret->low : ret->median;
}

void estimate_start(struct brain *brain, const struct estimate_ask *wanted,
                    struct start_estimate *ret)
{
    const struct state *state = brain->state;
    struct calibration_range range;
    usec_t now = now_of(brain), promised;

    usec_t wait = base_wait(brain, wanted, &promised);
    usec_t by_limits = walk_to(brain, wanted, SCHEDULE_LIMITS);
    brain->estimator.asked++;
    if (promised > 0 && !state->settings.predict)
        by_limits = promised;
    *ret = (struct start_estimate){ .limits_only = by_limits, .is_open = by_limits == USEC_NEVER };
    if (wait == USEC_NEVER) {
        ret->low = now;
        ret->median = ret->high = USEC_NEVER;
        return;
    }
    calibration_range(&state->calibration, wait, brain->pending.count > 1, &range);
    if (wait == 0)
        range = (struct calibration_range){ 0 };
    ret->low = usec_after(now, range.low);
    ret->median = usec_after(now, range.count > 0 ? range.median : wait);
    ret->high = usec_after(now, range.high);
    if (wait > 0 && (brain->estimator.is_uncertain || range.count < ESTIMATE_SCORES))
        widen(brain, wanted, wait, ret);
    if (promised > 0 && !state->settings.predict) {
        ret->high = promised;
        ret->median = ret->median < promised && range.count > 0 ? ret->median : promised;
        ret->low = ret->low < ret->median ? ret->low : ret->median;
    }
    assert(ret->low <= ret->median && ret->median <= ret->high);
}

bool sched_estimate_start(const struct brain *brain, struct inquiry *inquiry, const struct job *job,
                          struct start_estimate *ret)
{
    if (job->state == JOB_QUEUED) {
        if (!job_can_start(brain->state, job))
            return false;
        estimate_start(inquiry_follow(inquiry, brain), &(struct estimate_ask){ .job = job }, ret);
        return true;
    }
    if (job->state != JOB_WAITING || job->needs_left > 0)
        return false;
    struct job alone = *job;
    alone.pending_next = NULL;
    struct pending_bucket candidate = { .queue = job->queue,
                                        .class = job->class,
                                        .priority = job->priority,
                                        .max_duration = job->max_duration,
                                        .estimate = job->estimate,
                                        .first = &alone,
                                        .last = &alone,
                                        .count = 1 };
    run_time_bucket(brain->state, &candidate);
    estimate_start(inquiry_follow(inquiry, brain),
                   &(struct estimate_ask){ .job = &alone, .bucket = &candidate }, ret);
    return true;
}

void estimate_note(struct brain *brain, struct decisions *decisions)
{
    const struct state *state = brain->state;
    uint64_t one_in =
        (brain->pending.count / ESTIMATE_NOTED + 1) * (brain->ends.count / ESTIMATE_OFTEN + 1);
    uint32_t noted = 0;

    for (struct job *job = state->last_job; job && job->id >= state->plan_from;
         job = job->previous) {
        usec_t promised;
        uint64_t number = job->id * UINT64_C(0x9e3779b97f4a7c15) >> 32;
        if (job->state != JOB_QUEUED || job->run->attempt > 0 || job->run->foreseen_at > 0 ||
            number % one_in != 0)
            continue;
        usec_t wait = base_wait(brain, &(struct estimate_ask){ .job = job }, &promised);
        if (wait == USEC_NEVER)
            continue;
        struct event foresee = {
            .kind = EVENT_FORESEE,
            .at = state->now,
            .foresee = { .job = job->id, .wait = wait, .is_busy = brain->pending.count > 1 },
        };
        brain_decide(brain, &foresee, decisions);
        if (++noted == ESTIMATE_AT_ONCE)
            return;
    }
}
