/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PREEMPTION_ROOM_MADE_H
#define SCHED_PREEMPTION_ROOM_MADE_H

/* made - room that was made for jobs, and the cluster once all that stops is gone
 *
 * When jobs are stopped, moved or shrunk for another one, its future lease is kept here until it
 * starts. Searches for more room use `ahead` and `shares` of reclaim.h: what is free and held after
 * the stopping jobs have gone and the jobs that they stop for have started.
 *
 * Owner:  struct reclaim; leases are copies
 */

#include "sched/preemption/reclaim.h"

/* Where the job shall start; NULL: this brain stopped no job for it. */
const struct lease *room_made_place(const struct reclaim *reclaim, uint64_t job);
/* Keep the place where the job shall start when those that stop for it are gone. */
void room_made_keep(struct reclaim *reclaim, uint64_t job, const struct lease *lease);
/* Forget jobs that no longer wait. */
void room_made_tidy(struct reclaim *reclaim, const struct state *state);
/* Machines or devices changed: jobs that come back find a new place. */
void room_made_forget_back(struct reclaim *reclaim, const struct state *state);
/* Keep what another one keeps; is_forgotten: but not for jobs that come back. */
void room_made_share(struct reclaim *own, const struct reclaim *reclaim, const struct state *state,
                     bool is_forgotten);

/* Set `shares` for a search for this job (0: for none). */
void room_made_count_shares(struct brain *brain, uint64_t job);
/* Set `ahead` and `shares` for a search for this job. */
void room_made_look_ahead(struct brain *brain, uint64_t job);
/* Count the kept places as held in the cells (sign 1), or no longer (-1). */
void room_made_take(struct brain *brain, uint64_t job, int sign);

/* More room is needed: the job would wait for long, and no job stops for it yet. natural: when it
 * would start otherwise (0: unknown). */
bool room_made_is_needed(const struct brain *brain, const struct job *job, usec_t natural,
                         const struct amounts *wanted);

#endif
