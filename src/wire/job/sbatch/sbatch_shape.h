/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_JOB_SBATCH_SBATCH_SHAPE_H
#define WIRE_JOB_SBATCH_SBATCH_SHAPE_H

/* sbatch_shape - what the options on nodes, tasks, CPUs, memory and GPUs come to together */

#include <stdint.h>

#include "base/error.h"
#include "core/job/request.h"
#include "wire/job/sbatch/sbatch.h"

enum { CPU_MILLI_MAX = 100000 * 1000 };

struct sbatch_shape {
    int64_t nodes;
    int64_t members;
    int64_t tasks;          /* of a batch script, which runs once: what srun starts; 0: a gang */
    int64_t task_gpus;      /* of each of them; 0: all see all */
    int64_t cpu_milli;      /* of a member */
    struct request request; /* only its GPUs */
};

/* The keys of the job are set, too. */
int sbatch_read_shape(struct sbatch *sbatch, struct sbatch_shape *ret, struct error *err);

#endif
