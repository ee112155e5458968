/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SLURM_SRUN_STEP_H
#define CLI_SLURM_SRUN_STEP_H

/* srun_step - starts the tasks of one step of a job on this node, and waits for them
 *
 * srun passes the signals that it receives on to the tasks, unless they come from the supervisor of
 * the job, which signals all processes itself. The tasks die with srun.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct srun_step {
    uint32_t tasks;
    uint32_t number;                    /* of the step */
    char *const *command;               /* NULL-terminated */
    char *const *gpus;                  /* names of the step's GPUs, for the GPU runtime */
    uint32_t gpu_count, gpus_per_task;  /* 0 per task: all tasks see all */
    const char *gpu_variable;           /* NULL: none */
    const char *output, *error, *input; /* patterns with %t and the like; NULL: those of srun */
    const char *directory;              /* NULL: this one */
    const char *mpi;                    /* how the tasks find each other; NULL: they do not */
    char *const *variables;             /* "NAME=VALUE", NULL-terminated; NULL: none */
    uint16_t master_port;               /* where the tasks of a gang meet */
    bool appends, has_labels, kills_on_bad_exit;
    bool has_no_environment; /* the tasks have not that of srun */
    int64_t limit_s;         /* of the step; 0: none */
    int wait_s;              /* time limit from the first end to the last; 0: none */
};

/* *ret_status: the highest of the tasks' exit statuses; 128 plus the signal. */
int srun_step_run(const struct srun_step *step, int *ret_status, struct error *err);

#endif
