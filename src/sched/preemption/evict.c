/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/preemption/evict.h"

#include "base/wide.h"
#include "sched/brain.h"
#include "sched/job_facts.h"
#include "sched/ordering/quota_check.h"

static bool may_be_stopped(const struct job *job)
{
    return (job->state == JOB_RUNNING || job->state == JOB_GRANTED) &&
           !job->run->is_cancel_wanted && !job->run->is_requeue_wanted;
}

static void stop(struct brain *brain, const struct job *job, enum stop_rule rule,
                 struct decisions *decisions)
{
    struct event_stop stop = { .cause = STOP_CANCEL, .rule = (uint8_t)rule };

    if (job->is_preemptible) {
        stop.cause = STOP_PREEMPT;
        stop.lost = job_lost(job, brain->state->now);
    }
    if (decisions)
        brain_stop(brain, job, stop, decisions);
    else
        brain_review(brain, brain->state->now); /* at once, in a plan of its own */
}

/* It is to be gone at `at`: is it time to tell it? */
static bool is_time(struct brain *brain, const struct job *job, usec_t at)
{
    usec_t tell = at - job->grace;

    if (tell <= brain->state->now)
        return true;
    brain_review(brain, tell);
    return false;
}

/* ---- reservations ---- */

/* When it must be gone from what it holds; USEC_NEVER: it need not. */
static usec_t shut_at(const struct brain *brain, const struct job *job)
{
    const struct state *state = brain->state;
    struct keepout_ask ask = { job->queue, job->user, state->now, job_end_of(state, job) };
    usec_t first = USEC_NEVER;

    LIST_EACH (const struct keepout, keepout, &brain->keepouts.items) {
        if (!keepout_bars(keepout, state, &ask) ||
            !keepout_has(keepout, &brain->layout, job->run->lease))
            continue;
        usec_t at = keepout_shuts_at(keepout, state, &ask);
        first = at < first ? at : first;
    }
    return first;
}

/* By id: what is decided does not depend on when they are expected to end. */
static void collect(const struct brain *brain, job_list *jobs)
{
    for (struct ends_walk at = ends_first(&brain->ends); at.job; ends_next(&at)) {
        if (may_be_stopped(at.job))
            list_add(jobs, at.job);
    }
    list_sort(jobs, job_compare_ids);
}

static void evict_for_keepouts(struct brain *brain, const job_list *jobs,
                               struct decisions *decisions)
{
    for (size_t i = 0; brain->keepouts.items.count > 0 && i < jobs->count; i++) {
        struct job *job = jobs->items[i];
        usec_t at = job->is_preemptible ? shut_at(brain, job) : USEC_NEVER;
        if (at != USEC_NEVER && is_time(brain, job, at))
            stop(brain, job, STOP_FOR_RESERVATION, decisions);
    }
}

/* ---- windows ---- */

/* What of a queue is over, at a time. */
struct excess {
    uint32_t queue, resource;
    usec_t at;
    int64_t over;
};

struct leaver {
    struct job *job;
    int64_t held, milli;
    usec_t lost;
};

typedef LIST(struct leaver) leaver_list;

/* Lower priorities first; then by the work that is repeated per GPU, least first; among equals, the
 * job that started last. */
static int compare_leavers(const void *left, const void *right)
{
    const struct leaver *a = left, *b = right;

    if (a->job->priority != b->job->priority)
        return a->job->priority < b->job->priority ? -1 : 1;
    int sign = wide_compare((uint64_t)a->lost + 1, (uint64_t)a->milli + 1, (uint64_t)b->lost + 1,
                            (uint64_t)b->milli + 1);

    if (sign != 0)
        return sign;
    if (a->job->run->granted != b->job->run->granted)
        return a->job->run->granted > b->job->run->granted ? -1 : 1;
    return a->job->id > b->job->id ? -1 : 1;
}

/* What is held beyond the maximum from then on, and the jobs that could be stopped. */
static void measure(const struct brain *brain, const job_list *jobs, int64_t most,
                    struct excess *excess, leaver_list *leavers)
{
    const struct state *state = brain->state;

    excess->over = -most;
    for (size_t i = 0; i < jobs->count; i++) {
        struct job *job = jobs->items[i];
        usec_t end = job_end_of(state, job);
        struct amounts amounts;
        if (job->state == JOB_STOPPING || !state_is_below(state, job->queue, excess->queue) ||
            (excess->at > state->now && end <= excess->at && end != USEC_NEVER))
            continue;
        amounts_of_lease(state, job->run->lease, &amounts);
        excess->over += amounts.of[excess->resource];
        if (job->is_preemptible && amounts.of[excess->resource] > 0)
            list_add(leavers, (struct leaver){ job, amounts.of[excess->resource],
                                               job->run->lease->milli, job_lost(job, state->now) });
    }
    list_sort(leavers, compare_leavers);
}

static void evict_excess(struct brain *brain, const job_list *jobs, struct excess excess,
                         int64_t most, struct decisions *decisions)
{
    leaver_list leavers = { 0 };

    measure(brain, jobs, most, &excess, &leavers);
    for (size_t i = 0; i < leavers.count && excess.over > 0; i++) {
        const struct leaver *leaver = &leavers.items[i];
        excess.over -= leaver->held;
        if (excess.at <= brain->state->now || is_time(brain, leaver->job, excess.at))
            stop(brain, leaver->job, STOP_FOR_WINDOW, decisions);
    }
    list_release(&leavers);
}

/* Only a window reduces a limit this way: a limit that an administrator lowers stops no job. */
static bool is_smaller(int64_t most, int64_t than)
{
    return most != QUOTA_NONE && (than == QUOTA_NONE || most < than);
}

static void evict_queue(struct brain *brain, const job_list *jobs, uint32_t number,
                        struct decisions *decisions)
{
    const struct state *state = brain->state;
    const struct queue *queue = &state->queues.items[number];
    usec_t edge = USEC_NEVER;

    for (size_t i = 0; i < queue->during.count; i++) {
        const struct window *window = state->agenda.windows.items[queue->during.items[i].window];
        usec_t next = window_next_edge(window, state->now);
        edge = next < edge ? next : edge;
    }
    for (uint32_t i = 0; i < state->resources.count; i++) {
        int64_t base = quota_most(&queue->base[i], queue->owned.of[i]);
        int64_t now = quota_bound(state, number, i), then;
        struct quota quota;
        if (queue->used.of[i] == 0)
            continue;
        if (is_smaller(now, base))
            evict_excess(brain, jobs, (struct excess){ number, i, state->now, 0 }, now, decisions);
        if (edge == USEC_NEVER)
            continue;
        state_quota_at(state, number, i, edge, &quota);
        then = quota_most(&quota, queue->owned.of[i]);
        if (is_smaller(then, now))
            evict_excess(brain, jobs, (struct excess){ number, i, edge, 0 }, then, decisions);
    }
}

/* ---- budgets ---- */

/* In hours that cost nothing, running jobs may run on. */
static bool spends_now(const struct state *state, const struct job *job, enum account_kind kind)
{
    return kind == ACCOUNT_MONEY ? job->run->cost.rate > 0 && state->agenda.factor_milli > 0
                                 : job->run->lease->milli > 0;
}

static void evict_budget(struct brain *brain, const job_list *jobs, uint32_t number,
                         enum account_kind kind, struct decisions *decisions)
{
    const struct state *state = brain->state;
    const struct payer *payer = &state->payers.items.items[number];
    const struct account *account = &payer->accounts[kind];
    usec_t at =
        account->firmness == BUDGET_SOFT ? USEC_NEVER : budget_used_up_at(state, number, kind);

    if (at > state->now)
        brain_review(brain, at);
    for (size_t i = 0; at <= state->now && i < jobs->count; i++) {
        const struct job *job = jobs->items[i];
        if (may_be_stopped(job) && spends_now(state, job, kind) &&
            state_is_paid_by(state, job, payer) &&
            (job->is_preemptible || account->firmness == BUDGET_KILL))
            stop(brain, job, STOP_FOR_BUDGET, decisions);
    }
}

static void evict_budgets(struct brain *brain, const job_list *jobs, uint32_t payer,
                          struct decisions *decisions)
{
    for (enum account_kind kind = 0;
         payer_has_hard_budget(&brain->state->payers.items.items[payer]) && kind < ACCOUNTS; kind++)
        evict_budget(brain, jobs, payer, kind, decisions);
}

void plan_evictions(struct brain *brain, struct decisions *decisions)
{
    const struct state *state = brain->state;
    job_list jobs = { 0 };
    bool is_any = brain->keepouts.items.count > 0;

    LIST_EACH (const struct queue, queue, &state->queues)
        is_any |= queue->during.count > 0;
    LIST_EACH (const struct payer, payer, &state->payers.items)
        is_any |= payer_has_hard_budget(payer);
    if (!is_any || brain->ends.count == 0)
        return;
    collect(brain, &jobs);
    evict_for_keepouts(brain, &jobs, decisions);
    for (uint32_t i = 0; i < state->queues.count; i++) {
        if (state->queues.items[i].during.count > 0)
            evict_queue(brain, &jobs, i, decisions);
        evict_budgets(brain, &jobs, state->queues.items[i].payer, decisions);
    }
    for (uint32_t i = 0; i < state->payers.items.count; i++) {
        if (state->payers.items.items[i].user != PAYER_ALL)
            evict_budgets(brain, &jobs, i, decisions);
    }
    list_release(&jobs);
}
