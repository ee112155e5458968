/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WORLDS_FUZZ_ENGINE_H
#define WORLDS_FUZZ_ENGINE_H

/* fuzz_engine - a simulated engine that sends every kind of report that an engine may send
 *
 * The outcome of an attempt is drawn from the world's seed, the job and the attempt, so it does not
 * depend on other events. Outcomes arrive late, twice, out of order, or not at all: a member may
 * fall silent until its machine or the engine restarts.
 */

#include "core/engine.h"
#include "core/journal/event.h"
#include "worlds/fuzz_world.h"

struct fuzz_engine;

struct fuzz_engine_options {
    const struct fuzz_temper *temper;
    struct engine_reports reports;                        /* outcome only */
    void (*checkpoint)(void *user, struct member_id job); /* the job saved its work */
};

struct fuzz_engine *fuzz_engine_create(const struct fuzz_engine_options *options);
void fuzz_engine_destroy(struct fuzz_engine *engine);        /* NULL is fine */
struct engine *fuzz_engine_port(struct fuzz_engine *engine); /* start and stop only */
void fuzz_engine_set_time(struct fuzz_engine *engine, usec_t now);

/* A job was submitted: its run time follows from this. */
void fuzz_engine_submit(struct fuzz_engine *engine, const struct event_submit *submit);
/* The job continues later with the work that it has done in this attempt. Before it is stopped. */
void fuzz_engine_keep(struct fuzz_engine *engine, uint64_t job);
/* A machine goes down, or is up again. */
void fuzz_engine_node(struct fuzz_engine *engine, const char *node, bool is_up);
void fuzz_engine_restart(struct fuzz_engine *engine);

/* When it has something to report; USEC_NEVER: never. */
usec_t fuzz_engine_next(const struct fuzz_engine *engine);
/* Report the next outcome that is due; false: none is. */
bool fuzz_engine_say(struct fuzz_engine *engine);

#endif
