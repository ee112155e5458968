/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLUSTER_PAYER_H
#define CORE_CLUSTER_PAYER_H

/* payer - a queue, or one user within a queue, whose spending is counted
 *
 * A job is charged to its queue, to its user in that queue, and to the same of each queue above. A
 * queue is a payer from its beginning; a user is one in the queues that have a budget for the user,
 * from the first job that waits there under the budget on. A payer keeps its number.
 */

#include <stdint.h>

#include "base/map.h"
#include "base/mem.h"
#include "core/job/account.h"

#define PAYER_NONE UINT32_MAX

/* The jobs of a queue to which a budget applies: those of one user, by number, or: */
#define PAYER_ALL  UINT32_MAX       /* all jobs */
#define PAYER_EACH (UINT32_MAX - 1) /* the jobs of each user without a budget by name */
#define EACH_USER  "each"           /* the same in a configuration */

struct payer {
    uint32_t queue;
    uint32_t user;                     /* or PAYER_ALL */
    struct account accounts[ACCOUNTS]; /* up to charged_at */
    int64_t rate;                      /* cost per hour of what it holds */
    int64_t milli;                     /* GPUs that it holds */
    uint64_t charged_clock;            /* the tariff's clock (agenda.h) at charged_at */
    usec_t charged_at;
};

/* The amount that a queue with the queues below it may spend, or a user in it. */
struct budget {
    uint32_t user; /* PAYER_ALL, PAYER_EACH */
    uint8_t account, firmness;
    uint32_t window; /* as in the account */
    int64_t most;
};
enum { BUDGETS_MAX = 256 }; /* of a queue */

struct payers {
    LIST(struct payer) items;
    struct map users; /* (queue, user) -> number plus one */
};

/* Add a payer without budgets; returns its number. */
uint32_t payers_add(struct payers *payers, const struct payer *payer);
uint32_t payers_find_user(const struct payers *payers, uint32_t queue, uint32_t user);
void payers_release(struct payers *payers);

/* Charge its accounts up to now, when the tariff's clock is `clock`. Call it before its holdings
 * change. */
void payer_charge(struct payer *payer, usec_t now, uint64_t clock);

bool payer_has_budget(const struct payer *payer);
bool payer_has_hard_budget(const struct payer *payer);

#endif
