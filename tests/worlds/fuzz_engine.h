/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WORLDS_FUZZ_ENGINE_H
#define WORLDS_FUZZ_ENGINE_H

/* fuzz_engine - a simulated engine that sends every kind of report that an engine may send
 *
 * The outcome of an attempt is drawn from the world's seed, the job and the attempt, so it does not
 * depend on other events. Outcomes arrive late, twice, out of order, or not at all: a member may
 * fall silent until its machine or the engine restarts.
 */

#include "core/journal/event.h"
#include "worlds/fuzz_world.h"

struct fuzz_engine;

struct fuzz_engine *fuzz_engine_create(const struct fuzz_temper *temper);
void fuzz_engine_destroy(struct fuzz_engine *engine); /* NULL is fine */

/* What it is told of a job that comes: how long it will run follows from it. */
void fuzz_engine_submit(struct fuzz_engine *engine, const struct event_submit *submit);
void fuzz_engine_grant(struct fuzz_engine *engine, const struct event_grant *grant, usec_t now);
void fuzz_engine_stop(struct fuzz_engine *engine, uint64_t job, bool is_preempted, usec_t now);
/* A machine goes down, or is up again. */
void fuzz_engine_node(struct fuzz_engine *engine, uint32_t node, bool is_up, usec_t now);
void fuzz_engine_restart(struct fuzz_engine *engine, usec_t now);

/* When it has something to say; USEC_NEVER: never. */
usec_t fuzz_engine_next(const struct fuzz_engine *engine);
/* The next outcome that is due; false: none is. */
bool fuzz_engine_take(struct fuzz_engine *engine, usec_t now, struct event *ret);

#endif
