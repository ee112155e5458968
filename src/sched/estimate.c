/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/estimate.h"

#include <stdlib.h>
#include <string.h>

#include "base/wide.h"
#include "sched/brain.h"

enum {
    LANE_CPU = PROFILE_GPU_LANES,
    LANE_MEMORY,
    LANE_QUEUE, /* limited queues, four */
    LANE_ARRAY = PROFILE_LANES - 1,
    NO_LANE = UINT8_MAX,
    RUNNING_WHOLE = 2048,          /* running jobs that a walk to the end looks at */
    CHARGE_AHEAD_MS = 3600 * 1000, /* as order.c has it */
};

struct estimate_entry {
    struct rank_entry rank;
    const struct job *next;
    uint32_t need; /* place in needs, plus one */
};

struct estimate_line {
    LIST(struct estimate_entry) heap;
};

/* ---- what there is, and who has it ---- */

void estimator_forget(struct estimator *estimator)
{
    estimator->is_known[0] = estimator->is_known[1] = false;
    estimator->asked = 0;
}

void estimator_release(struct estimator *estimator)
{
    for (size_t i = 0; i < estimator->lines.count; i++)
        list_release(&estimator->lines.items[i].heap);
    list_release(&estimator->lines);
    list_release(&estimator->needs);
    list_release(&estimator->releases);
    list_release(&estimator->lane_of_kind);
    list_release(&estimator->offers);
    list_release(&estimator->extra_share);
    list_release(&estimator->extra_milli);
    profile_release(&estimator->profile);
    map_release(&estimator->starts[0]);
    map_release(&estimator->starts[1]);
}

static void add_lease(const struct estimator *estimator, const struct layout *layout,
                      const struct lease *lease, int64_t sign, int64_t *amounts)
{
    for (uint32_t i = 0; i < lease->slices_count; i++) {
        uint32_t slot = layout->slot_of_device.items[lease->slices[i].device];
        uint8_t lane = estimator->lane_of_kind.items[layout->slots.items[slot].kind];
        if (lane != NO_LANE)
            amounts[lane] += sign * (int64_t)lease->slices[i].milli;
    }
    amounts[LANE_CPU] += sign * lease->cpu_milli * lease->members_count;
    amounts[LANE_MEMORY] += sign * lease->memory_mib * lease->members_count;
}

void estimator_lease(struct estimator *estimator, const struct layout *layout,
                     const struct lease *lease, int sign)
{
    if (estimator->layout == layout->version && estimator->layout != 0)
        add_lease(estimator, layout, lease, sign, estimator->held);
}

/* Kinds in lanes; beyond PROFILE_GPU_LANES kinds the last lane has several. */
static void refresh(struct brain *brain)
{
    struct estimator *estimator = &brain->estimator;
    const struct layout *layout = &brain->layout;
    struct ends_walk walk = { .ends = &brain->ends };
    uint8_t next = 0;

    if (estimator->layout == layout->version)
        return;
    estimator->layout = layout->version;
    estimator->lane_of_kind.count = 0;
    memset(estimator->capacity, 0, sizeof(estimator->capacity));
    memset(estimator->held, 0, sizeof(estimator->held));
    for (size_t i = 0; i < layout->kinds.count; i++) {
        const struct layout_kind *kind = &layout->kinds.items[i];
        const struct device *device = &brain->state->devices.items[kind->device];
        uint8_t lane = NO_LANE;
        if (kind->slots > 0 && device_is_usable(brain->state, device)) {
            lane = next;
            if (next < PROFILE_GPU_LANES - 1)
                next++;
            estimator->capacity[lane] += (int64_t)kind->slots * GPU_MILLI;
        }
        list_add(&estimator->lane_of_kind, lane);
    }
    for (const struct ends_entry *entry = ends_next(&walk); entry; entry = ends_next(&walk))
        add_lease(estimator, layout, entry->job->lease, 1, estimator->held);
}

/* ---- a walk ---- */

struct walk {
    struct brain *brain;
    struct estimator *estimator;
    const struct job *wanted; /* NULL: all */
    uint64_t array;           /* that bounds it; 0: none */
    usec_t from;              /* nobody who waits starts before */
    usec_t ready;             /* nor the one who is wanted */
    usec_t behind;            /* when all that were placed have started */
    uint32_t placed;
    uint32_t line_count; /* with somebody in it */
    uint32_t last_line;
    bool by_limits;
};

/* Run time from its start on; elapsed: of that. USEC_NEVER: nobody can tell. */
static usec_t run_of(const struct walk *walk, const struct job *job, usec_t elapsed)
{
    const struct state *state = walk->brain->state;
    usec_t limit = job->max_duration;
    struct history_job described;
    struct history_guess guess;

    if (walk->by_limits)
        return limit;
    usec_t known = job->estimate > 0 ? job->estimate - job->attained : 0;
    known += job->attained > 0 ? job->restart_cost : 0;
    if (known > elapsed)
        return known < limit ? known : limit;
    if (!state->settings.predict)
        return limit;
    state_describe(state, job, &described);
    history_guess(&state->history, &described, &guess);
    if (!guess.is_known)
        return limit;
    usec_t run = history_quantile(&state->history, &described, job->attained + elapsed, 50);
    if (run == USEC_NEVER || run - job->attained > limit)
        return limit;
    return run - job->attained;
}

static usec_t end_of(const struct walk *walk, const struct job *job)
{
    usec_t now = walk->brain->state->now;
    usec_t start = job->started >= job->granted ? job->started : job->granted;

    if (job->state == JOB_STOPPING)
        return now + 1;
    usec_t run = run_of(walk, job, now - start);
    if (run >= USEC_NEVER - start)
        return USEC_NEVER;
    return start + run > now ? start + run : now + 1;
}

static bool is_in_array(const struct state *state, const struct job *job, uint64_t array)
{
    for (const struct group *group = state_group(state, job->group); group;
         group = state_group(state, group->parent)) {
        if (group->id == array)
            return true;
    }
    return false;
}

/* Limited queues that it counts for. */
static void add_queues(const struct walk *walk, uint32_t queue, int64_t milli, int64_t *amounts)
{
    const struct state *state = walk->brain->state;

    for (uint32_t at = queue; at != QUEUE_ROOT; at = state->queues.items[at].parent) {
        for (size_t lane = LANE_QUEUE; lane < LANE_ARRAY; lane++)
            amounts[lane] += walk->estimator->lane_queues[lane] == at ? milli : 0;
    }
}

static int compare_releases(const void *a, const void *b)
{
    const struct estimate_release *left = a, *right = b;

    return (left->at > right->at) - (left->at < right->at);
}

static void add_running(struct walk *walk)
{
    struct estimator *estimator = walk->estimator;
    const struct brain *brain = walk->brain;
    struct ends_walk ends = { .ends = &brain->ends };
    size_t most = walk->wanted ? ESTIMATE_RUNNING : RUNNING_WHOLE;
    size_t each = (brain->ends.count + most - 1) / most, number = 0;

    estimator->releases.count = 0;
    for (const struct ends_entry *entry = ends_next(&ends); entry; entry = ends_next(&ends)) {
        const struct job *job = entry->job;
        struct estimate_release release = { 0 };
        if (each > 1 && number++ % each != each / 2)
            continue;
        release.at = end_of(walk, job);
        add_lease(estimator, &brain->layout, job->lease, (int64_t)(each > 1 ? each : 1),
                  release.amounts);
        add_queues(walk, job->queue, job->lease->milli, release.amounts);
        if (walk->array != 0 && is_in_array(brain->state, job, walk->array))
            release.amounts[LANE_ARRAY] = 1;
        list_add(&estimator->releases, release);
    }
    if (estimator->releases.count > 0)
        qsort(estimator->releases.items, estimator->releases.count,
              sizeof(estimator->releases.items[0]), compare_releases);
    for (size_t i = 0; i < estimator->releases.count; i++)
        profile_give_back(&estimator->profile, estimator->releases.items[i].at,
                          estimator->releases.items[i].amounts);
}

static void start_profile(struct walk *walk)
{
    struct estimator *estimator = walk->estimator;
    const struct state *state = walk->brain->state;
    const struct group *array = walk->array ? state_group(state, walk->array) : NULL;
    int64_t free[PROFILE_LANES] = { 0 };
    size_t lane = LANE_QUEUE;

    for (size_t i = 0; i < PROFILE_GPU_LANES; i++)
        free[i] = estimator->capacity[i] - estimator->held[i];
    free[LANE_CPU] = state->capacity.cpu_milli - estimator->held[LANE_CPU];
    free[LANE_MEMORY] = state->capacity.memory_mib - estimator->held[LANE_MEMORY];
    memset(estimator->lane_queues, 0, sizeof(estimator->lane_queues));
    for (uint32_t i = 1; i < state->queues.count && lane < LANE_ARRAY; i++) {
        const struct queue *queue = &state->queues.items[i];
        if (queue->limit_milli == QUEUE_UNLIMITED || queue->is_removed)
            continue;
        estimator->lane_queues[lane] = i;
        free[lane++] = queue->limit_milli - queue->used_milli;
    }
    if (array)
        free[LANE_ARRAY] = (int64_t)array->max_running - (int64_t)array->active_count;
    profile_start(&estimator->profile, state->now, free);
    add_running(walk);
}

/* ---- who is next ---- */

static void sift_down(struct estimate_entry *heap, size_t count, size_t at)
{
    for (;;) {
        size_t first = at, left = 2 * at + 1, right = left + 1;
        if (left < count && rank_is_before(&heap[left].rank, &heap[first].rank))
            first = left;
        if (right < count && rank_is_before(&heap[right].rank, &heap[first].rank))
            first = right;
        if (first == at)
            return;
        struct estimate_entry entry = heap[at];
        heap[at] = heap[first];
        heap[first] = entry;
        at = first;
    }
}

static void count_offers(struct walk *walk, uint32_t queue, uint32_t more)
{
    for (uint32_t at = queue;; at = walk->brain->state->queues.items[at].parent) {
        walk->estimator->offers.items[at] += more;
        if (at == QUEUE_ROOT)
            return;
    }
}

static void start_lines(struct walk *walk, struct pending_bucket *candidate)
{
    struct estimator *estimator = walk->estimator;
    const struct brain *brain = walk->brain;
    size_t count = brain->state->queues.count;

    estimator->needs.count = 0;
    estimator->offers.count = estimator->extra_share.count = estimator->extra_milli.count = 0;
    for (size_t i = 0; i < count; i++) {
        list_add(&estimator->offers, 0);
        list_add(&estimator->extra_share, 0);
        list_add(&estimator->extra_milli, 0);
        if (estimator->lines.count <= i)
            list_add(&estimator->lines, (struct estimate_line){ 0 });
        estimator->lines.items[i].heap.count = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct estimate_line *line = &estimator->lines.items[i];
        size_t buckets =
            i < brain->pending.queues.count ? brain->pending.queues.items[i].buckets.count : 0;
        for (size_t k = 0; k < buckets; k++) {
            struct pending_bucket *bucket = brain->pending.queues.items[i].buckets.items[k];
            if (why_is_never(bucket->why.kind))
                continue;
            list_add(&line->heap,
                     (struct estimate_entry){ .rank = rank_of_bucket(&brain->ranker, bucket),
                                              .next = bucket->first });
        }
        if (candidate && candidate->queue == i)
            list_add(&line->heap,
                     (struct estimate_entry){ .rank = rank_of_bucket(&brain->ranker, candidate),
                                              .next = candidate->first });
        for (size_t k = line->heap.count / 2; k-- > 0;)
            sift_down(line->heap.items, line->heap.count, k);
        if (line->heap.count == 0)
            continue;
        walk->line_count++;
        walk->last_line = i;
        count_offers(walk, i, (uint32_t)line->heap.count);
    }
}

/* As order.h has it, with what was placed so far as if it ran. */
static bool is_before(const struct walk *walk, uint32_t a, uint32_t b)
{
    const struct state *state = walk->brain->state;
    const struct estimator *estimator = walk->estimator;
    const struct queue *left = &state->queues.items[a], *right = &state->queues.items[b];
    usec_t half_life = state->settings.half_life;
    bool left_owed = left->used_milli + estimator->extra_milli.items[a] < left->guarantee_milli;
    bool right_owed = right->used_milli + estimator->extra_milli.items[b] < right->guarantee_milli;

    if (left_owed != right_owed)
        return left_owed;
    uint64_t left_use = queue_usage(left, state->now, half_life) +
                        (uint64_t)(left->share + estimator->extra_share.items[a]) * CHARGE_AHEAD_MS;
    uint64_t right_use =
        queue_usage(right, state->now, half_life) +
        (uint64_t)(right->share + estimator->extra_share.items[b]) * CHARGE_AHEAD_MS;
    int sign = wide_compare(left_use, right->weight, right_use, left->weight);
    return sign != 0 ? sign < 0 : a < b;
}

static uint32_t next_line(const struct walk *walk)
{
    const struct estimator *estimator = walk->estimator;
    const struct state *state = walk->brain->state;
    uint32_t at = QUEUE_ROOT;

    if (walk->line_count == 1)
        return walk->last_line;
    while (estimator->lines.items[at].heap.count == 0) {
        uint32_t best = 0;
        for (uint32_t i = 1; i < state->queues.count; i++) {
            if (state->queues.items[i].parent == at && estimator->offers.items[i] > 0 &&
                (best == 0 || is_before(walk, i, best)))
                best = i;
        }
        at = best;
    }
    return at;
}

/* Its first job was placed: the next of the same kind, or nobody. */
static void advance(struct walk *walk, uint32_t number)
{
    struct estimate_line *line = &walk->estimator->lines.items[number];
    struct estimate_entry *top = &line->heap.items[0];

    top->next = top->next->pending_next;
    if (top->next) {
        top->rank.id = top->next->id;
    } else {
        *top = line->heap.items[--line->heap.count];
        count_offers(walk, number, UINT32_MAX);
        if (line->heap.count == 0 && --walk->line_count == 1) {
            for (uint32_t i = 0; i < walk->estimator->lines.count; i++)
                walk->last_line =
                    walk->estimator->lines.items[i].heap.count > 0 ? i : walk->last_line;
        }
    }
    sift_down(line->heap.items, line->heap.count, 0);
}

/* ---- where they go ---- */

static void describe_gpus(const struct walk *walk, const struct job *job, struct profile_need *need)
{
    struct brain *brain = walk->brain;
    const struct request *request = state_request(brain->state, job);

    for (uint32_t k = 0; k < request->gpu_alternatives; k++) {
        const struct shape *shape =
            shape_claim(&brain->shapes, brain->state, &brain->layout, job->class, k, job->queue);
        for (size_t i = 0; i < shape->cuts.count; i++) {
            uint8_t lane = walk->estimator->lane_of_kind.items[i];
            int64_t milli =
                (int64_t)shape->cuts.items[i].milli * request->gpus[k].count * request->members;
            if (milli == 0 || lane == NO_LANE)
                continue;
            need->serves |= 1u << lane;
            need->gpu = need->gpu == 0 || milli < need->gpu ? milli : need->gpu;
        }
    }
    if (request->gpu_alternatives > 0 && need->serves == 0)
        need->gpu = INT64_MAX; /* nothing serves it now */
}

static const struct profile_need *need_of(struct walk *walk, struct estimate_entry *entry)
{
    struct estimator *estimator = walk->estimator;
    const struct job *job = entry->next;
    const struct request *request = state_request(walk->brain->state, job);

    if (entry->need > 0)
        return &estimator->needs.items[entry->need - 1];
    struct profile_need need = { .run = run_of(walk, job, 0) };
    describe_gpus(walk, job, &need);
    need.amount[LANE_CPU] = request->cpu_milli * request->members;
    need.amount[LANE_MEMORY] = request->memory_mib * request->members;
    add_queues(walk, job->queue, need.gpu < INT64_MAX ? need.gpu : 0, need.amount);
    if (walk->array != 0 && is_in_array(walk->brain->state, job, walk->array))
        need.amount[LANE_ARRAY] = 1;
    list_add(&estimator->needs, need);
    entry->need = (uint32_t)estimator->needs.count;
    return &estimator->needs.items[entry->need - 1];
}

/* Of the GPUs that it may use, or of the CPUs, in parts of 2^20. */
static uint32_t share_of(const struct walk *walk, const struct profile_need *need)
{
    int64_t gpus = 0, cpus = walk->brain->state->capacity.cpu_milli;

    for (size_t i = 0; i < PROFILE_GPU_LANES; i++)
        gpus += need->serves >> i & 1 ? walk->estimator->capacity[i] : 0;
    int64_t gpu = gpus > 0 && need->gpu <= gpus ? need->gpu * QUEUE_SHARE_ONE / gpus : 0;
    int64_t cpu = cpus > 0 ? need->amount[LANE_CPU] * QUEUE_SHARE_ONE / cpus : 0;
    return (uint32_t)(gpu > cpu ? gpu : cpu);
}

static void charge(struct walk *walk, uint32_t queue, uint32_t share, int64_t milli)
{
    for (uint32_t at = queue; walk->line_count > 1;
         at = walk->brain->state->queues.items[at].parent) {
        walk->estimator->extra_share.items[at] += share;
        walk->estimator->extra_milli.items[at] += milli < INT64_MAX ? milli : 0;
        if (at == QUEUE_ROOT)
            return;
    }
}

static usec_t place(struct walk *walk, const struct job *job, const struct profile_need *need)
{
    usec_t from = job == walk->wanted && walk->ready > walk->from ? walk->ready : walk->from;
    uint32_t share = share_of(walk, need);

    charge(walk, job->queue, share, need->gpu);
    if (walk->placed++ < ESTIMATE_PLACED) {
        usec_t start = from == USEC_NEVER || need->gpu == INT64_MAX
                           ? USEC_NEVER
                           : profile_find(&walk->estimator->profile, need, from);
        if (start == USEC_NEVER)
            return start;
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

/* From now on, in order, up to the job that is wanted. USEC_NEVER: no end in sight. */
static usec_t go(struct walk *walk, struct pending_bucket *candidate)
{
    struct estimator *estimator = walk->estimator;

    refresh(walk->brain);
    start_profile(walk);
    /* Who was looked at and waits does so until somebody gives something back. */
    walk->from = USEC_NEVER;
    if (walk->ready > walk->brain->state->now)
        walk->from = walk->brain->state->now;
    else if (estimator->profile.steps.count > 1)
        walk->from = estimator->profile.steps.items[1].at;
    walk->behind = walk->brain->state->now;
    start_lines(walk, candidate);
    while (walk->line_count > 0) {
        uint32_t number = next_line(walk);
        struct estimate_entry *top = &estimator->lines.items[number].heap.items[0];
        const struct job *job = top->next;
        if (candidate && job != walk->wanted && job->id == walk->wanted->id) {
            advance(walk, number); /* what it would be instead of */
            continue;
        }
        struct profile_need need = *need_of(walk, top);
        usec_t start = place(walk, job, &need);
        if (job == walk->wanted)
            return start;
        if (!walk->wanted)
            map_set(&estimator->starts[walk->by_limits], job->id, (uint64_t)start);
        advance(walk, number);
    }
    return USEC_NEVER;
}

static usec_t walk_to(struct brain *brain, const struct job *job, struct pending_bucket *candidate,
                      bool by_limits)
{
    struct estimator *estimator = &brain->estimator;
    struct walk walk = { .brain = brain, .estimator = estimator, .by_limits = by_limits };
    const struct pending_bucket *bucket = candidate ? candidate : job->pending_bucket;
    uint64_t start;

    walk.array = bucket->array;
    walk.ready = job->begin;
    walk.wanted = job;
    if (candidate || bucket->array != 0 ||
        (estimator->asked < 4 && !estimator->is_known[by_limits]))
        return go(&walk, candidate);
    if (!estimator->is_known[by_limits]) {
        map_release(&estimator->starts[by_limits]);
        walk.wanted = NULL;
        go(&walk, NULL);
        estimator->is_known[by_limits] = true;
    }
    return map_get(&estimator->starts[by_limits], job->id, &start) ? (usec_t)start : USEC_NEVER;
}

/* ---- what is said ---- */

static usec_t wait_from(usec_t now, usec_t at)
{
    return at == USEC_NEVER ? at : at > now ? at - now : 0;
}

static usec_t later(usec_t now, usec_t wait)
{
    return wait >= USEC_NEVER - now ? USEC_NEVER : now + wait;
}

/* When its promise says; 0: it has none. */
static usec_t promised_at(const struct brain *brain, const struct job *job)
{
    const struct pending_bucket *bucket = job->pending_bucket;

    for (size_t i = 0; bucket && i < brain->reserve.promises.count; i++) {
        const struct promise *promise = &brain->reserve.promises.held.items[i];
        if (promise->job == job->id)
            return promise->at;
    }
    return 0;
}

/* The promise holds whatever happens where it goes by limits; elsewhere it is a guess, too. */
static usec_t base_wait(struct brain *brain, const struct job *job,
                        struct pending_bucket *candidate, usec_t *ret_promised)
{
    const struct state *state = brain->state;
    usec_t promised = candidate ? 0 : promised_at(brain, job);
    usec_t at = walk_to(brain, job, candidate, false);

    *ret_promised = promised > 0 && promised != USEC_NEVER ? promised : 0;
    if (*ret_promised > 0 && (!state->settings.predict || at == USEC_NEVER || at > *ret_promised))
        at = *ret_promised;
    return wait_from(state->now, at);
}

static bool is_busy(const struct brain *brain)
{
    return brain->pending.count > 1;
}

static void estimate(struct brain *brain, const struct job *job, struct pending_bucket *candidate,
                     struct start_estimate *ret)
{
    const struct state *state = brain->state;
    struct calibration_range range;
    usec_t now = state->now, promised;

    brain_refresh(brain);
    usec_t wait = base_wait(brain, job, candidate, &promised);
    usec_t by_limits = walk_to(brain, job, candidate, true);
    brain->estimator.asked++;
    if (promised > 0 && !state->settings.predict)
        by_limits = promised;
    *ret = (struct start_estimate){ .limits_only = by_limits, .is_open = by_limits == USEC_NEVER };
    if (wait == USEC_NEVER) {
        ret->low = now;
        ret->median = ret->high = USEC_NEVER;
        return;
    }
    calibration_range(&state->calibration, wait, is_busy(brain), &range);
    if (wait == 0)
        range = (struct calibration_range){ 0 };
    ret->low = later(now, range.low);
    ret->median = later(now, range.count > 0 ? range.median : wait);
    ret->high = later(now, range.high);
    if (promised > 0 && !state->settings.predict) {
        ret->high = promised;
        ret->median = ret->median < promised && range.count > 0 ? ret->median : promised;
        ret->low = ret->low < ret->median ? ret->low : ret->median;
    }
}

bool sched_estimate_start(struct brain *brain, const struct job *job, struct start_estimate *ret)
{
    if (job->state == JOB_QUEUED) {
        if (why_is_never(job->pending_bucket->why.kind))
            return false;
        estimate(brain, job, NULL, ret);
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
    guess_bucket(brain->state, &candidate);
    estimate(brain, &alone, &candidate, ret);
    return true;
}

void estimate_stranger(struct brain *brain, const struct job *job, struct pending_bucket *bucket,
                       struct start_estimate *ret)
{
    estimate(brain, job, bucket, ret);
}

void estimate_note(struct brain *brain, struct decisions *decisions)
{
    const struct state *state = brain->state;
    uint64_t one_in = brain->pending.count / ESTIMATE_NOTED + 1;
    uint32_t noted = 0;

    for (struct job *job = state->last_job; job && job->id >= state->plan_from;
         job = job->previous) {
        usec_t promised;
        uint64_t number = job->id * UINT64_C(0x9e3779b97f4a7c15) >> 32;
        if (job->state != JOB_QUEUED || job->attempt > 0 || job->foreseen_at > 0 ||
            number % one_in != 0 || why_is_never(job->pending_bucket->why.kind))
            continue;
        usec_t wait = base_wait(brain, job, NULL, &promised);
        if (wait == USEC_NEVER)
            continue;
        struct event foresee = {
            .kind = EVENT_FORESEE,
            .at = state->now,
            .foresee = { .job = job->id, .wait = wait, .is_busy = is_busy(brain) },
        };
        brain_decide(brain, &foresee, decisions);
        if (++noted == ESTIMATE_AT_ONCE)
            return;
    }
}
