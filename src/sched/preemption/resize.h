/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHED_PREEMPTION_RESIZE_H
#define SCHED_PREEMPTION_RESIZE_H

/* elastic - gangs that take what is idle, and give it back before anybody is stopped
 *
 * An elastic gang (core/job/gang_size.h) starts with as many members as find room, at least its
 * least.
 *
 *   shrink   for a job that finds no room and would wait for long: what running gangs have beyond
 *            their least is taken away, size by size, as far as a right to it goes. Inside a queue
 *            everybody has it whose priority is not lower than the gang's; between queues the
 *            rules of share.h decide, as for jobs that are stopped. Then the job is placed, and
 *            every gang keeps the largest size that leaves that place free. It is done when this
 *            alone makes the room, and before plan_preempt and reclaim stop anybody.
 *   grow     when nobody waits for room, to the largest size that is allowed and fits beside all
 *            others. Policies 2.9 and 2.12 (Sia): with S the restart cost, age the run time so far
 *                max(age - restarts x S, 0) / (age + S)  >=  0.7
 *            and, where what is left of its run is known, when left x (1 - old / new) is at least
 *            ELASTIC_GAIN_LEAST x S: what the larger size saves if it is as much faster.
 *
 * A gang that is resized is stopped (STOP 6) and starts again at once (`back`; so does whoever is
 * moved, defrag.h), with the machines
 * and devices that were chosen for it when that was decided; where they are gone, with the largest
 * size that fits and is not above what was decided. Nobody else's start comes before that.
 */

#include "base/arena.h"
#include "core/job/job.h"
#include "core/state/state.h"

struct brain;
struct decisions;

enum {
    ELASTIC_GAIN_LEAST = 4,
    ELASTIC_TRIES = 8, /* waiting jobs for which a plan looks for gangs to shrink */
};

struct elastic {
    LIST(struct job *) active; /* gangs that hold resources and may be resized, by id */
    LIST(struct job *) back;   /* gangs that wait to start again, by id */
    usec_t review;             /* when a gang may be old enough to grow; USEC_NEVER */
};

/* A job's standing may have changed. */
void elastic_note(struct elastic *elastic, const struct state *state, struct job *job,
                  bool is_gone);
void elastic_release(struct elastic *elastic);

/* Those that were stopped to start again. */
void plan_back(struct brain *brain, struct decisions *decisions);
/* For those that wait, before anybody is stopped for them. */
void plan_shrinks(struct brain *brain, struct decisions *decisions);
void plan_grows(struct brain *brain, struct decisions *decisions);

#endif
