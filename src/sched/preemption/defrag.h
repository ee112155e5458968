/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PREEMPTION_DEFRAG_H
#define SCHED_PREEMPTION_DEFRAG_H

/* defrag - jobs that may be stopped go on elsewhere, where that makes room for one that waits
 *
 * Asked for a job that finds no room although enough is free in all, would wait for more than a
 * minute, and could start by every other rule. A set of at most DEFRAG_MOVED jobs of any queue is
 * moved when the job has a place then, and each of them has another one, which is free now: all of
 * them, or none (KAI-Scheduler's consolidation; policies 2.4 and 2.12). Who is moved loses
 *
 *   loss = GPUs x (run time since the last checkpoint + restart cost)
 *
 * The sum is within what the settings leave for this hour (core/state/move.h), and at most half of
 * what the job gains: its GPUs x the time that it would wait.
 *
 * Candidates are preemptible, past their least run time and restart cost, not about to end, have
 * earned a restart (elastic.h: Sia's factor) and were not moved in the last hour. For each machine
 * the cheapest that make room for one member; the cheapest machines, DEFRAG_TRIES sets of them;
 * then, the dearest first, whoever need not go stays.
 *
 * They are stopped (STOP 8) and start again at once (elastic.h: back), where that was decided; the
 * job is awaited. All their places are kept until then, by promises from now on.
 */

#include "sched/placement/fleet.h"

struct brain;
struct decisions;
struct place_query;

enum {
    DEFRAG_WAIT_S = 60, /* who would wait no longer waits */
    DEFRAG_LOOKS = 64,  /* waiting jobs that a plan looks at, */
    DEFRAG_ASKED = 4,   /* and for which it looks for jobs to move */
    DEFRAG_TRIES = 8,   /* sets of machines for each of them */
    DEFRAG_CHOSEN = 32, /* candidates in a set, before those who need not go are left out */
    DEFRAG_MOVED = 8,
    DEFRAG_GAIN = 2, /* what is gained is so many times what is lost */
};

struct mover {
    struct job *job;
    usec_t again; /* run time that is done again */
    int64_t loss;
    struct lease place;
    bool is_chosen;
};

/* A machine, and what room for one member of the job would cost there. */
struct cleared {
    int64_t loss;
    uint32_t node, last; /* the last mover that was counted, plus one */
    bool is_enough;
};

/* A member of a mover that is gone in thought. */
struct gone {
    uint32_t number, rank;
};

struct defrag {
    LIST(struct mover) movers;  /* who could be moved, the least loss for a GPU first */
    LIST(uint32_t) chosen;      /* in the order of their choice */
    LIST(struct cleared) nodes; /* cheapest first */
    LIST(struct gone) gone;
    LIST(struct lease) soon; /* in this plan: of those that will start by themselves */
    struct fleet now;        /* what is free, whoever stops */
    size_t kept;             /* places that promises keep for those who are moved */
};

void defrag_release(struct defrag *defrag);

/* For those that wait, before anybody is stopped for good. */
void plan_moves(struct brain *brain, struct decisions *decisions);
/* After the promises of a plan are over: promise those who are being moved their places, from now
 * on; with_takers: and those for whom they are. */
void defrag_keep(struct brain *brain, bool with_takers);
/* Nobody else takes the quota of those for whom others are being moved. */
void defrag_keep_turns(struct brain *brain);
/* Nobody else is placed there. */
void defrag_respect(const struct brain *brain, const struct job *job, struct place_query *query);
/* Whether others are being moved so that this job has its place. */
bool defrag_is_under_way(const struct brain *brain, const struct job *job);

#endif
