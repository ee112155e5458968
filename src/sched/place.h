/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PLACE_H
#define SCHED_PLACE_H

/* place - find machines and slices of devices for all members of a job, or for none
 *
 * One transaction: on success the room is less by the lease, on "no" it is as it was, and why
 * says what was missing. Pure, and the same input gives the same lease.
 *
 * Best-fit: the machine where the fewest GPUs (then CPUs) stay free; a share goes to the fullest
 * device that still has room; whole GPUs come from the NUMA node that they fill best. First-fit:
 * the lowest numbers. Of equals, the lowest number. Devices of a static pool of its own come
 * before shared ones, on whatever machine, and those that a dynamic pool is promised come last.
 * Alternatives are tried in their order, each for the whole gang.
 */

#include "base/arena.h"
#include "core/state.h"
#include "core/why.h"

/* Alternatives that are more than the limits of the queues allow are passed over. */
enum place_quota {
    PLACE_QUOTA_NONE,
    PLACE_QUOTA_EVER, /* more than they will ever allow */
    PLACE_QUOTA_NOW,
};

struct place_query {
    const struct state *state;
    const struct request *request;
    uint32_t queue;
    const struct room *now;   /* where room is what others leave later: what is free now; or NULL */
    const struct room *spare; /* whole devices that are free in it are taken last; NULL: none */
    enum place_quota quota;
    bool ignore_health; /* also what is drained, down or sick: could it run at all? */
};

/* ret_lease lives in arena; its share is 0. */
bool place_job(const struct place_query *query, struct room *room, struct arena *arena,
               struct lease *ret_lease, struct why *ret_why);

/* All machines and devices with nothing on them. */
void place_empty_room(const struct state *state, struct room *room);

#endif
