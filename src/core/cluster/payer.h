/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_CLUSTER_PAYER_H
#define CORE_CLUSTER_PAYER_H

/* payer - a queue, or one user within a queue, whose spending is counted
 *
 * A job is charged to its queue, to its user in that queue, and to the same of each queue above. A
 * queue is a payer from its beginning; a user is one in the queues that have a budget for the user,
 * from the first job that waits there under the budget. A payer keeps its number.
 */

#include <stdint.h>

#include "base/map.h"
#include "base/mem.h"
#include "core/job/account.h"

#define PAYER_NONE UINT32_MAX

/* For which jobs of a queue something counts: those of a user, by number, or one of these. */
#define PAYER_ALL  UINT32_MAX       /* all */
#define PAYER_EACH (UINT32_MAX - 1) /* those of each user that has no budget by name */
#define EACH_USER  "each"           /* the same in a configuration */

struct payer {
    uint32_t queue;
    uint32_t user;                     /* or PAYER_ALL */
    struct account accounts[ACCOUNTS]; /* up to charged_at */
    int64_t rate;                      /* what it holds costs so much an hour */
    int64_t milli;                     /* GPUs that it holds */
    uint64_t charged_clock;            /* of the tariff (agenda.h) */
    usec_t charged_at;
};

/* What a queue may spend with all below it, or a user in it. */
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

/* A new payer without budgets: its number. */
uint32_t payers_add(struct payers *payers, const struct payer *payer);
uint32_t payers_find_user(const struct payers *payers, uint32_t queue, uint32_t user);
void payers_release(struct payers *payers);

/* Bring its accounts up to now, where the tariff's clock stands at `clock`; before what it holds
 * changes. */
void payer_charge(struct payer *payer, usec_t now, uint64_t clock);

bool payer_has_budget(const struct payer *payer);
bool payer_has_hard_budget(const struct payer *payer);

#endif
