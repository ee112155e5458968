/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_CAPACITY_POOL_LIMIT_H
#define SCHED_CAPACITY_POOL_LIMIT_H

/* pool_limit - minima and maxima of dynamic pools (core/cluster/pool.h)
 *
 * The jobs of a pool hold at most its maximum. If they hold less than its minimum, the difference
 * stays free: of the devices that a pool may use, as much as it and the pools within it lack.
 */

#include "core/job/why.h"
#include "sched/capacity/fleet.h"

/* Mark the kinds of which a part is kept free for a pool other than `own`. False: none. */
bool pool_limit_mark_kept(const struct state *state, const struct fleet *fleet, uint32_t own,
                          uint8_t *kept);

/* These slices may be taken. is_taken: they are already taken from the fleet (required if a pool
 * has a minimum). False: why is filled. */
bool pool_limit_allows(const struct state *state, const struct fleet *fleet, uint32_t own,
                       const struct slice *slices, uint32_t count, bool is_taken, struct why *why);

#endif
