/* SPDX-License-Identifier: Apache-2.0 */
/* Why a job waits: from its state, or as the last plan found it. */
#include "sched/explain/inquiry.h"
#include "sched/placement/admit.h"

static void why_waiting(const struct brain *brain, const struct job *job, struct why *ret_why)
{
    const struct need_table *needs = &brain->state->needs;
    const struct need *need;

    *ret_why = (struct why){ .kind = WHY_BEGIN, .at = job->begin };
    for (uint32_t at = need_first_of(needs, job->id); at != 0; at = need->next_of_job) {
        need = &needs->needs.items[at - 1];
        if (ret_why->kind != WHY_NEEDS || need->on < ret_why->job)
            *ret_why = (struct why){ .kind = WHY_NEEDS, .job = need->on, .wanted = need->kind };
    }
}

/* Whether it would start at once if it took spot machines and others alike. */
static bool is_kept_by_spot(struct brain *own, const struct place_query *query)
{
    struct place_query other = *query;
    struct request any = *query->request;
    struct lease lease;

    other.shapes = NULL;
    if ((any.spot != SPOT_NEVER && any.spot != SPOT_ONLY) ||
        place_job(&other, &own->arena, &lease, NULL))
        return false; /* it is something else that keeps it */
    any.spot = SPOT_ALLOW;
    other.request = &any;
    return place_job(&other, &own->arena, &lease, NULL);
}

/* There was no room: what exactly was missing is found out when somebody asks. */
static void why_no_room(struct brain *own, const struct job *job, struct why *why)
{
    struct place_query query = brain_query(own, job);
    struct why admitted = { .kind = WHY_NONE };
    usec_t at = why->at;

    if (at == 0)
        sched_admit(own->state, query.request, job->queue, job->is_preemptible, &admitted);
    if (admitted.kind != WHY_NONE) {
        *why = admitted;
        return;
    }
    if (why->kind == WHY_POOL_MAX || why->kind == WHY_POOL_MIN)
        return; /* there was room, but not for this pool */
    arena_clear(&own->arena);
    if (is_kept_by_spot(own, &query))
        *why = (struct why){ .kind = WHY_SPOT, .wanted = query.request->spot };
    else
        place_explain(&query, &own->arena, why);
    why->at = at;
}

void sched_why(const struct brain *brain, struct inquiry *inquiry, const struct job *job,
               struct why *ret_why, uint32_t *ret_ahead)
{
    if (ret_ahead)
        *ret_ahead = 0;
    *ret_why = (struct why){ .kind = WHY_NONE };
    if (job->state == JOB_HELD)
        ret_why->kind = WHY_HELD;
    else if (job->state == JOB_WAITING)
        why_waiting(brain, job, ret_why);
    if (job->state != JOB_QUEUED)
        return;
    *ret_why = job->pending_bucket->why;
    if (ret_why->kind >= WHY_GPUS && ret_why->kind <= WHY_POOL_MIN &&
        !why_is_of_quota(ret_why->kind))
        why_no_room(inquiry_follow(inquiry, brain), job, ret_why);
    if (job != job->pending_bucket->first && !why_is_of_time(ret_why->kind))
        ret_why->at = 0; /* the promise is the head's */
    for (const struct job *at = job->pending_bucket->first; ret_ahead && at != job;
         at = at->pending_next)
        ++*ret_ahead;
}
