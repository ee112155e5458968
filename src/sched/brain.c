/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/brain.h"

#include <assert.h>

#include "sched/job_facts.h"

void brain_decide(struct brain *brain, const struct event *decision, struct decisions *decisions)
{
    struct error err;

    assert(event_is_decision(decision->kind) && decision->at == brain->state->now);
    int code = state_apply(brain->state, decision, &err);
    assert(code == 0); /* what the brain decides makes sense */
    (void)code;
    list_add(&decisions->events, *decision);
}

void brain_stop(struct brain *brain, const struct job *job, struct event_stop stop,
                struct decisions *decisions)
{
    stop.job = job->id;
    brain_decide(brain,
                 &(struct event){ .kind = EVENT_STOP, .at = brain->state->now, .stop = stop },
                 decisions);
}

struct place_query brain_query_for(struct brain *brain, const struct job *job,
                                   const struct request *request)
{
    const struct class_table *classes = &brain->state->classes;

    return (struct place_query){
        .state = brain->state,
        .scorer = &brain->scorer,
        .fleet = &brain->fleet,
        .shapes = &brain->shapes,
        .cells = cells_is_any(&brain->cells) ? &brain->cells : NULL,
        .request = request,
        .class = job->class,
        .labels = class_label_bits(classes, request->labels, request->label_count),
        .apart = class_label_bits(classes, request->apart, request->apart_count),
        .queue = job->queue,
        .user = job->user,
        .gid = job->gid,
        .is_preemptible = job->is_preemptible,
        .job = job->id,
        .quota = PLACE_QUOTA_NOW,
        .keepouts = brain->keepouts.items.count > 0 ? &brain->keepouts : NULL,
        .from = brain->state->now,
        .stay = job_stay(job),
        .role_places =
            request->roles_count > 0 ? kept_place_of(&brain->reserve.role_places, job->id) : NULL,
    };
}

struct place_query brain_query(struct brain *brain, const struct job *job)
{
    return brain_query_for(brain, job, state_request(brain->state, job));
}

struct place_query brain_query_ahead(struct brain *brain, const struct job *job,
                                     struct fleet *ahead, enum place_quota quota)
{
    struct place_query query = brain_query(brain, job);

    query.fleet = ahead;
    query.shapes = NULL;
    query.quota = quota;
    return query;
}

void brain_make_cells(struct brain *brain)
{
    cells_make(&brain->cells, &brain->layout, brain->state);
    if (!cells_is_any(&brain->cells))
        return;
    for (struct ends_walk at = ends_first(&brain->ends); at.job; ends_next(&at))
        cells_take(&brain->cells, &brain->layout, at.job->run->lease,
                   cells_guest_of(&brain->cells, at.job->queue, at.job->is_preemptible), 1);
}

void brain_shut_gates(struct brain *brain)
{
    if (keepouts_make(&brain->keepouts, brain->state, &brain->layout, &brain->ends, &brain->arena))
        reserve_forget(&brain->reserve);
}

void brain_refresh(struct brain *brain)
{
    if (brain->is_moved) {
        reserve_forget(&brain->reserve);
        layout_make(&brain->layout, brain->state);
        fleet_make(&brain->fleet, &brain->layout, brain->state, false);
        brain_make_cells(brain);
        brain->is_moved = false;
        brain->made = ++brain->changes;
    }
    if (brain->keepouts.passed != brain->state->agenda.passed)
        brain_shut_gates(brain);
    scorer_refresh(&brain->scorer, brain->state, &brain->fleet);
    assert(!brain->is_moved && brain->layout.nodes.count == brain->state->nodes.count);
}

/* Jobs that ended long before their limits: their deadlines must not pile up. */
static void forget_deadlines(struct brain *brain)
{
    if (brain->time_limits.count < 4 * brain->ends.count + 1024)
        return;
    list_release(&brain->time_limits);
    for (struct ends_walk at = ends_first(&brain->ends); at.job; ends_next(&at)) {
        const struct job *job = at.job;
        usec_t end = job_end_of(brain->state, job);
        if (job_has_limit(job) && end != USEC_NEVER)
            time_limit_add(&brain->time_limits, end, job->id);
    }
}

void brain_watch(struct brain *brain, struct job *job)
{
    usec_t end = job_end_of(brain->state, job);

    assert(job_is_active(job));
    if (job_has_limit(job) && end != USEC_NEVER && end > brain->state->now) {
        time_limit_add(&brain->time_limits, end, job->id);
        forget_deadlines(brain);
    }
    if (!job->run->wants_attention && job_stop_wanted(brain->state, job) != STOP_NONE) {
        job_claim_run(job)->wants_attention = true;
        list_add(&brain->attention, job->id);
    }
}

/* Of a bucket they are the first. */
void brain_list_awaited(struct brain *brain)
{
    brain->awaited.count = 0;
    LIST_EACH (struct pending_queue, queue, &brain->pending.queues) {
        for (size_t k = 0; k < queue->buckets.count; k++) {
            struct job *job = queue->buckets.items[k]->first;
            for (; job && job->is_awaited == AWAITED_FROM_OTHERS; job = job->pending_next)
                list_add(&brain->awaited, job);
        }
    }
    list_sort(&brain->awaited, job_compare_ids);
}
