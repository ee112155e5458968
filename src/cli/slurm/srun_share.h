/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SLURM_SRUN_SHARE_H
#define CLI_SLURM_SRUN_SHARE_H

/* srun_share - the CPUs and GPUs of a job that its steps have taken
 *
 * The steps of a batch job lock ranges of one file, which the daemon creates for the job
 * (TARN_STEPS): each CPU and each GPU is represented by a byte. When a step ends, for any reason,
 * the kernel releases its locks. The content of the file is the number of the next step.
 *
 * Order of calls:  take, give
 * On failure:      nothing is taken
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum { SHARE_GPUS_MAX = 64 };

struct srun_share {
    uint32_t cpus, gpus;                 /* wanted; 0: none is taken */
    uint32_t cpus_total, gpus_total;     /* of the job */
    uint32_t number;                     /* of the step */
    uint32_t gpu_places[SHARE_GPUS_MAX]; /* those taken, ascending */
    int fd;
};

/* Waits until enough is free; if it has to wait, calls `told` once. path NULL: the steps of this
 * job are not counted, and nothing is taken. */
int srun_share_take(struct srun_share *share, const char *path, void (*told)(void),
                    struct error *err);
void srun_share_give(struct srun_share *share);

#endif
