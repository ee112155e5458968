/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_JOB_SBATCH_SBATCH_PLACE_H
#define WIRE_JOB_SBATCH_SBATCH_PLACE_H

/* sbatch_place - the options on features and names of nodes, as conditions (where) */

#include "base/error.h"
#include "wire/job/sbatch/sbatch.h"

int sbatch_read_constraint(struct sbatch *sbatch, struct error *err);
int sbatch_read_places(struct sbatch *sbatch, struct error *err);

#endif
