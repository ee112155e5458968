/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_BACKFILL_RESERVATION_H
#define SCHED_BACKFILL_RESERVATION_H

/* gate - machines and devices that reservations keep
 *
 * A reservation of machines shuts them for all but its owner while its window is open; one of GPUs
 * shuts as many devices as it counts, which are chosen anew for each plan: those that its owner
 * holds, then free ones, then those that will be free when it opens, then those whose jobs can be
 * stopped, then the rest. A job is barred from what is shut at any time while it might hold it:
 *
 *     [start, start + limit)                                      it is never stopped
 *     [start, start + min(limit, grace + restart + checkpoint + 1 min))     it may be
 *
 * for what may be stopped has to be gone when the window opens (leave.h), and should have done
 * something until then. What runs and is never stopped runs on.
 */

#include "base/arena.h"
#include "sched/backfill/ends.h"
#include "sched/placement/fleet.h"

struct gate {
    uint32_t node;
    uint32_t reservation; /* its place in the agenda */
    int64_t queue;        /* its owner's number; -1: none */
    uint64_t slots;       /* bit i: slot i of the machine; 0: the whole machine */
};

struct gates {
    LIST(struct gate) items;
    LIST(struct gate) before; /* of the plan before */
    uint64_t passed;          /* of the agenda, when they were made */
};

/* Who asks, and for how long. */
struct gate_ask {
    uint32_t queue, user;
    usec_t from, until;
};

/* For the state as it is. True: they are others than before. */
bool gates_make(struct gates *gates, const struct state *state, const struct layout *layout,
                const struct ends *ends, struct arena *arena);
void gates_release(struct gates *gates);

bool gate_bars(const struct gate *gate, const struct state *state, const struct gate_ask *ask);

/* When it is shut for somebody who is there from a time on; USEC_NEVER: it is not. */
usec_t gate_shuts_at(const struct gate *gate, const struct state *state,
                     const struct gate_ask *ask);
/* When the span ends that bars him first. */
usec_t gate_opens_at(const struct gate *gate, const struct state *state,
                     const struct gate_ask *ask);

/* Whether a lease holds some of what is behind it. */
bool gate_has(const struct gate *gate, const struct layout *layout, const struct lease *lease);

#endif
