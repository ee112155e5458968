/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_JOB_ACCOUNT_H
#define CORE_JOB_ACCOUNT_H

/* account - what was spent, in money or in GPU-time, to the last microsecond
 *
 *     money    = sum over stretches of  rate * factor * time
 *     GPU-time = sum over stretches of  GPUs * time
 *
 * rate is what is held times its prices, in millionths of the currency for an hour (rounded down
 * once, when it is taken). The factor of the tariff changes with time; its integral is the tariff's
 * clock (agenda.h), so that no account needs to be charged at each of its edges. What is left over
 * in a division is kept for the next one: many small steps come to the same as one.
 */

#include <stdint.h>

#include "base/units.h"

enum account_kind { ACCOUNT_MONEY, ACCOUNT_GPU_TIME, ACCOUNTS };

/* What happens when all is spent: nothing more starts; what may be stopped is; all is. */
enum firmness { BUDGET_SOFT, BUDGET_HARD, BUDGET_KILL, FIRMNESSES };

#define ACCOUNT_NO_BUDGET INT64_C(-1)

struct account {
    int64_t most;     /* in a period; ACCOUNT_NO_BUDGET */
    int64_t spent;    /* millionths of the currency; microseconds of a GPU */
    uint64_t rest;    /* of that: what did not make a whole one yet */
    usec_t since;     /* when the period began */
    uint32_t window;  /* number of the one with edges that begin a period, plus one; 0: none */
    uint8_t firmness; /* enum firmness */
};

/* What a job costs. */
struct cost {
    int64_t micro; /* millionths of the currency, up to clock */
    uint64_t rest;
    uint64_t clock; /* of the tariff, when it was charged last */
    int64_t rate;   /* now; 0: it holds nothing */
};

/* elapsed: of the tariff's clock, microseconds times thousandths of its factor. */
void account_add_money(struct account *account, int64_t rate, uint64_t elapsed);
void account_add_time(struct account *account, int64_t milli, usec_t elapsed);

/* Bring it up to where the tariff's clock stands. */
void cost_charge(struct cost *cost, uint64_t clock);

/* What a rate comes to, rounded up; so much of the tariff's clock. INT64_MAX: too much. */
int64_t account_money_of(int64_t rate, uint64_t elapsed);
int64_t account_time_of(int64_t milli, usec_t elapsed);

#endif
