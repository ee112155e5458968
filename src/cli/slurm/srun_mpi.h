/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SLURM_SRUN_MPI_H
#define CLI_SLURM_SRUN_MPI_H

/* srun_mpi - --mpi=pmix: how the tasks of a step find each other
 *
 * The server is a program of its own (cli/pmix/tarn_pmix.c), which ends with this process.
 *
 * Order of calls:  start, set in each task, read while fd is readable, stop
 * On failure:      nothing runs
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "cli/pmix/pmix_message.h"

struct srun_mpi {
    int fd;          /* messages about tasks; -1: there is no server, or it has ended */
    int life;        /* the server ends when this is closed */
    pid_t pid;       /* of the server; 0: there is none */
    char *variables; /* of all tasks, NAME=VALUE, an empty one behind those of a task */
    char **tasks;    /* in it, a task's first */
};

/* Whether it is a type that srun_mpi has: pmix, or pmix_vN. */
bool srun_mpi_has(const char *type);
/* What --mpi=list prints. */
void srun_mpi_list(void);

/* Fails with -ENOENT when the server or its library is not installed. */
int srun_mpi_start(const char *type, uint32_t step, uint32_t tasks, struct srun_mpi *ret,
                   struct error *err);
/* The environment of this process becomes that of a task. */
void srun_mpi_set(const struct srun_mpi *mpi, uint32_t rank);
/* Returns false when there is no message, or the server has ended. */
bool srun_mpi_read(struct srun_mpi *mpi, struct pmix_message *ret);
void srun_mpi_stop(struct srun_mpi *mpi);

#endif
