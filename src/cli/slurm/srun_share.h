/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SLURM_SRUN_SHARE_H
#define CLI_SLURM_SRUN_SHARE_H

/* srun_share - which CPUs and GPUs of a job its steps have taken
 *
 * The steps of a batch job lock ranges of one file, which the daemon makes for it (TARN_STEPS): a
 * byte stands for a CPU, others for a GPU. The kernel gives back what a step has taken when it
 * ends, however it ends. The file has the number of the next step in it.
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

/* Waits until there is enough, which `told` is called about once. path NULL: the steps of this job
 * are not counted, and none is taken. */
int srun_share_take(struct srun_share *share, const char *path, void (*told)(void),
                    struct error *err);
void srun_share_give(struct srun_share *share);

#endif
