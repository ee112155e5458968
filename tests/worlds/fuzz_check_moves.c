/* SPDX-License-Identifier: Apache-2.0 */
/* The invariants of jobs that are moved so that others find room. */
#include <errno.h>
#include <inttypes.h>

#include "worlds/fuzz_check.h"

bool check_moved_with_right(struct fuzz_run *run, const struct event *event, struct error *found)
{
    const struct shadow *shadow = run->shadow;
    const struct shadow_job *job = shadow_job(shadow, event->stop.job);
    const struct shadow_job *other = shadow_job(shadow, event->stop.other);

    if (event->stop.cause != STOP_MOVE)
        return true;
    if (!other || other->state != JOB_QUEUED)
        return NOT_HELD(found, "job %" PRIu64 ": moved for job %" PRIu64 ", which is %s", job->id,
                        event->stop.other,
                        other ? job_state_name((enum job_state)other->state) : "not there");
    if (job->moved > 0 && event->at - job->moved < USEC_PER_HOUR)
        return NOT_HELD(found,
                        "job %" PRIu64 ": moved at %" PRId64 ", expected not before an hour after "
                        "%" PRId64,
                        job->id, event->at, job->moved);
    return true;
}

bool check_moves_within_budget(struct fuzz_run *run, const struct event *event, struct error *found)
{
    const struct shadow *shadow = run->shadow;

    if (event->stop.cause != STOP_MOVE || shadow->moved.lost <= shadow->settings.defrag_most)
        return true;
    return NOT_HELD(
        found,
        "job %" PRIu64 ": moves since %" PRId64 " lose %" PRId64 ", expected at most %" PRId64,
        event->stop.job, shadow->moved.from, shadow->moved.lost, shadow->settings.defrag_most);
}

/* Is a job still being moved for it? */
static bool is_under_way(const struct shadow *shadow, uint64_t id)
{
    for (size_t i = 0; i < shadow->active.count; i++) {
        const struct shadow_job *job = shadow_job(shadow, shadow->active.items[i]);
        if (job->state == JOB_STOPPING && job->stop_cause == STOP_MOVE && job->stopped_for == id)
            return true;
    }
    return false;
}

/* Others may use what a pool leaves until it is needed; then less of it is left. */
static bool has_mins(const struct shadow *shadow)
{
    bool has = false;

    for (size_t i = 0; i < shadow->pools.count; i++)
        has |= !shadow->pools.items[i].is_removed && shadow->pools.items[i].min > 0;
    return has;
}

/* What another machine, queue or setting may change is not held against it. Nor is what a queue
 * does not lend: others may take what is left of it while it moves, and then it waits like all. */
bool check_moved_goes_on(struct fuzz_run *run, const struct event *event, struct error *found)
{
    const struct shadow *shadow = run->shadow;

    (void)event;
    for (struct shadow_job *job = shadow->first_queued; job; job = job->next) {
        struct shadow_amounts most =
            shadow_most_of(shadow, &shadow->requests.items[job->request], 0);
        if (job->moved_under == shadow->changes)
            return NOT_HELD(found, "job %" PRIu64 ": was moved, and waits", job->id);
        if (job->awaited_under != shadow->changes || is_under_way(shadow, job->id) ||
            has_mins(shadow))
            continue;
        if (shadow_quota_is_wide(shadow, job->queue, &most))
            return NOT_HELD(found, "job %" PRIu64 ": others were moved for it, and it waits",
                            job->id);
        job->awaited_under = UINT64_MAX; /* no number of changes */
    }
    return true;
}
