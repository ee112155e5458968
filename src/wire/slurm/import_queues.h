/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_SLURM_IMPORT_QUEUES_H
#define WIRE_SLURM_IMPORT_QUEUES_H

/* import_queues - accounts, their shares and users, and the limits of QOS, of slurm_import
 *
 * Failures are in import->code. It comes after import_add_cluster().
 */

#include "wire/slurm/import_inside.h"

void import_add_queues(struct import *import);

#endif
