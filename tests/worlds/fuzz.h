/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WORLDS_FUZZ_H
#define WORLDS_FUZZ_H

/* fuzz - runs the brain in random worlds until an invariant does not hold
 *
 * The first failure ends the run. It is minimised (fuzz_shrink.h) and printed as a world, which
 * --replay reads; with an output directory it is also written there, as SEED-INVARIANT.world.
 */

#include <stdbool.h>
#include <stdint.h>

#include "worlds/fuzz_world.h"

struct fuzz_options {
    uint64_t from, to; /* seeds */
    uint32_t steps;    /* a world */
    bool is_json;
    bool has_progress;  /* a line on standard error */
    bool is_strict;     /* fuzz_known.h */
    bool keeps_all;     /* don't make it small */
    bool is_traced;     /* of a replay: print all that is told and decided */
    const char *save;   /* folder; NULL: none */
    const char *replay; /* a world to run; NULL: by seeds */
};

/* "7" or "1..1000". */
int fuzz_parse_seeds(const char *text, struct fuzz_options *options, struct error *err);
int fuzz_parse_steps(const char *text, struct fuzz_options *options, struct error *err);

/* Returns the exit status: 0 all held, 1 one did not, or a file can't be read or written. */
int fuzz(const struct fuzz_options *options);

#endif
