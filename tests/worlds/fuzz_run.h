/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WORLDS_FUZZ_RUN_H
#define WORLDS_FUZZ_RUN_H

/* fuzz_run - a world and an engine around one brain, on a virtual clock, with all invariants
 * checked
 *
 * Impossible actions (cancel a job that does not exist, remove a queue with jobs) are skipped, so
 * any part of a world's actions is a world. The brain is used as in the daemon: it gets events,
 * then plans until it is done; grants and stops go to the engine.
 */

#include "sched/sched.h"
#include "worlds/fuzz_engine.h"
#include "worlds/fuzz_shadow.h"

/* How closely. */
struct fuzz_look {
    uint32_t sample;    /* what takes long is looked at every so many instants */
    bool is_strict;     /* also what is known to be wrong (fuzz_known.h) */
    struct text *trace; /* all that is told and decided is added, one a line; NULL: not wanted */
};

struct fuzz_failure {
    const char *invariant; /* its name; NULL: all held */
    struct error found;    /* what was expected, what was found */
    size_t step;           /* actions done before */
    usec_t at;
};

struct fuzz_run {
    const struct fuzz_look *look;
    const struct fuzz_world *world;
    struct state *state;
    struct brain *brain;
    struct inquiry *asker;    /* of what is asked of it */
    struct state *twin_state; /* beside it after a restart; NULL: none */
    struct brain *twin;
    struct shadow *shadow;
    struct fuzz_engine *engine;
    struct decisions decisions; /* of the last plan */
    struct decisions twin_decisions;
    struct fuzz_checks *checks; /* NULL: nothing is checked */
    usec_t now;
    size_t step;
    uint64_t events;      /* told, and decided */
    uint64_t told;        /* how many outcomes the engine has said */
    struct text snapshot; /* and what followed, for a restart */
    struct text followed; /* events, each after its length (8 bytes) */
    bool has_snapshot;
    LIST(uint64_t) digests; /* of each decision; where the world is repeated */
    struct text scratch;
    struct arena arena;
    struct fuzz_failure failure;
};

struct fuzz_result {
    struct fuzz_failure failure;
    uint64_t events;
};

enum { FUZZ_SAMPLE = 32 };

/* Run it, and look. Where the world says so, run it once more and compare. */
void fuzz_run(const struct fuzz_world *world, const struct fuzz_look *look,
              struct fuzz_result *ret);

/* Note that an invariant does not hold; the first one stays. For fuzz_check.c. */
void fuzz_fail(struct fuzz_run *run, const char *invariant, const struct error *found);

#endif
