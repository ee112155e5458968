/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_SLURM_IMPORT_CLUSTER_H
#define WIRE_SLURM_IMPORT_CLUSTER_H

/* import_cluster - settings, partitions, nodes and switches of slurm_import
 *
 * Failures are in import->code.
 */

#include "wire/slurm/import_inside.h"

/* Read slurm.conf and what it includes, and choose the partition that tarn serves. */
void import_read_conf(struct import *import);
void import_add_cluster(struct import *import);

#endif
