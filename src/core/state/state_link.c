/* SPDX-License-Identifier: Apache-2.0 */
/* The lists and indices of jobs and groups. */
#include <assert.h>
#include <string.h>

#include "core/state/fold.h"

/* A list in order of id; new ones are nearly always the last. */
#define LINK_BY_ID(first, last, item)                                                              \
    do {                                                                                           \
        __typeof__(item) before_ = (last);                                                         \
        while (before_ && before_->id > (item)->id)                                                \
            before_ = before_->previous;                                                           \
        (item)->previous = before_;                                                                \
        (item)->next = before_ ? before_->next : (first);                                          \
        *(before_ ? &before_->next : &(first)) = (item);                                           \
        *((item)->next ? &(item)->next->previous : &(last)) = (item);                              \
    } while (0)

static void link_active(struct state *state, struct job *job)
{
    struct job_run *run = job_claim_run(job);
    struct job *before = state->last_active;

    while (before && before->id > job->id)
        before = before->run->active_previous;
    run->active_previous = before;
    run->active_next = before ? before->run->active_next : state->first_active;
    *(before ? &job_claim_run(before)->active_next : &state->first_active) = job;
    *(run->active_next ? &job_claim_run(run->active_next)->active_previous : &state->last_active) =
        job;
}

static void unlink_active(struct state *state, struct job *job)
{
    assert(state->first_active && state->last_active);

    struct job_run *run = job_claim_run(job);
    struct job *before = run->active_previous, *after = run->active_next;

    *(before ? &job_claim_run(before)->active_next : &state->first_active) = after;
    *(after ? &job_claim_run(after)->active_previous : &state->last_active) = before;
    run->active_previous = run->active_next = NULL;
}

void state_note_state(struct state *state, struct job *job, enum job_state from, enum job_state to)
{
    bool was_active = job_state_is_active(from), is_active = job_state_is_active(to);

    while (state->unfinished.count <= job->user)
        list_add(&state->unfinished, 0);
    if (from != to && from == JOB_ENDED)
        state->unfinished.items[job->user]++;
    if (from != to && to == JOB_ENDED) {
        assert(state->unfinished.items[job->user] > 0);
        state->unfinished.items[job->user]--;
    }
    if (from != to && from != JOB_ENDED)
        id_set_remove(&state->unended[from], job->id);
    if (from != to && to != JOB_ENDED)
        id_set_add(&state->unended[to], job->id);
    if (is_active && !was_active)
        link_active(state, job);
    if (was_active && !is_active)
        unlink_active(state, job);
}

static void link_submitted(struct state *state, struct job *job)
{
    struct job_run *run = job_claim_run(job);

    run->elder = 0;
    map_get(&state->submitted, run->by_job, &run->elder);
    map_set(&state->submitted, run->by_job, job->id);
}

void state_unlink_submitted(struct state *state, const struct job *job)
{
    struct job *at = state_submitted(state, job->run->by_job);

    if (at == job && job->run->elder == 0)
        map_remove(&state->submitted, job->run->by_job);
    else if (at == job)
        map_set(&state->submitted, job->run->by_job, job->run->elder);
    while (at && at->run->elder != job->id)
        at = state_job(state, at->run->elder);
    if (at)
        job_claim_run(at)->elder = job->run->elder;
}

void state_link_job(struct state *state, struct job *job)
{
    assert(job->id > 0 && !state_job(state, job->id));
    LINK_BY_ID(state->first_job, state->last_job, job);
    pages_set(&state->jobs, job->id, job);
    if (job->run->external)
        map_set(&state->externals, map_hash(job->run->external, strlen(job->run->external)),
                job->id);
    if (job->run->by_job)
        link_submitted(state, job);
    state->job_counts[job->state]++;
    state_note_state(state, job, JOB_ENDED, job->state);
    if (job->id >= state->next_id)
        state->next_id = job->id + 1;
}

void state_link_group(struct state *state, struct group *group)
{
    assert(group->id > 0 && !state_group(state, group->id));
    LINK_BY_ID(state->first_group, state->last_group, group);
    map_set(&state->groups, group->id, (uintptr_t)group);
    if (group->last >= state->next_id)
        state->next_id = group->last + 1;
}
