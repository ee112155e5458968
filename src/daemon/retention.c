/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/retention.h"

#include "core/job/gang_size.h"

/* The outermost group has nothing left to do: its jobs are not needed any more. */
static bool may_be_forgotten(const struct state *state, const struct job *job)
{
    if (job->state != JOB_ENDED)
        return false;
    for (const struct group *group = state_group(state, job->group); group;
         group = state_group(state, group->parent)) {
        if (!group_is_over(group))
            return false;
    }
    return true;
}

/* A group goes when nothing of it is left: the job before and the one after are outside of it. */
static void forget_empty_groups(const struct state *state,
                                void (*emit)(void *user, struct event *event), void *user)
{
    for (const struct group *group = state->last_group, *previous; group; group = previous) {
        const struct job *job = state->first_job;
        previous = group->previous;
        if (!group_is_over(group) || (job && job->id <= group->last))
            continue;
        struct event forget = { .kind = EVENT_FORGET, .forget = { .id = group->id } };
        emit(user, &forget);
    }
}

void retention_run(struct retention *retention, const struct state *state,
                   void (*emit)(void *user, struct event *event), void *user)
{
    uint32_t forgotten = 0;

    if (retention->above == 0)
        retention->above = RETENTION_KEPT + RETENTION_STEP;

    if (state->job_counts[JOB_ENDED] < retention->above)
        return;
    for (const struct job *job = state->first_job, *next; job && forgotten < RETENTION_STEP;
         job = next) {
        next = job->next;
        if (!may_be_forgotten(state, job))
            continue;
        struct event forget = { .kind = EVENT_FORGET, .forget = { .id = job->id } };
        list_add(&retention->forgotten,
                 (struct forgotten){ job->id, job->uid, request_most(state_request(state, job)) });
        emit(user, &forget);
        forgotten++;
    }
    /* When they can't go yet, a thousand more may come before all are looked at again. */
    uint32_t left = state->job_counts[JOB_ENDED];
    bool is_stuck = forgotten < RETENTION_STEP && left > RETENTION_KEPT;
    retention->above = (is_stuck ? left : RETENTION_KEPT) + RETENTION_STEP;
    forget_empty_groups(state, emit, user);
}
