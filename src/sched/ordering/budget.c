/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/ordering/budget.h"

#include <assert.h>

#include "base/wide.h"
#include "sched/brain.h"
#include "sched/ordering/run_time.h"

#define WITHOUT_END USEC_PER_DAY

static int64_t add(int64_t a, int64_t b)
{
    return b < INT64_MAX - a ? a + b : INT64_MAX;
}

/* When its period ends. */
static usec_t period_end(const struct state *state, const struct account *account)
{
    if (account->window == 0)
        return USEC_NEVER;
    return window_next_edge(state->agenda.windows.items[account->window - 1], state->now);
}

/* Up to which time something counts that ends then. */
static usec_t counts_until(const struct state *state, usec_t end, usec_t period)
{
    usec_t until = end < period ? end : period;

    return until == USEC_NEVER ? state->now + WITHOUT_END : until;
}

/* Of the GPUs that it holds; other devices have no GPU time. */
static int64_t gpu_time_of(const struct state *state, const struct job *job, usec_t time)
{
    struct amounts amounts;

    amounts_of_lease(state, job->run->lease, &amounts);
    return account_time_of(amounts.of[RESOURCE_GPUS], time);
}

static int64_t committed_by(const struct brain *brain, uint32_t number, enum account_kind kind)
{
    const struct state *state = brain->state;
    const struct payer *payer = &state->payers.items.items[number];
    usec_t period = period_end(state, &payer->accounts[kind]);
    uint64_t now = agenda_clock(&state->agenda, state->now);
    struct agenda_time then = { state->now, now };
    int64_t sum = 0;

    for (struct ends_walk at = ends_first(&brain->ends); at.job; ends_next(&at)) {
        const struct job *job = at.job;
        usec_t until = counts_until(state, at.end, period);
        if (until <= state->now || !state_is_paid_by(state, job, payer))
            continue;
        if (until > then.at) /* they are in the order of their ends */
            agenda_advance(&state->agenda, &then, until);
        sum =
            add(sum, kind == ACCOUNT_MONEY ? account_money_of(job->run->cost.rate, then.clock - now)
                                           : gpu_time_of(state, job, until - state->now));
    }
    assert(sum >= 0);
    return sum;
}

static struct commitment *commitment_of(struct brain *brain, uint32_t payer, enum account_kind kind)
{
    commitment_list *budgets = &brain->budgets;

    LIST_EACH (struct commitment, known, budgets) {
        if (known->payer == payer && known->account == kind)
            return known;
    }
    list_add(budgets,
             (struct commitment){ payer, (uint8_t)kind, committed_by(brain, payer, kind) });
    return &budgets->items[budgets->count - 1];
}

/* From `start` on, in this period. Jobs like it may have ended at once: it costs something all the
 * same. */
static int64_t cost_of(const struct state *state, const struct account *account,
                       enum account_kind kind, const struct amounts *amounts, usec_t start,
                       usec_t run)
{
    usec_t end = usec_after(start, run > 0 ? run : 1);
    usec_t until = counts_until(state, end, period_end(state, account));

    assert(until >= start);
    if (kind == ACCOUNT_GPU_TIME)
        return account_time_of(amounts->of[RESOURCE_GPUS], until - start);
    return account_money_of(state_least_rate_of(state, amounts),
                            agenda_clock(&state->agenda, until) -
                                agenda_clock(&state->agenda, start));
}

static bool account_allows(struct brain *brain, const struct job *job, uint32_t number,
                           enum account_kind kind, const struct amounts *amounts, struct why *why)
{
    const struct state *state = brain->state;
    const struct payer *payer = &state->payers.items.items[number];
    struct account accounts[ACCOUNTS];

    state_accounts(state, number, state->now, accounts);
    const struct account *account = &accounts[kind];
    int64_t own = cost_of(state, account, kind, amounts, state->now, run_time_usual(state, job));
    if (own == 0)
        return true;
    int64_t committed = commitment_of(brain, number, kind)->amount;
    int64_t taken = add(account->spent, committed);
    if (add(taken, own) <= account->most)
        return true;
    *why = (struct why){ .kind = WHY_BUDGET,
                         .queue = payer->queue,
                         .user = payer->user == PAYER_ALL ? 0 : payer->user + 1,
                         .account = (uint8_t)kind,
                         .wanted = own,
                         .free = taken < account->most ? account->most - taken : 0,
                         .most = account->most,
                         .spent = account->spent,
                         .committed = committed,
                         .at = period_end(state, account) };
    return false;
}

bool budget_allows(struct brain *brain, const struct job *job, const struct amounts *amounts,
                   struct why *why)
{
    const struct state *state = brain->state;

    for (struct payer_walk at = payers_first(state, job); at.payer != PAYER_NONE;
         payers_next(state, &at)) {
        const struct payer *payer = &state->payers.items.items[at.payer];
        for (enum account_kind kind = 0; kind < ACCOUNTS; kind++) {
            if (payer->accounts[kind].most != ACCOUNT_NO_BUDGET &&
                !account_allows(brain, job, at.payer, kind, amounts, why))
                return false;
        }
    }
    return true;
}

void budget_take(struct brain *brain, const struct job *job, const struct amounts *amounts)
{
    const struct state *state = brain->state;

    LIST_EACH (struct commitment, known, &brain->budgets) {
        const struct payer *payer = &state->payers.items.items[known->payer];
        if (!state_is_paid_by(state, job, payer))
            continue;
        known->amount = add(known->amount, cost_of(state, &payer->accounts[known->account],
                                                   (enum account_kind)known->account, amounts,
                                                   state->now, job->run->window));
    }
}

usec_t budget_used_up_at(const struct state *state, uint32_t number, enum account_kind kind)
{
    const struct payer *payer = &state->payers.items.items[number];
    struct account accounts[ACCOUNTS];

    if (payer->accounts[kind].most == ACCOUNT_NO_BUDGET)
        return USEC_NEVER;
    state_accounts(state, number, state->now, accounts);
    int64_t left = accounts[kind].most - accounts[kind].spent;
    wide_t speed = (uint64_t)payer->milli;
    if (left <= 0)
        return state->now;
    if (kind == ACCOUNT_MONEY)
        speed = (wide_t)(uint64_t)payer->rate * state->agenda.factor_milli;
    if (speed == 0)
        return USEC_NEVER;
    uint64_t parts = kind == ACCOUNT_MONEY ? (uint64_t)USEC_PER_HOUR * 1000 : 1000;
    wide_t time = ((wide_t)(uint64_t)left * parts - accounts[kind].rest + speed - 1) / speed;
    return time < (wide_t)(USEC_NEVER - state->now) ? state->now + (usec_t)time : USEC_NEVER;
}

/* A cost that is counted up to the end of the period falls towards it. */
static usec_t account_opens_at(const struct state *state, uint32_t number, enum account_kind kind,
                               const struct amounts *amounts, usec_t run)
{
    struct account accounts[ACCOUNTS];

    state_accounts(state, number, state->now, accounts);
    const struct account *account = &accounts[kind];
    int64_t left = account->most - account->spent;
    usec_t low = state->now, high = period_end(state, account);
    int64_t own = cost_of(state, account, kind, amounts, low, run);
    if (own == 0 || own <= left || own > account->most || high == USEC_NEVER ||
        (kind == ACCOUNT_MONEY && state->agenda.tariffs.count > 0))
        return low;
    while (high - low > USEC_PER_SEC) {
        usec_t middle = low + (high - low) / 2;
        if (cost_of(state, account, kind, amounts, middle, run) <= left)
            high = middle;
        else
            low = middle;
    }
    return high;
}

usec_t budget_opens_at(const struct state *state, const struct job *job,
                       const struct amounts *amounts)
{
    usec_t run = run_time_usual(state, job), latest = state->now;

    for (struct payer_walk at = payers_first(state, job); at.payer != PAYER_NONE;
         payers_next(state, &at)) {
        const struct payer *payer = &state->payers.items.items[at.payer];
        for (enum account_kind kind = 0; kind < ACCOUNTS; kind++) {
            if (payer->accounts[kind].most == ACCOUNT_NO_BUDGET)
                continue;
            usec_t opens = account_opens_at(state, at.payer, kind, amounts, run);
            latest = opens > latest ? opens : latest;
        }
    }
    return latest;
}
