/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cluster/payer.h"

static uint64_t key_of(uint32_t queue, uint32_t user)
{
    return (uint64_t)queue << 32 | user;
}

uint32_t payers_add(struct payers *payers, const struct payer *payer)
{
    list_add(&payers->items, *payer);
    if (payer->user != PAYER_ALL)
        map_set(&payers->users, key_of(payer->queue, payer->user), payers->items.count);
    return (uint32_t)payers->items.count - 1;
}

uint32_t payers_find_user(const struct payers *payers, uint32_t queue, uint32_t user)
{
    uint64_t place = 0;

    return map_get(&payers->users, key_of(queue, user), &place) ? (uint32_t)place - 1 : PAYER_NONE;
}

void payers_release(struct payers *payers)
{
    list_release(&payers->items);
    map_release(&payers->users);
}

void payer_charge(struct payer *payer, usec_t now, uint64_t clock)
{
    usec_t elapsed = now - payer->charged_at;

    if (elapsed <= 0)
        return;
    account_add_money(&payer->accounts[ACCOUNT_MONEY], payer->rate, clock - payer->charged_clock);
    account_add_time(&payer->accounts[ACCOUNT_GPU_TIME], payer->milli, elapsed);
    payer->charged_at = now;
    payer->charged_clock = clock;
}

bool payer_has_budget(const struct payer *payer)
{
    bool has = false;

    for (size_t i = 0; i < ACCOUNTS; i++)
        has |= payer->accounts[i].most != ACCOUNT_NO_BUDGET;
    return has;
}

bool payer_has_hard_budget(const struct payer *payer)
{
    bool has = false;

    for (size_t i = 0; i < ACCOUNTS; i++)
        has |= payer->accounts[i].most != ACCOUNT_NO_BUDGET &&
               payer->accounts[i].firmness != BUDGET_SOFT;
    return has;
}
