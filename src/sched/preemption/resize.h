/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PREEMPTION_RESIZE_H
#define SCHED_PREEMPTION_RESIZE_H

/* resize - elastic gangs: start with what fits, grow on idle GPUs, shrink before preemption
 *
 * An elastic gang (core/job/gang_size.h) starts with as many members as find room, at least its
 * minimum.
 *
 *   shrink   for a job that finds no room and would wait for long: running gangs give up members
 *            beyond their minimum, size by size, as far as the job has a right to them. Inside a
 *            queue, a job has that right if its priority is not lower than the gang's; between
 *            queues the rules of reclaim.h decide, as for preemption. Then the job is placed, and
 *            each gang keeps the largest size that leaves that place free. Shrinking happens only
 *            when it makes enough room alone, and before plan_preempt and reclaim stop a job.
 *   grow     when no job waits for room, to the largest allowed size that fits. After Sia, with
 *            S the restart cost and age the run time so far:
 *                max(age - restarts x S, 0) / (age + S)  >=  0.7
 *            and, where the remaining run time is known, left x (1 - old / new) is at least
 *            ELASTIC_GAIN_LEAST x S: the time saved if the larger size is faster in proportion.
 *
 * A resized gang is stopped (STOP 6) and starts again at once (`back`; so do moved jobs, defrag.h)
 * on the devices that were chosen for it. If these are no longer free, it takes the largest size
 * that fits and is not above the decided one. No other job starts before these.
 */

#include "base/arena.h"
#include "core/job/job.h"
#include "core/state/state.h"
#include "sched/job_facts.h"

struct brain;
struct decisions;

enum {
    ELASTIC_GAIN_LEAST = 4,
    ELASTIC_TRIES = 8, /* waiting jobs for which a plan looks for gangs to shrink */
};

struct elastic {
    job_list active; /* gangs that hold resources and may be resized, by id */
    job_list back;   /* gangs that wait to start again, by id */
    usec_t review;   /* when a gang may be old enough to grow; USEC_NEVER */
};

/* The state of a job may have changed. */
void elastic_note(struct elastic *elastic, const struct state *state, struct job *job,
                  bool is_gone);
void elastic_release(struct elastic *elastic);

/* Start gangs and moved jobs that were stopped to start again. */
void plan_back(struct brain *brain, struct decisions *decisions);
/* Shrink gangs for waiting jobs, before any job is preempted. */
void plan_shrinks(struct brain *brain, struct decisions *decisions);
/* Let gangs grow into what is left. */
void plan_grows(struct brain *brain, struct decisions *decisions);

/* Elastic gangs give members up so that a waiting job finds room
 *
 * The top of this header states which job has a right to which members. A search takes from
 * reclaim.ahead all that gangs can give up (squeeze). When the job has a place, each gang keeps the
 * largest size that leaves that place free (settle).
 */

/* A gang that can give members up: its size now, and the least after this. */
struct donor {
    struct job *job;
    const struct request *request;
    uint32_t members, low;
    const uint32_t *order; /* of its members: the last one goes first */
    uint8_t rule;          /* enum stop_rule */
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
