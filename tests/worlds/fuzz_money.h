/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WORLDS_FUZZ_MONEY_H
#define WORLDS_FUZZ_MONEY_H

/* fuzz_money - costs of jobs and spending of queues: the shadow's own account
 *
 * By doc/policies/money.md, without a division: sums of rate x factor x time, and of GPUs x time,
 * are exact. Whenever time passes, all allocations are charged.
 */

#include <stdbool.h>

#include "base/wide.h"
#include "core/job/account.h"
#include "core/journal/event.h"

enum { SHADOW_USER_SIZE = 8 };

struct shadow;
struct shadow_job;
struct shadow_queue;

struct shadow_budget {
    char user[SHADOW_USER_SIZE]; /* "": of the queue; "each" */
    uint8_t account, firmness;
    uint32_t window; /* as below */
    int64_t most;
};

struct shadow_account {
    int64_t most; /* ACCOUNT_NO_BUDGET */
    wide_t sum;   /* in this period */
    usec_t since;
    uint32_t window; /* of its periods, plus one; 0: there is one */
    uint8_t firmness;
};

/* A queue, or a user in it. */
struct shadow_payer {
    uint32_t queue;
    char user[SHADOW_USER_SIZE]; /* "": all */
    struct shadow_account accounts[ACCOUNTS];
};

/* So many parts of a sum are a millionth, or a microsecond. */
wide_t shadow_parts(enum account_kind kind);

/* Time passes until then: what is held is paid for, and at each edge what holds is set anew. */
void shadow_pass(struct shadow *shadow, usec_t until);
/* Where a new period began; after windows were set. */
void shadow_renew(struct shadow *shadow);
void shadow_add_payer(struct shadow *shadow, uint32_t queue, const char *user);
/* The user of the job is a payer wherever a queue has a budget for the user. */
void shadow_claim_payers(struct shadow *shadow, const struct shadow_job *job);
/* It is charged for the job. */
bool shadow_pays(const struct shadow *shadow, const struct shadow_payer *payer,
                 const struct shadow_job *job);
/* That of the queue, or of a user in it; NULL: none. */
const struct shadow_payer *shadow_payer(const struct shadow *shadow, uint32_t queue,
                                        const char *user);
void shadow_budgets_set(struct shadow *shadow, struct shadow_queue *queue,
                        const struct event_queue *event);
/* After prices changed. */
void shadow_reprice(struct shadow *shadow);

/* What a lease costs an hour, in millionths. */
int64_t shadow_rate_of(const struct shadow *shadow, const struct lease *lease);
int64_t shadow_spent(const struct shadow_account *account, enum account_kind kind);
/* What a job that holds something will cost from now until then, at most until its period ends; in
 * parts. end: when it is expected to end. */
wide_t shadow_cost_ahead(const struct shadow *shadow, const struct shadow_account *account,
                         enum account_kind kind, const struct shadow_job *job, usec_t end);
/* Everything of it is spent, and that stops jobs: all of them, or (false) those that may be. */
bool shadow_is_used_up(const struct shadow_account *account, enum account_kind kind,
                       bool is_preemptible);

#endif
