/* SPDX-License-Identifier: Apache-2.0 */
/* The invariants of waiting jobs: no job waits that could run, and the reason is true. */
#include <errno.h>
#include <inttypes.h>

#include "worlds/fuzz_check.h"
#include "worlds/fuzz_reason.h"

/* ---- which job could run ---- */

/* Those that the brain takes for alike are alike in this. */
static uint64_t bucket_of(const struct shadow *shadow, const struct shadow_job *job)
{
    const struct shadow_group *bound = shadow_bound(shadow, job);
    uint64_t key[] = { (uint64_t)job->request << 32 | job->queue,
                       (uint64_t)(uint32_t)job->priority << 1 | job->is_preemptible,
                       (uint64_t)job->max_duration,
                       bound ? bound->id : 0,
                       (uint64_t)shadow_stay_of(job),
                       (uint64_t)job->deadline << 16 | job->tariff_most,
                       (uint8_t)job->user[0] };

    return map_hash(key, sizeof(key));
}

/* Since there was last more room. */
static uint64_t *misfit_of(struct fuzz_checks *checks, const struct shadow *shadow, uint32_t kind)
{
    while (checks->misfits.count < shadow->kind_numbers.count)
        list_add(&checks->misfits, UINT64_MAX);
    return &checks->misfits.items[kind];
}

/* Could run, and is the first of those that are alike at this instant. */
static bool is_to_be_looked_at(struct fuzz_checks *checks, const struct shadow *shadow,
                               const struct shadow_job *job)
{
    const struct shadow_group *bound = shadow_bound(shadow, job);
    uint64_t bucket, seen;

    if (bound && bound->active >= bound->max_running)
        return false;
    bucket = bucket_of(shadow, job);
    if (map_get(&checks->seen, bucket, &seen) && seen == checks->settled)
        return false;
    map_set(&checks->seen, bucket, checks->settled);
    return true;
}

bool check_work_conserving(struct fuzz_run *run, const struct event *event, struct error *found)
{
    const struct shadow *shadow = run->shadow;
    struct fuzz_checks *checks = run->checks;
    struct shadow_fit now = { 0 };

    (void)event;
    for (const struct shadow_job *job = shadow->first_queued; job; job = job->next) {
        uint64_t *misfit = misfit_of(checks, shadow, job->kind);
        if (*misfit == shadow->more_room || !is_to_be_looked_at(checks, shadow, job))
            continue;
        if (!shadow_fits(shadow, &shadow->requests.items[job->request], job->queue, &now)) {
            *misfit = shadow->more_room;
            continue;
        }
        now.job = job;
        bool is_kept =
            shadow->times.reservations.count > 0 &&
            !shadow_fits(shadow, &shadow->requests.items[job->request], job->queue, &now);
        now.job = NULL;
        if (is_kept)
            continue;
        struct reason reason = fuzz_reason_of(run, job);
        if (!fuzz_reason_holds(&reason, true, found))
            return false;
    }
    return true;
}

/* ---- every waiting job has a reason ---- */

static bool is_open_need(const struct shadow_job *job, uint64_t on)
{
    for (size_t i = 0; i < job->needs.count; i++) {
        if (job->needs.items[i].on == on)
            return true;
    }
    return false;
}

static bool check_not_queued(const struct reason *reason, struct error *found)
{
    const struct shadow_job *job = reason->job;
    bool is_true;

    switch (job->state) {
    case JOB_HELD:
        is_true = reason->why.kind == WHY_HELD;
        break;
    case JOB_WAITING:
        is_true = reason->why.is_forever ? fuzz_is_for_ever(&reason->why)
                  : reason->why.kind == WHY_NEEDS
                      ? is_open_need(job, reason->why.job)
                      : reason->why.kind == WHY_BEGIN && job->needs.count == 0 &&
                            reason->why.at == job->begin;
        break;
    default:
        is_true = reason->why.kind == WHY_NONE;
        break;
    }
    return is_true || UNTRUE(reason, found, "it is %s", job_state_name((enum job_state)job->state));
}

enum { ASKED_AT_ONCE = 2 };

/* False: another one like it was asked about at this instant. */
static bool is_first_of_its_kind(struct fuzz_run *run, const struct shadow_job *job)
{
    uint64_t bucket = ~bucket_of(run->shadow, job), seen;

    if (map_get(&run->checks->seen, bucket, &seen) && seen == run->checks->settled)
        return false;
    map_set(&run->checks->seen, bucket, run->checks->settled);
    return true;
}

/* To say what exactly is missing takes long: some are asked about each time, others the next. */
bool check_why_honest(struct fuzz_run *run, const struct event *event, struct error *found)
{
    const struct shadow *shadow = run->shadow;
    size_t count = shadow->jobs.count, asked = 0;
    size_t most = run->look->sample > 1 ? ASKED_AT_ONCE : SIZE_MAX;

    (void)event;
    for (size_t i = 0; i < count && asked < most; i++) {
        const struct shadow_job *job = shadow->jobs.items[(i + run->checks->asked_from) % count];
        if (!job || (job->state == JOB_QUEUED && !is_first_of_its_kind(run, job)))
            continue;
        asked += job->state == JOB_QUEUED;
        struct reason reason = fuzz_reason_of(run, job);
        if (job->state == JOB_QUEUED ? !fuzz_reason_holds(&reason, false, found)
                                     : !check_not_queued(&reason, found))
            return false;
    }
    run->checks->asked_from += 7;
    return true;
}
