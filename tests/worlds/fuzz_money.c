/* SPDX-License-Identifier: Apache-2.0 */
#include "worlds/fuzz_money.h"

#include <string.h>

#include "worlds/fuzz_shadow.h"

wide_t shadow_parts(enum account_kind kind)
{
    return kind == ACCOUNT_MONEY ? (wide_t)(uint64_t)USEC_PER_HOUR * 1000 : 1000;
}

int64_t shadow_spent(const struct shadow_account *account, enum account_kind kind)
{
    return (int64_t)(account->sum / shadow_parts(kind));
}

/* ---- rates ---- */

int64_t shadow_rate_of(const struct shadow *shadow, const struct lease *lease)
{
    struct shadow_amounts amounts = shadow_amounts_of(shadow, lease);
    int64_t others = amounts.of[SHADOW_GPUS], rate = 0;

    for (uint32_t i = SHADOW_MODELS; i < shadow->resources.count; i++) {
        rate += amounts.of[i] * shadow->prices[i] / GPU_MILLI;
        others -= shadow->prices[i] > 0 ? amounts.of[i] : 0;
    }
    return rate + others * shadow->prices[SHADOW_GPUS] / GPU_MILLI +
           amounts.of[SHADOW_CPUS] * shadow->prices[SHADOW_CPUS] / 1000 +
           amounts.of[SHADOW_MEMORY] * shadow->prices[SHADOW_MEMORY] / 1024;
}

void shadow_reprice(struct shadow *shadow)
{
    for (size_t i = 0; i < shadow->active.count; i++) {
        struct shadow_job *job = shadow_job(shadow, shadow->active.items[i]);
        job->rate = shadow_rate_of(shadow, job->lease);
    }
}

/* ---- time passes ---- */

static wide_t product(int64_t amount, int64_t factor, usec_t time)
{
    return (wide_t)(uint64_t)amount * (uint64_t)factor * (uint64_t)time;
}

/* No edge is in between. */
static void pay(struct shadow *shadow, usec_t until)
{
    uint32_t factor = shadow_factor(&shadow->times, shadow->now);
    usec_t time = until - shadow->now;

    for (size_t i = 0; i < shadow->active.count; i++) {
        struct shadow_job *job = shadow_job(shadow, shadow->active.items[i]);
        wide_t money = product(job->rate, factor, time);
        wide_t gpus = product(job->lease->milli, 1, time);
        job->cost += money;
        for (uint32_t at = job->queue;; at = shadow->queues.items[at].parent) {
            shadow->queues.items[at].accounts[ACCOUNT_MONEY].sum += money;
            shadow->queues.items[at].accounts[ACCOUNT_GPU_TIME].sum += gpus;
            if (at == QUEUE_ROOT)
                break;
        }
    }
    shadow->now = until;
}

/* A beginning that lies at most half a period after the last one is the same, set anew. */
static void renew(const struct shadow *shadow, struct shadow_account *account)
{
    usec_t since = shadow_edge_before(&shadow->times, account->window - 1, shadow->now);
    usec_t end = shadow_edge_after(&shadow->times, account->window - 1, shadow->now);
    usec_t half = end == USEC_NEVER ? 0 : (end - since) / 2;

    if (since > account->since && since - account->since > half)
        account->sum = 0;
    if (since > account->since)
        account->since = since;
}

void shadow_renew(struct shadow *shadow)
{
    for (size_t i = 0; i < shadow->queues.count; i++) {
        for (size_t k = 0; k < ACCOUNTS; k++) {
            struct shadow_account *account = &shadow->queues.items[i].accounts[k];
            if (account->window > 0)
                renew(shadow, account);
        }
    }
}

void shadow_pass(struct shadow *shadow, usec_t until)
{
    for (;;) {
        usec_t edge = shadow_any_edge_after(&shadow->times, shadow->now);
        if (edge > until)
            break;
        pay(shadow, edge);
        shadow_renew(shadow);
        shadow_set_times(shadow);
        shadow->more_room++;
    }
    if (until > shadow->now)
        pay(shadow, until);
}

/* ---- budgets ---- */

void shadow_budgets_set(struct shadow *shadow, struct shadow_queue *queue,
                        const struct event_queue *event)
{
    for (uint32_t i = 0; i < ACCOUNTS; i++) {
        struct shadow_account *account = &queue->accounts[i];
        const struct event_budget *budget = NULL;
        uint32_t window = 0;
        for (uint32_t k = 0; k < event->budgets_count; k++)
            budget = event->budgets[k].account == i ? &event->budgets[k] : budget;
        account->most = budget ? budget->most : ACCOUNT_NO_BUDGET;
        account->firmness = budget ? budget->firmness : 0;
        if (budget && budget->window[0])
            window = shadow_times_claim(&shadow->times, budget->window) + 1;
        if (account->window == window)
            continue; /* it goes on in its period */
        account->window = window;
        account->sum = 0;
        account->since =
            window > 0 ? shadow_edge_before(&shadow->times, window - 1, shadow->now) : 0;
    }
}

wide_t shadow_cost_ahead(const struct shadow *shadow, const struct shadow_account *account,
                         enum account_kind kind, const struct shadow_job *job, usec_t end)
{
    usec_t period = account->window > 0
                        ? shadow_edge_after(&shadow->times, account->window - 1, shadow->now)
                        : USEC_NEVER;
    usec_t until = end < period ? end : period;
    wide_t sum = 0;

    until = until == USEC_NEVER ? shadow->now + USEC_PER_DAY : until;
    for (usec_t at = shadow->now; at < until;) {
        usec_t edge = shadow_any_edge_after(&shadow->times, at);
        usec_t next = edge < until ? edge : until;
        sum += kind == ACCOUNT_MONEY
                   ? product(job->rate, shadow_factor(&shadow->times, at), next - at)
                   : product(job->lease->milli, 1, next - at);
        at = next;
    }
    return sum;
}

bool shadow_is_used_up(const struct shadow_account *account, enum account_kind kind,
                       bool is_preemptible)
{
    return account->most != ACCOUNT_NO_BUDGET && account->firmness != BUDGET_SOFT &&
           (is_preemptible || account->firmness == BUDGET_KILL) &&
           shadow_spent(account, kind) >= account->most;
}
