/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PREEMPTION_RELOCATE_H
#define SCHED_PREEMPTION_RELOCATE_H

/* relocate - who could go where, so that a job has a place: the search of defrag.h
 *
 * All is tried on the fleet that looks ahead (reclaim.ahead), and taken back: the search decides
 * nothing. A place counts when it is free now, or the mover's own: nobody waits for another one who
 * is moved, too.
 *
 * Order of calls: start, look, (is_enough), collect, find, then make or drop
 */

#include "sched/preemption/defrag.h"

/* A search for one job that waits. */
struct relocation {
    struct brain *brain;
    const struct job *job;
    const struct request *request;
    struct promises *promises; /* to others; NULL: somebody only asks */
    usec_t end;                /* of the job, if it starts now */
    int64_t gain;              /* GPU-time that it would wait */
    int32_t need_milli;        /* of a member, by the alternative that is looked for */
    uint32_t need_whole;
    uint32_t tries;
    struct lease lease; /* its place */
    int64_t loss;       /* of the set that was found */
    int64_t beyond;     /* the least that would be lost by one that the budget does not allow */
    usec_t later;       /* when somebody may be moved who may not yet; USEC_NEVER */
};

void relocation_start(struct relocation *search, struct brain *brain, const struct job *job);
/* GPU-time that the job would wait if it started at this time. */
int64_t relocation_gain_until(const struct relocation *search, usec_t at);
/* What is free now, but for what is kept for others, or will be taken in this plan. */
void relocation_look(struct relocation *search);
bool relocation_is_enough(const struct relocation *search); /* for the job, wherever it is */
/* Who could be moved, and when the next one may be. */
void relocation_collect(struct relocation *search);
/* True: who moves is chosen, and each has a place. */
bool relocation_find(struct relocation *search);
/* Move them. */
void relocation_make(struct relocation *search, struct decisions *decisions);
/* Don't. */
void relocation_drop(struct relocation *search);

#endif
