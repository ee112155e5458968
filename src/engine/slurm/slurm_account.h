/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_SLURM_SLURM_ACCOUNT_H
#define ENGINE_SLURM_SLURM_ACCOUNT_H

/* slurm_account - what Slurm's accounting says about jobs that slurmctld has forgotten
 *
 * Asked with the program sacct, which may block. Jobs have their comment only if slurm.conf has
 * AccountingStoreFlags=job_comment.
 */

#include "engine/slurm/slurm_api.h"

/* Jobs that are over and were there after this time. Fails with -ENOENT: there is no accounting. */
int slurm_account_jobs(int64_t since_s, struct slurm_jobs *ret, struct error *err);

/* A line of sacct -n -P with SLURM_ACCOUNT_FIELDS; false: it is not the end of a job. */
#define SLURM_ACCOUNT_FIELDS "JobIDRaw,State,ExitCode,Start,Comment"
bool slurm_account_read(char *line, struct slurm_job *ret);

#endif
