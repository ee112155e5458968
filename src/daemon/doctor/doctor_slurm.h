/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_DOCTOR_DOCTOR_SLURM_H
#define DAEMON_DOCTOR_DOCTOR_SLURM_H

/* doctor_slurm - the part of tarn doctor about a Slurm cluster */

#include <stdbool.h>

/* Whether the daemon that listens serves one. */
bool doctor_serves_slurm(void);
/* Says nothing on a machine without a slurm.conf, unless the daemon there serves a cluster. */
void doctor_slurm(void);

#endif
