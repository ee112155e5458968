/* SPDX-License-Identifier: Apache-2.0 */
/* The reasons why a job waits: each, and when it is true. */
#include <errno.h>
#include <inttypes.h>

#include "core/job/own_speed.h"
#include "worlds/fuzz_check.h"
#include "worlds/fuzz_known.h"
#include "worlds/fuzz_reason.h"

struct reason fuzz_reason_of(struct fuzz_run *run, const struct shadow_job *job)
{
    struct reason reason = { .run = run,
                             .shadow = run->shadow,
                             .job = job,
                             .request = &run->shadow->requests.items[job->request] };

    sched_why(run->brain, run->asker, state_job(run->state, job->id), &reason.why, NULL);
    return reason;
}

/* ---- each reason, and when it is true ---- */

const struct shadow_queue *fuzz_queue_of(const struct reason *reason, struct error *found)
{
    const struct shadow *shadow = reason->shadow;

    if (reason->why.queue < shadow->queues.count &&
        reason->why.resource < shadow->resources.count &&
        shadow_is_below(shadow, reason->job->queue, reason->why.queue))
        return &shadow->queues.items[reason->why.queue];
    error_set(found, -EINVAL, "job %" PRIu64 ": why is %s, but it is not below queue %u",
              reason->job->id, why_name(reason->why.kind), reason->why.queue);
    return NULL;
}

static bool quota_is_true(const struct reason *reason, struct error *found)
{
    const struct shadow_queue *queue = fuzz_queue_of(reason, found);
    const struct why *why = &reason->why;

    if (!queue)
        return false;
    int64_t bound = shadow_bound_of(queue, why->resource, why->is_firm);
    int64_t held = shadow_held_of(queue, why->resource, why->is_firm);
    return (bound >= 0 && held + why->wanted > bound) ||
           UNTRUE(reason, found, "queue %s holds %" PRId64 " of %" PRId64 ", wanted %" PRId64,
                  queue->name, held, bound, why->wanted);
}

/* Some limit for users, of this queue, for this job, that so much is above. */
static bool is_above_subject(const struct reason *reason, const struct shadow_queue *queue,
                             bool is_ever)
{
    for (size_t i = 0; i < queue->subjects.count; i++) {
        const struct shadow_subject *subject = &queue->subjects.items[i];
        int64_t held =
            is_ever ? 0
                    : shadow_subject_holds(reason->shadow, reason->why.queue, subject, reason->job);
        if (subject->resource == reason->why.resource &&
            shadow_subject_is_for(queue, subject, reason->job) &&
            held + reason->why.wanted > subject->limit)
            return true;
    }
    return false;
}

static bool user_limit_is_true(const struct reason *reason, struct error *found)
{
    const struct shadow_queue *queue = fuzz_queue_of(reason, found);

    return queue &&
           (is_above_subject(reason, queue, false) ||
            UNTRUE(reason, found, "%s may have more of queue %s", reason->job->user, queue->name));
}

static bool never_quota_is_true(const struct reason *reason, struct error *found)
{
    const struct shadow_queue *queue = fuzz_queue_of(reason, found);

    if (!queue)
        return false;
    int64_t bound = shadow_bound_of(queue, reason->why.resource, reason->why.is_firm);
    return (bound >= 0 && reason->why.wanted > bound) || is_above_subject(reason, queue, true) ||
           UNTRUE(reason, found, "the limit of queue %s is %" PRId64, queue->name, bound);
}

static bool lent_is_true(const struct reason *reason, struct error *found)
{
    const struct shadow *shadow = reason->shadow;
    uint32_t resource = reason->why.resource;

    if (resource >= shadow->resources.count)
        return UNTRUE(reason, found, "there is no resource %u", resource);
    int64_t kept = shadow_kept_from(shadow, reason->job->queue, resource);
    int64_t left =
        shadow_capacity(shadow, resource) - shadow->queues.items[QUEUE_ROOT].used.of[resource];
    /* Later in the same plan it may have gone to the job that it was kept for. */
    return left - kept < reason->why.wanted ||
           UNTRUE(reason, found, "%" PRId64 " are left and %" PRId64 " kept, wanted %" PRId64, left,
                  kept, reason->why.wanted);
}

static bool pool_max_is_true(const struct reason *reason, struct error *found)
{
    const struct shadow_pool *pool;

    if (reason->why.pool >= reason->shadow->pools.count)
        return UNTRUE(reason, found, "there is no pool %u", reason->why.pool);
    pool = &reason->shadow->pools.items[reason->why.pool];
    /* What is promised to others counts, too. */
    return pool->max > 0 || UNTRUE(reason, found, "pool %s has no max", pool->name);
}

static bool pool_min_is_true(const struct reason *reason, struct error *found)
{
    for (size_t i = 0; i < reason->shadow->pools.count; i++) {
        const struct shadow_pool *pool = &reason->shadow->pools.items[i];
        if (i == reason->why.pool && !pool->is_static && pool->min > 0)
            return true;
    }
    return UNTRUE(reason, found, "pool %u has no min", reason->why.pool);
}

static bool array_is_true(const struct reason *reason, struct error *found)
{
    const struct shadow_group *bound = shadow_bound(reason->shadow, reason->job);

    if (bound && bound->id == reason->why.job && bound->active >= bound->max_running)
        return true;
    return UNTRUE(reason, found, "group %" PRIu64 " may run more", reason->why.job);
}

/* Its place, and its quota, are kept until it has moved, or others have for it. */
static bool is_about_moves(const struct shadow_job *holder)
{
    return holder && ((holder->state == JOB_STOPPING && holder->stop_cause == STOP_MOVE) ||
                      (holder->state == JOB_QUEUED && holder->awaited_under > 0));
}

/* The job that it is kept for waits, and would be delayed. */
static bool reserved_is_true(const struct reason *reason, struct error *found)
{
    const struct shadow *shadow = reason->shadow;
    const struct shadow_job *holder = shadow_job(shadow, reason->why.job);
    usec_t end = usec_after(shadow->now, reason->job->max_duration);
    bool is_by_limit = reason->job->estimate == 0 && !shadow->settings.predict;
    struct why promise;

    if (is_about_moves(holder))
        return true;
    if (!holder || holder->state != JOB_QUEUED || holder == reason->job)
        return UNTRUE(reason, found, "job %" PRIu64 " does not wait", reason->why.job);
    if (shadow->settings.order != ORDER_FIFO || !is_by_limit)
        return true;
    sched_why(reason->run->brain, reason->run->asker, state_job(reason->run->state, holder->id),
              &promise, NULL);
    if (promise.is_forever)
        return true; /* `why` says that; the brain keeps its room as for any other */
    if (promise.at == 0)
        return UNTRUE(reason, found, "job %" PRIu64 " holds no promise", holder->id);
    return end > promise.at || end == USEC_NEVER ||
           UNTRUE(reason, found, "it ends before job %" PRIu64 " is to start", holder->id);
}

/* The job that has its turn waits below a queue that is at its limit for it. */
static bool turn_is_true(const struct reason *reason, struct error *found)
{
    const struct shadow *shadow = reason->shadow;
    const struct shadow_job *holder = shadow_job(shadow, reason->why.job);
    uint32_t queue = reason->why.queue;

    if (is_about_moves(holder))
        return true;
    if (!holder || holder->state != JOB_QUEUED || holder == reason->job)
        return UNTRUE(reason, found, "job %" PRIu64 " does not wait", reason->why.job);
    if (queue >= shadow->queues.count || !shadow_is_below(shadow, reason->job->queue, queue) ||
        !shadow_is_below(shadow, holder->queue, queue))
        return UNTRUE(reason, found, "queue %u is not above both", queue);
    const struct shadow_queue *at = &shadow->queues.items[queue];
    struct shadow_amounts most =
        shadow_most_of(shadow, &shadow->requests.items[holder->request], 0);
    for (int firm = 0; firm < 2 && reason->why.resource < SHADOW_RESOURCES; firm++) {
        int64_t bound = shadow_bound_of(at, reason->why.resource, firm);
        if (bound >= 0 &&
            shadow_held_of(at, reason->why.resource, firm) + most.of[reason->why.resource] > bound)
            return true;
    }
    return UNTRUE(reason, found, "queue %s has enough for job %" PRIu64, at->name, holder->id);
}

/* It waits for GPUs of a job that held them in the last plan. */
static bool faster_is_true(const struct reason *reason, struct error *found)
{
    const struct shadow_job *holder = shadow_job(reason->shadow, reason->why.job);

    return (holder && holder->attempt > 0 && reason->request->speeds_count > 0 &&
            reason->job->estimate > 0 && reason->job->deadline == 0) ||
           UNTRUE(reason, found, "job %" PRIu64 " holds none, or speeds are not stated",
                  reason->why.job);
}

static bool behind_is_true(const struct reason *reason, struct error *found)
{
    const struct shadow_job *front = shadow_job(reason->shadow, reason->why.job);

    if (reason->shadow->settings.backfill_depth > 0)
        return UNTRUE(reason, found, "the backfill depth is %u",
                      reason->shadow->settings.backfill_depth);
    return (front && front->state == JOB_QUEUED && front != reason->job) ||
           UNTRUE(reason, found, "job %" PRIu64 " does not wait", reason->why.job);
}

static bool room_is_true(const struct reason *reason, struct error *found)
{
    struct shadow_fit now = { .job = reason->job };

    return !shadow_fits(reason->shadow, reason->request, reason->job->queue, &now) ||
           UNTRUE(reason, found, "there is room in queue %u", reason->job->queue);
}

static bool has_bounds(const struct shadow *shadow)
{
    for (size_t i = 0; i < shadow->pools.count; i++) {
        const struct shadow_pool *pool = &shadow->pools.items[i];
        if (!pool->is_removed && (pool->min > 0 || pool->max > 0))
            return true;
    }
    return false;
}

/* A job from which it keeps apart runs, or is to start where it could. */
static bool apart_is_true(const struct reason *reason, struct error *found)
{
    const struct shadow *shadow = reason->shadow;

    for (size_t i = 0; i < shadow->active.count; i++) {
        const struct shadow_job *other = shadow_job(shadow, shadow->active.items[i]);
        if (shadow_are_apart(shadow, reason->request, other))
            return true;
    }
    for (const struct shadow_job *other = shadow->first_queued; other; other = other->next) {
        if (other != reason->job && shadow_are_apart(shadow, reason->request, other))
            return true;
    }
    return UNTRUE(reason, found, "none of %zu jobs is kept apart from it", shadow->active.count);
}

static bool unusable_is_true(const struct reason *reason, struct error *found)
{
    struct shadow_fit well = { .is_empty = true };

    return has_bounds(reason->shadow) ||
           !shadow_fits(reason->shadow, reason->request, reason->job->queue, &well) ||
           UNTRUE(reason, found, "what is well would do in queue %u", reason->job->queue);
}

static bool never_is_true(const struct reason *reason, struct error *found)
{
    struct shadow_fit ever = { .is_empty = true, .with_sick = true, .is_free = true };
    struct why why;

    if (reason->run->look->sample == 1) {
        sched_admit(reason->run->state, reason->request, reason->job->queue,
                    reason->job->is_preemptible, &why);
        if (!why_is_never(why.kind))
            return UNTRUE(reason, found, "it is admitted: %s", why_name(why.kind));
    }
    /* One alternative may be kept by a quota or a pool, another by room. */
    bool is_simple = !has_bounds(reason->shadow) && !shadow_has_quotas(reason->shadow);
    return !is_simple || !shadow_fits(reason->shadow, reason->request, reason->job->queue, &ever) ||
           UNTRUE(reason, found, "an empty cluster holds it in queue %u", reason->job->queue);
}

static const struct {
    enum why_kind kind;
    bool may_fit; /* a reason for one that finds a place */
    bool (*is_true)(const struct reason *reason, struct error *found);
} reasons[] = {
    { WHY_GPUS, false, room_is_true },
    { WHY_CPUS, false, room_is_true },
    { WHY_MEMORY, false, room_is_true },
    { WHY_QUOTA, false, quota_is_true },
    { WHY_USER_LIMIT, false, user_limit_is_true },
    { WHY_LENT, false, lent_is_true },
    { WHY_POOL_MAX, false, pool_max_is_true },
    { WHY_POOL_MIN, false, pool_min_is_true },
    { WHY_ARRAY, true, array_is_true },
    { WHY_RESERVED, true, reserved_is_true },
    { WHY_TURN, true, turn_is_true },
    { WHY_BEHIND, true, behind_is_true },
    { WHY_FASTER, true, faster_is_true },
    { WHY_RESERVATION, true, fuzz_reservation_is_true },
    { WHY_WINDOW, true, fuzz_window_is_true },
    { WHY_TARIFF, true, fuzz_tariff_is_true },
    { WHY_BUDGET, true, fuzz_budget_is_true },
    { WHY_UNUSABLE, false, unusable_is_true },
    { WHY_WHERE, false, room_is_true },
    { WHY_APART, true, apart_is_true },
    { WHY_NEVER_GPUS, false, never_is_true },
    { WHY_NEVER_MODEL, false, never_is_true },
    { WHY_NEVER_CPUS, false, never_is_true },
    { WHY_NEVER_MEMORY, false, never_is_true },
    { WHY_NEVER_NODES, false, never_is_true },
    { WHY_NEVER_GANG, false, never_is_true },
    { WHY_NEVER_QUOTA, false, never_quota_is_true },
    { WHY_NEVER_POOL, false, never_is_true },
    { WHY_NEVER_MIG, false, never_is_true },
    { WHY_NEVER_LINK, false, never_is_true },
    { WHY_NEVER_WHERE, false, never_is_true },
};

/* One alternative may be kept by a quota, which is said, and another by a promise. */
static bool is_of_another_alternative(const struct reason *reason)
{
    return reason->request->gpu_alternatives > 1 && why_is_of_quota(reason->why.kind);
}

/* By its own statement, its limit would end it on the model that is free. */
static bool is_too_slow_somewhere(const struct reason *reason)
{
    const struct shadow *shadow = reason->shadow;
    const struct shadow_job *job = reason->job;
    bool is_too_slow = false;

    for (size_t i = 0; i < shadow->devices.count && reason->request->speeds_count > 0; i++) {
        uint32_t milli = own_speed_on(reason->request, shadow->devices.items[i].model);
        is_too_slow |= own_speed_run(job->estimate, milli) > job->max_duration;
    }
    return is_too_slow && reason->why.kind == WHY_GPUS;
}

bool fuzz_is_for_ever(const struct why *why)
{
    return why_is_of_time(why->kind) || why_is_of_pool(why->kind) || why->kind == WHY_RESERVATION;
}

static bool is_true_reason(const struct reason *reason, bool is_fitting, struct error *found)
{
    /* About times to come, of which the shadow knows nothing (tests/sched/test_openings.c checks
     * it). */
    if (reason->why.is_forever)
        return fuzz_is_for_ever(&reason->why) ||
               UNTRUE(reason, found, "that does not repeat, queue %u", reason->job->queue);
    for (size_t i = 0; i < COUNT_OF(reasons); i++) {
        if (reasons[i].kind != reason->why.kind)
            continue;
        if (is_fitting && is_too_slow_somewhere(reason))
            return true;
        if (is_fitting && !reasons[i].may_fit && !is_of_another_alternative(reason))
            return UNTRUE(reason, found, "it fits, queue %u", reason->job->queue);
        return reasons[i].is_true(reason, found);
    }
    return UNTRUE(reason, found, "it is queued since %" PRId64, reason->job->queued);
}

bool fuzz_reason_holds(const struct reason *reason, bool is_fitting, struct error *found)
{
    return is_true_reason(reason, is_fitting, found) ||
           fuzz_is_known(reason->run, reason->job, &reason->why);
}
