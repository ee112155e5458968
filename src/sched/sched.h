/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_SCHED_H
#define SCHED_SCHED_H

/* sched - the brain: events in, decisions out
 *
 * A brain works on a state and decides. It reads no clock, does no I/O, and uses no floats and no
 * threads. Its data beside the state follows from the events since the last BOOT. A BOOT rebuilds
 * them from the state, so a new brain that receives a BOOT decides like one that has seen all
 * events. The daemon, the simulator and replay run this code.
 *
 *   sched_step(event)      folds the event; on a PLAN event the brain then decides, and
 *                          each decision (GRANT, STOP) is folded and returned
 *   sched_fold(event)      the same without deciding: for decisions that were made before
 *   sched_next_wakeup()    the latest time for the next PLAN
 *
 * Order of a plan:
 *
 *   1. Stop jobs that must stop.
 *   2. Start jobs that come back, and jobs for which others were stopped.
 *   3. Shrink gangs for other jobs (resize.h).
 *   4. Advance the plain schedule of each queue, and mark the jobs that would miss their protected
 *      start otherwise as urgent (plain.h). The first urgent job of a queue gets a promise before
 *      any job of its queue starts.
 *   5. Take the first job of each bucket in the order of job_order.h, urgent jobs first within
 *      their priority. A job within quota that fits starts. Otherwise jobs of queues that borrow
 *      may be stopped for it (reclaim.h), the first such jobs get a promise (promise_search.h), and
 *      the first job that waits for the limit of a queue reserves its share (reserved_share.h).
 *   6. Grow gangs into the free resources that remain.
 *
 * Questions to a brain are in questions.h; they change no decision.
 *
 * Owner:    the brain borrows the state, which must outlive it and have no other brain
 *
 * Version:  SCHED_VERSION changes when the same events may give other decisions
 */

#include "base/mem.h"
#include "core/journal/event.h"
#include "core/state/state.h"
#include "sched/explain/questions.h"
#include "sched/placement/admit.h"

struct decisions {
    LIST(struct event) events; /* leases are valid until the next step */
};

enum { SCHED_VERSION = 25 };

struct brain;

struct brain *brain_create(struct state *state);
void brain_destroy(struct brain *brain);
DEFINE_AUTO(brain)

/* Decisions are appended; the caller clears and releases the list. */
int sched_step(struct brain *brain, const struct event *event, struct decisions *decisions,
               struct error *err);
int sched_fold(struct brain *brain, const struct event *event, struct error *err);

/* For idle time: update some caches that the next plan would have to update. It changes no
 * decision. True: there is more to do; a call takes some milliseconds at most. */
bool sched_refresh(struct brain *brain);

/* When the next plan is needed. state->now or earlier: now. USEC_NEVER: after the next event. */
usec_t sched_next_wakeup(const struct brain *brain);

#endif
