/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_HPC_JOB_FILES_H
#define NODE_HPC_JOB_FILES_H

/* hpc_job_files - which jobs hold which GPU, in the files that dcgm-exporter reads
 *
 * The folder (the exporter's --hpc-job-mapping-dir) has a file for each allocated NVIDIA GPU. The
 * file is named by the GPU's index and holds the numbers of its jobs, one a line. Files are
 * replaced whole, and removed when the GPU is free. Jobs on MIG instances are listed with their
 * GPU. At the start, files with numbers for names are taken for our own; others are left alone. All
 * are left when the daemon ends, because jobs go on.
 *
 * Order of calls:  create, changed*, destroy
 * On failure:      create says why, also where users other than root could replace the files;
 *                  later a failed write is logged once, and tried again every
 *                  HPC_JOB_FILES_RETRY_S seconds
 */

#include <uv.h>

#include "base/error.h"
#include "core/node_port.h"

enum { HPC_JOB_FILES_RETRY_S = 5 };

struct hpc_job_files;

/* node: the name of this machine; GPUs of other nodes have no files here. */
int hpc_job_files_create(uv_loop_t *loop, const struct node_port *port, const char *node,
                         const char *folder, struct hpc_job_files **ret, struct error *err);
void hpc_job_files_destroy(struct hpc_job_files *files); /* NULL is fine */

/* Some jobs changed, durably: looked at in this turn of the loop, once. NULL is fine. */
void hpc_job_files_changed(struct hpc_job_files *files);

#endif
