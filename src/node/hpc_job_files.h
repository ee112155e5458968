/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_HPC_JOB_FILES_H
#define NODE_HPC_JOB_FILES_H

/* job_files - which jobs have which GPU, in the files that dcgm-exporter reads
 *
 * A folder (its --hpc-job-mapping-dir) with a file for each NVIDIA GPU that somebody has, called by
 * its number, with the numbers of the jobs, one a line. Files are replaced whole, and go when the
 * GPU is free. Jobs of MIG instances stand with their GPU. Files with numbers for names that are
 * there at the start are taken to be ours; others are left alone, and all are left when the daemon
 * ends, because jobs go on.
 *
 * Order of calls:  create, changed*, destroy
 * On failure:      create: words, also where others than root could swap files under our hands;
 *                  later what can't be written is logged once, and tried again every
 *                  JOB_FILES_RETRY_S seconds
 */

#include <uv.h>

#include "base/error.h"
#include "core/node_port.h"

enum { JOB_FILES_RETRY_S = 5 };

struct job_files;

int job_files_create(uv_loop_t *loop, const struct node_port *port, const char *folder,
                     struct job_files **ret, struct error *err);
void job_files_destroy(struct job_files *files); /* NULL is fine */

/* Some jobs changed, durably: looked at in this turn of the loop, once. NULL is fine. */
void job_files_changed(struct job_files *files);

#endif
