/* SPDX-License-Identifier: Apache-2.0 */
#include "core/job/account.h"

#include "base/wide.h"

/* Rates are for an hour, factors and GPUs in thousandths. */
#define MONEY_PARTS ((uint64_t)USEC_PER_HOUR * 1000)
#define TIME_PARTS  UINT64_C(1000)

static void add(int64_t *whole, uint64_t *rest, wide_t more, uint64_t parts)
{
    wide_t sum = more + *rest;

    *whole += (int64_t)(sum / parts);
    *rest = (uint64_t)(sum % parts);
}

void account_add_money(struct account *account, int64_t rate, uint64_t elapsed)
{
    add(&account->spent, &account->rest, (wide_t)(uint64_t)rate * elapsed, MONEY_PARTS);
}

void account_add_time(struct account *account, int64_t milli, usec_t elapsed)
{
    add(&account->spent, &account->rest, (wide_t)(uint64_t)milli * (uint64_t)elapsed, TIME_PARTS);
}

void cost_charge(struct cost *cost, uint64_t clock)
{
    add(&cost->micro, &cost->rest, (wide_t)(uint64_t)cost->rate * (clock - cost->clock),
        MONEY_PARTS);
    cost->clock = clock;
}

static int64_t round_up(wide_t amount, uint64_t parts)
{
    wide_t whole = (amount + parts - 1) / parts;

    return whole < INT64_MAX ? (int64_t)whole : INT64_MAX;
}

int64_t account_money_of(int64_t rate, uint64_t elapsed)
{
    return round_up((wide_t)(uint64_t)rate * elapsed, MONEY_PARTS);
}

int64_t account_time_of(int64_t milli, usec_t elapsed)
{
    return round_up((wide_t)(uint64_t)milli * (uint64_t)elapsed, TIME_PARTS);
}
