/* SPDX-License-Identifier: Apache-2.0 */
#include "worlds/fuzz_money.h"

#include <stdio.h>
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

static int64_t model_price(const struct shadow *shadow, const struct shadow_device *device)
{
    for (uint32_t i = SHADOW_MODELS; i < shadow->resources.count; i++) {
        if (strcmp(shadow->resources.items[i], device->model) == 0 && shadow->prices[i] > 0)
            return shadow->prices[i];
    }
    return shadow->prices[SHADOW_GPUS];
}

int64_t shadow_rate_of(const struct shadow *shadow, const struct lease *lease)
{
    struct shadow_amounts amounts = shadow_amounts_of(shadow, lease);
    int64_t others = amounts.of[SHADOW_GPUS], rate = 0;

    for (uint32_t i = SHADOW_MODELS; i < shadow->resources.count; i++) {
        rate += amounts.of[i] * shadow->prices[i] / GPU_MILLI;
        others -= shadow->prices[i] > 0 ? amounts.of[i] : 0;
    }
    for (uint32_t i = 0; i < lease->slices_count; i++) {
        const struct shadow_device *device = &shadow->devices.items[lease->slices[i].device];
        int64_t price = shadow->nodes.items[device->node].price, milli = lease->slices[i].milli;
        if (price > 0)
            rate += milli * price / GPU_MILLI - milli * model_price(shadow, device) / GPU_MILLI;
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
        LIST_EACH (struct shadow_payer, payer, &shadow->payers) {
            if (!shadow_pays(shadow, payer, job))
                continue;
            payer->accounts[ACCOUNT_MONEY].sum += money;
            payer->accounts[ACCOUNT_GPU_TIME].sum += gpus;
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
    LIST_EACH (struct shadow_payer, payer, &shadow->payers) {
        for (size_t k = 0; k < ACCOUNTS; k++) {
            if (payer->accounts[k].window > 0)
                renew(shadow, &payer->accounts[k]);
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

static const struct shadow_budget *budget_of(const struct shadow_queue *queue, const char *user,
                                             enum account_kind kind)
{
    const struct shadow_budget *own = NULL, *each = NULL;

    LIST_EACH (const struct shadow_budget, budget, &queue->budgets) {
        if (budget->account == kind && strcmp(budget->user, user) == 0)
            own = budget;
        if (budget->account == kind && strcmp(budget->user, "each") == 0 && user[0])
            each = budget;
    }
    return own ? own : each;
}

static void set_accounts(const struct shadow *shadow, struct shadow_payer *payer)
{
    for (enum account_kind kind = 0; kind < ACCOUNTS; kind++) {
        struct shadow_account *account = &payer->accounts[kind];
        const struct shadow_budget *budget =
            budget_of(&shadow->queues.items[payer->queue], payer->user, kind);
        uint32_t window = budget ? budget->window : 0;
        bool goes_on =
            account->window == window && (!payer->user[0] || account->most != ACCOUNT_NO_BUDGET);
        account->most = budget ? budget->most : ACCOUNT_NO_BUDGET;
        account->firmness = budget ? budget->firmness : 0;
        if (goes_on)
            continue;
        account->window = window;
        account->sum = 0;
        account->since =
            window > 0 ? shadow_edge_before(&shadow->times, window - 1, shadow->now) : 0;
    }
}

void shadow_add_payer(struct shadow *shadow, uint32_t queue, const char *user)
{
    struct shadow_payer payer = { .queue = queue };

    snprintf(payer.user, sizeof(payer.user), "%s", user);
    for (size_t i = 0; i < ACCOUNTS; i++)
        payer.accounts[i].most = ACCOUNT_NO_BUDGET;
    list_add(&shadow->payers, payer);
    set_accounts(shadow, &shadow->payers.items[shadow->payers.count - 1]);
}

const struct shadow_payer *shadow_payer(const struct shadow *shadow, uint32_t queue,
                                        const char *user)
{
    LIST_EACH (const struct shadow_payer, payer, &shadow->payers) {
        if (payer->queue == queue && strcmp(payer->user, user) == 0)
            return payer;
    }
    return NULL;
}

bool shadow_pays(const struct shadow *shadow, const struct shadow_payer *payer,
                 const struct shadow_job *job)
{
    return (!payer->user[0] || strcmp(payer->user, job->user) == 0) &&
           shadow_is_below(shadow, job->queue, payer->queue);
}

void shadow_claim_payers(struct shadow *shadow, const struct shadow_job *job)
{
    for (uint32_t at = job->queue; at != QUEUE_ROOT; at = shadow->queues.items[at].parent) {
        const struct shadow_queue *queue = &shadow->queues.items[at];
        bool has_any = budget_of(queue, job->user, ACCOUNT_MONEY) ||
                       budget_of(queue, job->user, ACCOUNT_GPU_TIME);
        if (has_any && !shadow_payer(shadow, at, job->user))
            shadow_add_payer(shadow, at, job->user);
    }
}

void shadow_budgets_set(struct shadow *shadow, struct shadow_queue *queue,
                        const struct event_queue *event)
{
    uint32_t number = (uint32_t)(queue - shadow->queues.items);

    queue->budgets.count = 0;
    for (uint32_t i = 0; i < event->budgets_count; i++) {
        const struct event_budget *said = &event->budgets[i];
        struct shadow_budget budget = { .account = said->account,
                                        .firmness = said->firmness,
                                        .most = said->most };
        if (said->window[0])
            budget.window = shadow_times_claim(&shadow->times, said->window) + 1;
        snprintf(budget.user, sizeof(budget.user), "%s", said->user ? said->user : "");
        list_add(&queue->budgets, budget);
    }
    LIST_EACH (struct shadow_payer, payer, &shadow->payers) {
        if (payer->queue == number)
            set_accounts(shadow, payer);
    }
    for (size_t i = 0; i < shadow->jobs.count; i++) {
        const struct shadow_job *job = shadow->jobs.items[i];
        if (job && job->state != JOB_ENDED)
            shadow_claim_payers(shadow, job);
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
