/* SPDX-License-Identifier: Apache-2.0 */
/* The invariants of time and money: what reservations keep, what windows and budgets bound. */
#include <errno.h>
#include <inttypes.h>

#include "core/job/own_speed.h"
#include "worlds/fuzz_check.h"
#include "worlds/fuzz_leave.h"

/* ---- which job may start ---- */

static bool holds_node(const struct shadow *shadow, const struct shadow_reservation *reservation,
                       const struct lease *lease)
{
    for (uint32_t i = 0; i < lease->members_count; i++) {
        if (shadow_keeps_node(shadow, reservation, lease->members[i].node))
            return true;
    }
    return false;
}

/* Devices that it can be served from when it opens, with what this job takes or without. */
static uint32_t left_for(const struct shadow *shadow, const struct shadow_reservation *reservation,
                         const struct lease *taken)
{
    usec_t opens = shadow_is_open(&shadow->times, reservation->window, shadow->now)
                       ? shadow->now
                       : shadow_edge_after(&shadow->times, reservation->window, shadow->now);
    uint32_t count = 0;

    for (uint32_t i = 0; i < shadow->devices.count; i++) {
        bool is_left = shadow_may_keep(shadow, reservation, i) &&
                       fuzz_hold_of(shadow, reservation, i, opens) < FUZZ_HELD_FIRM;
        for (uint32_t k = 0; taken && k < taken->slices_count; k++)
            is_left &= taken->slices[k].device != i;
        count += is_left;
    }
    return count;
}

static bool check_kept(struct fuzz_run *run, size_t number, const struct shadow_job *job,
                       const struct lease *lease, struct error *found)
{
    const struct shadow *shadow = run->shadow;
    const struct shadow_reservation *reservation = &shadow->times.reservations.items[number];

    if (!shadow_is_barred(shadow, reservation, job))
        return true;
    if (holds_node(shadow, reservation, lease))
        return NOT_HELD(found, "job %" PRIu64 ": starts on a machine that reservation %s keeps",
                        job->id, reservation->name);
    if (reservation->gpus == 0 || !shadow_is_alone(&shadow->times, number))
        return true; /* only the brain knows which of them is kept for which owner */
    uint32_t left = left_for(shadow, reservation, lease);
    if (left >= reservation->gpus || left_for(shadow, reservation, NULL) <= left)
        return true;
    return NOT_HELD(found, "job %" PRIu64 ": leaves %u GPUs for reservation %s of %u", job->id,
                    left, reservation->name, reservation->gpus);
}

bool check_reservation_kept(struct fuzz_run *run, const struct event *event, struct error *found)
{
    const struct shadow_job *job = shadow_job(run->shadow, event->grant.job);

    for (size_t i = 0; i < run->shadow->times.reservations.count; i++) {
        if (!check_kept(run, i, job, &event->grant.lease, found))
            return false;
    }
    return true;
}

/* One edge of a window of the queue: what stays until then is within what may be held from then. */
static bool check_edge(const struct shadow *shadow, const struct shadow_job *job, uint32_t number,
                       usec_t at, struct error *found)
{
    const struct shadow_queue *queue = &shadow->queues.items[number];
    struct shadow_amounts taken = shadow_amounts_of(shadow, job->lease);

    for (size_t i = 0; i < queue->during.count; i++) {
        uint32_t resource = queue->during.items[i].resource;
        struct quota quota = shadow_quota_at(shadow, number, resource, at);
        int64_t bound = shadow_bound_by(&quota, queue->owned.of[resource]);
        int64_t held = fuzz_held_at(shadow, number, resource, at, !job->is_preemptible);
        if (taken.of[resource] > 0 && bound >= 0 && held > bound)
            return NOT_HELD(found,
                            "job %" PRIu64 ": queue %s may hold %" PRId64 " of resource %u from "
                            "%" PRId64 " on, %" PRId64 " may still be held then",
                            job->id, queue->name, bound, resource, at, held);
    }
    return true;
}

bool check_window_ahead(struct fuzz_run *run, const struct event *event, struct error *found)
{
    const struct shadow *shadow = run->shadow;
    const struct shadow_job *job = shadow_job(shadow, event->grant.job);
    usec_t until = usec_after(shadow->now, shadow_stay_of(job));

    for (uint32_t at = job->queue; at != QUEUE_ROOT; at = shadow->queues.items[at].parent) {
        for (usec_t edge = fuzz_edge_of_queue(shadow, at, shadow->now); edge < until;
             edge = fuzz_edge_of_queue(shadow, at, edge)) {
            if (!check_edge(shadow, job, at, edge, found))
                return false;
        }
    }
    return true;
}

/* Its limit is the most that it may be taken to run: no sooner does its deadline press. */
bool check_tariff_waited_for(struct fuzz_run *run, const struct event *event, struct error *found)
{
    const struct shadow *shadow = run->shadow;
    const struct shadow_job *job = shadow_job(shadow, event->grant.job);
    usec_t limit = job->max_duration, until = job->deadline - shadow->now;

    if (job->tariff_most == 0 || shadow_factor(&shadow->times, shadow->now) < job->tariff_most ||
        shadow_cheap_at(&shadow->times, job->tariff_most - 1, shadow->now) == USEC_NEVER)
        return true;
    if (job->deadline > 0 && (limit >= until || limit + limit / 8 >= until))
        return true;
    return NOT_HELD(found, "job %" PRIu64 ": the factor is %u, it waits for less than %u", job->id,
                    shadow_factor(&shadow->times, shadow->now), job->tariff_most);
}

static bool check_account(struct fuzz_run *run, const struct shadow_payer *payer,
                          enum account_kind kind, const struct shadow_job *job, struct error *found)
{
    const struct shadow *shadow = run->shadow;
    const struct shadow_account *account = &payer->accounts[kind];

    /* Where run times are predicted, it may be taken to end while hours cost nothing. */
    bool may_be_free = kind == ACCOUNT_MONEY && shadow->has_predicted &&
                       shadow_factor(&shadow->times, shadow->now) == 0;
    if (account->most == ACCOUNT_NO_BUDGET || may_be_free ||
        shadow_cost_ahead(shadow, account, kind, job, fuzz_expected_end(run, job)) == 0)
        return true;
    int64_t sum = fuzz_spent_at_least(run, payer, kind, job);
    return sum <= account->most || NOT_HELD(found,
                                            "job %" PRIu64 ": queue %s %s will have spent %" PRId64
                                            " of %" PRId64 " (account %d)",
                                            job->id, shadow->queues.items[payer->queue].name,
                                            payer->user, sum, account->most, kind);
}

bool check_budget_kept(struct fuzz_run *run, const struct event *event, struct error *found)
{
    const struct shadow_job *job = shadow_job(run->shadow, event->grant.job);

    LIST_EACH (const struct shadow_payer, payer, &run->shadow->payers) {
        for (enum account_kind kind = 0; kind < ACCOUNTS; kind++) {
            if (shadow_pays(run->shadow, payer, job) &&
                !check_account(run, payer, kind, job, found))
                return false;
        }
    }
    return true;
}

/* ---- which job has to go ---- */

bool check_gone_in_time(struct fuzz_run *run, const struct event *event, struct error *found)
{
    usec_t wakeup = sched_next_wakeup(run->brain);
    usec_t edge = shadow_any_edge_after(&run->shadow->times, run->shadow->now);

    (void)event;
    if (wakeup > edge)
        return NOT_HELD(found,
                        "a window opens or closes at %" PRId64 ", the brain wakes up at %" PRId64,
                        edge, wakeup);
    return fuzz_machines_left(run, wakeup, found) && fuzz_devices_left(run, found) &&
           fuzz_queues_left(run, found) && fuzz_budgets_left(run, wakeup, found);
}

/* ---- how long those that run are taken to run ---- */

/* Its run time as stated, on the devices that it has. */
static usec_t estimate_of(const struct shadow *shadow, const struct shadow_job *job)
{
    const struct request *request = &shadow->requests.items[job->request];
    const struct lease *lease = job->lease;

    usec_t longest = 0;

    for (uint32_t i = 0; lease && i < lease->slices_count; i++) {
        const char *model = shadow->devices.items[lease->slices[i].device].model;
        usec_t run = own_speed_run(job->estimate, own_speed_on(request, model));
        longest = run > longest ? run : longest;
    }
    return longest > 0 ? longest : job->estimate;
}

/* The latest that it may be expected to end. Of later attempts only the brain knows how much
 * of the estimate is left. What outlives it before it has started keeps the longer window. */
static usec_t latest_end(const struct shadow *shadow, const struct shadow_job *job)
{
    usec_t limit = shadow_end_of(job);
    usec_t from = job->state == JOB_GRANTED || job->started == 0 ? job->granted : job->started;
    usec_t estimate = estimate_of(shadow, job);
    bool is_outlived = job->granted + estimate <= shadow->planned;

    if (job->estimate == 0 || job->attempt != 1 || is_outlived)
        return limit;
    return from + estimate < limit ? from + estimate : limit;
}

bool check_end_foreseen(struct fuzz_run *run, const struct event *event, struct error *found)
{
    const struct shadow *shadow = run->shadow;

    (void)event;
    for (size_t i = 0; i < shadow->active.count; i++) {
        const struct shadow_job *job = shadow_job(shadow, shadow->active.items[i]);
        usec_t end = state_job(run->state, job->id)->run->expected_end;
        if (job->state != JOB_STOPPING && (end < shadow->planned || end > latest_end(shadow, job)))
            return NOT_HELD(found,
                            "job %" PRIu64 ": is expected to end at %" PRId64 ", the last plan was "
                            "at %" PRId64 ", it ends by %" PRId64,
                            job->id, end, shadow->planned, latest_end(shadow, job));
    }
    return true;
}

/* ---- what was spent ---- */

bool check_spent_is_cost(struct fuzz_run *run, const struct event *event, struct error *found)
{
    const struct shadow *shadow = run->shadow;
    struct account accounts[ACCOUNTS];

    (void)event;
    if (shadow->payers.count != run->state->payers.items.count)
        return NOT_HELD(found, "%zu payers, expected %zu", run->state->payers.items.count,
                        shadow->payers.count);
    for (uint32_t i = 0; i < shadow->payers.count; i++) {
        const struct payer *said = &run->state->payers.items.items[i];
        const char *user = said->user == PAYER_ALL ? "" : state_user(run->state, said->user);
        const struct shadow_payer *payer = shadow_payer(shadow, said->queue, user);
        state_accounts(run->state, i, shadow->now, accounts);
        for (enum account_kind kind = 0; kind < ACCOUNTS; kind++) {
            const struct shadow_account *account = payer ? &payer->accounts[kind] : NULL;
            if (!account || accounts[kind].spent != shadow_spent(account, kind) ||
                accounts[kind].most != account->most)
                return NOT_HELD(found,
                                "queue %u %s: spent %" PRId64 " of %" PRId64 " (account %d), "
                                "expected %" PRId64 " of %" PRId64,
                                said->queue, user, accounts[kind].spent, accounts[kind].most, kind,
                                account ? shadow_spent(account, kind) : -1,
                                account ? account->most : -1);
        }
    }
    for (size_t i = 0; i < shadow->jobs.count; i++) {
        const struct shadow_job *job = shadow->jobs.items[i];
        const struct job *said = job ? state_job(run->state, job->id) : NULL;
        int64_t cost = job ? (int64_t)(job->cost / shadow_parts(ACCOUNT_MONEY)) : 0;
        if (said && state_cost(run->state, said, shadow->now) != cost)
            return NOT_HELD(found, "job %" PRIu64 ": costs %" PRId64 ", expected %" PRId64, job->id,
                            state_cost(run->state, said, shadow->now), cost);
    }
    return true;
}

bool check_spent_is_cost_at_end(struct fuzz_run *run, const struct event *event,
                                struct error *found)
{
    return check_spent_is_cost(run, event, found);
}
