/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SLURM_SLURM_CHANGE_H
#define CLI_SLURM_SLURM_CHANGE_H

/* slurm_change - jobs that Slurm's commands name, and actions on them */

#include "cli/select.h"

/* "7", "7_3", "7_[1-3,5]", with commas between them. */
int slurm_ids_read(struct selection *selection, char *const *words, struct error *err);

/* POST /v1/jobs/ID/action for each job; prints refusals. is_found: the jobs were found, not named,
 * so they may have ended meanwhile. Returns the exit status. */
int slurm_change(struct session *session, const struct selection *selection, bool is_found,
                 const char *action);

#endif
