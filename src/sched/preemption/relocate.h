/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PREEMPTION_RELOCATE_H
#define SCHED_PREEMPTION_RELOCATE_H

/* relocate - the search of defrag.h: which jobs could move where, so that a job has a place
 *
 * Everything is tried on reclaim.ahead and undone: the search decides nothing. A place counts if
 * it is free now or the mover's own, so that no moved job waits for another one.
 *
 * Order of calls: start, look, (is_enough), collect, find, then make or drop
 */

#include "sched/preemption/defrag.h"

/* The search for one waiting job. */
struct relocation {
    struct brain *brain;
    const struct job *job;
    const struct request *request;
    struct promises *promises; /* of other jobs; NULL: for a question */
    usec_t end;                /* of the job, if it starts now */
    int64_t gain;              /* GPU-time that the job would wait */
    int32_t need_milli;        /* of a member, by the alternative that is tried */
    uint32_t need_whole;
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
