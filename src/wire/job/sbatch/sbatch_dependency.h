/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_JOB_SBATCH_SBATCH_DEPENDENCY_H
#define WIRE_JOB_SBATCH_SBATCH_DEPENDENCY_H

/* sbatch_dependency - --dependency, as depends */

#include "base/error.h"
#include "wire/job/sbatch/sbatch.h"

int sbatch_read_dependency(struct sbatch *sbatch, struct error *err);
int sbatch_read_invalid_dependency(struct sbatch *sbatch, struct error *err);

#endif
