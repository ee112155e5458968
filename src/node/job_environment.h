/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_JOB_ENVIRONMENT_H
#define NODE_JOB_ENVIRONMENT_H

/* job_environment - the environment variables of one member of a job
 *
 * First the submitter's variables, without those of an outer job. Then tarn's (TARN_*), those that
 * frameworks read (RANK, WORLD_SIZE, MASTER_ADDR, CUDA_VISIBLE_DEVICES ...) and Slurm's.
 * doc/spec/04-jobfile.md, "Inside a job", lists them.
 */

#include "core/state/state.h"
#include "node/job_folders.h"

struct user_account;
struct prepared;

struct job_environment {
    const struct state *state;
    const struct job *job;
    const struct job_folders *folders;
    const char *cwd, *socket;
    const char *slurm_dir;              /* first in its PATH; NULL: none */
    uint32_t tasks, task_gpus;          /* that srun starts in it (wire/job/submission.h); 0 */
    uint32_t place;                     /* of the member in the lease */
    uint16_t master_port;               /* of a gang; 0: none */
    bool is_all_here;                   /* all members run on the daemon's machine */
    const struct prepared *prepared;    /* how its slices are named; NULL: by their devices */
    const struct user_account *account; /* of the job's user; NULL: not of this machine */
    bool is_root;
    bool has_exact_devices; /* it gets the devices of its lease; else the engine names them */
    bool is_fenced;         /* it can open no device files but those of its own devices */
};

/* base: malloc'd strings, taken over. Returns malloc'd strings, NULL-terminated. */
char **job_environment_make(const struct job_environment *environment, char **base);

#endif
