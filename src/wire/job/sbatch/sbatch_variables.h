/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_JOB_SBATCH_SBATCH_VARIABLES_H
#define WIRE_JOB_SBATCH_SBATCH_VARIABLES_H

/* sbatch_variables - the variables of Slurm that depend on the options, as the object slurm */

#include "wire/job/sbatch/sbatch.h"
#include "wire/job/sbatch/sbatch_shape.h"

void sbatch_set_variables(struct sbatch *sbatch, const struct sbatch_shape *shape);

#endif
