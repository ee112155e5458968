/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DAEMON_DOCTOR_DOCTOR_H
#define DAEMON_DOCTOR_DOCTOR_H

/* doctor - the parts of tarn doctor; each says what it finds, a line for each thing */

#include <stdbool.h>

#include "base/compiler.h"

enum grade { GRADE_OK, GRADE_NOTE, GRADE_BAD };

void doctor_say(enum grade grade, const char *what, const char *format, ...) PRINTF(3, 4);

/* doctor_slurm.c: whether the daemon that listens serves a Slurm cluster. */
bool doctor_serves_slurm(void);
/* Says nothing on a machine without a slurm.conf, unless the daemon there serves a cluster. */
void doctor_slurm(void);

#endif
