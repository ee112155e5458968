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

/* Ended jobs may be asked for: they are in no index. */
static bool has_ended(const struct job_filter *filter)
{
    return (filter->states >> JOB_ENDED & 1) != 0;
}

/* The next job in these states above a number, or the previous one below it; NULL: none. */
static const struct job *next_unended(const struct state *state, uint32_t states, uint64_t after)
{
    uint64_t next = 0;

    for (size_t i = 0; i < COUNT_OF(state->unended); i++) {
        uint64_t id = states >> i & 1 ? id_set_next(&state->unended[i], after) : 0;
        next = id > 0 && (next == 0 || id < next) ? id : next;
    }
    return next > 0 ? state_job(state, next) : NULL;
}

static const struct job *previous_unended(const struct state *state, uint32_t states,
                                          uint64_t before)
{
    uint64_t previous = 0;

    for (size_t i = 0; i < COUNT_OF(state->unended); i++) {
        uint64_t id = states >> i & 1 ? id_set_previous(&state->unended[i], before) : 0;
        previous = id > previous ? id : previous;
    }
    return previous > 0 ? state_job(state, previous) : NULL;
}

/* Without a walk if that job still exists. */
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

static const struct job *first_after(const struct state *state, const struct job_filter *filter,
                                     uint64_t after)
{
    return has_ended(filter) ? start_after(state, after)
                             : next_unended(state, filter->states, after);
}

static const struct job *job_before(const struct state *state, const struct job_filter *filter,
                                    const struct job *job)
{
    return has_ended(filter) ? job->previous : previous_unended(state, filter->states, job->id);
}

const struct job *job_filter_next(const struct state *state, const struct job_filter *filter,
                                  uint64_t after)
{
    const struct job *job = first_after(state, filter, after);

    while (job && !job_filter_passes(state, filter, job))
        job = first_after(state, filter, job->id);
    return job;
}

uint64_t job_filter_newest(const struct state *state, const struct job_filter *filter)
{
    const struct job *last = state->last_job, *later = NULL;
    uint64_t rows = 0;

    if (last && !has_ended(filter))
        last = previous_unended(state, filter->states, UINT64_MAX);
    for (const struct job *job = last; job; job = job_before(state, filter, job)) {
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
