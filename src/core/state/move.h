/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_STATE_MOVE_H
#define CORE_STATE_MOVE_H

/* move - jobs that restart elsewhere to make room for another job (defragmentation)
 *
 * A move is a STOP with cause STOP_MOVE. What it loses is GPU-time: the job's GPUs x the run time
 * that is done again. The settings say how much of it may be lost in an hour; an hour begins with
 * the first move after the one before is over.
 */

#include <stdint.h>

#include "base/units.h"

struct event_stop;
struct job;
struct job_run;
struct lease;
struct state;

struct moves {
    usec_t from;  /* when the hour began; 0: there was no move yet */
    int64_t lost; /* in it: GPU-time in microseconds */
};

/* GPU-time that is lost when so much run time of this lease is done again; at least 1. */
int64_t move_loss(const struct lease *lease, usec_t again);

/* GPU-time that may still be lost then, and when that is all of it again. */
int64_t moves_left(const struct state *state, usec_t at);
usec_t moves_renew_at(const struct state *state);

/* The job is stopped to be moved: note its place, the job it makes room for, and the loss. */
/* "a:0,1 b:3": the machines of a lease, and which devices of them; "" without devices. New. */
char *state_place_of(const struct state *state, const struct lease *lease);

void move_begin(struct state *state, struct job *job, const struct event_stop *event);
/* The moved job has been started again. */
void move_end(const struct state *state, struct job_run *run);

#endif
