/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_JOB_SBATCH_SBATCH_EXPORT_H
#define WIRE_JOB_SBATCH_SBATCH_EXPORT_H

/* sbatch_export - --export, as env and export */

#include "base/error.h"
#include "wire/job/sbatch/sbatch.h"

int sbatch_read_export(struct sbatch *sbatch, struct error *err);

#endif
