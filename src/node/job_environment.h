/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_JOB_ENVIRONMENT_H
#define NODE_JOB_ENVIRONMENT_H

/* job_environment - the environment variables of one member of a job
 *
 * It begins with the submitter's variables, without those of an outer job. Then follow tarn's own
 * (TARN_*), those that frameworks read (CUDA_VISIBLE_DEVICES; in a gang RANK, WORLD_SIZE ...), and
 * in a gang and for Slurm's scripts those of Slurm. Variables that the job itself sets stay.
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
    const char *script_path; /* the file that the script was read from; NULL: unknown */
    char *const *own;        /* names of variables that the job itself sets, which stay; NULL */
    char *const *role_env;   /* the same of its role, "NAME=value"; NULL */
    char *const *slurm; /* "SLURM_NAME=value" of what Slurm's options request; NULL: no options */
    usec_t wall_ahead;  /* wall time minus journal time */
    const char *slurm_dir;              /* to be the first directory in PATH; NULL: none */
    uint32_t tasks, task_gpus;          /* started by srun (wire/job/submission.h); 0: none */
    uint32_t place;                     /* of the member in the lease */
    uint16_t master_port;               /* of a gang; 0: none */
    bool is_all_here;                   /* all members run on the daemon's node */
    const struct prepared *prepared;    /* names of its slices; NULL: those of the devices */
    const struct user_account *account; /* of the job's user; NULL: unknown on this machine */
    bool is_root;
    bool has_exact_devices; /* it runs on the devices of its lease; else the engine names them */
    bool is_fenced;         /* it can open only the device files of its own devices */
};

/* Takes over base (malloc'd strings). Returns malloc'd strings, NULL-terminated. */
char **job_environment_make(const struct job_environment *environment, char **base);

#endif
