/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PREEMPTION_PREEMPT_PLACE_H
#define SCHED_PREEMPTION_PREEMPT_PLACE_H

/* pack - places for the selected claimants, and the jobs that have to make room for them
 *
 * Works on a fleet that looks ahead, without the jobs that are not selected and those that are
 * stopping. Newly selected jobs are placed widest first, each on the machines with the fewest
 * sufficient free GPUs. If none suffices, smaller selected jobs on the machine with the most free
 * GPUs are moved (largest first that is not above what is missing): they are placed again
 * afterwards and pay their restart cost. What is left goes to jobs that were not selected, in
 * order: they run on, or start.
 */

#include "sched/placement/place.h"
#include "sched/preemption/contender.h"

struct preempt_place {
    struct fleet ahead;
    LIST(uint32_t) nodes;   /* chosen machines of all claims, in sequence */
    LIST(uint32_t) order;   /* claims to be placed */
    LIST(uint32_t) fitting; /* candidates of one placement */
    LIST(uint32_t) takers;  /* by machine: the best claim placed there, plus one; 0: none */
    LIST(uint32_t) moved;   /* for one placement */
    LIST(uint64_t) misfits; /* by class: the last `fillings` in which it found no room */
    uint64_t fillings;
};

/* Set is_kept, first_node and node_count of the claims. pack->ahead: what is free and what is
 * becoming free, set by the caller; query: from brain_query for any job of the queue. False: some
 * selected claims found no place and are marked is_homeless; all else is undefined. */
bool preempt_place_make(struct preempt_place *pack, struct contenders *claims,
                        const struct place_query *query, struct arena *arena);
/* The best claim that gets a place on a machine of this lease; NULL: none. */
const struct contender *preempt_place_taker(const struct preempt_place *pack,
                                            const struct contenders *claims,
                                            const struct lease *lease);
void preempt_place_release(struct preempt_place *pack);

#endif
