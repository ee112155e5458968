/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_JOB_SBATCH_SBATCH_MAIL_H
#define WIRE_JOB_SBATCH_SBATCH_MAIL_H

/* sbatch_mail - --mail-type and --mail-user, as notify */

#include "base/error.h"
#include "wire/job/sbatch/sbatch.h"

int sbatch_read_mail(struct sbatch *sbatch, struct error *err);

#endif
