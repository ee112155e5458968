/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_JOB_WHY_H
#define CORE_JOB_WHY_H

/* why - the reason why a job does not run, as data
 *
 * The list is why.def. Which of the numbers are set depends on the kind; what is not set is 0.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/units.h"

#define WHY(ID, name, meaning) WHY_##ID,
enum why_kind {
#include "core/job/why.def"
    WHY_COUNT,
};
#undef WHY

struct why {
    enum why_kind kind;
    uint32_t queue;    /* QUOTA, TURN, USER_LIMIT: the one at its limit; LENT: the lender;
                          SHAPE */
    uint32_t resource; /* of these kinds: the resource's number */
    bool is_group;     /* USER_LIMIT: of the user's Unix group */
    bool is_of_user;   /* NEVER_QUOTA: the limit is of the user, or of their group */
    bool is_forever;   /* RESERVATION, WINDOW: it repeats, and the job is too long to start between;
                          POOL_MAX, POOL_MIN: at every hour */
    bool is_firm;      /* QUOTA, NEVER_QUOTA: the limit for jobs that are never stopped */
    uint8_t level;     /* SHAPE: enum cell_level of the capacity kept for the queue */
    uint32_t pool;     /* POOL_*: the pool */
    uint32_t role;     /* GPUS, CPUS, MEMORY, NEVER_*: the role that does not fit, plus one; 0 */
    uint32_t window;   /* WINDOW: its number; RESERVATION: its place in the agenda */
    uint8_t account;   /* BUDGET: enum account_kind */
    uint32_t user;     /* BUDGET: its user in that queue, plus one; 0: it is the queue's */
    uint64_t job;      /* APART: one that it must not share a node with; NEEDS: what it waits for;
                          RESERVED, TURN, BEHIND: the one in front; FASTER: one that runs there; ARRAY:
                          the array */
    /* GPUs in milli, CPUs in milli, MiB, or a count; SPOT: its enum spot_rule; TARIFF: the factor
     * that it waits for; BUDGET: what it would cost, in millionths of the currency or in
     * GPU-microseconds. */
    int64_t wanted;
    int64_t free; /* in the same unit; TARIFF: the factor now; BUDGET: what is left */
    int64_t most; /* NEVER_*: the largest there is; QUOTA, WINDOW: the limit; BUDGET: the amount */
    /* Expected start; BEGIN: the begin time; WINDOW: when it opens or, if open, closes; TARIFF:
     * when that factor begins; BUDGET: the next period; RESERVATION: its end; 0: not known,
     * USEC_NEVER: open-ended. */
    usec_t at;
    int64_t spent, committed; /* BUDGET: so far in the period, and by running jobs */
};

const char *why_name(enum why_kind kind);
const char *why_meaning(enum why_kind kind);
static inline bool why_is_of_quota(enum why_kind kind)
{
    return kind == WHY_QUOTA || kind == WHY_USER_LIMIT || kind == WHY_LENT;
}
/* There is room, but not for its pool. */
static inline bool why_is_of_pool(enum why_kind kind)
{
    return kind == WHY_POOL_MAX || kind == WHY_POOL_MIN;
}
/* Devices, CPUs or memory are missing. */
static inline bool why_lacks_room(enum why_kind kind)
{
    return kind == WHY_GPUS || kind == WHY_CPUS || kind == WHY_MEMORY;
}
/* No node has what it needs: another one might. */
static inline bool why_is_of_nodes(enum why_kind kind)
{
    return why_lacks_room(kind) || (kind >= WHY_UNUSABLE && kind <= WHY_APART) ||
           (kind >= WHY_NEVER_GPUS && kind != WHY_NEVER_QUOTA && kind != WHY_NEVER_POOL);
}
/* Only time will change it, not the end of a job. */
static inline bool why_is_of_time(enum why_kind kind)
{
    return kind == WHY_WINDOW || kind == WHY_TARIFF || kind == WHY_BUDGET;
}
/* It would cost more than all of a budget. */
static inline bool why_is_beyond_budget(const struct why *why)
{
    return why->kind == WHY_BUDGET && why->wanted > why->most;
}
/* When it may start by the reason alone; 0: not known. */
static inline usec_t why_start_at(const struct why *why)
{
    return why_is_beyond_budget(why) ? 0 : why->at;
}
static inline bool why_is_never(enum why_kind kind)
{
    return kind >= WHY_NEVER_GPUS;
}

#endif
