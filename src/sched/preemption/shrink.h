/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PREEMPTION_SHRINK_H
#define SCHED_PREEMPTION_SHRINK_H

/* shrink - elastic gangs give members up so that a waiting job finds room
 *
 * elastic.h states who has a right to what. A search takes from reclaim.ahead all that gangs can be
 * asked for (squeeze); when the job has a place, each gang keeps the largest size that leaves that
 * place free (settle).
 */

#include "core/job/job.h"
#include "core/state/state.h"

struct brain;
struct decisions;

/* A gang that can give members up: its size now, and the least after this. */
struct donor {
    struct job *job;
    const struct request *request;
    uint32_t members, low;
    uint8_t rule; /* enum stop_rule */
};

struct donors {
    struct donor *items; /* in the brain's arena */
    size_t count;
};

/* Take all that gangs can be asked for out of reclaim.ahead, which was prepared for the job. False:
 * that is nothing. */
bool shrink_squeeze(struct brain *brain, const struct job *job, const struct amounts *wanted,
                    struct donors *ret);
/* The job is a gang that gives members up. */
bool shrink_takes_from(const struct donors *donors, const struct job *job);
/* Shrink gangs as far as the job's place needs it. False: it needs none of them. */
bool shrink_settle(struct brain *brain, const struct job *job, const struct lease *lease,
                   const struct donors *donors, struct decisions *decisions);
/* Stop a gang so that it starts again with `lease`; `taker` (0: none) gets what it gives up. */
void shrink_resize(struct brain *brain, const struct job *job, const struct lease *lease,
                   uint64_t taker, uint8_t rule, struct decisions *decisions);

/* Make room for the job by shrinking alone; it is awaited then. natural: when it would start
 * otherwise (0: unknown). False: that is not enough, or not needed. */
bool shrink_for(struct brain *brain, struct job *job, usec_t natural, struct decisions *decisions);

#endif
