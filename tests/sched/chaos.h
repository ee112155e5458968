/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SCHED_CHAOS_H
#define TESTS_SCHED_CHAOS_H

/* chaos - a random world in which random things happen, the same ones for the same seed
 *
 * The brain is asked to plan whenever it wants to be, as the daemon asks it. Another compiler may
 * give another world for a seed: it may work out the parts of an expression in another order.
 */

#include "core/job/own_speed.h"
#include "core/job/role.h"
#include "lab.h"

struct random {
    uint64_t state;
};

uint64_t random_next(struct random *random);
uint32_t random_below(struct random *random, uint32_t bound); /* 0 to bound - 1 */
bool random_chance(struct random *random, uint32_t percent);

enum chaos_kind {
    CHAOS_ANY,       /* everything, also changes of the world and of the settings */
    CHAOS_OBEDIENT,  /* one queue, one priority; jobs start at once and end by their limits; all
                      * GPUs stay: what was promised must come true */
    CHAOS_ANY_ORDER, /* as CHAOS_ANY, with all orders and placements, predictions, and jobs that may
                      * be stopped for others */
    CHAOS_TIMES,     /* as CHAOS_ANY_ORDER, with windows, tariffs, budgets, and now and then a
                      * reservation */
};

struct chaos {
    struct lab *lab;
    struct random random;
    enum chaos_kind kind;
    uint32_t queues_max;
    uint32_t world_changes; /* machines, pools, queues, settings: how often since the start */
    struct map ends;        /* obedient: job -> when it will end */
    struct random casting;  /* decides about roles, so that they leave the rest as it would be */
    struct random pacing;   /* the same about speeds */
    struct role roles[3];   /* of the last request that has some */
    where_list where;       /* the same */
    own_speed_list speeds;
};

struct chaos *chaos_create(uint64_t seed, enum chaos_kind kind);
void chaos_destroy(struct chaos *chaos);
DEFINE_AUTO(chaos)

/* One thing happens. */
void chaos_act(struct chaos *chaos);
/* One thing happens, and the brain plans when it wants to. */
void chaos_step(struct chaos *chaos);

#endif
