/* SPDX-License-Identifier: Apache-2.0 */
#include "worlds/fuzz_leave.h"

#include <errno.h>
#include <inttypes.h>

#include "worlds/fuzz_check.h"

/* It runs, and is not to stop yet. */
static bool runs_on(const struct shadow_job *job)
{
    return (job->state == JOB_GRANTED || job->state == JOB_RUNNING) && !job->is_cancel_wanted &&
           !job->is_requeue_wanted;
}

static const struct shadow_job *active_job(const struct shadow *shadow, size_t place)
{
    return shadow_job(shadow, shadow->active.items[place]);
}

/* ---- reservations ---- */

static bool holds(const struct shadow *shadow, const struct shadow_reservation *reservation,
                  const struct lease *lease)
{
    for (uint32_t i = 0; reservation->gpus == 0 && i < lease->members_count; i++) {
        if (shadow_keeps_node(shadow, reservation, lease->members[i].node))
            return true;
    }
    for (uint32_t i = 0; reservation->gpus > 0 && i < lease->slices_count; i++) {
        if (shadow_may_keep(shadow, reservation, lease->slices[i].device))
            return true;
    }
    return false;
}

static bool has_device(const struct lease *lease, uint32_t device)
{
    bool has = false;

    for (uint32_t i = 0; i < lease->slices_count && !has; i++)
        has = lease->slices[i].device == device;
    return has;
}

enum fuzz_hold fuzz_hold_of(const struct shadow *shadow,
                            const struct shadow_reservation *reservation, uint32_t device,
                            usec_t opens)
{
    enum fuzz_hold worst = FUZZ_HELD_NOT;

    for (size_t i = 0; i < shadow->active.count; i++) {
        const struct shadow_job *job = active_job(shadow, i);
        bool is_there = has_device(job->lease, device) && job->state != JOB_STOPPING &&
                        !shadow_is_owner(shadow, reservation, job) && shadow_end_of(job) > opens;
        enum fuzz_hold hold = job->is_preemptible ? FUZZ_HELD_STOPPABLE : FUZZ_HELD_FIRM;
        if (is_there && hold > worst)
            worst = hold;
    }
    return worst;
}

/* When it must be gone for it; USEC_NEVER: it need not be. */
static usec_t shut_at(const struct shadow *shadow, const struct shadow_reservation *reservation,
                      const struct shadow_job *job)
{
    const struct shadow_times *times = &shadow->times;

    if (shadow_is_owner(shadow, reservation, job) || !holds(shadow, reservation, job->lease))
        return USEC_NEVER;
    if (shadow_is_open(times, reservation->window, shadow->now))
        return shadow->now;
    usec_t opens = shadow_edge_after(times, reservation->window, shadow->now);
    return opens < shadow_end_of(job) ? opens : USEC_NEVER;
}

bool fuzz_machines_left(const struct fuzz_run *run, usec_t wakeup, struct error *found)
{
    const struct shadow *shadow = run->shadow;

    for (size_t i = 0; i < shadow->times.reservations.count; i++) {
        const struct shadow_reservation *reservation = &shadow->times.reservations.items[i];
        for (size_t k = 0; reservation->gpus == 0 && k < shadow->active.count; k++) {
            const struct shadow_job *job = active_job(shadow, k);
            usec_t at = runs_on(job) && job->is_preemptible ? shut_at(shadow, reservation, job)
                                                            : USEC_NEVER;
            if (at == USEC_NEVER)
                continue;
            if (at - job->grace <= shadow->now || at - job->grace < wakeup)
                return NOT_HELD(found,
                                "job %" PRIu64 ": to be gone for reservation %s at %" PRId64
                                ", its grace is %" PRId64 ", the brain wakes up at %" PRId64,
                                job->id, reservation->name, at, job->grace, wakeup);
        }
    }
    return true;
}

/* Of reservations that are open and have no other beside them: no job that may be stopped holds
 * what could serve it, as long as the rest is not enough. */
bool fuzz_devices_left(const struct fuzz_run *run, struct error *found)
{
    const struct shadow *shadow = run->shadow;

    for (size_t i = 0; i < shadow->times.reservations.count; i++) {
        const struct shadow_reservation *reservation = &shadow->times.reservations.items[i];
        uint32_t free = 0, stoppable = 0;
        if (reservation->gpus == 0 ||
            !shadow_is_open(&shadow->times, reservation->window, shadow->now) ||
            !shadow_is_alone(&shadow->times, i))
            continue;
        for (uint32_t k = 0; k < shadow->devices.count; k++) {
            enum fuzz_hold hold = fuzz_hold_of(shadow, reservation, k, shadow->now);
            free += shadow_may_keep(shadow, reservation, k) && hold == FUZZ_HELD_NOT;
            stoppable += shadow_may_keep(shadow, reservation, k) && hold == FUZZ_HELD_STOPPABLE;
        }
        if (free < reservation->gpus && stoppable > 0)
            return NOT_HELD(found,
                            "reservation %s: has %u of %u GPUs, and %u are held by jobs that may "
                            "be stopped",
                            reservation->name, free, reservation->gpus, stoppable);
    }
    return true;
}

/* ---- windows ---- */

usec_t fuzz_edge_of_queue(const struct shadow *shadow, uint32_t queue, usec_t at)
{
    const struct shadow_queue *of = &shadow->queues.items[queue];
    usec_t next = USEC_NEVER;

    for (size_t i = 0; i < of->during.count; i++) {
        usec_t edge = shadow_edge_after(&shadow->times, of->during.items[i].window, at);
        next = edge < next ? edge : next;
    }
    return next;
}

static bool stays_until(const struct shadow_job *job, usec_t at)
{
    return job->state != JOB_STOPPING && shadow_end_of(job) > at;
}

int64_t fuzz_held_at(const struct shadow *shadow, uint32_t queue, uint32_t resource, usec_t at,
                     bool is_firm)
{
    int64_t sum = 0;

    for (size_t i = 0; i < shadow->active.count; i++) {
        const struct shadow_job *job = active_job(shadow, i);
        if (stays_until(job, at) && !(is_firm && job->is_preemptible) &&
            shadow_is_below(shadow, job->queue, queue))
            sum += shadow_amounts_of(shadow, job->lease).of[resource];
    }
    return sum;
}

static int64_t bound_at(const struct shadow *shadow, uint32_t queue, uint32_t resource, usec_t at)
{
    struct quota quota = shadow_quota_at(shadow, queue, resource, at);

    return shadow_bound_by(&quota, shadow->queues.items[queue].owned.of[resource]);
}

static bool is_smaller(int64_t bound, int64_t than)
{
    return bound >= 0 && (than < 0 || bound < than);
}

/* From `at` on (now, or the queue's next edge) it may hold less, because of a window. */
static bool shrinks(const struct shadow *shadow, uint32_t number, uint32_t resource, usec_t at)
{
    const struct shadow_queue *queue = &shadow->queues.items[number];
    int64_t now = bound_at(shadow, number, resource, shadow->now);
    int64_t base = shadow_bound_by(&queue->base[resource], queue->owned.of[resource]);

    return at > shadow->now ? is_smaller(bound_at(shadow, number, resource, at), now)
                            : is_smaller(now, base);
}

/* The excess at that time, of jobs that are not to stop yet. */
static int64_t excess_at(const struct shadow *shadow, uint32_t queue, uint32_t resource, usec_t at)
{
    int64_t sum = -bound_at(shadow, queue, resource, at);

    for (size_t i = 0; i < shadow->active.count; i++) {
        const struct shadow_job *job = active_job(shadow, i);
        bool is_over = at > shadow->now && shadow_end_of(job) <= at;
        if (runs_on(job) && !is_over && shadow_is_below(shadow, job->queue, queue))
            sum += shadow_amounts_of(shadow, job->lease).of[resource];
    }
    return sum;
}

/* All jobs that could go were due to be told, and there is still too much. */
static bool check_queue_left(const struct shadow *shadow, uint32_t number, uint32_t resource,
                             usec_t at, struct error *found)
{
    int64_t excess =
        shrinks(shadow, number, resource, at) ? excess_at(shadow, number, resource, at) : 0;

    for (size_t i = 0; excess > 0 && i < shadow->active.count; i++) {
        const struct shadow_job *job = active_job(shadow, i);
        bool could_go = runs_on(job) && job->is_preemptible &&
                        shadow_is_below(shadow, job->queue, number) &&
                        (at <= shadow->now || shadow_end_of(job) > at) &&
                        shadow_amounts_of(shadow, job->lease).of[resource] > 0;
        if (could_go && at - job->grace > shadow->now)
            return true;
    }
    for (size_t i = 0; excess > 0 && i < shadow->active.count; i++) {
        const struct shadow_job *job = active_job(shadow, i);
        if (runs_on(job) && job->is_preemptible && shadow_is_below(shadow, job->queue, number) &&
            (at <= shadow->now || shadow_end_of(job) > at) &&
            shadow_amounts_of(shadow, job->lease).of[resource] > 0)
            return NOT_HELD(found,
                            "job %" PRIu64 ": queue %s holds %" PRId64 " of resource %u more than "
                            "it may from %" PRId64 " on",
                            job->id, shadow->queues.items[number].name, excess, resource, at);
    }
    return true;
}

bool fuzz_queues_left(const struct fuzz_run *run, struct error *found)
{
    const struct shadow *shadow = run->shadow;

    for (uint32_t i = 0; i < shadow->queues.count; i++) {
        const struct shadow_queue *queue = &shadow->queues.items[i];
        usec_t edge = fuzz_edge_of_queue(shadow, i, shadow->now);
        for (size_t k = 0; k < queue->during.count; k++) {
            uint32_t resource = queue->during.items[k].resource;
            if (!check_queue_left(shadow, i, resource, shadow->now, found) ||
                (edge != USEC_NEVER && !check_queue_left(shadow, i, resource, edge, found)))
                return false;
        }
    }
    return true;
}

/* ---- budgets ---- */

/* By its limit, unless its user or history said how long it runs, or its limit was extended since:
 * then when the brain expects. */
usec_t fuzz_expected_end(const struct fuzz_run *run, const struct shadow_job *job)
{
    bool is_by_limit =
        job->estimate == 0 && !run->shadow->has_predicted && job->max_duration <= job->granted_for;

    return is_by_limit ? shadow_end_of(job) : state_job(run->state, job->id)->run->expected_end;
}

static int64_t whole_of(wide_t sum, enum account_kind kind)
{
    wide_t whole = sum / shadow_parts(kind);

    return whole < INT64_MAX ? (int64_t)whole : INT64_MAX;
}

int64_t fuzz_spent_at_least(const struct fuzz_run *run, const struct shadow_payer *payer,
                            enum account_kind kind, const struct shadow_job *started)
{
    const struct shadow *shadow = run->shadow;
    const struct shadow_account *account = &payer->accounts[kind];
    bool is_known = started->estimate == 0 && !shadow->has_predicted;
    wide_t sum = account->sum;

    for (size_t i = 0; i < shadow->active.count; i++) {
        const struct shadow_job *job = active_job(shadow, i);
        if (job->state != JOB_STOPPING && (job != started || is_known) &&
            shadow_pays(shadow, payer, job))
            sum += shadow_cost_ahead(shadow, account, kind, job, fuzz_expected_end(run, job));
    }
    return whole_of(sum, kind);
}

/* By its limit; one that has none counts for a day, or as long as the brain thinks by now. */
static wide_t most_ahead(const struct fuzz_run *run, const struct shadow_account *account,
                         enum account_kind kind, const struct shadow_job *job)
{
    usec_t end = shadow_end_of(job), expected = state_job(run->state, job->id)->run->expected_end;
    wide_t most = shadow_cost_ahead(run->shadow, account, kind, job, end);
    wide_t thought = end == USEC_NEVER && expected != USEC_NEVER
                         ? shadow_cost_ahead(run->shadow, account, kind, job, expected)
                         : 0;

    return thought > most ? thought : most;
}

int64_t fuzz_spent_at_most(const struct fuzz_run *run, const struct shadow_payer *payer,
                           enum account_kind kind)
{
    const struct shadow *shadow = run->shadow;
    const struct shadow_account *account = &payer->accounts[kind];
    wide_t sum = account->sum;

    for (size_t i = 0; i < shadow->active.count; i++) {
        const struct shadow_job *job = active_job(shadow, i);
        if (shadow_pays(shadow, payer, job))
            sum += most_ahead(run, account, kind, job);
    }
    return whole_of(sum, kind);
}

static bool spends(const struct shadow *shadow, const struct shadow_job *job,
                   enum account_kind kind)
{
    return kind == ACCOUNT_MONEY ? job->rate > 0 && shadow_factor(&shadow->times, shadow->now) > 0
                                 : job->lease->milli > 0;
}

/* What is spent an instant later, if nothing changes. */
static int64_t spent_by(const struct shadow *shadow, const struct shadow_payer *payer,
                        enum account_kind kind, usec_t at)
{
    struct shadow_account account = payer->accounts[kind];
    uint32_t factor = shadow_factor(&shadow->times, shadow->now);

    for (size_t i = 0; i < shadow->active.count; i++) {
        const struct shadow_job *job = active_job(shadow, i);
        int64_t each = kind == ACCOUNT_MONEY ? job->rate * factor : job->lease->milli;
        if (shadow_pays(shadow, payer, job))
            account.sum += (wide_t)(uint64_t)each * (uint64_t)(at - shadow->now);
    }
    return shadow_spent(&account, kind);
}

static bool check_budget_left(const struct fuzz_run *run, const struct shadow_payer *payer,
                              enum account_kind kind, usec_t wakeup, struct error *found)
{
    const struct shadow *shadow = run->shadow;
    const struct shadow_account *account = &payer->accounts[kind];
    const char *name = shadow->queues.items[payer->queue].name;

    for (size_t i = 0; i < shadow->active.count; i++) {
        const struct shadow_job *job = active_job(shadow, i);
        bool may_go = job->is_preemptible || account->firmness == BUDGET_KILL;
        if (!runs_on(job) || !may_go || !spends(shadow, job, kind) ||
            !shadow_pays(shadow, payer, job))
            continue;
        if (shadow_is_used_up(account, kind, job->is_preemptible))
            return NOT_HELD(found, "job %" PRIu64 ": runs on, queue %s %s has spent %" PRId64,
                            job->id, name, payer->user, shadow_spent(account, kind));
        usec_t edge = shadow_any_edge_after(&shadow->times, shadow->now);
        usec_t until = wakeup < edge ? wakeup : edge;
        until = until < shadow->now + USEC_PER_DAY ? until : shadow->now + USEC_PER_DAY;
        if (until > shadow->now && spent_by(shadow, payer, kind, until - 1) >= account->most)
            return NOT_HELD(
                found, "queue %s %s: will have spent all before the brain wakes up at %" PRId64,
                name, payer->user, wakeup);
        return true;
    }
    return true;
}

bool fuzz_budgets_left(const struct fuzz_run *run, usec_t wakeup, struct error *found)
{
    LIST_EACH (const struct shadow_payer, payer, &run->shadow->payers) {
        for (enum account_kind kind = 0; kind < ACCOUNTS; kind++) {
            const struct shadow_account *account = &payer->accounts[kind];
            if (account->most != ACCOUNT_NO_BUDGET && account->firmness != BUDGET_SOFT &&
                !check_budget_left(run, payer, kind, wakeup, found))
                return false;
        }
    }
    return true;
}

/* ---- is it so? ---- */

static bool is_kept_from(const struct shadow *shadow, const struct shadow_job *job)
{
    bool is = false;

    for (size_t i = 0; i < shadow->times.reservations.count && !is; i++) {
        usec_t at = shut_at(shadow, &shadow->times.reservations.items[i], job);
        is = at != USEC_NEVER && at - job->grace <= shadow->now;
    }
    return is;
}

static bool is_too_much(const struct shadow *shadow, const struct shadow_job *job)
{
    struct shadow_amounts held = shadow_amounts_of(shadow, job->lease);
    bool is = false;

    for (uint32_t at = job->queue; at != QUEUE_ROOT; at = shadow->queues.items[at].parent) {
        const struct shadow_queue *queue = &shadow->queues.items[at];
        usec_t edge = fuzz_edge_of_queue(shadow, at, shadow->now);
        for (size_t i = 0; i < queue->during.count && !is; i++) {
            uint32_t resource = queue->during.items[i].resource;
            is =
                held.of[resource] > 0 && ((shrinks(shadow, at, resource, shadow->now) &&
                                           excess_at(shadow, at, resource, shadow->now) > 0) ||
                                          (edge != USEC_NEVER && edge - job->grace <= shadow->now &&
                                           shrinks(shadow, at, resource, edge) &&
                                           excess_at(shadow, at, resource, edge) > 0));
        }
    }
    return is;
}

static bool is_not_paid_for(const struct shadow *shadow, const struct shadow_job *job)
{
    bool is = false;

    LIST_EACH (const struct shadow_payer, payer, &shadow->payers) {
        for (enum account_kind kind = 0; kind < ACCOUNTS && !is; kind++)
            is = shadow_pays(shadow, payer, job) && spends(shadow, job, kind) &&
                 shadow_is_used_up(&payer->accounts[kind], kind, job->is_preemptible);
    }
    return is;
}

bool fuzz_is_to_leave(const struct fuzz_run *run, const struct shadow_job *job, uint8_t rule)
{
    switch (rule) {
    case STOP_FOR_RESERVATION:
        return job->is_preemptible && is_kept_from(run->shadow, job);
    case STOP_FOR_WINDOW:
        return job->is_preemptible && is_too_much(run->shadow, job);
    case STOP_FOR_BUDGET:
        return is_not_paid_for(run->shadow, job);
    default:
        return false;
    }
}
