/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_STATE_MOVE_H
#define CORE_STATE_MOVE_H

/* move - jobs that restart elsewhere to make room for another job (defragmentation)
 *
 * A move is a STOP with cause STOP_MOVE. It loses GPU-time: the job's GPUs x the run time that is
 * repeated. The settings limit how much may be lost per hour; an hour begins with the first move
 * after the previous hour is over.
 */

#include <stdint.h>

#include "base/units.h"

struct event_stop;
struct job;
struct job_run;
struct lease;
struct state;

struct moves {
    usec_t from;  /* when the hour began; 0: no move so far */
    int64_t lost; /* GPU-time lost in it, in microseconds */
};

/* GPU-time that is lost when this much run time of the lease is repeated; at least 1. */
int64_t move_loss(const struct lease *lease, usec_t again);

/* GPU-time that may still be lost at a time, and when the full amount is available again. */
int64_t moves_left(const struct state *state, usec_t at);
usec_t moves_renew_at(const struct state *state);

/* "a:0,1 b:3": the nodes of a lease and their devices; "" without devices. Newly allocated. */
char *state_place_of(const struct state *state, const struct lease *lease);

/* The job is stopped to be moved: note its place, the job it makes room for, and the loss. */
void move_begin(struct state *state, struct job *job, const struct event_stop *event);
/* The moved job has been started again. */
void move_end(const struct state *state, struct job_run *run);

#endif
