/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_JOB_FACTS_H
#define SCHED_JOB_FACTS_H

/* job_facts - what follows about one job from its own fields
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
/* Why it must be stopped now; STOP_NONE: it may go on. */
enum stop_cause job_stop_wanted(const struct state *state, const struct job *job);

/* Run time done, and left (0: unknown); restarts included. */
usec_t job_attained(const struct job *job, usec_t now);
usec_t job_left(const struct job *job, usec_t now);
/* The restart cost that this run has to make up for; 0: it is the first. */
usec_t job_owed(const struct job *job);
/* What of its last restart its run has not made up for yet; negative: more than that. */
usec_t job_unpaid(const struct job *job, usec_t now);
/* For jobs that are not preemptible: 2 its deadline is near, 1 it has one that it can meet, 0. */
uint8_t job_deadline_band(const struct job *job, usec_t now);

/* It was stopped, or is being stopped, to start again at once. */
bool job_is_back(const struct job *job);
/* It is being moved: it stops, and starts again elsewhere. */
bool job_is_moving(const struct job *job);
/* It stops, and others can have its place; not when it is healed and wants as much again. */
bool job_is_leaving(const struct job *job);
/* All members run, and no stop is wanted. */
bool job_is_settled(const struct job *job);
/* Run time that is repeated if it stops now: since its last checkpoint, and the restart. */
usec_t job_lost(const struct job *job, usec_t now);
/* The cost of a restart, as stated or assumed. */
usec_t job_restart_cost(const struct job *job);
/* When it is old enough for one more restart (Sia's factor); 0: it is now. */
usec_t job_old_enough_at(const struct job *job, usec_t now);
/* How long a job that starts now may count on staying where a reservation follows. */
usec_t job_stay(const struct job *job);

#endif
