/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/backfill/time_rules.h"

#include <assert.h>

#include "sched/brain.h"
#include "sched/job_facts.h"
#include "sched/ordering/run_time.h"

enum { EDGES_MOST = 64 };

/* ---- tariffs ---- */

/* When it has to start for its deadline; USEC_NEVER: it has none. */
static usec_t latest_start(const struct state *state, const struct job *job)
{
    usec_t now = state->now;

    if (job->deadline == 0)
        return USEC_NEVER;
    usec_t run = run_time_most(state, job);
    if (run >= job->deadline - now)
        return now;
    return job->deadline - run - run / 8;
}

usec_t tariff_opens_at(const struct state *state, const struct job *job, usec_t at)
{
    usec_t cheap = job->tariff_most > 0 ? agenda_cheap_at(&state->agenda, job->tariff_most - 1u, at)
                                        : USEC_NEVER;
    if (cheap == USEC_NEVER)
        return at; /* there are no such hours: nothing to wait for */
    usec_t latest = latest_start(state, job);
    usec_t opens = cheap < latest ? cheap : latest;
    return opens > at ? opens : at;
}

static bool tariff_allows(struct brain *brain, const struct job *job, struct why *why)
{
    const struct agenda *agenda = &brain->state->agenda;
    usec_t now = brain->state->now;

    if (job->tariff_most == 0 || agenda->factor_milli < job->tariff_most)
        return true;
    usec_t at = tariff_opens_at(brain->state, job, now);
    if (at <= now)
        return true;
    brain_review(brain, at);
    *why = (struct why){
        .kind = WHY_TARIFF, .wanted = job->tariff_most - 1, .free = agenda->factor_milli, .at = at
    };
    return false;
}

/* ---- windows ---- */

static usec_t next_edge(const struct state *state, const struct queue *queue, usec_t at,
                        uint32_t *ret_window)
{
    usec_t next = USEC_NEVER;

    for (size_t i = 0; i < queue->during.count; i++) {
        uint32_t window = queue->during.items[i].window;
        usec_t edge = window_next_edge(state->agenda.windows.items[window], at);
        if (edge < next) {
            next = edge;
            *ret_window = window;
        }
    }
    return next;
}

/* What jobs below the queue may still hold at a time; firm: those that are never stopped. */
static int64_t held_at(const struct brain *brain, uint32_t queue, uint32_t resource, usec_t at,
                       bool is_firm)
{
    int64_t held = 0;

    for (struct ends_walk walk = ends_first(&brain->ends); walk.job; ends_next(&walk)) {
        const struct job *job = walk.job;
        struct amounts amounts;
        usec_t end = job_end_of(brain->state, job);
        if ((is_firm && job->is_preemptible) || job->state == JOB_STOPPING ||
            !state_is_below(brain->state, job->queue, queue) || (end <= at && end != USEC_NEVER))
            continue;
        amounts_of_lease(brain->state, job->run->lease, &amounts);
        held += amounts.of[resource];
    }
    return held;
}

/* The edge at `at`: does the job fit into what the queue may hold from then on? */
static bool edge_allows(const struct brain *brain, const struct job *job, uint32_t queue,
                        const struct amounts *wanted, usec_t at, struct why *why)
{
    const struct state *state = brain->state;
    const struct queue *q = &state->queues.items[queue];

    assert(at >= state->now);
    for (size_t i = 0; i < q->during.count; i++) {
        uint32_t resource = q->during.items[i].resource;
        struct quota quota;
        if (wanted->of[resource] == 0)
            continue;
        state_quota_at(state, queue, resource, at, &quota);
        int64_t most = quota_most(&quota, q->owned.of[resource]);
        if (most == QUOTA_NONE || q->used.of[resource] + wanted->of[resource] <= most)
            continue;
        int64_t held = held_at(brain, queue, resource, at, !job->is_preemptible);
        if (held + wanted->of[resource] <= most)
            continue;
        *why = (struct why){ .kind = WHY_WINDOW,
                             .queue = queue,
                             .resource = resource,
                             .wanted = wanted->of[resource],
                             .free = most > held ? most - held : 0,
                             .most = most,
                             .at = at };
        return false;
    }
    return true;
}

static bool queue_allows(struct brain *brain, const struct job *job, uint32_t queue,
                         const struct amounts *wanted, struct why *why)
{
    const struct state *state = brain->state;
    const struct queue *q = &state->queues.items[queue];
    usec_t end = usec_after(state->now, job_stay(job));
    uint32_t window = 0;
    usec_t at = state->now;

    assert(end >= state->now);
    for (int i = 0; i < EDGES_MOST; i++) {
        at = next_edge(state, q, at, &window);
        if (at >= end)
            return true;
        if (!edge_allows(brain, job, queue, wanted, at, why)) {
            why->window = window;
            return false;
        }
    }
    return true;
}

bool time_rules_allow(struct brain *brain, const struct job *job, const struct amounts *wanted,
                      struct why *why)
{
    const struct state *state = brain->state;

    if (!tariff_allows(brain, job, why))
        return false;
    for (uint32_t at = job->queue; at != QUEUE_NONE; at = queue_above(state->queues.items, at)) {
        if (state->queues.items[at].during.count > 0 && !queue_allows(brain, job, at, wanted, why))
            return false;
    }
    return true;
}

/* The last one that says something of the resource is the one that counts. */
void time_rules_name_window(const struct state *state, struct why *why)
{
    const struct queue *queue = &state->queues.items[why->queue];
    int64_t base = quota_most(&queue->base[why->resource], queue->owned.of[why->resource]);

    if (base != QUOTA_NONE && base <= why->most)
        return;
    for (size_t i = queue->during.count; i-- > 0;) {
        const struct queue_during *during = &queue->during.items[i];
        usec_t until;
        if (during->resource != why->resource ||
            !window_at(state->agenda.windows.items[during->window], state->now, &until))
            continue;
        why->kind = WHY_WINDOW;
        why->window = during->window;
        why->at = until;
        return;
    }
}
