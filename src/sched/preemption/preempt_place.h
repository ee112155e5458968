/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PREEMPTION_PREEMPT_PLACE_H
#define SCHED_PREEMPTION_PREEMPT_PLACE_H

/* pack - where the selected claimants go, and who has to make room for them
 *
 * On a fleet that looks ahead: those that are not selected, and those that are stopping, are gone
 * from it. The newly selected are placed widest first, each on the machines with the fewest free
 * GPUs that suffice. Where none suffice, selected but smaller ones that run on the machine with
 * the most free GPUs (largest first that is not above what is missing) are moved: they are placed
 * again afterwards, and pay their restart cost. What is left in the
 * end is for those that were not selected, in order: they run on, or start.
 */

#include "sched/placement/place.h"
#include "sched/preemption/contender.h"

struct pack {
    struct fleet ahead;
    LIST(uint32_t) nodes;   /* chosen machines of all claims, one after another */
    LIST(uint32_t) order;   /* claims to be placed */
    LIST(uint32_t) fitting; /* candidates of one placement */
    LIST(uint32_t) takers;  /* by machine: the best claim that gets a place there, plus one; 0 */
    LIST(uint32_t) moved;   /* for one placement */
    LIST(uint64_t) misfits; /* by class: the last filling in which it found no room */
    uint64_t fillings;
};

/* Sets is_kept, first_node and node_count of the claims. pack->ahead: what is free now, and what is
 * coming free (the caller makes it so); query: as brain_query gives it for any job of the queue.
 * False: some of the selected found no place; they are marked is_homeless, nothing else holds. */
bool pack_make(struct pack *pack, struct claims *claims, const struct place_query *query,
               struct arena *arena);
/* The first of those that get a place on a machine of this lease; NULL: nobody does. */
const struct claim *pack_taker(const struct pack *pack, const struct claims *claims,
                               const struct lease *lease);
void pack_release(struct pack *pack);

#endif
