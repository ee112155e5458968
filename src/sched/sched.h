/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_SCHED_H
#define SCHED_SCHED_H

/* sched - the brain: events in, decisions out
 *
 * A brain sits on a state and decides. It reads no clock, does no I/O, has no floats and no
 * threads. What it knows beside the state follows from the events since the last BOOT: on a BOOT
 * it starts afresh from the state, so a brain that is put on a state and told a BOOT decides as
 * one that was there all along. Daemon, simulator and replay run this code.
 *
 *   sched_step(event)      the event is folded in; on a PLAN event the brain then decides, and
 *                          each decision (GRANT, STOP) is folded in and handed out
 *   sched_fold(event)      the same without deciding: for decisions that were made before
 *   sched_next_wakeup()    when it wants the next PLAN at the latest
 *
 * Order of a plan: jobs to be stopped; those that come back, and those for whom others were
 * stopped; gangs that are shrunk for others (elastic.h); then, in the order of
 * order.h, each head that is within quota and finds a place gets it; for one that finds none, jobs
 * of queues that borrow may be stopped (reclaim.h); the first of them get a promise (reserve.h);
 * the first that a queue's limit keeps waiting has its turn (turn.h). Gangs grow into what is left.
 *
 * Owner:    the brain borrows the state, which must outlive it and have no other brain
 * Version:  SCHED_VERSION changes when the same events may give other decisions
 */

#include "core/state/state.h"
#include "sched/decisions.h"
#include "sched/explain/admit.h"
#include "sched/questions.h"

enum { SCHED_VERSION = 7 };

struct brain;

struct brain *brain_create(struct state *state);
void brain_destroy(struct brain *brain);
DEFINE_AUTO(brain)

/* Decisions are added to; the caller clears and releases the list. */
int sched_step(struct brain *brain, const struct event *event, struct decisions *decisions,
               struct error *err);
int sched_fold(struct brain *brain, const struct event *event, struct error *err);

/* For idle time: catch up a little of what the next plan would have to. Nothing that is decided
 * hangs on it. Returns whether there is more; a call takes some milliseconds at most. */
bool sched_refresh(struct brain *brain);

/* state->now or earlier: now. USEC_NEVER: not before another event. */
usec_t sched_next_wakeup(const struct brain *brain);

#endif
