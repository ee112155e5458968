/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_JOB_SBATCH_SBATCH_SIGNAL_H
#define WIRE_JOB_SBATCH_SBATCH_SIGNAL_H

/* sbatch_signal - --signal and the checkpoints, as warn or checkpoint */

#include "base/error.h"
#include "wire/job/sbatch/sbatch.h"

int sbatch_read_checkpoint(struct sbatch *sbatch, struct error *err);

#endif
