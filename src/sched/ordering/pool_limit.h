/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_ORDERING_POOL_LIMIT_H
#define SCHED_ORDERING_POOL_LIMIT_H

/* budget - what the dynamic pools allow and are promised (core/cluster/pool.h)
 *
 * No pool's jobs hold more than its max. A pool that holds less than its min is promised the rest:
 * of the devices it may use, as much stays free as it, and the pools within it, are promised.
 */

#include "core/job/why.h"
#include "sched/placement/fleet.h"

/* Kinds that a pool other than `own` is promised some of: fills by kind. False: none is. */
bool budget_mark_kept(const struct state *state, const struct fleet *fleet, uint32_t own,
                      uint8_t *kept);

/* May these slices be taken? is_taken: they have been, from the fleet (they must, where a pool
 * has a min). Fills why when not. */
bool budget_allows(const struct state *state, const struct fleet *fleet, uint32_t own,
                   const struct slice *slices, uint32_t count, bool is_taken, struct why *why);

#endif
