/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PLACEMENT_ADMIT_H
#define SCHED_PLACEMENT_ADMIT_H

/* admit - whether a job can ever run here: asked of an empty cluster */

#include "base/map.h"
#include "core/job/why.h"
#include "core/state/state.h"

/* Could a job like this ever run here? WHY_NONE, WHY_UNUSABLE, WHY_SPOT, a `never`, or POOL_MAX or
 * POOL_MIN: only while other windows are open. */
void sched_admit(const struct state *state, const struct request *request, uint32_t queue,
                 bool is_preemptible, struct why *ret_why);

/* Answers for waiting jobs, by class, queue and whether they are preemptible: asking the whole
 * cluster is too much for each plan. */
struct admissions {
    struct map places; /* indices */
    LIST(struct why) answers;
    uint64_t world; /* that the answers are for: state_world() */
};

/* sched_admit() for the job, remembered until the world is another one. */
const struct why *admissions_ask(struct admissions *admissions, const struct state *state,
                                 const struct job *job);
void admissions_release(struct admissions *admissions);

/* Could this user ever run it? WHY_NONE or NEVER_QUOTA. A user that the state does not know has
 * the number after its last. */
void sched_admit_user(const struct state *state, const struct request *request, uint32_t queue,
                      uint32_t user, uint32_t gid, struct why *ret_why);

#endif
