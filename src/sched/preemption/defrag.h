/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PREEMPTION_DEFRAG_H
#define SCHED_PREEMPTION_DEFRAG_H

/* defrag - defragmentation: running jobs are moved so that a waiting job finds room
 *
 * It is tried for a job that finds no room although enough is free in total, that would wait for
 * more than a minute, and that every other rule lets start. A set of at most DEFRAG_MOVED jobs of
 * any queue moves if the waiting job then has a place and each moved job has another place that is
 * free now: all of them or none (KAI-Scheduler's consolidation). A moved job
 * loses
 *
 *   loss = GPUs x (run time since the last checkpoint + restart cost)
 *
 * The sum is within the budget of this hour (core/state/move.h), and at most half of the gain: the
 * GPUs of the waiting job x the time that it would wait.
 *
 * Candidates are preemptible, past their min_runtime and restart cost, not about to end, have
 * earned a restart (resize.h: Sia's factor) and were not moved in the last hour. For each
 * node, the cheapest candidates that make room for one member are chosen; then the cheapest
 * nodes, in DEFRAG_TRIES combinations; then candidates that need not move are released, the
 * most expensive first.
 *
 * Moved jobs are stopped (STOP 8) and start again at once (resize.h: back) in the chosen places.
 * The waiting job is awaited. Promises keep all these places until then.
 */

#include "sched/preemption/reclaim.h"

struct brain;
struct decisions;
struct place_query;

enum {
    DEFRAG_WAIT_S = 60, /* a job that would wait no longer than this is left to wait */
    DEFRAG_LOOKS = 64,  /* waiting jobs that a plan considers, */
    DEFRAG_ASKED = 4,   /* and for which it searches jobs to move */
    DEFRAG_TRIES = 8,   /* sets of nodes for each of them */
    DEFRAG_CHOSEN = 32, /* candidates in a set, before unneeded ones are released */
    DEFRAG_MOVED = 8,
    DEFRAG_GAIN = 2, /* the gain is at least this many times the loss */
};

struct mover {
    struct job *job;
    usec_t again; /* run time that has to be repeated */
    int64_t loss;
    struct lease place;
    bool is_chosen;
};

/* A node, and what room for one member of the job would cost there. */
struct cleared {
    int64_t loss;
    uint32_t node, last; /* the last mover that was counted, plus one */
    bool is_enough;
};

/* A member of a mover that the search has removed. */
struct gone {
    uint32_t number, rank;
};

struct defrag {
    LIST(struct mover) movers;  /* candidates, the least loss per GPU first */
    LIST(uint32_t) chosen;      /* in the order in which they were chosen */
    LIST(struct cleared) nodes; /* cheapest first */
    LIST(struct gone) gone;
    LIST(struct lease) soon; /* in this plan: leases of jobs that will start without help */
    struct fleet now;        /* what is free now, stopping jobs aside */
    size_t kept;             /* places that promises keep for moved jobs */
};

void defrag_release(struct defrag *defrag);

/* Jobs were moved for it, and have started in their new places. */
bool defrag_has_moved(const struct brain *brain, const struct job *job);
/* Move jobs for waiting ones, before any job is preempted. */
void plan_moves(struct brain *brain, struct decisions *decisions);
enum defrag_kept {
    KEEP_MOVING, /* the places of moved jobs, and of the jobs for which they move */
    KEEP_MADE,   /* and those of all jobs for which jobs of other queues were stopped */
};

/* After the promises of a plan are over: promise these jobs their places from now on. */
void defrag_keep(struct brain *brain, enum defrag_kept which);
/* Reserve the quota of jobs for which others are being moved. */
void defrag_keep_turns(struct brain *brain);
/* Keep other jobs out of the places of moved jobs. */
void defrag_respect(const struct brain *brain, const struct job *job, struct place_query *query);
/* Other jobs are being moved to make room for this one. */
bool defrag_is_under_way(const struct brain *brain, const struct job *job);

/* The search of defrag.h: which jobs could move where, so that a job has a place
 *
 * Everything is tried on reclaim.ahead and undone: the search decides nothing. A place counts if
 * it is free now or the mover's own, so that no moved job waits for another one.
 *
 * Order of calls: start, look, (is_enough), collect, find, then make or drop
 */

/* The search for one waiting job. */
struct relocation {
    struct brain *brain;
    const struct job *job;
    const struct request *request;
    struct promises *promises; /* of other jobs; NULL: for a question */
    usec_t end;                /* of the job, if it starts now */
    int64_t gain;              /* GPU-time that the job would wait */
    struct member_need need;   /* by the alternative that is tried */
    uint32_t tries;
    struct lease lease; /* its place */
    int64_t loss;       /* of the set that was found */
    int64_t beyond;     /* the least loss of a set that is beyond the budget; 0: none */
    usec_t later;       /* when the next job may be moved that may not yet; USEC_NEVER */
};

void relocation_start(struct relocation *search, struct brain *brain, const struct job *job);
/* GPU-time that the job would wait if it started at this time. */
int64_t relocation_gain_until(const struct relocation *search, usec_t at);
/* Set `ahead` to what is free now, without what is kept for others or taken in this plan. */
void relocation_look(struct relocation *search);
bool relocation_is_enough(const struct relocation *search); /* GPUs in total */
/* List the candidates, and when the next one may be moved. */
void relocation_collect(struct relocation *search);
/* True: a set is chosen, and each of its jobs has a place. */
bool relocation_find(struct relocation *search);
/* Move the chosen jobs. */
void relocation_make(struct relocation *search, struct decisions *decisions);
/* Undo the choice. */
void relocation_drop(struct relocation *search);

#endif
