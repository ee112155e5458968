/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_JOB_ENVIRONMENT_H
#define NODE_JOB_ENVIRONMENT_H

/* surroundings - the environment variables of one member of a job
 *
 * The sender's own, without what an outer job left there; then ours (TARN_*), those that
 * frameworks look for (RANK, WORLD_SIZE, MASTER_ADDR, CUDA_VISIBLE_DEVICES ...) and Slurm's.
 * doc/spec/04-jobfile.md, "Inside a job", lists them.
 */

#include "core/state/state.h"
#include "node/job_folders.h"

struct prepared;

struct surroundings {
    const struct state *state;
    const struct job *job;
    const struct folders *folders;
    const char *cwd, *socket;
    uint32_t place;                  /* of the member in the lease */
    uint16_t master_port;            /* of a gang; 0: none */
    bool is_all_here;                /* all members run on the daemon's machine */
    const struct prepared *prepared; /* how its slices are named; NULL: by their devices */
    bool is_root;
    bool is_fenced; /* it can open no device files but those of its own devices */
};

/* base: malloc'd strings, taken over. Returns malloc'd strings, NULL-terminated. */
char **surroundings_make(const struct surroundings *surroundings, char **base);

#endif
