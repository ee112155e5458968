/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_STATE_ATTEMPT_LAUNCH_H
#define CORE_STATE_ATTEMPT_LAUNCH_H

/* attempt_launch - between the state and the engine port: what an engine starts for a lease, and
 * the events for an engine's outcomes
 *
 * The daemon, the simulator and the world fuzzer start jobs through these.
 */

#include "core/state/state.h"

/* The launches of all members of an active job, by place: member, node, slices, title. The caller
 * adds the program. The state owns the strings. */
struct attempt_launch {
    struct engine_launch *members;
    struct engine_slice *slices;
    uint32_t count;
};

void attempt_launch_make(const struct state *state, const struct job *job,
                         struct attempt_launch *ret);
void attempt_launch_release(struct attempt_launch *launch);

/* STARTED or ENDED; the outcome owns its reason. */
struct event event_of_outcome(const struct engine_outcome *outcome);

/* The event that says which devices a member has. held: room for count. ret_refused: the number of
 * devices that are unknown or cannot replace one of the lease, plus those too many or too few. */
struct event event_of_assignment(const struct state *state, struct member_id id,
                                 const char *const *uuids, uint32_t count, struct event_held *held,
                                 uint32_t *ret_refused);

#endif
