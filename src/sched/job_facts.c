/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/job_facts.h"

#include <assert.h>

int job_compare_ids(const void *left, const void *right)
{
    struct job *const *a = left, *const *b = right;

    return ((*a)->id > (*b)->id) - ((*a)->id < (*b)->id);
}

int job_compare_priority(const void *left, const void *right)
{
    struct job *const *a = left, *const *b = right;

    if ((*a)->priority != (*b)->priority)
        return (*a)->priority > (*b)->priority ? -1 : 1;
    return job_compare_ids(left, right);
}

/* ---- its end ---- */

usec_t job_end_of(const struct state *state, const struct job *job)
{
    usec_t start = job->state == JOB_GRANTED ? job->run->granted : job->run->started;
    usec_t limit = job->max_duration;

    assert(job_is_active(job));
    start = start > 0 ? start : job->run->granted;
    usec_t end = usec_after(start, limit);
    return job->state == JOB_STOPPING ? state->now : end;
}

enum stop_cause job_stop_wanted(const struct state *state, const struct job *job)
{
    if (!job_has_limit(job))
        return STOP_NONE;
    if (job->run->is_cancel_wanted)
        return STOP_CANCEL;
    if (job->run->is_requeue_wanted)
        return STOP_REQUEUE;
    if (job->run->end.kind != 0 && (job->run->end.kind != ENGINE_ENDED ||
                                    job->run->end.exit_code != 0 || job->run->end.signal != 0))
        return job_may_heal(job) ? STOP_HEAL : STOP_MEMBER;
    if (job_end_of(state, job) <= state->now) /* also of one that never came to run */
        return STOP_TIMEOUT;
    return STOP_NONE;
}

/* ---- its run so far ---- */

static usec_t elapsed_of(const struct job *job, usec_t now)
{
    return job->state == JOB_RUNNING && job->run->started >= job->run->granted
               ? now - job->run->started
               : 0;
}

usec_t job_owed(const struct job *job)
{
    return job_has_restarted(job) ? job->restart_cost : 0;
}

usec_t job_unpaid(const struct job *job, usec_t now)
{
    return job_owed(job) - elapsed_of(job, now);
}

usec_t job_attained(const struct job *job, usec_t now)
{
    usec_t gained = elapsed_of(job, now) - job_owed(job);

    return job->run->attained + (gained > 0 ? gained : 0);
}

usec_t job_left(const struct job *job, usec_t now)
{
    usec_t owed = job_unpaid(job, now);
    usec_t left = job->estimate - job_attained(job, now);

    if (job->estimate == 0 || left <= 0)
        return 0;
    return left + (owed > 0 ? owed : 0);
}

/* ---- stops and restarts ---- */

bool job_is_back(const struct job *job)
{
    return job->is_awaited == AWAITED_BACK ||
           (job->state == JOB_STOPPING &&
            (job->run->stop_cause == STOP_RESIZE || job->run->stop_cause == STOP_MOVE) &&
            !job->run->is_cancel_wanted && !job->run->is_requeue_wanted);
}

bool job_is_moving(const struct job *job)
{
    return job->state == JOB_STOPPING && job->run->stop_cause == STOP_MOVE && job_is_back(job);
}

bool job_is_leaving(const struct job *job)
{
    return job->state == JOB_STOPPING &&
           (job->run->stop_cause != STOP_HEAL || job->run->is_cancel_wanted);
}

usec_t job_lost(const struct job *job, usec_t now)
{
    return job_unsaved(job, now) + job->restart_cost;
}

usec_t job_restart_cost(const struct job *job)
{
    return job->restart_cost > 0 ? job->restart_cost : FACTS_COST_S * USEC_PER_SEC;
}

bool job_is_settled(const struct job *job)
{
    const struct job_run *run = job->run;

    return job->state == JOB_RUNNING && !run->is_cancel_wanted && !run->is_requeue_wanted &&
           run->members_ended == 0 && run->started >= run->granted;
}

usec_t job_old_enough_at(const struct job *job, usec_t now)
{
    usec_t cost = job_restart_cost(job), age = job->run->attained + now - job->run->started;
    usec_t restarts = (usec_t)(job->run->resizes + job->run->preemptions + job->run->heals +
                               job->run->moves + job->run->rescues);
    /* (age - restarts x S) / (age + S) >= 0.7 */
    usec_t least = (100 * restarts + FACTS_FACTOR_PCT) * cost / (100 - FACTS_FACTOR_PCT);

    assert(job->run->started <= now);
    return age >= least ? 0 : now + least - age;
}

usec_t job_stay(const struct job *job)
{
    usec_t worth = usec_after(job->grace, job->restart_cost);

    if (!job->is_preemptible)
        return job->max_duration;
    worth = usec_after(usec_after(worth, job->checkpoint_every), FACTS_WORTH);
    return worth < job->max_duration ? worth : job->max_duration;
}
