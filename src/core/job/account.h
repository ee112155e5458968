/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_JOB_ACCOUNT_H
#define CORE_JOB_ACCOUNT_H

/* account - money or GPU-time spent, exact to the microsecond
 *
 *     money    = sum over stretches of  rate * factor * time
 *     GPU-time = sum over stretches of  GPUs * time
 *
 * rate is what is held times its prices, in millionths of the currency per hour (rounded down once,
 * when it is taken). The factor of the tariff changes over time; its integral is the tariff's clock
 * (agenda.h), so no account has to be charged each time the tariff changes. The remainder of a
 * division is carried over to the next one: many small steps add up to the same as one large one.
 */

#include <stdint.h>

#include "base/units.h"

enum account_kind { ACCOUNT_MONEY, ACCOUNT_GPU_TIME, ACCOUNTS };

/* When all is spent: nothing more starts; preemptible jobs are stopped; all jobs are stopped. */
enum firmness { BUDGET_SOFT, BUDGET_HARD, BUDGET_KILL, FIRMNESSES };

#define ACCOUNT_NO_BUDGET INT64_C(-1)

struct account {
    int64_t most;     /* in a period; ACCOUNT_NO_BUDGET */
    int64_t spent;    /* millionths of the currency; microseconds of a GPU */
    uint64_t rest;    /* remainder: a fraction of a unit of spent */
    usec_t since;     /* when the period began */
    uint32_t window;  /* number of the window whose edges begin a period, plus one; 0: none */
    uint8_t firmness; /* enum firmness */
};

/* What a job costs. */
struct cost {
    int64_t micro; /* millionths of the currency, up to clock */
    uint64_t rest;
    uint64_t clock; /* the tariff's clock when the job was last charged */
    int64_t rate;   /* at present; 0: it holds nothing */
};

/* elapsed: by the tariff's clock, in microseconds times thousandths of its factor. */
void account_add_money(struct account *account, int64_t rate, uint64_t elapsed);
void account_add_time(struct account *account, int64_t milli, usec_t elapsed);

/* Charge the cost up to the given reading of the tariff's clock. */
void cost_charge(struct cost *cost, uint64_t clock);

/* What a rate costs over this much of the tariff's clock, rounded up; INT64_MAX: overflow. */
int64_t account_money_of(int64_t rate, uint64_t elapsed);
int64_t account_time_of(int64_t milli, usec_t elapsed);

#endif
