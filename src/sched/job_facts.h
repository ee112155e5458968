/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_JOB_FACTS_H
#define SCHED_JOB_FACTS_H

/* job_facts - facts that follow from the fields of one job
 *
 * The policies ask these questions about jobs; none of them decides anything here. Pure functions
 * of the job and the time.
 */

#include "base/mem.h"
#include "core/job/job.h"
#include "core/state/state.h"

enum {
    FACTS_FACTOR_PCT = 70, /* Sia's restart factor */
    FACTS_COST_S = 60,     /* the restart cost of a job that does not state one */
    FACTS_URGENT = 16,     /* a deadline is near when the slack is at most estimate / this */
};
#define FACTS_WORTH USEC_PER_MIN /* the least run time that makes a start worthwhile */

typedef LIST(struct job *) job_list;

/* For list_sort() of a job_list: by id; by priority, then id. */
int job_compare_ids(const void *left, const void *right);
int job_compare_priority(const void *left, const void *right);

/* When a job that holds resources reaches its time limit. */
usec_t job_end_of(const struct state *state, const struct job *job);
/* Its time limit applies: it was granted or runs, and is not stopping. */
static inline bool job_has_limit(const struct job *job)
{
    return job->state == JOB_GRANTED || job->state == JOB_RUNNING;
}
/* Why the job must be stopped now; STOP_NONE: it may continue. */
enum stop_cause job_stop_wanted(const struct state *state, const struct job *job);

/* Run time done, and left (0: unknown); restarts included. */
usec_t job_attained(const struct job *job, usec_t now);
usec_t job_left(const struct job *job, usec_t now);
/* The restart cost that this run has to amortize; 0: it is the first run. */
usec_t job_owed(const struct job *job);
/* The part of its last restart cost that its run has not amortized yet; negative: it ran longer. */
usec_t job_unpaid(const struct job *job, usec_t now);

/* The job was stopped, or is being stopped, to restart at once. */
bool job_is_back(const struct job *job);
/* The job is being moved: it stops and restarts in another place. */
bool job_is_moving(const struct job *job);
/* The job stops and its place becomes free; not if it heals and restarts with the same size. */
bool job_is_leaving(const struct job *job);
/* All members run, and no stop is wanted. */
bool job_is_settled(const struct job *job);
/* Run time that is lost if the job stops now: since its last checkpoint, and the restart. */
usec_t job_lost(const struct job *job, usec_t now);
/* The cost of a restart, as stated or assumed. */
usec_t job_restart_cost(const struct job *job);
/* When the job has run long enough for another restart (Sia's factor); 0: now. */
usec_t job_old_enough_at(const struct job *job, usec_t now);
/* The time for which a job that starts now may stay where a reservation follows. */
usec_t job_stay(const struct job *job);

#endif
