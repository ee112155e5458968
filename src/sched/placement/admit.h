/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PLACEMENT_ADMIT_H
#define SCHED_PLACEMENT_ADMIT_H

/* admit - whether a job can ever run here: asked of an empty cluster */

#include "core/job/why.h"
#include "core/state/state.h"

/* Could a job like this ever run here? WHY_NONE, WHY_UNUSABLE, WHY_SPOT, or a `never`. */
void sched_admit(const struct state *state, const struct request *request, uint32_t queue,
                 bool is_preemptible, struct why *ret_why);

/* Could this user ever run it? WHY_NONE or NEVER_QUOTA. A user that the state does not know has
 * the number after its last. */
void sched_admit_user(const struct state *state, const struct request *request, uint32_t queue,
                      uint32_t user, uint32_t gid, struct why *ret_why);

#endif
