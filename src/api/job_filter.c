/* SPDX-License-Identifier: Apache-2.0 */
#include "api/job_filter.h"

#include <string.h>

bool job_filter_passes(const struct state *state, const struct job_filter *filter,
                       const struct job *job)
{
    if (!(filter->states >> job->state & 1))
        return false;
    if (job->state == JOB_ENDED &&
        (!(filter->results >> job->result & 1) || job->run->ended < filter->since))
        return false;
    if (job->submitted > filter->until)
        return false;
    if (filter->group && (job->id <= filter->group || job->id > filter->group_last))
        return false;
    if (filter->queue && strcmp(filter->queue, state->queues.items[job->queue].name) != 0)
        return false;
    if (filter->name && strcmp(filter->name, job->name) != 0)
        return false;
    return !filter->user || strcmp(filter->user, state_user(state, job->user)) == 0;
}

/* ---- rows ---- */

static bool waits_untried(const struct job *job)
{
    return (job->state == JOB_HELD || job->state == JOB_WAITING || job->state == JOB_QUEUED) &&
           job->run->attempt == 0;
}

/* Whether two neighbours in the list of all jobs share a row: tasks of an array that wait alike. */
static bool are_alike(const struct state *state, const struct job *job, const struct job *next)
{
    const struct group *group = state_group(state, job->group);

    return group && group->kind == GROUP_ARRAY && next->group == job->group &&
           next->state == job->state && next->index == job->index + 1 && waits_untried(job) &&
           waits_untried(next);
}

const struct job *job_filter_row_end(const struct state *state, const struct job_filter *filter,
                                     const struct job *job)
{
    while (filter->is_rows && job->next && job_filter_passes(state, filter, job->next) &&
           are_alike(state, job, job->next))
        job = job->next;
    return job;
}

/* ---- pages ---- */

/* The first job after that number; without a walk if that job still exists. */
static const struct job *start_after(const struct state *state, uint64_t after)
{
    const struct job *known = after ? state_job(state, after) : NULL;

    if (known)
        return known->next;
    const struct job *job = state->first_job;
    while (job && job->id <= after)
        job = job->next;
    return job;
}

const struct job *job_filter_next(const struct state *state, const struct job_filter *filter,
                                  uint64_t after)
{
    const struct job *job = start_after(state, after);

    while (job && !job_filter_passes(state, filter, job))
        job = job->next;
    return job;
}

uint64_t job_filter_newest(const struct state *state, const struct job_filter *filter)
{
    const struct job *later = NULL;
    uint64_t rows = 0;

    for (const struct job *job = state->last_job; job; job = job->previous) {
        if (!job_filter_passes(state, filter, job))
            continue;
        bool is_same_row =
            filter->is_rows && later && job->next == later && are_alike(state, job, later);
        rows += !is_same_row;
        if (rows > filter->limit)
            return job->id;
        later = job;
    }
    return 0;
}
