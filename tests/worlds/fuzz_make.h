/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WORLDS_FUZZ_MAKE_H
#define WORLDS_FUZZ_MAKE_H

/* fuzz_make - the parts that a random world is made of, and the acts that happen in it
 *
 * Two tables. A part is created once, at the beginning. An act repeats with a frequency of its
 * weight, and adds one or more actions at the current time. Both draw from the same dice.
 */

#include "sim/trace/dice.h"
#include "worlds/fuzz_world.h"

enum { MAKING_ACTS_MAX = 64, MAKING_SHAPES = 10, MAKING_CROWD_GPUS = 16 };

struct making_node {
    uint32_t gpus;
    uint32_t kind; /* of its GPUs */
    bool has_mig;
};

struct making {
    struct fuzz_world *world;
    struct dice dice;
    usec_t now;
    uint64_t next_id;
    usec_t pace; /* between two acts, on average */
    LIST(struct making_node) nodes;
    uint32_t gpus_most; /* of one machine */
    uint32_t gpus;      /* of all */
    uint32_t kinds;     /* bit i: GPUs of kind i are there */
    uint32_t queues, pools;
    bool has_mig, has_islands, has_preemption;
    bool has_times;  /* windows, reservations, tariffs, budgets */
    bool has_quotas; /* to borrow and lend, of other resources, for users */
    bool is_whole;   /* no job asks for parts of GPUs */
    int64_t
        crowd_gpus; /* short jobs come all the time, for so many: others wait for long; 0: none */
    usec_t crowd;   /* GPU time that no job has asked for yet */
    uint8_t order;  /* enum ordering, at first */
    uint32_t weights[MAKING_ACTS_MAX];
    struct request shapes[MAKING_SHAPES]; /* what is asked for mostly */
    uint32_t shape_count;
};

struct making_part {
    const char *name;
    void (*make)(struct making *making);
};

struct making_act {
    const char *name;
    uint32_t weight;
    bool is_obedient; /* also in a world without surprises */
    void (*act)(struct making *making);
};

extern const struct making_part making_parts[];
extern const size_t making_part_count;
extern const struct making_act making_acts[];
extern const size_t making_act_count;

/* 0 to bound - 1 */
uint32_t making_below(struct making *making, uint32_t bound);
bool making_chance(struct making *making, uint32_t percent);
/* An event, now. Its texts must be the world's, or constants. */
void making_tell(struct making *making, const struct event *event);
const char *making_text(struct making *making, const char *format, ...) PRINTF(2, 3);
void making_release(struct making *making);

/* fuzz_make_jobs.c */
void making_submit(struct making *making);
void making_array(struct making *making);
void making_pipeline(struct making *making);
void making_flood(struct making *making);
void making_crowd(struct making *making, usec_t passed);
void making_person(struct making *making);
void making_update(struct making *making);

/* fuzz_make_times.c */
void making_make_times(struct making *making);
void making_window(struct making *making);
void making_tariff(struct making *making);
void making_reservation(struct making *making);
void making_price(struct making *making);
void making_cron(struct making *making);
void making_add_times(struct making *making, struct event_queue *queue);
void making_add_pool_times(struct making *making, struct event_pool *pool);

/* fuzz_make.c, for others */
void making_restart(struct making *making);
struct making_kind {
    const char *model;
    int64_t memory_mib;
    const char *profiles[4]; /* MIG; NULL: it has none */
};
extern const struct making_kind making_kinds[];
const char *making_model(struct making *making); /* of GPUs that are there, mostly */
const char *making_queue(struct making *making);
const char *making_pool(struct making *making);

#endif
