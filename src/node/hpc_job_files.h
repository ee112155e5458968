/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_HPC_JOB_FILES_H
#define NODE_HPC_JOB_FILES_H

/* hpc_job_files - tells dcgm-exporter which jobs hold which GPU, in files
 *
 * The folder (the exporter's --hpc-job-mapping-dir) has one file for each allocated NVIDIA GPU. The
 * name of the file is the index of the GPU; it contains the numbers of its jobs, one per line.
 * Files are replaced as a whole, and removed when the GPU is free. Jobs on MIG instances are listed
 * with their GPU. At the start, files whose names are numbers are taken over; other files are not
 * touched. The files remain when the daemon ends, because the jobs continue.
 *
 * Order of calls:  create, changed*, destroy
 * On failure:      create fails with the reason, also if users other than root could replace the
 *                  files; later, a failed write is logged once and repeated every
 *                  HPC_JOB_FILES_RETRY_S seconds
 */

#include <uv.h>

#include "base/error.h"
#include "core/node_port.h"

enum { HPC_JOB_FILES_RETRY_S = 5 };

struct hpc_job_files;

/* node: the name of the daemon's node; GPUs of other nodes have no files here. */
int hpc_job_files_create(uv_loop_t *loop, const struct node_port *port, const char *node,
                         const char *folder, struct hpc_job_files **ret, struct error *err);
void hpc_job_files_destroy(struct hpc_job_files *files); /* NULL is fine */

/* Jobs have changed durably: update the files once, in this turn of the loop. NULL is fine. */
void hpc_job_files_changed(struct hpc_job_files *files);

#endif
