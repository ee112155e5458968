/* SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_SLURM_PROCESS_H
#define NODE_SLURM_PROCESS_H

/* slurm_process - the Slurm job and step that a process of this machine belongs to
 *
 * slurmd puts each step into a control group, ".../job_12/step_0/..." below a folder with "slurm"
 * in its name. Without such a group (proctrack/linuxproc), the environment with which the process
 * started counts, which its user could have chosen.
 */

#include <stdbool.h>

#include "core/device_watch.h"

/* groups: the text of /proc/PID/cgroup. */
bool slurm_process_of_groups(const char *groups, struct watch_slurm *ret);
/* root: "" for this machine. False: none, or the process is gone. */
bool slurm_process_find(const char *root, uint32_t pid, struct watch_slurm *ret);

#endif
